package dataset

import (
	"slices"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// TestPairAsAsked: rows of conversations are paired by what users said where that pairs more of them, as where the turn
// of the system changed, and not where one system was told different things for the same words.
func TestPairAsAsked(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	told := func(system, user string) string {
		return user + wholeConversation + "system: " + system + "\nuser: " + user
	}
	for name, c := range map[string]struct {
		id      [2]string // of both rows; "" has none
		a, b    [2]string
		of      []int
		asAsked bool
	}{
		"told otherwise, no ids": {[2]string{}, [2]string{told("Be nice.", "x"), told("Be nice.", "y")},
			[2]string{told("Be brief.", "y"), told("Be brief.", "x")}, []int{1, 0}, true},
		"told otherwise, ids": {[2]string{"1", "2"}, [2]string{told("Be nice.", "x"), told("Be nice.", "y")},
			[2]string{told("Be brief.", "x"), told("Be brief.", "y")}, []int{0, 1}, true},
		"told the same": {[2]string{}, [2]string{told("Be nice.", "x"), told("Be nice.", "y")},
			[2]string{told("Be nice.", "y"), told("Be nice.", "x")}, []int{1, 0}, false},
		"different tasks": {[2]string{}, [2]string{told("Translate.", "x"), told("Sum up.", "x")},
			[2]string{told("Translate!", "x"), told("Sum up!", "x")}, []int{-1, -1}, false},
	} {
		p := NewPairing(task, nil)
		for i, input := range c.a {
			p.AddA(rowWith(t, c.id[i], "s", input, "before "+c.a[i], nil))
		}
		for i, input := range c.b {
			p.AddB(rowWith(t, c.id[i], "s", input, "after "+c.b[i], nil))
		}
		if got := p.Match(); !slices.Equal(got.Of, c.of) || got.AsAsked != c.asAsked || got.Other > 0 {
			t.Errorf("%s: %v, as asked %t, %d of other inputs", name, got.Of, got.AsAsked, got.Other)
		}
	}
}
