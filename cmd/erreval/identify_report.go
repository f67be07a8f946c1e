package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// rowTable prints rows and what was found in them, one below the other as they come.
type rowTable struct {
	w      io.Writer
	fields []int    // shown ones: all but the one that intervals group by, which is long and shared
	names  []string // headings
	widths []int
	n      int
}

// Widths of the table in columns.
const (
	plainWidth  = 110 // where there is no terminal
	leastWidth  = 60
	numberWidth = 4
	errorsWidth = 36
	cellLines   = 6 // longer cells end with …
)

func newRowTable(e *env, t *taxonomy.Taxonomy) *rowTable {
	tab := &rowTable{w: e.Out, names: []string{"#"}, widths: []int{numberWidth}}
	for i, f := range t.Fields {
		if !f.Group {
			tab.fields = append(tab.fields, i)
			tab.names = append(tab.names, f.Name)
		}
	}
	// The first field is what is judged: it gets twice the room of another.
	room := max(e.width(), leastWidth) - numberWidth - errorsWidth - 2*(len(tab.fields)+1)
	unit := room / (len(tab.fields) + 1)
	for i := range tab.fields {
		width := unit
		if i == 0 {
			width = room - unit*(len(tab.fields)-1)
		}
		tab.widths = append(tab.widths, max(width, 10))
	}
	tab.names, tab.widths = append(tab.names, "errors found (probability)"), append(tab.widths, errorsWidth)
	return tab
}

func (t *rowTable) row(row *dataset.Row, d *dataset.Diagnosis) error {
	var b strings.Builder
	if t.n == 0 {
		t.line(&b, t.names)
		rule := make([]string, len(t.widths))
		for i, w := range t.widths {
			rule[i] = strings.Repeat("─", w)
		}
		t.line(&b, rule)
	}
	t.n++
	cells := []string{strconv.Itoa(t.n)}
	for _, i := range t.fields {
		cells = append(cells, printable(row.Values[i]))
	}
	t.line(&b, append(cells, found(d)))
	_, err := io.WriteString(t.w, b.String())
	return err
}

// line writes cells side by side, each wrapped to its width.
func (t *rowTable) line(b *strings.Builder, cells []string) {
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

// found names the labels of a diagnosis, each error with its probability.
func found(d *dataset.Diagnosis) string {
	if d.Status != "" {
		return d.Status + ": " + printable(d.Reason)
	}
	lines := make([]string, len(d.Labels))
	for i, label := range d.Labels {
		lines[i] = label
		if p, ok := d.Probabilities.Get(label); ok {
			lines[i] += fmt.Sprintf(" (%.2f)", p)
		}
	}
	for _, label := range d.NotJudged {
		lines = append(lines, label+": not judged")
	}
	return strings.Join(lines, "\n")
}

// printable makes one line of a text, without what a terminal would take for a command.
func printable(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)), " ")
}

// width is the number of columns to print in.
func (e *env) width() int {
	if n, err := strconv.Atoi(e.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := e.Out.(*os.File); ok && e.IsTerminal(f) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return plainWidth
}
