package report

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
)

// TestGrownSpread: a fall of the rows without error that is spread over several error types counts once.
func TestGrownSpread(t *testing.T) {
	limits := []gate.Gate{{Text: "grown>0", Subject: Grown, Op: ">"}, {Text: "shrunk>0", Subject: Shrunk, Op: ">"}}
	for _, c := range []struct {
		without, vague Number // differences
		p, pVague      Number
		grown, shrunk  int
		reason         string
	}{
		{-0.1, 0.05, 0.01, 0.2, 1, 0, "grown: 1 of 1 error types: rows with any error; fails if > 0: missed by 1"},
		{-0.1, 0.05, 0.01, 0.01, 1, 0, "grown: 1 of 1 error types: Vague; fails if > 0: missed by 1"},
		{-0.1, 0.05, 0.2, 0.2, 0, 0, "grown: 0 of 1 error types; fails if > 0"},
		{0.1, -0.05, 0.01, 0.2, 0, 1, "grown: 0 of 1 error types; fails if > 0"},
	} {
		d := &Diff{Compared: 50, WithoutError: LabelDiff{Difference: c.without, P: c.p, PHolm: c.p},
			Labels: []LabelDiff{{Label: "Vague", Difference: c.vague, P: c.pVague, PHolm: c.pVague}}}
		got := d.CheckGates(limits, "No Error")
		if got[0].Rows != c.grown || got[1].Rows != c.shrunk || got[0].Reason != c.reason {
			t.Errorf("%+v: %d grown, %d shrunk, %q", c, got[0].Rows, got[1].Rows, got[0].Reason)
		}
		d.Interval = Interval{Group: "passage", Groups: 4} // of which nothing can be sure
		few := d.CheckGates(limits, "No Error")
		if up := c.without < 0; few[0].Missed != up || few[1].Missed == up {
			t.Errorf("%+v of few groups: %+v", c, few)
		}
		d.Interval, d.Thresholds = Interval{}, []Thresholds{{text: "Vague 0.5"}, {text: "Vague 0.9"}}
		if other := d.CheckGates(limits, "No Error"); !other[0].Missed || !other[1].Missed {
			t.Errorf("%+v with other thresholds: %+v", c, other)
		}
	}
}

// TestGrownOfSystem: one of two systems is worse in B and the other one better, as many rows of each.
func TestGrownOfSystem(t *testing.T) {
	of := func(change int) (*Diff, error) { // rows of each system that change
		tax, _ := readLines(t)
		c := NewComparison(DiffOptions{Taxonomy: tax, Group: "passage"})
		for side, read := range []func(context.Context, string, func() (*dataset.Row, error)) error{c.ReadA, c.ReadB} {
			var lines []string
			for k := range 60 {
				for _, system := range []string{"s", "t"} {
					label := "No Error"
					if (system == "t") != (k < change && side == 1) {
						label = "Vague"
					}
					lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":"all","model":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
						`"diagnosis":{"labels":[%[3]q]}}`, system, k, label))
				}
			}
			_, rows := readLines(t, lines...)
			if err := read(t.Context(), "f", rows); err != nil {
				t.Fatal(err)
			}
		}
		return c.ComputeDiff()
	}
	limits := []gate.Gate{{Text: "grown>0", Subject: Grown, Op: ">"}, {Text: "shrunk>0", Subject: Shrunk, Op: ">"}}
	for change, want := range map[int][2]string{2: {}, 20: {"rows with any error of s", "rows with any error of t"}} {
		d, err := of(change)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range d.CheckGates(limits, "No Error") {
			if r.Missed != (want[i] != "") || !strings.Contains(r.Reason, want[i]) {
				t.Errorf("%d changed: %+v, want %s", change, r, want[i])
			}
		}
		text := d.pooled()[0]
		const sure = "surely changed: s -33.3 points (p <0.001), t +33.3 points (p <0.001)"
		if said := strings.Contains(text, sure); said != (change == 20) {
			t.Errorf("%d changed: %s", change, text)
		}
	}
}
