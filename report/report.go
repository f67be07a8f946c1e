// Package report says what is in tagged rows, as figures and tables in text, Markdown and JSON. A Tally counts the rows
// of files for Stats, a Comparison those of two files for a Diff; both read with a dataset.Reader's Read. Stats and
// Diff hold the figures and marshal to JSON with stable keys; each becomes a Report, which renders as text for a
// terminal or as Markdown. Number, Figure and Difference are what figures are made of, here and in package evaluation.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Report is a report in any format. Its texts may hold anything, users' texts included: the renderers escape what a
// terminal or a Markdown page would execute.
type Report struct {
	Title    string
	Facts    []string // one line each: what bounds the figures
	Method   []string // one line each: how the figures were made, for a paper or a page; a terminal does without
	Sections []Section
	Result   string // a sentence that says the result, at the end; may be missing
}

// Section is a heading with notes and a table, each of which may be missing.
type Section struct {
	Title   string
	Summary string   // the result in a sentence, where the page folds the rest; may be missing
	Codes   []string // what short titles of columns stand for
	Notes   []string
	Table   Table
	Narrow  Table // in its place in a terminal that is too narrow for it; may be missing
	LaTeX   Table // in its place in LaTeX; may be missing
}

// Table is a grid; every row has as many cells as there are columns. A cell is a text, a count, a Number, a Figure, or
// a Cell where one of these has a format.
type Table struct {
	Columns []Column
	Rows    [][]any
	// Clip lets names in the first column be clipped, and columns stand closer, where a terminal is narrow.
	Clip bool
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

// Text writes the report for a terminal of so many columns, or for a log, where lines may be of any length (0); without
// colours.
func (r *Report) Text(w io.Writer, width int) error {
	var b strings.Builder
	line := func(s string) { b.WriteString(words.Printable(s) + "\n") }
	line(r.Title)
	for _, fact := range r.Facts {
		line(fact)
	}
	for _, s := range r.Sections {
		b.WriteString("\n")
		line(s.Title)
		for _, note := range slices.Concat(s.Codes, s.Notes) {
			line(note)
		}
		if len(s.Table.Rows) > 0 {
			b.WriteString(s.text(width) + "\n")
		}
	}
	if r.Result != "" {
		b.WriteString("\n")
		line(r.Result)
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
	list(slices.Concat(r.Facts, r.Method))
	for _, s := range r.Sections {
		b.WriteString("\n### " + escapeMarkdown(s.Title) + "\n")
		list(slices.Concat(s.Codes, s.Notes))
		if len(s.Table.Rows) > 0 {
			b.WriteString("\n" + s.Table.Markdown() + "\n")
		}
	}
	if r.Result != "" {
		b.WriteString("\n" + escapeMarkdown(r.Result) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text is the section's table in so many columns, 0 for any number.
func (s *Section) text(width int) string {
	text := s.Table.fit(width)
	if len(s.Narrow.Rows) > 0 && !fits(text, width) {
		return s.Narrow.fit(width)
	}
	return text
}

func fits(lines string, width int) bool { return width == 0 || text.LongestLineLen(lines) <= width }

// leastName is the length to which names are clipped at most.
const leastName = 10

// fit is the table with aligned columns, without a last line break. Where it is wider than so many columns, and may be
// clipped, it is made as narrow as it needs to be, and can.
func (t Table) fit(width int) string {
	lines := t.text("  ")
	if !t.Clip || fits(lines, width) {
		return lines
	}
	if lines = t.text(" "); fits(lines, width) {
		return lines
	}
	longest := 0
	for _, row := range t.Rows {
		longest = max(longest, text.StringWidth(words.Printable(fmt.Sprint(row[0]))))
	}
	most := max(leastName, longest-(text.LongestLineLen(lines)-width))
	rows := make([][]any, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = slices.Concat([]any{words.ClipMiddle(words.Printable(fmt.Sprint(row[0])), most)}, row[1:])
	}
	t.Rows = rows
	return t.text(" ")
}

// text is the table with so much between columns; where it is one blank, headings break at their blanks.
func (t Table) text(gap string) string {
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", gap
	style.Format = table.FormatOptions{} // headings as they are
	w := t.writer(words.Printable, gap == " ")
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	return w.Render()
}

// Markdown is the table as GitHub reads it, without a last line break.
func (t Table) Markdown() string { return t.writer(escapeMarkdown, false).RenderMarkdown() }

func (t Table) writer(escape func(string) string, breakHeadings bool) table.Writer {
	w := table.NewWriter()
	head, configs := make(table.Row, len(t.Columns)), make([]table.ColumnConfig, len(t.Columns))
	for i, c := range t.Columns {
		title := escape(c.Title)
		if breakHeadings {
			title = strings.ReplaceAll(title, " ", "\n")
		}
		head[i], configs[i] = title, table.ColumnConfig{Number: i + 1, VAlignHeader: text.VAlignBottom}
		if c.Right {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(configs)
	for _, cells := range t.Rows {
		row := make(table.Row, len(cells))
		for i, cell := range cells {
			row[i] = escape(fmt.Sprint(cell))
		}
		w.AppendRow(row)
	}
	return w
}

// heading is that of a column of a page. Its kinds are text, number, and share (0 to 1, shown as %).
type heading struct {
	Title string `json:"title"`
	Kind  string `json:"kind"`
}

// MarshalJSON writes the columns and rows of a page, which prints numbers itself: cells are texts, numbers or null, and
// the ends of intervals have columns of their own.
func (t Table) MarshalJSON() ([]byte, error) {
	columns, rows := []heading{}, make([][]any, len(t.Rows))
	for at, c := range t.Columns {
		kind, width := t.kind(at)
		for _, title := range []string{c.Title, "from", "to"}[:width] {
			columns = append(columns, heading{title, kind})
		}
		for i, row := range t.Rows {
			cells := values(row[at])
			switch {
			case kind == "text":
				cells = []any{fmt.Sprint(row[at])}
			case cells[0] == "":
				cells[0] = Undefined
			}
			rows[i] = slices.Concat(rows[i], cells, []any{Undefined, Undefined}[:width-len(cells)])
		}
	}
	return json.Marshal(struct {
		Columns []heading `json:"columns"`
		Rows    [][]any   `json:"rows"`
	}{columns, rows})
}

// kind is that of a column, in which nothing may stand for an unknown number, and how many columns of a page it is.
func (t Table) kind(at int) (kind string, width int) {
	kind, width = "text", 1
	for _, row := range t.Rows {
		cell, _ := row[at].(Cell)
		name, isText := row[at].(string)
		switch {
		case name != "":
			return "text", 1
		case strings.HasSuffix(cell.Format, "%%"):
			kind = "share"
		case !isText && kind == "text":
			kind = "number"
		}
		width = max(width, len(values(row[at])))
	}
	return kind, width
}

// values are what a cell holds: a figure has three.
func values(cell any) []any {
	switch v := cell.(type) {
	case Cell:
		return values(v.Of)
	case Difference:
		return values(v.Figure)
	case Figure:
		return []any{v.Value, v.Low, v.High}
	}
	return []any{cell}
}
