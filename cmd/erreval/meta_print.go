package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/report"
)

// Report is what there is to read in the figures.
func (r *metaReport) Report() *report.Report {
	title, where := r.Gold, slices.Sorted(maps.Keys(r.Where))
	for _, column := range where {
		title += fmt.Sprintf(", %s=%s", column, r.Where[column])
	}
	out := &report.Report{Title: title + ", taxonomy " + r.Taxonomy, Facts: r.facts()}
	for i := range r.Preds {
		out.Sections = append(out.Sections, r.prediction(&r.Preds[i])...)
	}
	if r.Difference != nil {
		out.Sections = append(out.Sections, report.Section{Title: fmt.Sprintf("second (%s) minus first (%s)", r.Preds[1].File, r.Preds[0].File), Table: r.differences()})
	}
	return out
}

func (r *metaReport) facts() []string {
	lines := []string{
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
	return lines
}

// fewGroups: below some twenty groups, resampling them understates the spread (Cameron, Gelbach and Miller 2008).
const fewGroups = 20

func groupName(group string) string {
	if group == "" {
		return "rows"
	}
	return "by " + group
}

func (r *metaReport) prediction(one *predReport) []report.Section {
	title := (&predSet{file: one.File, counts: one.Counts}).describe()
	if len(one.Models) > 0 {
		title += " · " + strings.Join(one.Models, ", ")
	}
	figures := numbers("figure", "better", "value", "constant", "difference")
	for _, m := range r.keys {
		f := one.Metrics[m.Key]
		figures.Rows = append(figures.Rows, []string{m.Name, f.Better, f.text("%.3f"), fixed("%.3f", r.Baseline.Metrics[m.Key].Value), one.MinusBaseline[m.Key].text("%+.3f")})
	}
	sections := []report.Section{{Title: title, Notes: r.unscored(one), Table: figures}, {Title: "labels in " + one.File, Table: labelTable(one.Labels)}}
	if one.Confusion != nil {
		sections = append(sections, report.Section{Title: "confusion: rows in which a gold label was missed, and what was predicted wrongly in them", Notes: confusionLines(one.Confusion)})
	}
	return sections
}

// numbers is an empty table whose columns but the first are aligned to the right.
func numbers(titles ...string) report.Table {
	var t report.Table
	for i, title := range titles {
		t.Columns = append(t.Columns, report.Column{Title: title, Right: i > 0})
	}
	return t
}

func labelTable(labels []labelReport) report.Table {
	t := numbers("label", "gold", "predicted", "precision", "recall", "F1", "AP", "cal. error", "in macro")
	for _, l := range labels {
		macro := "no"
		if l.InMacro {
			macro = "yes"
		}
		t.Rows = append(t.Rows, []string{l.Label, fmt.Sprint(l.Support), fmt.Sprint(l.Predicted), fixed("%.3f", l.Precision), fixed("%.3f", l.Recall),
			fixed("%.3f", l.F1), fixed("%.3f", l.AP), fixed("%.3f", l.ECE), macro})
	}
	return t
}

func confusionLines(rows []confusionReport) []string {
	lines := make([]string, len(rows))
	for i, c := range rows {
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
		lines[i] = fmt.Sprintf("%s: %d of %d missed", c.Label, c.Missed, c.Support)
		if len(parts) > 0 {
			lines[i] += ": " + strings.Join(parts, ", ")
		}
	}
	return lines
}

func (r *metaReport) unscored(one *predReport) []string {
	if one.UnscoredAsWrong == nil {
		return nil
	}
	var parts []string
	for _, m := range r.keys {
		if v, ok := one.UnscoredAsWrong[m.Key]; ok {
			parts = append(parts, m.Name+" "+fixed("%.3f", v))
		}
	}
	return []string{fmt.Sprintf("with the %d rows without prediction as wrong: %s", one.Counts.unscored(), strings.Join(parts, ", "))}
}

func (r *metaReport) differences() report.Table {
	t := numbers("figure", "better", "first", "second", "difference")
	for _, m := range r.keys {
		d := r.Difference[m.Key]
		t.Rows = append(t.Rows, []string{m.Name, d.Better, fixed("%.3f", r.Preds[0].Metrics[m.Key].Value), fixed("%.3f", r.Preds[1].Metrics[m.Key].Value), d.text("%+.3f")})
	}
	return t
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
