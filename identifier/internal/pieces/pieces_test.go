package pieces

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// padded returns a buffer that a piece may be read from.
func padded(text string) []byte { return append([]byte(text), make([]byte, MaxSize)...) }

func TestMemo(t *testing.T) {
	m := NewMemo(NewTable(map[string]int32{"": 9, "a": 1, "a\x00": 2, strings.Repeat("x", MaxSize): 3,
		strings.Repeat("x", MaxSize+1): 4}))
	for text, want := range map[string][]int32{"a": {1}, "a\x00": {2}, "a\x00\x00": nil, "b": nil,
		strings.Repeat("x", MaxSize): {3}, strings.Repeat("x", MaxSize+1): nil} {
		if got, ok := m.Append(nil, padded(text), 0, len(text)); !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("%q: %v, %t", text, got, ok)
		}
	}
	buf := padded("xx ab")
	m.Store([]int32{5, 6}, buf, 3, 5)
	if got, ok := m.Append([]int32{4}, padded("ab"), 0, 2); !ok || !slices.Equal(got, []int32{4, 5, 6}) {
		t.Errorf("%v, %t", got, ok)
	}
	m.Store(make([]int32, slotIDs+1), buf, 0, 2)
	if _, ok := m.Append(nil, buf, 0, 2); ok {
		t.Error("too many ids were stored")
	}
}

// However often entries are overwritten, what is found is what was stored.
func TestMemoOverwritten(t *testing.T) {
	m := NewMemo(NewTable(nil))
	found := 0
	for i := range int32(20_000) {
		text := fmt.Sprint(i)
		m.Store([]int32{i, -i}, padded(text), 0, len(text))
	}
	for i := range int32(20_000) {
		text := fmt.Sprint(i)
		if ids, ok := m.Append(nil, padded(text), 0, len(text)); ok {
			found++
			if !slices.Equal(ids, []int32{i, -i}) {
				t.Fatalf("%d: %v", i, ids)
			}
		}
	}
	if found < 1<<(slotBits-1) || found > 1<<slotBits {
		t.Errorf("found %d", found)
	}
}

func TestTrie(t *testing.T) {
	tokens := map[string]int32{"": 7, "a": 0, "abc": 1, "b\x00": 2, "é": 3}
	for i := range int32(2000) {
		tokens[fmt.Sprintf("n%d;", i)] = i + 10
	}
	trie, err := NewTrie(tokens)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		value int32
		size  int
	}{{"", None, 0}, {"x", None, 0}, {"ab", 0, 1}, {"abcd", 1, 3}, {"b\x00", 2, 2}, {"b", None, 0}, {"éa", 3,
		2}, {"n1999;", 2009, 6}, {"n19", None, 0}} {
		if value, size := trie.Longest(Root, []byte(c.text)); value != c.value || size != c.size {
			t.Errorf("%q: %d, %d", c.text, value, size)
		}
	}
	if value, size := trie.Longest(trie.Walk(Root, "a"), []byte("bc")); value != 1 || size != 2 {
		t.Errorf("behind a: %d, %d", value, size)
	}
	if node := trie.Walk(Root, "zz"); node != None {
		t.Errorf("node %d", node)
	}
}

func TestClasses(t *testing.T) {
	c := NewClasses()
	for class, points := range map[uint8]string{1: "abc\U0010ffff", 2: "cd"} {
		for _, r := range points {
			c.OrRune(class, r)
		}
	}
	for r, want := range map[rune]uint8{'`': 0, 'a': 1, 'c': 3, 'd': 2, 0x3000: 0, 0x10ffff: 1} {
		if got := c.Of(r); got != want {
			t.Errorf("%U: %d", r, got)
		}
	}
}

func TestTables(t *testing.T) {
	c := NewClasses().Or(1, "numbers").Or(2, "chinese")
	for r, want := range map[rune]uint8{'/': 0, '0': 1, '9': 1, ':': 0, 0xb9: 1, 0x3400: 2, 0x4dbf: 2, 0x4dc0: 0} {
		if got := c.Of(r); got != want {
			t.Errorf("%U: %d", r, got)
		}
	}
	lowered := Mapping("lowered")
	for r, want := range map[rune]string{'A': "a", 0x130: "i\u0307", 'a': ""} {
		if got := string(lowered[r]); got != want {
			t.Errorf("%c: %q", r, got)
		}
	}
}
