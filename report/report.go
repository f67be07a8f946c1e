// Package report says what is in tagged rows. A Tally counts the rows of files for Stats, a Comparison those of two
// files for a Diff; both read with a dataset.Reader's Read. Stats and Diff hold the figures and marshal to JSON with
// stable keys; each becomes a Report, which renders as text for a terminal or as Markdown. Number, Figure and
// Difference are what figures are made of, here and in package evaluation.
package report

import (
	"io"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Report is a report in any format. Its texts may hold anything, users' texts included: the renderers escape what a
// terminal or a Markdown page would execute.
type Report struct {
	Title    string
	Facts    []string // one line each: what was read, and how
	Sections []Section
}

// Section is a heading with notes and a table, each of which may be missing.
type Section struct {
	Title string
	Notes []string
	Table Table
}

// Table is a grid of texts; every row has as many cells as there are columns.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Column is the heading of a column.
type Column struct {
	Title string
	Right bool // numbers are aligned to the right
}

// NewTable is an empty table of texts in the first column and numbers in the others.
func NewTable(titles ...string) Table {
	var t Table
	for i, title := range titles {
		t.Columns = append(t.Columns, Column{Title: title, Right: i > 0})
	}
	return t
}

// Text writes the report for a terminal or a log, without colours.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	line := func(s string) { b.WriteString(words.Printable(s) + "\n") }
	line(r.Title)
	for _, fact := range r.Facts {
		line(fact)
	}
	for _, s := range r.Sections {
		b.WriteString("\n")
		line(s.Title)
		for _, note := range s.Notes {
			line(note)
		}
		if len(s.Table.Rows) > 0 {
			b.WriteString(s.Table.Text() + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the report for a page, as in $GITHUB_STEP_SUMMARY.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("## " + escapeMarkdown(r.Title) + "\n")
	list := func(lines []string) {
		for i, l := range lines {
			if i == 0 {
				b.WriteString("\n")
			}
			b.WriteString("- " + escapeMarkdown(l) + "\n")
		}
	}
	list(r.Facts)
	for _, s := range r.Sections {
		b.WriteString("\n### " + escapeMarkdown(s.Title) + "\n")
		list(s.Notes)
		if len(s.Table.Rows) > 0 {
			b.WriteString("\n" + s.Table.Markdown() + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Text is the table with aligned columns, without a last line break.
func (t Table) Text() string {
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format = table.FormatOptions{} // headings as they are
	w := t.writer(words.Printable)
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	return w.Render()
}

// Markdown is the table as GitHub reads it, without a last line break.
func (t Table) Markdown() string { return t.writer(escapeMarkdown).RenderMarkdown() }

func (t Table) writer(escape func(string) string) table.Writer {
	w := table.NewWriter()
	head, configs := make(table.Row, len(t.Columns)), make([]table.ColumnConfig, len(t.Columns))
	for i, c := range t.Columns {
		head[i], configs[i] = escape(c.Title), table.ColumnConfig{Number: i + 1}
		if c.Right {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(configs)
	for _, cells := range t.Rows {
		row := make(table.Row, len(cells))
		for i, cell := range cells {
			row[i] = escape(cell)
		}
		w.AppendRow(row)
	}
	return w
}
