package selection

import (
	"fmt"

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
