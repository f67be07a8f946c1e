package refine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/erreval/erreval/training/review"
)

// TestFaultErrors: what is wrong with many items is said once.
func TestFaultErrors(t *testing.T) {
	fault := func(item, reason string) *review.Fault { return &review.Fault{ItemID: item, Reason: reason} }
	var twenty, thirty []*review.Fault
	for i := range 20 {
		twenty = append(twenty, fault(fmt.Sprintf("B%02d", i), "nobody answered it"))
	}
	for i := range 30 {
		thirty = append(thirty, fault("B00", fmt.Sprintf("reason %02d", i)))
	}
	for name, c := range map[string]struct {
		faults []*review.Fault
		lines  int
		first  string
		last   string
	}{
		"one":        {twenty[:1], 1, "item B00: nobody answered it", ""},
		"two equal":  {twenty[:2], 1, "item B00: nobody answered it (and the same in 1 other place)", ""},
		"twenty":     {twenty, 1, "item B00: nobody answered it (and the same in 19 other places)", ""},
		"others too": {append(twenty, fault("C", "skipped")), 2, "item B00: nobody answered it (and the same in 19 other places)", "item C: skipped"},
		"thirty":     {append(thirty, twenty...), 21, "item B00: reason 00", "and 30 more"},
	} {
		t.Run(name, func(t *testing.T) {
			got := faultErrors(c.faults)
			if len(got) != c.lines || got[0].Error() != c.first || c.last != "" && got[len(got)-1].Error() != c.last {
				t.Errorf("got %d lines:\n%v", len(got), errors.Join(got...))
			}
		})
	}
}
