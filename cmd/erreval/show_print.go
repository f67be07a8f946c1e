package main

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
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wordmatch"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// showPrinter writes rows below each other.
type showPrinter struct {
	e     *env
	o     *showOptions
	color bool
	width int
	names int // width of the column with the names of fields
	n     int // rows so far
	json  *dataset.Writer
}

// showWidth is as wide as text reads well.
const showWidth = 110

// shownFrom is the probability from which a type that was not found is worth showing.
const shownFrom = 0.05

func newShowPrinter(e *env, o *showOptions) *showPrinter {
	p := &showPrinter{e: e, o: o, width: min(max(e.width(), leastWidth), showWidth)}
	switch o.color {
	case "auto":
		p.color = e.IsTerminal(e.Out) && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
	case "always":
		p.color = true
	}
	for _, name := range append(o.Taxonomy.FieldNames(), "untagged") {
		p.names = max(p.names, utf8.RuneCountInString(name))
	}
	if o.json {
		p.json = dataset.NewWriter(e.Out)
	}
	return p
}

// sayTop says what "uncertain" is measured by.
func (p *showPrinter) sayTop(file string, thresholds dataset.Probabilities) {
	if p.o.quiet {
		return
	}
	if thresholds == nil {
		fmt.Fprintf(p.e.Err, "erreval: uncertain is a high 1 − |p − 0.5| of an error: the thresholds of %s are not known (no %s)\n", file, runrecord.Path(file))
		return
	}
	fmt.Fprintf(p.e.Err, "erreval: uncertain is a probability close to its threshold, from %s\n", runrecord.Path(file))
}

// close says how many rows there were.
func (p *showPrinter) close(rows, without int) {
	if p.o.quiet {
		return
	}
	fmt.Fprintf(p.e.Err, "erreval: %s shown, %d read", words.Plural(p.n, "row", "rows"), rows)
	if without > 0 {
		fmt.Fprintf(p.e.Err, "; %s no probabilities to judge by", words.Plural(without, "row has", "rows have"))
	}
	fmt.Fprintln(p.e.Err)
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

func (p *showPrinter) style(style, s string) string {
	if !p.color || s == "" {
		return s
	}
	return style + s + text.EscapeReset
}

func (p *showPrinter) print(s *shown) error {
	p.n++
	if p.json != nil {
		if err := p.json.Write(s.row); err != nil {
			return err
		}
		return p.json.Flush()
	}
	var b strings.Builder
	if p.n > 1 {
		b.WriteString("\n")
	}
	id := s.row.ID
	if _, given := s.row.Get(dataset.ColumnID); !given {
		id = report.ShortID(id)
	}
	b.WriteString(p.style(bold, words.Printable(id)) + p.style(faint, fmt.Sprintf("  %s:%d", words.Printable(s.row.Source), s.row.Line)) + "\n")
	p.fields(&b, s.row)
	p.diagnosis(&b, s)
	_, err := io.WriteString(p.e.Out, b.String())
	return err
}

// line writes a name and a text, which is wrapped beside it.
func (p *showPrinter) line(b *strings.Builder, name, content string) {
	room := p.width - p.names - 4
	indent := strings.Repeat(" ", p.names+4)
	b.WriteString("  " + p.style(faint, text.Pad(name, p.names, ' ')) + "  ")
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

// trimLine takes the padding of wrapped lines away, also from the end of a style.
func trimLine(l string) string {
	if styled, ok := strings.CutSuffix(l, text.EscapeReset); ok {
		return strings.TrimRight(styled, " ") + text.EscapeReset
	}
	return strings.TrimRight(l, " ")
}

func (p *showPrinter) fields(b *strings.Builder, row *dataset.Row) {
	for i, f := range p.o.Taxonomy.Fields {
		content := words.PrintableLines(row.Values[i])
		if f.Group {
			content = p.highlight(content, others(row.Values, i))
		}
		p.line(b, f.Name, content)
	}
	if rest := p.otherColumns(row); rest != "" {
		p.line(b, "", p.style(faint, rest))
	}
}

func others(values []string, but int) []string {
	return slices.Concat(values[:but], values[but+1:])
}

func oneLine(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = words.Printable(t)
	}
	return out
}

// highlight marks where the text has one of the targets, word for word; case and white space do not matter.
func (p *showPrinter) highlight(content string, targets []string) string {
	var b strings.Builder
	end := 0
	for _, at := range wordmatch.Find(content, oneLine(targets)) {
		b.WriteString(content[end:at[0]])
		found := content[at[0]:at[1]]
		if p.color {
			b.WriteString(p.style(inverse, found))
		} else {
			b.WriteString("[[" + found + "]]")
		}
		end = at[1]
	}
	return b.String() + content[end:]
}

// otherColumnLength: longer values are left out of the line of other columns.
const otherColumnLength = 60

// otherColumns are the short ones that are neither fields nor erreval's own.
func (p *showPrinter) otherColumns(row *dataset.Row) string {
	own := []string{dataset.ColumnID, dataset.ColumnDiagnosis, dataset.ColumnLabels}
	for _, f := range p.o.Taxonomy.FieldNames() {
		own = append(own, cmp.Or(p.o.Columns[f], f))
	}
	var parts []string
	for _, name := range row.Columns() {
		raw, _ := row.Get(name)
		value := dataset.PlainText(raw)
		if !slices.Contains(own, name) && scalar(raw) && len(value) <= otherColumnLength && !slices.Contains(row.Values, value) { // shown already
			parts = append(parts, words.Printable(name+" "+value))
		}
	}
	return strings.Join(parts, " · ")
}

func scalar(raw json.RawMessage) bool {
	return len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && string(raw) != "null"
}

func (p *showPrinter) diagnosis(b *strings.Builder, s *shown) {
	d := s.d
	switch {
	case d == nil:
		p.line(b, "untagged", p.style(yellow, "no diagnosis; tag the file with: erreval identify"))
	case d.Status != "":
		p.line(b, d.Status, p.style(yellow, words.Printable(d.Reason)))
	default:
		p.line(b, "errors", p.found(s))
		if also := p.also(s); also != "" {
			p.line(b, "other", p.style(faint, also))
		}
		if len(d.NotJudged) > 0 {
			p.line(b, "not judged", words.Printable(strings.Join(d.NotJudged, ", ")))
		}
	}
	if s.closest.label != "" {
		p.line(b, "closest", fmt.Sprintf("%s, %.3f from %.2f", s.closest.label, s.closest.distance, thresholdOf(s.closest.label, s.thresholds)))
	}
	if d != nil && len(d.Truncated) > 0 {
		p.line(b, "cut", p.style(yellow, truncation(d.Truncated)))
	}
	if gold, err := s.row.Labels(p.o.Taxonomy); err == nil {
		p.line(b, "gold", strings.Join(gold, ", "))
	}
}

// found names the errors, each with its probability and threshold.
func (p *showPrinter) found(s *shown) string {
	var parts []string
	for _, label := range s.d.Labels {
		style := red
		i, known := p.o.Taxonomy.Index(label)
		if known && p.o.Taxonomy.Types[i].NoError {
			style = green
		}
		part := p.style(style, words.Printable(label))
		if prob, ok := s.d.Probabilities.Get(label); ok {
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

// also lists the other types of some probability, most probable first.
func (p *showPrinter) also(s *shown) string {
	rest := slices.DeleteFunc(slices.Clone(s.d.Probabilities), func(q dataset.Probability) bool {
		return q.P < shownFrom || slices.Contains(s.d.Labels, q.Label)
	})
	slices.SortStableFunc(rest, func(a, b dataset.Probability) int { return cmp.Compare(b.P, a.P) })
	parts := make([]string, len(rest))
	for i, q := range rest {
		parts[i] = fmt.Sprintf("%s %.2f", words.Printable(q.Label), q.P)
	}
	return strings.Join(parts, ", ")
}

// truncation names the fields that were cut, in alphabetical order.
func truncation(cut map[string]int) string {
	var parts []string
	for field, n := range cut {
		parts = append(parts, fmt.Sprintf("%s by %s", words.Printable(field), words.Plural(n, "token", "tokens")))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
