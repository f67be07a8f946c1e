package rows

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table prints rows and what was found in them, one below the other as they come.
type Table struct {
	// Thresholds of the model; nil if it has none.
	Thresholds dataset.Probabilities

	w      io.Writer
	fields []int    // fields that are shown: all but the one that intervals group by, which is long
	names  []string // headings
	widths []int
	n      int
	right  string // the label of a row without error; "" without one
}

// Sizes of the table, in columns and lines.
const (
	numberWidth = 4
	leastCell   = 6
	errorsWidth = 36 // at most, and 2/5 of the table
	cellLines   = 6  // longer cells end with …
)

// NewTable prints to w, in a terminal of so many columns. A narrower one than 40 is taken for 40.
func NewTable(w io.Writer, columns int, t *taxonomy.Taxonomy) *Table {
	tab := &Table{w: w, names: []string{"line"}, widths: []int{numberWidth}}
	if i := t.NoErrorIndex(); i >= 0 {
		tab.right = t.Types[i].Name
	}
	for i, f := range t.Fields {
		if !f.Group {
			tab.fields = append(tab.fields, i)
			tab.names = append(tab.names, f.Name)
		}
	}
	// The first field is the judged one: it is twice as wide as the others.
	columns = max(columns, leastWidth)
	errors := min(errorsWidth, columns*2/5)
	room := columns - numberWidth - errors - 2*(len(tab.fields)+1)
	unit := max(room/(len(tab.fields)+1), leastCell)
	for i := range tab.fields {
		width := unit
		if i == 0 {
			width = room - unit*(len(tab.fields)-1)
		}
		tab.widths = append(tab.widths, max(width, leastCell))
	}
	tab.names, tab.widths = append(tab.names, "errors found (probability)"), append(tab.widths, errors)
	return tab
}

// WriteRow prints a row with its diagnosis, and the head of the table before the first one.
func (t *Table) WriteRow(row *dataset.Row, d *dataset.Diagnosis) error {
	var b strings.Builder
	if t.n == 0 {
		t.writeCells(&b, t.names)
		rule := make([]string, len(t.widths))
		for i, w := range t.widths {
			rule[i] = strings.Repeat("─", w)
		}
		t.writeCells(&b, rule)
	}
	t.n++
	cells := []string{strconv.Itoa(cmp.Or(row.Line, t.n))}
	for _, i := range t.fields {
		cells = append(cells, oneLine(row.Values[i]))
	}
	t.writeCells(&b, append(cells, t.describeDiagnosis(d)))
	_, err := io.WriteString(t.w, b.String())
	return err
}

// writeCells writes cells side by side, each wrapped to its width.
func (t *Table) writeCells(b *strings.Builder, cells []string) {
	wrapped, height := make([][]string, len(cells)), 0
	for i, cell := range cells {
		var lines []string
		for part := range strings.SplitSeq(cell, "\n") {
			lines = append(lines, strings.Split(text.WrapSoft(part, t.widths[i]), "\n")...)
		}
		if len(lines) > cellLines {
			lines = append(lines[:cellLines-1], "…")
		}
		wrapped[i], height = lines, max(height, len(lines))
	}
	for l := range height {
		var parts []string
		for i, lines := range wrapped {
			cell := ""
			if l < len(lines) {
				cell = strings.TrimRight(lines[l], " ")
			}
			parts = append(parts, text.Pad(cell, t.widths[i], ' '))
		}
		b.WriteString(strings.TrimRight(strings.Join(parts, "  "), " ") + "\n")
	}
}

// describeDiagnosis names the labels of a diagnosis, each error with its probability.
func (t *Table) describeDiagnosis(d *dataset.Diagnosis) string {
	if d.Status != "" {
		return d.Status + ": " + oneLine(d.Reason)
	}
	lines := make([]string, len(d.Labels))
	for i, label := range d.Labels {
		lines[i] = label
		if p, ok := d.Probabilities.Get(label); ok {
			lines[i] += fmt.Sprintf(" (%.2f)", p)
		}
	}
	if next := t.nearest(d); next != "" {
		lines = append(lines, "nearest: "+next)
	}
	if len(d.NotJudged) > 0 {
		lines = append(lines, strings.Join(d.NotJudged, ", ")+": not judged")
	}
	return strings.Join(lines, "\n")
}

// nearest is the likeliest error of a row in which none reaches its threshold, where it is likelier than No Error.
func (t *Table) nearest(d *dataset.Diagnosis) string {
	if len(d.Labels) != 1 || d.Labels[0] != t.right || len(d.Probabilities) == 0 {
		return ""
	}
	best := slices.MaxFunc(d.Probabilities, func(a, b dataset.Probability) int { return cmp.Compare(a.P, b.P) })
	if best.Label == d.Labels[0] {
		return ""
	}
	if threshold, ok := t.Thresholds.Get(best.Label); ok {
		return fmt.Sprintf("%s (%.2f < %.2f)", best.Label, best.P, threshold)
	}
	return fmt.Sprintf("%s (%.2f)", best.Label, best.P)
}

// oneLine makes a text one line, without what a terminal would execute.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)), " ")
}
