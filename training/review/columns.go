package review

import (
	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Column is a text of each item that reviewers read, on the page and in the files of every format.
type Column struct {
	Name       string
	Definition string
	Group      bool // rows may share it, as a passage; the page and the workbook mark in it what the other columns say

	text func(it *Item, source *dataset.Row) string
}

// columnsOf are the columns of a batch: the taxonomy's fields, in its order. A further column stands behind them.
func columnsOf(t *taxonomy.Taxonomy) (list []Column) {
	for k, f := range t.Fields {
		list = append(list, Column{Name: f.Name, Definition: f.Definition, Group: f.Group,
			text: func(_ *Item, source *dataset.Row) string { return source.Values[k] }})
	}
	return list
}
