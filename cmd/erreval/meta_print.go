package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// grid is a table of texts: the first column is left-aligned, the others right-aligned.
type grid [][]string

func (g grid) write(w io.Writer, markdown bool) error {
	width := make([]int, len(g[0]))
	for _, row := range g {
		for c, cell := range row {
			width[c] = max(width[c], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range g {
		if _, err := io.WriteString(w, gridLine(row, width, markdown)); err != nil {
			return err
		}
		if i == 0 && markdown {
			fmt.Fprintln(w, "|---"+strings.Repeat("|--:", len(row)-1)+"|")
		}
	}
	return nil
}

func gridLine(row []string, width []int, markdown bool) string {
	if markdown {
		return "| " + strings.Join(row, " | ") + " |\n"
	}
	var b strings.Builder
	for c, cell := range row {
		pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
		if c == 0 {
			b.WriteString(cell + pad)
		} else {
			b.WriteString("  " + pad + cell)
		}
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// metaPrinter writes the report's tables; the first error of writing stays in err.
type metaPrinter struct {
	w        io.Writer
	r        *metaReport
	markdown bool
	err      error
}

func printMeta(w io.Writer, r *metaReport, markdown bool) error {
	p := &metaPrinter{w: w, r: r, markdown: markdown}
	p.summary()
	for i := range r.Preds {
		p.prediction(&r.Preds[i])
	}
	if r.Difference != nil {
		p.heading(fmt.Sprintf("second (%s) minus first (%s)", r.Preds[1].File, r.Preds[0].File))
		p.differences()
	}
	return p.err
}

func (p *metaPrinter) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *metaPrinter) grid(g grid) {
	if p.err == nil {
		p.err = g.write(p.w, p.markdown)
	}
}

func (p *metaPrinter) heading(text string) {
	if p.markdown {
		text = "### " + text + "\n"
	}
	p.printf("\n%s\n", text)
}

func (p *metaPrinter) summary() {
	r := p.r
	where := ""
	for _, column := range slices.Sorted(maps.Keys(r.Where)) {
		where += fmt.Sprintf(", %s=%s", column, r.Where[column])
	}
	lines := []string{
		fmt.Sprintf("%s%s, taxonomy %s", r.Gold, where, r.Taxonomy),
		(&goldSet{file: "gold", counts: r.Rows}).describe(),
		fmt.Sprintf("figures over %d rows in %d groups (%s); macro over labels with at least %d gold rows", r.Scored, r.Groups, groupName(r.Group), r.MinSupport),
		fmt.Sprintf("constant: always %s", strings.Join(r.Baseline.Labels, " + ")),
	}
	if v := r.Verdicts; v != nil {
		lines = append(lines, fmt.Sprintf("%s: %d yes, %d no, %d unknown", v.Column, v.Yes, v.No, v.Unknown))
	}
	if math.IsNaN(float64(r.Baseline.Metrics["macro_f1"].Value)) {
		lines = append(lines, "no label has that many: macro averages are undefined (–); --min-support lowers the bar")
	}
	if r.Resamples > 0 && r.Groups < fewGroups {
		lines = append(lines, fmt.Sprintf("only %d groups: the intervals are rough, and rather too narrow", r.Groups))
	}
	if r.Resamples > 0 {
		lines = append(lines, fmt.Sprintf("[%.0f %% intervals from %d resamples of the groups, seed %d]", 100*r.Level, r.Resamples, r.Seed))
	}
	for _, line := range lines {
		if p.markdown {
			line = "- " + line
		}
		p.printf("%s\n", line)
	}
}

// fewGroups: below some twenty groups, resampling them understates the spread (Cameron, Gelbach and Miller 2008).
const fewGroups = 20

func groupName(group string) string {
	if group == "" {
		return "rows"
	}
	return "by " + group
}

func (p *metaPrinter) prediction(one *predReport) {
	title := (&predSet{file: one.File, counts: one.Counts}).describe()
	if len(one.Models) > 0 {
		title += " · " + strings.Join(one.Models, ", ")
	}
	p.heading(title)
	g := grid{{"figure", "better", "value", "constant", "difference"}}
	for _, m := range p.r.keys {
		f := one.Metrics[m.Key]
		g = append(g, []string{m.Name, f.Better, f.text("%.3f"), fixed("%.3f", p.r.Baseline.Metrics[m.Key].Value), one.MinusBaseline[m.Key].text("%+.3f")})
	}
	p.grid(g)
	p.labels(one)
	if one.Confusion != nil {
		p.confusion(one.Confusion)
	}
	p.unscored(one)
}

func (p *metaPrinter) labels(one *predReport) {
	p.printf("\n")
	g := grid{{"label", "gold", "predicted", "precision", "recall", "F1", "AP", "cal. error", "in macro"}}
	for _, l := range one.Labels {
		macro := "no"
		if l.InMacro {
			macro = "yes"
		}
		g = append(g, []string{l.Label, fmt.Sprint(l.Support), fmt.Sprint(l.Predicted), fixed("%.3f", l.Precision), fixed("%.3f", l.Recall),
			fixed("%.3f", l.F1), fixed("%.3f", l.AP), fixed("%.3f", l.ECE), macro})
	}
	p.grid(g)
}

func (p *metaPrinter) confusion(rows []confusionReport) {
	p.heading("confusion: rows in which a gold label was missed, and what was predicted wrongly in them")
	for _, c := range rows {
		var parts []string
		for _, l := range c.Instead {
			parts = append(parts, fmt.Sprintf("%s %d", l.Label, l.Rows))
		}
		if c.NothingWrong > 0 {
			parts = append(parts, fmt.Sprintf("nothing instead %d", c.NothingWrong))
		}
		if c.SpuriousAlone > 0 {
			parts = append(parts, fmt.Sprintf("(added where nothing was missed: %d)", c.SpuriousAlone))
		}
		line := fmt.Sprintf("%s: %d of %d missed", c.Label, c.Missed, c.Support)
		if len(parts) > 0 {
			line += ": " + strings.Join(parts, ", ")
		}
		if p.markdown {
			line = "- " + line
		}
		p.printf("%s\n", line)
	}
}

func (p *metaPrinter) unscored(one *predReport) {
	if one.UnscoredAsWrong == nil {
		return
	}
	var parts []string
	for _, m := range p.r.keys {
		if v, ok := one.UnscoredAsWrong[m.Key]; ok {
			parts = append(parts, m.Name+" "+fixed("%.3f", v))
		}
	}
	p.printf("\nwith the %d rows without prediction as wrong: %s\n", one.Counts.unscored(), strings.Join(parts, ", "))
}

func (p *metaPrinter) differences() {
	g := grid{{"figure", "better", "first", "second", "difference"}}
	for _, m := range p.r.keys {
		d := p.r.Difference[m.Key]
		g = append(g, []string{m.Name, d.Better, fixed("%.3f", p.r.Preds[0].Metrics[m.Key].Value), fixed("%.3f", p.r.Preds[1].Metrics[m.Key].Value), d.text("%+.3f")})
	}
	p.grid(g)
}

// text is the value with its interval, where it has one.
func (f figure) text(format string) string {
	s := fixed(format, f.Value)
	if math.IsNaN(float64(f.Low)) {
		return s
	}
	return s + " [" + fixed(format, f.Low) + ", " + fixed(format, f.High) + "]"
}

func fixed(format string, n number) string {
	if math.IsNaN(float64(n)) {
		return "–"
	}
	return fmt.Sprintf(format, float64(n))
}
