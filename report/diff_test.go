package report

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

// Error types that are surely more frequent in B have grown; turned around they have shrunk.
func TestDiffCounts(t *testing.T) {
	w, toy := readWitness(t)
	has, hasNot := w.diagnosis("m@1", []bool{true, false, false}), w.diagnosis("m@1", []bool{false, false, false})
	for turn, want := range [][2]int{{1, 0}, {0, 1}} {
		c := NewComparison(DiffOptions{Taxonomy: toy})
		for side := range 2 {
			for i := range 40 {
				id, d := fmt.Sprint(i), hasNot
				if side != turn && i%2 == 0 {
					d = has
				}
				if err := c.add(side, diffRow{Row: &dataset.Row{ID: id}, group: id, diagnosis: d}); err != nil {
					t.Fatal(err)
				}
			}
		}
		d, err := c.ComputeDiff()
		if err != nil {
			t.Fatal(err)
		}
		only := d.Labels[0].Label
		found := d.counts("Fine", map[string]bool{only: true})
		for subject, of := range map[string]int{"": len(d.Labels), ":" + only: 1} {
			grown, shrunk := found.Named[Grown+subject], found.Named[Shrunk+subject]
			if len(grown.Names) != want[0] || len(shrunk.Names) != want[1] || grown.Of != of || shrunk.Of != of {
				t.Errorf("%q: %+v, %+v", subject, grown, shrunk)
			}
		}
		if rise := found.Labels[Rise+":"+only]; rise != 20*(want[0]-want[1]) || found.Tagged != 40 ||
			found.Labels[d.Labels[0].Label] != 20*want[0] || found.WithoutError != 40-20*want[0] {
			t.Errorf("%+v, want %v grown and shrunk", found, want)
		}
	}
}

// What A against B gains, B against A loses, and the interval turns around.
func TestDiffTurnsAround(t *testing.T) {
	w, toy := readWitness(t)
	o := DiffOptions{Taxonomy: toy, Group: "group"}
	forth := compared(t, w, o)
	for i := range w.Rows {
		w.Rows[i].A, w.Rows[i].B = w.Rows[i].B, w.Rows[i].A
	}
	back := compared(t, w, o)
	back.eachLabel(func(k int, l *LabelDiff) {
		f := &forth.WithoutError
		if k > 0 {
			f = &forth.Labels[k-1]
		}
		if l.Difference != -f.Difference || l.Gained != f.Lost || !reflect.DeepEqual(l.GainedIDs, f.LostIDs) ||
			!near(l.Low, float64(-f.High), 1e-12) {
			t.Errorf("%s: %+v is not the opposite of %+v", l.Label, l, f)
		}
	})
}

func TestDiffOfOtherRows(t *testing.T) {
	w, toy := readWitness(t)
	tagged := w.diagnosis("m@1", []bool{true, false, false})
	row := func(id string, values ...string) *dataset.Row { return &dataset.Row{ID: id, Values: values} }
	for _, sameText := range []bool{false, true} {
		c := NewComparison(DiffOptions{Taxonomy: toy, SameTextOnly: sameText})
		rowsA := []diffRow{{Row: row("only a"), diagnosis: tagged}, {Row: row("changed"), diagnosis: tagged},
			{Row: row("untagged in a")}, {Row: row("untagged in b"), diagnosis: tagged}, {Row: row("same"), diagnosis: tagged}}
		rowsB := []diffRow{{Row: row("same"), diagnosis: tagged}, {Row: row("only b"), diagnosis: tagged},
			{Row: row("untagged in a"), diagnosis: tagged}, {Row: row("changed", "text"), diagnosis: tagged},
			{Row: row("untagged in b"), diagnosis: &dataset.Diagnosis{Status: dataset.StatusUntagged}}}
		for _, r := range rowsA {
			if err := c.add(0, r); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range rowsB {
			if err := c.add(1, r); err != nil {
				t.Fatal(err)
			}
		}
		d, err := c.ComputeDiff()
		if err != nil {
			t.Fatal(err)
		}
		want := 2
		if sameText {
			want = 1
		}
		if d.Compared != want || d.Both != 4 || d.ChangedText != 1 || d.A.Untagged != 1 || d.B.Untagged != 1 ||
			!reflect.DeepEqual(d.A.OnlyExamples, []string{"only a"}) || !reflect.DeepEqual(d.B.OnlyExamples,
			[]string{"only b"}) {
			t.Errorf("same text only %v: %+v", sameText, d)
		}
	}
}

// Where only B repeats an id, the row with A's text is the one that is compared, wherever it stands; where no row has
// it, it is not known which one is meant, and none is. Copies are one.
func TestDiffWhereIDsRepeatInB(t *testing.T) {
	w, toy := readWitness(t)
	tagged, other := w.diagnosis("m@1", []bool{true, false, false}), w.diagnosis("m@1", []bool{false, true, false})
	row := func(id, text string) *dataset.Row { return &dataset.Row{ID: id, Values: []string{text}} }
	const both, changed, changedLabels, onlyA, onlyB = 0, 1, 2, 3, 4
	for texts, want := range map[string][5]int{
		"1":       {both: 1},
		"2":       {both: 1, changed: 1, changedLabels: 1},
		"1 2":     {both: 1, onlyB: 1},
		"2 1":     {both: 1, onlyB: 1},
		"2 1 3":   {both: 1, onlyB: 2},
		"2 3 1":   {both: 1, onlyB: 2},
		"2 3":     {onlyA: 1, onlyB: 2},
		"2 2":     {both: 1, changed: 1, changedLabels: 1, onlyB: 1},
		"2 3 4":   {onlyA: 1, onlyB: 3},
		"2 3 1 4": {both: 1, onlyB: 3},
	} {
		c := NewComparison(DiffOptions{Taxonomy: toy})
		faults := []error{c.add(0, diffRow{Row: row("y", "1"), diagnosis: tagged}),
			c.add(0, diffRow{Row: row("x", "1"), diagnosis: tagged})}
		faults = append(faults, c.add(1, diffRow{Row: row("y", "1"), diagnosis: tagged}))
		for _, text := range strings.Fields(texts) {
			d := other
			if text == "1" {
				d = tagged
			}
			faults = append(faults, c.add(1, diffRow{Row: row("x", text), diagnosis: d}))
		}
		d, err := c.ComputeDiff()
		if err := errors.Join(append(faults, err)...); err != nil {
			t.Fatal(err)
		}
		if got := [5]int{d.Both - 1, d.ChangedText, d.ChangedLabels, d.A.Only, d.B.Only}; got != want {
			t.Errorf("%s: %v, want %v (both, changed text, changed labels, only A, only B)", texts, got, want)
		}
	}
}

// Systems that are paired with others are named, and how to compare one of them alone.
func TestPairingOfSystems(t *testing.T) {
	of := []dataset.SystemPairs{{A: "s", B: "s2", Pairs: 9}, {A: "t", Pairs: 4}, {A: "u", Pairs: 2}, {A: "v", Pairs: 1}}
	p := NewPairing(&dataset.Pairs{By: []string{"id"}, Systems: of, Column: "model", Both: 16}, 16, 16)
	const want = `pairs are of systems with other names, A's with B's: "s" with "s2" (9), "t" with none (4), "u" with none (2), ` +
		`and 1 more; to compare one system of A alone: erreval show 'my a.csv' --where model=NAME -o ONE`
	if notes := p.Notes("my a.csv", "b.csv"); len(notes) != 1 || notes[0] != want {
		t.Errorf("%q", notes)
	}
	p = NewPairing(&dataset.Pairs{By: []string{"id"}, Moved: 1, Both: 16}, 16, 16)
	if notes := p.Notes("a", "b"); len(notes) != 1 || !strings.HasPrefix(notes[0], "1 row of B has the very text") {
		t.Errorf("%q", notes)
	}
}

// An id that is that of rows on other inputs is not recommended.
func TestPairingAdvice(t *testing.T) {
	for mixed, want := range map[bool]int{true: 0, false: 1} {
		p := NewPairing(&dataset.Pairs{By: []string{"answer"}, Mixed: mixed, Would: []string{"id"}, Both: 1}, 4, 4)
		if len(p.Would) != want || strings.Contains(p.Fact(), "--id id would") == mixed {
			t.Errorf("mixed %v: %s", mixed, p.Fact())
		}
	}
}

// TestStale: of a text that somebody changed in a tagged file the model says the very same as before.
func TestStale(t *testing.T) {
	const row = `{"id":"1","passage":"P","answer":"x","question":%q,"diagnosis":{"labels":["Vague"],"probabilities":{"Vague":%v}}}`
	for name, c := range map[string]struct {
		question string
		p        float64
		want     bool
	}{"changed": {"Who built it?", 0.73, true}, "tagged again": {"Who built it?", 0.12, false},
		"case and space": {"who build  it?", 0.73, false}} {
		tax, read := readLines(t, fmt.Sprintf(row, "Who build it?", 0.73))
		d := NewComparison(DiffOptions{Taxonomy: tax})
		if err := d.ReadA(t.Context(), "a.csv", read); err != nil {
			t.Fatal(err)
		}
		_, read = readLines(t, fmt.Sprintf(row, c.question, c.p))
		if err := d.ReadB(t.Context(), "b.csv", read); err != nil {
			t.Fatal(err)
		}
		got, err := d.ComputeDiff()
		if err != nil {
			t.Fatal(err)
		}
		said := fmt.Sprint(got.Warnings())
		if strings.Contains(said, "1 row has another text in B, and of both the model said the very same") != c.want {
			t.Errorf("%s: %s", name, said)
		}
	}
}
