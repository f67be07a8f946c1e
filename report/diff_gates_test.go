package report

import (
	"testing"

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
