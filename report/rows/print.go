package rows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/wordmatch"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

type printer struct {
	o     *Options
	width int
	names int // width of the column with the names of fields
	n     int // rows so far
}

// Widths of what is printed, in columns.
const (
	leastWidth = 40
	showWidth  = 110 // as wide as text reads well
)

// shownFrom is the least probability at which a type is shown that was not found.
const shownFrom = 0.05

func newPrinter(o *Options) *printer {
	p := &printer{o: o, width: min(max(o.Width, leastWidth), showWidth)}
	for _, name := range append(o.Taxonomy.FieldNames(), "untagged") {
		p.names = max(p.names, utf8.RuneCountInString(name))
	}
	return p
}

// Styles; EscapeReset ends them, as go-pretty's wrapping expects.
const (
	bold    = "\x1b[1m"
	faint   = "\x1b[2m"
	red     = "\x1b[1;31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	inverse = "\x1b[30;43m"
)

func (p *printer) style(style, s string) string {
	if !p.o.Color || s == "" {
		return s
	}
	return style + s + text.EscapeReset
}

func (p *printer) printRow(s *shownRow) error {
	p.n++
	if p.o.Take != nil {
		return p.o.Take(s.Row)
	}
	var b strings.Builder
	if p.n > 1 {
		b.WriteString("\n")
	}
	id := s.ID
	if _, given := s.Get(dataset.ColumnID); !given || report.IsHash(id) {
		id = report.ShortID(id)
	}
	place := fmt.Sprintf("  %s:%d", words.Printable(s.Source), s.Line)
	b.WriteString(p.style(bold, words.Printable(id)) + p.style(faint, place) + "\n")
	p.writeFields(&b, s.Row)
	if s.diagnosis != nil || !p.o.Taxonomy.IsTask() {
		p.writeDiagnosis(&b, s)
	}
	p.writeFinding(&b, s.finding)
	_, err := io.WriteString(p.o.Out, b.String())
	if err == nil && p.o.After != nil {
		err = p.o.After(s.Row)
	}
	return err
}

// writeField writes a name and a text, which is wrapped beside it.
func (p *printer) writeField(b *strings.Builder, name, content string) {
	room := p.width - p.names - 4
	indent := strings.Repeat(" ", p.names+4)
	b.WriteString("  " + p.style(faint, text.Pad(words.Printable(name), p.names, ' ')) + "  ")
	first := true
	for part := range strings.SplitSeq(content, "\n") {
		for l := range strings.SplitSeq(text.WrapSoft(part, room), "\n") {
			if l = trimLine(l); !first && l != "" {
				b.WriteString(indent)
			}
			b.WriteString(l + "\n")
			first = false
		}
	}
}

// trimLine removes the padding of wrapped lines, also before the end of a style.
func trimLine(l string) string {
	if styled, ok := strings.CutSuffix(l, text.EscapeReset); ok {
		return strings.TrimRight(styled, " ") + text.EscapeReset
	}
	return strings.TrimRight(l, " ")
}

func (p *printer) writeFields(b *strings.Builder, row *dataset.Row) {
	for i, f := range p.o.Taxonomy.Fields {
		content := words.PrintableLines(row.Values[i])
		if i > 0 && content == "" {
			continue
		}
		if f.Group {
			content = p.highlight(content, otherValues(row.Values, i))
		}
		p.writeField(b, f.Name, content)
	}
	if rest := p.otherColumns(row); rest != "" {
		p.writeField(b, "", p.style(faint, rest))
	}
}

// otherValues are all values but one, each as a line.
func otherValues(values []string, but int) (lines []string) {
	for i, v := range values {
		if i != but {
			lines = append(lines, words.Printable(v))
		}
	}
	return lines
}

// highlight marks where content has one of the targets, word for word; case and white space do not matter.
func (p *printer) highlight(content string, targets []string) string {
	var b strings.Builder
	for _, piece := range wordmatch.Cut(content, targets) {
		switch {
		case !piece.Mark:
			b.WriteString(piece.Text)
		case p.o.Color:
			b.WriteString(p.style(inverse, piece.Text))
		default:
			b.WriteString("[[" + piece.Text + "]]")
		}
	}
	return b.String()
}

// otherColumnLength is the longest value in the line of other columns; longer ones are left out.
const otherColumnLength = 60

// otherColumns lists the columns with short values that are neither fields nor erreval's own.
func (p *printer) otherColumns(row *dataset.Row) string {
	shownColumns := []string{dataset.ColumnID, dataset.ColumnDiagnosis, dataset.ColumnLabels}
	for _, f := range p.o.Taxonomy.FieldNames() {
		shownColumns = append(shownColumns, cmp.Or(p.o.Columns[f], f))
	}
	var parts []string
	for _, name := range row.Columns() {
		raw, _ := row.Get(name)
		value := dataset.PlainText(raw)
		shown := slices.Contains(shownColumns, name) || slices.Contains(row.Values, value)
		if !shown && isScalar(raw) && len(value) <= otherColumnLength {
			parts = append(parts, words.Printable(name+" "+value))
		}
	}
	return strings.Join(parts, " · ")
}

func isScalar(raw json.RawMessage) bool {
	return len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && string(raw) != "null"
}

func (p *printer) writeDiagnosis(b *strings.Builder, s *shownRow) {
	d := s.diagnosis
	switch {
	case d == nil:
		p.writeField(b, "untagged", p.style(yellow, "no diagnosis; tag the file with: erreval identify"))
	case d.Status != "":
		p.writeField(b, d.Status, p.style(yellow, words.Printable(d.Reason)))
	default:
		p.writeField(b, "errors", p.listErrors(s))
		if also := p.listOtherTypes(s); also != "" {
			p.writeField(b, "other", p.style(faint, also))
		}
		if len(d.NotJudged) > 0 {
			p.writeField(b, "unjudged", words.Printable(strings.Join(d.NotJudged, ", ")))
		}
	}
	if s.closest.label != "" {
		c := s.closest
		p.writeField(b, "closest", fmt.Sprintf("%s, %.3f from %.2f", c.label, c.distance, s.threshold(c.label)))
	}
	if d != nil && len(d.Truncated) > 0 {
		p.writeField(b, "cut", p.style(yellow, describeTruncation(d.Truncated)))
	}
	if d != nil && len(d.Read) > 0 {
		p.writeField(b, "read", p.style(faint, p.describeReading(s.Row, d.Read)))
	}
	if gold, err := s.Labels(p.o.Taxonomy); err == nil {
		p.writeField(b, "gold", strings.Join(gold, ", "))
	}
}

// writeFinding says what discover found in a row.
func (p *printer) writeFinding(b *strings.Builder, f *issues.Finding) {
	switch {
	case f == nil:
		return
	case len(f.IDs) > 0:
		p.writeField(b, "issues", p.style(red, words.Printable(strings.Join(f.IDs, ", "))))
	case f.Status == issues.None:
		p.writeField(b, "issues", p.style(green, "none"))
	default:
		p.writeField(b, "issues", p.style(yellow, words.Printable(f.Status+": "+f.Reason)))
	}
	for _, part := range [][2]string{{"analysis", f.Analysis}, {"quote", f.Quote}} {
		if part[1] != "" {
			p.writeField(b, part[0], words.PrintableLines(part[1]))
		}
	}
}

// listErrors names the errors, each with its probability and threshold.
func (p *printer) listErrors(s *shownRow) string {
	var parts []string
	for _, label := range s.diagnosis.Labels {
		style := red
		i, known := p.o.Taxonomy.Index(label)
		if known && p.o.Taxonomy.Types[i].NoError {
			style = green
		}
		part := p.style(style, words.Printable(label))
		if prob, ok := s.diagnosis.Probabilities.Get(label); ok {
			part += fmt.Sprintf(" %.2f", prob)
		}
		if threshold, ok := s.thresholds.Get(label); ok {
			part += p.style(faint, fmt.Sprintf(" (from %.2f)", threshold))
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return p.style(green, "none")
	}
	return strings.Join(parts, "\n")
}

// listOtherTypes lists other types from a probability of shownFrom on, the most probable first.
func (p *printer) listOtherTypes(s *shownRow) string {
	rest := slices.DeleteFunc(slices.Clone(s.diagnosis.Probabilities), func(q dataset.Probability) bool {
		return q.P < shownFrom || slices.Contains(s.diagnosis.Labels, q.Label)
	})
	slices.SortStableFunc(rest, func(a, b dataset.Probability) int { return cmp.Compare(b.P, a.P) })
	parts := make([]string, len(rest))
	for i, q := range rest {
		parts[i] = fmt.Sprintf("%s %.2f", words.Printable(q.Label), q.P)
	}
	return strings.Join(parts, ", ")
}

// describeReading says how much the model read of fields of which it read parts, in the taxonomy's order.
func (p *printer) describeReading(row *dataset.Row, read map[string][]int) string {
	var parts []string
	for i, field := range p.o.Taxonomy.FieldNames() {
		places, ok := read[field]
		if !ok {
			continue
		}
		n := 0
		for j := 0; j+1 < len(places); j += 2 {
			n += places[j+1] - places[j]
		}
		parts = append(parts, fmt.Sprintf("%d of the %s of the %s", n,
			words.Plural(utf8.RuneCountInString(row.Values[i]), "character", "characters"), field))
	}
	return strings.Join(parts, ", ")
}

// describeTruncation names the fields that were cut, in alphabetical order.
func describeTruncation(cut map[string]int) string {
	var parts []string
	for field, n := range cut {
		parts = append(parts, fmt.Sprintf("%s by %s", words.Printable(field), words.Plural(n, "token", "tokens")))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
