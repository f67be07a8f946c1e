package refine

import (
	"errors"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// Changes are the rows of the training set and of random slices to which a merge gives other labels. The JSON keys are
// stable.
type Changes struct {
	Changed   int      `json:"changed"`              // rows
	ChangedOf []string `json:"changed_of,omitempty"` // who gave the labels before; StartRows is the start
}

// changes finds the rows that have other labels than these, by text.
func (w *Workspace) changes(labels map[string][]string) (c Changes, err error) {
	look := func(row *dataset.Row) error {
		now, ok := labels[row.TextHash()]
		if !ok {
			return nil
		}
		before, err := row.Labels(w.Taxonomy)
		if err != nil || slices.Equal(before, now) {
			return err
		}
		p, err := ProvenanceOf(row)
		if len(p.By) == 0 {
			p.By = []string{StartRows}
		}
		c.Changed++
		c.ChangedOf = append(c.ChangedOf, p.By...)
		return err
	}
	err = errors.Join(w.EachTraining(func(_ string, row *dataset.Row) error { return look(row) }), w.EachRandom(look))
	slices.Sort(c.ChangedOf)
	c.ChangedOf = slices.Compact(c.ChangedOf)
	return c, err
}

// add says how many labels the merge changes, and whose.
func (c *Changes) add(out *report.Lines) {
	if c.Changed > 0 {
		out.Add("of them", "%s labels that %s gave", words.Plural(c.Changed, "row changes", "rows change"),
			strings.Join(c.ChangedOf, " and "))
	}
}
