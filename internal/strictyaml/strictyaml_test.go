package strictyaml

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// TestReader: each kind of value, right and wrong, and every fault with its line.
func TestReader(t *testing.T) {
	const right = "text: ' a b '\nword: ab\nflag: true\nint: 3\nfloat: 0.5\nlist: [1]\nnames: {x: 1, y: 2}\n"
	const wrong = "text: [a]\nword: a b\nflag: 1\nint: 0.5\nfloat: 2\nlist: []\nnames: {x: 1, x: 2, '': 3}\nmore: 1\n"
	var text, word string
	var flag bool
	var number int
	var float float64
	var list []*yaml.Node
	var names []string
	read := func(data string) error {
		r := &Reader{File: "f"}
		r.Mapping(r.Document([]byte(data), "thing"), "a thing", Need("text", r.Text(&text)), May("word", r.Word(&word)),
			May("flag", r.Flag(&flag)),
			May("int", r.IntFrom(3, &number)), May("float", r.Float(&float, "less than 1",
				func(x float64) bool { return x < 1 })),
			May("list", r.List(&list)), May("names", r.Names(func(name string, _ *yaml.Node) { names = append(names, name) })))
		return r.Err()
	}
	if err := read(right); err != nil || text != "a b" || word != "ab" || !flag || number != 3 || float != 0.5 ||
		len(list) != 1 || len(names) != 2 {
		t.Errorf("%v: %q %q %v %d %g %d %q", err, text, word, flag, number, float, len(list), names)
	}
	const faults = `f:1: text: a text is expected, not a list, mapping or alias
f:2: word: "a b" has a space, semicolon, @ or = in it
f:3: flag: true or false is expected, not "1"
f:4: int: a whole number is expected, not "0.5"
f:5: float: less than 1 is expected, not "2"
f:6: list: a list with at least one entry is expected
f:7: key "x" is given twice (first on line 7)
f:7: names has a key that is no name
f:8: unknown key "more" in a thing; it may have text, word, flag, int, float, list, names`
	if err := read(wrong); err == nil || err.Error() != faults {
		t.Errorf("got\n%v", err)
	}
	if err := read("int: 2\n"); err == nil ||
		err.Error() != "f:1: int: 3 or more is expected, not 2\nf:1: a thing needs the key \"text\"" {
		t.Errorf("got %v", err)
	}
}
