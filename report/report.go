// Package report says what is in tagged rows. A Tally counts the rows of files for Stats, a Comparison those of two
// files for a Diff; both read with a dataset.Reader's Read. Stats and Diff hold the figures and marshal to JSON with
// stable keys; each becomes a Report, which renders as text for a terminal or as Markdown. Number, Figure and
// Difference are what figures are made of, here and in package evaluation.
package report

import (
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
	Facts    []string // one line each: what was read, and how
	Sections []Section
	Result   string // a sentence that says the result, at the end; may be missing
}

// Section is a heading with notes and a table, each of which may be missing.
type Section struct {
	Title  string
	Notes  []string
	Table  Table
	Narrow Table // in its place in a terminal that is too narrow for it; may be missing
	LaTeX  Table // in its place in LaTeX; may be missing
}

// Table is a grid of texts; every row has as many cells as there are columns.
type Table struct {
	Columns []Column
	Rows    [][]string
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
		for _, note := range s.Notes {
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
	list(r.Facts)
	for _, s := range r.Sections {
		b.WriteString("\n### " + escapeMarkdown(s.Title) + "\n")
		list(s.Notes)
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
		longest = max(longest, text.StringWidth(words.Printable(row[0])))
	}
	most := max(leastName, longest-(text.LongestLineLen(lines)-width))
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = slices.Concat([]string{words.ClipMiddle(words.Printable(row[0]), most)}, row[1:])
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
			row[i] = escape(cell)
		}
		w.AppendRow(row)
	}
	return w
}
