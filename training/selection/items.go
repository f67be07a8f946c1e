package selection

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/erreval/erreval/training/review"
)

// Lines are the batch as its files have it: the items of items.jsonl, with ids that begin with the batch's name, and
// the bytes of auto.jsonl.
func (b *Batch) Lines(batch string) (items []review.Item, auto []byte, err error) {
	for i := range b.Items {
		it, err := itemOf(&b.Items[i])
		if err != nil {
			return nil, nil, err
		}
		it.ItemID, it.Reason = itemID(batch, i), b.Items[i].Reason
		if of := b.Items[i].ControlOf; of >= 0 {
			it.ControlOf = itemID(batch, of)
		}
		items = append(items, *it)
	}
	lines := make([]*review.Item, len(b.Auto)) // items without an id and a reason
	for i := range b.Auto {
		if lines[i], err = itemOf(&b.Auto[i]); err != nil {
			return nil, nil, err
		}
	}
	auto, err = review.Lines(lines)
	return items, auto, err
}

func itemID(batch string, i int) string { return fmt.Sprintf("%s-%04d", batch, i+1) }

func itemOf(p *Pick) (*review.Item, error) {
	it := &review.Item{RowID: p.ID, Why: p.Why, TextSHA256: p.Row.TextHash(), Row: p.Row.JSON()}
	d, err := p.Row.Diagnosis()
	if err != nil {
		return nil, err
	}
	if d != nil && d.Status == "" {
		it.Proposed = &review.Proposed{Labels: d.Labels, Probabilities: d.Probabilities}
	}
	if g := p.Signals; g != nil {
		it.Uncertainty = &g.Uncertainty
		if g.Verified != nil {
			it.Inconsistency = &g.Inconsistency
		}
	}
	return it, nil
}

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
