package selection

import (
	"cmp"
	"fmt"
	"slices"
)

// items are the rows that were picked, in an order that tells nothing of their reasons, and some of the first half once
// more in the second: half a batch lies between a row and its repetition, so that the first answer is not remembered.
func (p *picker) items() []Pick {
	items := slices.Clone(p.picked)
	order := func(a, b Pick) int {
		return cmp.Or(cmp.Compare(keys(p.s.in.Seed, a.ID)[keyOrder], keys(p.s.in.Seed, b.ID)[keyOrder]),
			cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(items, order)
	half := len(items) / 2
	return repeat(items, half, min(p.s.in.quotas()[Control], half))
}

// repeat spreads n of the first half of items over the second half: the one at place i comes back behind the one at
// i+half.
func repeat(items []Pick, half, n int) []Pick {
	after := map[int]int{} // place of an item to that of the one repeated behind it
	for k := range n {
		from := k * half / n
		after[from+half] = from
	}
	var out []Pick
	for i, it := range items {
		out = append(out, it)
		if from, ok := after[i]; ok {
			again := items[from]
			again.Reason, again.ControlOf = Control, from
			again.Why = fmt.Sprintf("repeats a row of this batch (chosen as %s) to see whether it gets the same labels",
				items[from].Reason)
			out = append(out, again)
		}
	}
	return out
}
