package view

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// Formats of an export.
const (
	ExportJSONL = dataset.JSONL
	ExportCSV   = dataset.CSV
)

// ExportQuery asks for all rows that a filter chooses.
type ExportQuery struct {
	Filter Filter `json:"filter"`
	Sort   Sort   `json:"sort"`
	Format string `json:"format"` // ExportJSONL, the records, or ExportCSV, what a table of rows shows and the texts whole
}

// Exporter is a Source that can write rows out.
type Exporter interface {
	// Export writes rows. An error before anything was written is about the query.
	Export(context.Context, io.Writer, ExportQuery) error
}

// Export implements Exporter.
func (x *Index) Export(ctx context.Context, w io.Writer, q ExportQuery) error {
	if q.Format != ExportJSONL && q.Format != ExportCSV {
		return queryErrorf("there is no format %q; rows are exported as %q or %q", q.Format, ExportJSONL, ExportCSV)
	}
	l, err := x.list(ctx, &q.Filter, q.Sort)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	write := func(_ int, e *entry) error {
		_, _ = out.Write(e.record)
		return out.WriteByte('\n')
	}
	if q.Format == ExportCSV {
		if write, err = x.tableWriter(out); err != nil {
			return err
		}
	}
	for _, n := range l.first(l.total) {
		e, err := x.entry(ctx, n)
		if err == nil {
			err = write(n, e)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// tableWriter writes a header, and gives what writes a row: its texts whole, unlike those of a list.
func (x *Index) tableWriter(out *bufio.Writer) (func(int, *entry) error, error) {
	table := csv.NewWriter(out)
	c := &x.meta.Catalog
	cells := []string{"run", "id"}
	for _, f := range c.Fields {
		cells = append(cells, f.Name)
	}
	for i := range c.Facets {
		if key := c.Facets[i].Key; key != facetRun && key != facetBoth {
			cells = append(cells, key)
		}
	}
	for i := range c.Measures {
		cells = append(cells, c.Measures[i].Key)
	}
	hasMarks := x.hasMarks()
	if hasMarks {
		cells = append(cells, "marked", "marked.notes")
	}
	write := func() error { return writeCells(table, cells) }
	return func(n int, e *entry) error {
		s := x.summary(n, e)
		row, err := dataset.RowOf(e.record)
		if err != nil {
			return err
		}
		cells = append(cells[:0], c.Runs[s.Run].Name, s.ID)
		for _, f := range c.Fields {
			texts := fieldTexts(row, f.Name, cmp.Or(c.Runs[s.Run].Columns[f.Name], f.Name))
			cells = append(cells, strings.Join(texts, " | "))
		}
		for i := range c.Facets {
			f := &c.Facets[i]
			if f.Key == facetRun || f.Key == facetBoth {
				continue
			}
			var names []string
			for _, place := range s.Facets[f.Key] {
				names = append(names, f.Values[place].Name)
			}
			cells = append(cells, strings.Join(names, "; "))
		}
		for i := range c.Measures {
			cell := ""
			if x := s.Measures[c.Measures[i].Key]; x != nil {
				cell = strconv.FormatFloat(*x, 'g', -1, 64)
			}
			cells = append(cells, cell)
		}
		if hasMarks {
			mark := cmp.Or(x.markOf(n), &Marked{})
			cells = append(cells, strings.Join(mark.Labels, "; "), mark.Notes)
		}
		return write()
	}, write()
}

// writeCells writes a line of cells, of which none is a formula.
func writeCells(table *csv.Writer, cells []string) error {
	for i := range cells {
		if dataset.FormulaLike(cells[i]) {
			cells[i] = "'" + cells[i]
		}
	}
	err := table.Write(cells)
	table.Flush()
	return err
}
