package dataset

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// rowWith is a row of the task "response": an answer of a system to an input, with further columns.
func rowWith(t *testing.T, id, system, input, response string, more map[string]any) *Row {
	t.Helper()
	columns := map[string]any{"system": system}
	for name, value := range more {
		columns[name] = value
	}
	row, err := RowOf(columns)
	if err != nil {
		t.Fatal(err)
	}
	row.given, row.Values = id, []string{response, input, "", ""}
	switch id {
	case "":
		row.ID = row.TextHash()
	case "hash":
		row.ID = row.TextHash()
		row.given = row.ID
	default:
		row.ID = id
	}
	return row
}

// rowOf is rowWith of id, system, input, response, reference.
func rowOf(t *testing.T, of [5]string) *Row {
	row := rowWith(t, of[0], of[1], of[2], of[3], nil)
	row.Values[2] = of[4]
	switch of[0] {
	case "again":
		row.given, row.ID = "", row.TextHash()+"#2"
	case "":
		row.ID = row.TextHash()
	}
	return row
}

func TestPairing(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	type texts = [5]string
	for name, test := range map[string]struct {
		a, b []texts
		of   []int
		by   string
		id   []string // as the user named it
	}{
		"by id": {[]texts{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}},
			[]texts{{"2", "s", "y", "r"}, {"1", "s", "x", "p"}, {"3", "s", "z", "q"}}, []int{1, 0, -1}, "[id]", nil},
		"ids that name other inputs": {[]texts{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}},
			[]texts{{"1", "s", "y", "r"}, {"9", "s", "x", "t"}}, []int{1, 0}, "[input system]", nil},
		"ids that name other systems": {
			[]texts{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}, {"3", "t", "x", "p2"}, {"4", "t", "y", "q2"}},
			[]texts{{"1", "t", "x", "r"}, {"2", "t", "y", "q2"}}, []int{2, 3}, "[input system]", nil},
		"systems in another order": {[]texts{{"1", "s", "x", "p"}, {"2", "t", "x", "q"}},
			[]texts{{"1", "t", "x", "q"}, {"2", "s", "x", "p"}}, []int{1, 0}, "[input system]", nil},
		"ids of other inputs that nothing else pairs": {
			[]texts{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}, {"3", "s", "y", "r"}},
			[]texts{{"1", "s", "x", "p2"}, {"2", "s", "x", "q2"}, {"3", "s", "y", "r2"}}, []int{0, -1, 2}, "[id]", nil},
		"systems of both files are never mixed": {
			[]texts{{"", "s", "x", "p"}, {"", "s", "x", "q"}, {"", "t", "x", "r"}, {"", "t", "y", "w"}},
			[]texts{{"", "t", "x", "p"}, {"", "s", "x", "r"}, {"", "t", "y", "w2"}}, []int{2, -1, 3}, "[input system]", nil},
		"a row put in front, and numbers as ids": {[]texts{{"1", "s", "x", "p"}, {"2", "s", "x", "q"}, {"3", "s", "x", "r"}},
			[]texts{{"1", "s", "x", "new"}, {"2", "s", "x", "p"}, {"3", "s", "x", "q"}, {"4", "s", "x", "r"}},
			[]int{-1, 0, 1, 2}, "[input system]", nil},
		"letters of two signs, as of Macs": {[]texts{{"", "Zo\u00eb", "Gr\u00fcnau", "p"}, {"", "t", "y", "q"}},
			[]texts{{"", "t", "y", "r"}, {"", "Zoe\u0308 ", "Gru\u0308nau\r\n", "p2"}}, []int{1, 0}, "[input system]", nil},
		"ids of changed inputs": {[]texts{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}},
			[]texts{{"1", "s", "x2", "p"}, {"2", "s", "y2", "q"}}, []int{0, 1}, "[id]", nil},
		"rows logged twice": {[]texts{{"1", "s", "x", "p"}, {"1", "s", "x", "p"}, {"2", "s", "y", "q"}},
			[]texts{{"1", "s", "x", "r"}, {"1", "s", "x", "r"}, {"2", "s", "y", "q"}}, []int{0, 1, 2}, "[id system]", nil},
		"an id of several inputs": {[]texts{{"1", "s", "x", "p"}, {"1", "s", "y", "q"}},
			[]texts{{"1", "s", "y", "r"}, {"1", "s", "x", "t"}}, []int{1, 0}, "[id]", []string{"id"}},
		"an id of other inputs": {[]texts{{"1", "s", "x", "p"}, {"1", "s", "y", "q"}},
			[]texts{{"1", "s", "z", "r"}, {"1", "s", "w", "t"}}, []int{-1, -1}, "[id]", []string{"id"}},
		"an id of several systems": {[]texts{{"1", "s", "x", "p"}, {"1", "t", "x", "q"}},
			[]texts{{"1", "t", "x", "r"}, {"1", "s", "x", "u"}}, []int{1, 0}, "[id system]", nil},
		"an id of systems that wrote the same": {[]texts{{"1", "s", "x", "p"}, {"1", "t", "x", "p"}},
			[]texts{{"1", "t", "x", "p"}, {"1", "s", "x", "p"}}, []int{1, 0}, "[id system]", nil},
		"an id of systems of which one has another name": {[]texts{{"1", "s", "x", "p"}, {"1", "t", "x", "q"}},
			[]texts{{"1", "t", "x", "r"}, {"1", "s2", "x", "u"}}, []int{1, 0}, "[id system]", nil},
		"an id of one system, which has another name": {[]texts{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}},
			[]texts{{"2", "t", "y", "r"}, {"1", "t", "x", "u"}}, []int{1, 0}, "[id]", nil},
		"changed texts, by input and system": {[]texts{{"", "s", "x", "p"}, {"", "t", "x", "p2"}, {"", "s", "y", "q"}},
			[]texts{{"", "t", "x", "new"}, {"", "s", "y", "q"}, {"", "s", "x", "p"}}, []int{1, 2, 0},
			"[input system]", nil},
		"another system, by input": {[]texts{{"", "s", "x", "p"}, {"", "s", "y", "q"}},
			[]texts{{"", "t", "y", "q2"}, {"", "t", "x", "p2"}}, []int{1, 0}, "[input]", nil},
		"several changed answers to an input": {[]texts{{"", "s", "x", "p"}, {"", "s", "x", "q"}},
			[]texts{{"", "s", "x", "r"}, {"", "s", "x", "q"}}, []int{0, 1}, "[input system]", nil},
		"the k-th of an input and a system with the k-th": {
			[]texts{{"", "s", "x", "1"}, {"", "t", "x", "2"}, {"", "s", "x", "3"}, {"", "s", "x", "4"}},
			[]texts{{"", "s", "x", "3"}, {"", "s", "x", "5"}, {"", "t", "x", "6"}, {"", "s", "x", "7"}},
			[]int{2, 0, 1, 3}, "[input system]", nil},
		"not the k-th of more": {[]texts{{"", "s", "x", "1"}, {"", "s", "x", "2"}, {"", "s", "y", "3"}},
			[]texts{{"", "s", "x", "4"}, {"", "s", "x", "5"}, {"", "s", "x", "6"}, {"", "s", "y", "7"}},
			[]int{-1, -1, -1, 2}, "[input system]", nil},
		"another input of a group": {[]texts{{"", "s", "x", "p", "r1"}, {"", "s", "x", "q", "r2"}, {"", "s", "x", "o", "r3"}},
			[]texts{{"", "s", "x", "q", "r4"}, {"", "s", "x", "u", "r5"}, {"", "s", "x", "p", "r1"}}, []int{1, 2, 0},
			"[input reference system]", nil},
		"all changed of groups of two": {[]texts{{"1", "s", "x", "p", "r1"}, {"2", "s", "x", "q", "r2"}},
			[]texts{{"3", "s", "x", "o", "r3"}, {"4", "s", "x", "u", "r4"}}, []int{0, 1}, "[input system]", nil},
		"numbers as ids, an input less, and references of the rows' own": {
			[]texts{{"1", "s", "x", "p", "r1"}, {"2", "s", "x", "q", "r2"}, {"3", "s", "y", "p", "r3"},
				{"4", "s", "y", "q", "r4"}, {"5", "s", "z", "p", "r5"}, {"6", "s", "z", "q", "r6"}},
			[]texts{{"1", "s", "x", "p2", "s1"}, {"2", "s", "x", "q2", "s2"}, {"3", "s", "z", "p2", "s5"},
				{"4", "s", "z", "q2", "s6"}}, []int{0, 1, 4, 5}, "[input system]", nil},
		"texts of two systems, of which one changed": {
			[]texts{{"", "s", "x", "p", "r1"}, {"again", "t", "x", "p", "r1"}, {"", "s", "x", "q", "r"}, {"", "t", "x", "w"}},
			[]texts{{"", "s", "x", "p9", "r9"}, {"", "t", "x", "p", "r1"}, {"", "s", "x", "q", "r"}, {"", "t", "x", "w"}},
			[]int{0, 1, 2, 3}, "[input system]", nil},
		"not of more of a group": {[]texts{{"", "s", "x", "p", "r1"}, {"", "s", "x", "q", "r2"}},
			[]texts{{"", "s", "x", "p", "r1"}, {"", "s", "x", "u", "r5"}, {"", "s", "x", "v", "r6"}}, []int{0, -1, -1},
			"[input reference system]", nil},
		"no input": {[]texts{{"", "s", "", "p"}, {"", "s", "", "q"}}, []texts{{"", "s", "", "q"}, {"", "s", "", "r"},
			{"", "s", "", "t"}}, []int{1, -1, -1}, "[id]", nil},
		"ids in one file": {[]texts{{"1", "s", "x", "p"}}, []texts{{"", "s", "x", "q"}}, []int{0},
			"[input system]", nil},
		"hardly an id in both": {[]texts{{"1", "s", "x", "p"}, {"2", "s", "x", "q"}},
			[]texts{{"3", "s", "x", "r"}, {"4", "s", "x", "t"}}, []int{0, 1}, "[input system]", nil},
		"ids made of texts": {[]texts{{"hash", "s", "x", "p"}, {"hash", "s", "y", "q"}},
			[]texts{{"hash", "s", "y", "r"}, {"hash", "s", "x", "p"}}, []int{1, 0}, "[input system]", nil},
		"ids that the user named": {[]texts{{"1", "s", "x", "p"}}, []texts{{"2", "s", "x", "p2"}}, []int{-1}, "[id]",
			[]string{"id"}},
		"ids that the user wants none of": {[]texts{{"", "s", "x", "p"}}, []texts{{"", "s", "x", "p2"}}, []int{0},
			"[input system]", []string{NoID}},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPairing(task, test.id)
			for _, r := range test.a {
				p.AddA(rowOf(t, r))
			}
			for _, r := range test.b {
				p.AddB(rowOf(t, r))
			}
			got := p.Match()
			if !reflect.DeepEqual(got.Of, test.of) || fmt.Sprint(got.By) != test.by {
				t.Errorf("%+v, want %v by %s", got, test.of, test.by)
			}
			for j, i := range got.Of {
				if same := i >= 0 && slices.Equal(test.a[i][2:], test.b[j][2:]); got.Same[j] != same {
					t.Errorf("row %d has the same texts: %v", j, got.Same[j])
				}
			}
		})
	}
}

// TestPairingOfModels: where all rows name one system, and several models, these are told apart.
func TestPairingOfModels(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	p := NewPairing(task, nil)
	for i, model := range []string{"m", "n", "n", "m"} {
		add := []func(*Row){p.AddA, p.AddB}[i/2]
		add(rowWith(t, "", "all", "x", fmt.Sprint("text ", i), map[string]any{"model": model}))
	}
	if got := p.Match(); fmt.Sprint(got.Of, got.By) != "[1 0] [input model]" {
		t.Errorf("%+v", got)
	}
	p = NewPairing(task, nil)
	p.System = "model,kind"
	for i, names := range [][2]string{{"m", "1"}, {"m", "2"}, {"m", "2"}, {"m", "1"}} {
		add := []func(*Row){p.AddA, p.AddB}[i/2]
		add(rowWith(t, "", "all", "x", fmt.Sprint("text ", i), map[string]any{"model": names[0], "kind": names[1]}))
	}
	if got := p.Match(); fmt.Sprint(got.Of, got.By) != "[1 0] [input model,kind]" {
		t.Errorf("%+v", got)
	}
}

// TestPairingMoved: of a few rows behind one that is gone, ids that are numbers pair others; they are counted.
func TestPairingMoved(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	p := NewPairing(task, nil)
	for i := range 60 {
		p.AddA(rowWith(t, fmt.Sprint(i), "s", "x", fmt.Sprint("text ", i), nil))
		text := i
		if i >= 58 {
			text = i + 1 // the last one is new
		}
		p.AddB(rowWith(t, fmt.Sprint(i), "s", "x", fmt.Sprint("text ", text), nil))
	}
	if got := p.Match(); fmt.Sprint(got.By, got.Moved, got.Other, got.Both) != "[id] 1 0 60" {
		t.Errorf("%+v", got)
	}
}

// TestPairingSystems: systems that are paired with others are named, the most frequent first, where a file has several.
func TestPairingSystems(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	a := [][5]string{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}, {"3", "t", "z", "r"}, {"4", "u", "w", "v"}}
	for _, c := range []struct {
		b    [][5]string
		want string
	}{
		{[][5]string{{"1", "", "x", "p2"}, {"2", "", "y", "q2"}, {"3", "", "z", "r2"}}, "[{s  2} {t  1}]"},
		{[][5]string{{"1", "s2", "x", "p2"}, {"3", "t", "z", "r2"}}, "[{s s2 1}]"},
		{[][5]string{{"1", "s", "x", "p2"}, {"3", "t", "z", "r2"}}, "[]"},
	} {
		p := NewPairing(task, nil)
		for _, row := range a {
			p.AddA(rowOf(t, row))
		}
		for _, row := range c.b {
			p.AddB(rowOf(t, row))
		}
		if got := p.Match(); fmt.Sprint(got.Systems) != c.want || got.Column != "system" {
			t.Errorf("%v: %+v, want %s", c.b, got, c.want)
		}
	}
	alone := NewPairing(task, nil)
	alone.AddA(rowOf(t, a[0]))
	alone.AddB(rowOf(t, [5]string{"1", "v2", "x", "p2"}))
	if got := alone.Match().Systems; got != nil {
		t.Errorf("one system a file: %v", got)
	}
}

// TestTogether: of three files, rows that the third shares with the second alone belong together, too; rows of which
// nothing is known do with none.
func TestTogether(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	g := NewTogether(task, nil, ColumnSystem, 3)
	for file, rows := range [][][5]string{{{"1", "s", "x", "p"}, {"2", "s", "y", "q"}},
		{{"2", "s", "y", "q"}, {"3", "s", "z", "r"}, {"1", "s", "x", "p"}}, {{"3", "s", "z", "u"}, {"1", "s", "x", "p"}}} {
		for _, r := range rows {
			g.Add(file, rowOf(t, r))
		}
	}
	if got := fmt.Sprint(g.Numbers()); got != "[[0 1] [1 2 0] [2 0]]" {
		t.Error(got)
	}
	bare := NewTogether(&taxonomy.Taxonomy{}, nil, ColumnSystem, 2)
	for file := range 2 {
		row := rowWith(t, "", "s", "", "", nil)
		row.Values = nil
		row.ID = row.TextHash()
		bare.Add(file, row)
	}
	if got := fmt.Sprint(bare.Numbers()); got != "[[0] [1]]" {
		t.Error(got)
	}
}

// TestPairingModel: a column "model" names systems where no row has one called "system".
func TestPairingModel(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	row := func(model, text string) *Row {
		row, err := RowOf(map[string]any{"model": model})
		if err != nil {
			t.Fatal(err)
		}
		row.given, row.ID, row.Values = "1", "1", []string{text, "x", "", ""}
		return row
	}
	p := NewPairing(task, nil)
	p.AddA(row("m", "p"))
	p.AddA(row("n", "q"))
	p.AddB(row("n", "r"))
	p.AddB(row("m", "t"))
	if got := p.Match(); !slices.Equal(got.Of, []int{1, 0}) || fmt.Sprint(got.By) != "[id model]" {
		t.Errorf("%+v", got)
	}
}

// TestPairingWould: columns are found that would pair rows of which nothing else, or their order alone, says that they
// belong together.
func TestPairingWould(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		more func(i int) map[string]any
		want []string
	}{
		"one column":  {func(i int) map[string]any { return map[string]any{"k": i, "s": "all"} }, []string{"k"}},
		"two columns": {func(i int) map[string]any { return map[string]any{"k": i / 5, "n": fmt.Sprint("t", i%5)} }, []string{"k", "n"}},
		"none":        {func(i int) map[string]any { return map[string]any{"k": i / 5, "n": []int{i}} }, nil},
	} {
		for input, inOrder := range map[string]int{"": 0, "x": 40} {
			t.Run(name+input, func(t *testing.T) {
				p := NewPairing(task, nil)
				for i := range 40 {
					p.AddA(rowWith(t, fmt.Sprint("a", i), "s", input, fmt.Sprint("old ", i), test.more(i)))
					p.AddB(rowWith(t, fmt.Sprint("b", i), "s", input, fmt.Sprint("new ", i), test.more(39-i)))
				}
				got := p.Match()
				if got.Both != inOrder || got.InOrder != inOrder || !slices.Equal(got.Would, test.want) {
					t.Errorf("%+v, want %v and %d pairs in order", got, test.want, inOrder)
				}
			})
		}
	}
}

// TestPairingWouldSmaller: a column that pairs the smaller file is found, but not where as many have a partner already.
func TestPairingWouldSmaller(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"b": "[k] 20", "a": "[] 0"} {
		p := NewPairing(task, []string{"id"})
		for i := range 40 {
			p.AddA(rowWith(t, fmt.Sprint("a", i), "s", "", fmt.Sprint("old ", i), map[string]any{"k": i}))
		}
		for i := range 20 {
			p.AddB(rowWith(t, fmt.Sprint(id, i), "s", "", fmt.Sprint("new ", i), map[string]any{"k": i}))
		}
		if got := p.Match(); fmt.Sprint(got.Would, " ", got.WouldBoth) != want {
			t.Errorf("%s: %+v, want %s", id, got, want)
		}
	}
}
