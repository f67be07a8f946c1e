package review

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestHits: rows of the random slice are counted apart, others than were decided are listed, control rows and undecided
// ones count nowhere. Wilson's interval of 0 of 5 is 0 to t²/(5+t²), with t of 4 degrees of freedom by scipy 2.77645.
func TestHits(t *testing.T) {
	item := func(id, reason, of, found string) Item {
		return Item{ItemID: id, Reason: reason, ControlOf: of, Proposed: &Proposed{Labels: []string{found}}}
	}
	f := &Frozen{All: []Item{item("1", Uncertain, "", "Vague"), item("2", Uncertain, "", "No Error"),
		item("3", Random, "", "No Error"), item("4", Control, "1", "Vague"), item("5", Uncertain, "", "Vague")}}
	decided := map[string][]string{"1": {"Vague"}, "2": {"Vague"}, "3": {"No Error"}, "4": {"No Error"}}
	chosen, random := f.Hits(&Earlier{Decided: decided}, nil)
	if chosen.Rows != 2 || chosen.Same != 1 || random.Rows != 1 || random.Same != 1 || len(random.Misses) > 0 {
		t.Errorf("%+v, %+v", chosen, random)
	}
	if m := chosen.Misses; len(m) != 1 || m[0].ItemID != "2" || !slices.Equal(m[0].Labels, []string{"Vague"}) ||
		!slices.Equal(m[0].Found, []string{"No Error"}) {
		t.Errorf("%+v", m)
	}
	now, _ := f.Hits(&Earlier{Decided: decided}, map[string][]string{"": {"Vague"}}) // all have the text ""
	if now.Rows != 3 || now.Same != 2 {
		t.Errorf("with a later step's labels: %+v", now)
	}
	open := &Earlier{Decided: decided, Conflicts: []Conflict{{ItemID: "2"}}} // merged before, in conflict since
	waits, _ := f.Hits(open, nil)
	open.Marked = map[string]time.Time{"": {}}
	marked, _ := f.Hits(open, nil)
	if waits.Rows != 1 || waits.Same != 1 || marked.Rows != 2 {
		t.Errorf("in conflict: %+v, and marked: %+v", waits, marked)
	}
	low, high := (&Hits{Rows: 5}).Interval()
	if low != 0 || math.Abs(high-0.606567) > 1e-6 {
		t.Errorf("%v to %v", low, high)
	}
}
