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
func (r *scoresReport) Report() *report.Report {
	title := "Scores against human scores: " + r.input
	for _, column := range slices.Sorted(maps.Keys(r.Where)) {
		title += fmt.Sprintf(", %s=%s", column, r.Where[column])
	}
	out := &report.Report{Title: title + ", taxonomy " + r.Taxonomy, Facts: r.facts()}
	if r.Lift != nil {
		out.Sections = append(out.Sections, report.Section{Title: "lift: error-aware minus vanilla in " + r.input, Table: liftTable(r.Lift)})
	}
	for i := range r.Files {
		out.Sections = append(out.Sections, r.file(&r.Files[i])...)
	}
	if r.Difference != nil {
		out.Sections = append(out.Sections, r.differences())
	}
	return out
}

func (r *scoresReport) facts() []string {
	lines := []string{fmt.Sprintf("%d rows in %d groups (%s), %s", r.Rows, r.Groups, groupName(r.Group), plural(r.Systems, "system", "systems"))}
	for _, d := range slices.Sorted(maps.Keys(r.Human)) {
		lines = append(lines, fmt.Sprintf("human score of %s: %s", d, strings.Join(r.Human[d], ", ")))
	}
	if len(r.Human) > 0 {
		lines = append(lines, fmt.Sprintf("overestimated: share of the rows with a human score of at most %g whose value is at least %g", r.Low, r.High))
	}
	lines = append(lines, r.scale...)
	if r.Resamples > 0 && r.Groups < fewGroups {
		lines = append(lines, fmt.Sprintf("only %d groups: the intervals are rough, and rather too narrow", r.Groups))
	}
	if r.Resamples > 0 {
		lines = append(lines, fmt.Sprintf("[%.0f %% intervals from %d resamples of the groups, seed %d]", 100*r.Level, r.Resamples, r.Seed))
	}
	return lines
}

func (r *scoresReport) file(f *scoresFile) []report.Section {
	counts := numbers("dimension", "human", "unscored", "share", "in figures", "low", "mean", "human mean")
	for _, d := range f.Dimensions {
		counts.Rows = append(counts.Rows, []string{d.Dimension, fmt.Sprint(d.Human), fmt.Sprint(d.Unscored), percent(d.Unscored, d.Human), fmt.Sprint(d.Rows),
			fmt.Sprint(d.LowRows), fixed("%.2f", d.Mean), fixed("%.2f", d.HumanMean)})
	}
	var notes []string
	if f.Missing > 0 {
		notes = append(notes, plural(f.Missing, "row is", "rows are")+" not in this file with the same text: left out, as unscored ones")
	}
	if f.Rejected > 0 {
		notes = append(notes, plural(f.Rejected, "line is no row", "lines are no rows"))
	}
	sections := []report.Section{{Title: "rows of " + f.name(), Notes: notes, Table: counts},
		{Title: "instances in " + f.name(), Table: f.table(0, firstSystemMetric)}}
	if r.Systems > 1 {
		sections = append(sections, report.Section{Title: fmt.Sprintf("means of %d systems in %s", r.Systems, f.name()), Table: f.table(firstSystemMetric, len(scoreMetrics))})
	}
	if len(f.Reliability) > 0 {
		sections = append(sections, report.Section{Title: "repeats in " + f.name(), Table: repeatTable(f.Reliability)})
	}
	return sections
}

// table shows the figures from one to another.
func (f *scoresFile) table(from, to int) report.Table {
	t := metricTable(from, to)
	line := func(name string, figures map[string]figure, format string) {
		cells := []string{name}
		for _, m := range scoreMetrics[from:to] {
			cells = append(cells, figures[m.Key].text(format))
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, d := range f.Dimensions {
		line(d.Dimension, d.Metrics, "%.3f")
	}
	line("average", f.Average, "%.3f")
	return t
}

func metricTable(from, to int) report.Table {
	titles := []string{"dimension"}
	for _, m := range scoreMetrics[from:to] {
		titles = append(titles, m.Name)
	}
	return numbers(titles...)
}

func repeatTable(rows []reliability) report.Table {
	t := report.Table{Columns: []report.Column{{Title: "dimension"}, {Title: "judge"}, {Title: "mode"}, {Title: "rows", Right: true},
		{Title: "alpha", Right: true}, {Title: "standard error", Right: true}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Dimension, r.Judge, r.Mode, fmt.Sprint(r.Rows), fixed("%.3f", r.Alpha), fixed("%.3f", r.StandardError)})
	}
	return t
}

// name is the file, or the mode that is looked at in it.
func (f *scoresFile) name() string { return (&scoredFile{file: f.File, mode: f.Mode}).name() }

// compared says what differences are of.
func (r *scoresReport) compared() string {
	if r.By != "" {
		return "did the errors help? error-aware minus vanilla in " + r.input
	}
	return fmt.Sprintf("second (%s) minus first (%s)", r.Files[1].File, r.Files[0].File)
}

func (r *scoresReport) differences() report.Section {
	to := len(scoreMetrics)
	if r.Systems < 2 {
		to = firstSystemMetric
	}
	t := numbers("dimension")
	for i, m := range scoreMetrics[:to] {
		name := m.Name
		if i >= firstSystemMetric {
			name += " (systems)"
		}
		t.Columns = append(t.Columns, report.Column{Title: name, Right: true})
	}
	line := func(name string, figures map[string]testFigure) {
		cells := []string{name}
		for _, m := range scoreMetrics[:to] {
			cells = append(cells, figures[m.Key].text("%+.3f"))
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, d := range r.Difference.Dimensions {
		line(d.Dimension, d.Metrics)
	}
	line("average", r.Difference.Average)
	return report.Section{Title: r.compared(), Table: t}
}

// text is the difference with its interval and p-value.
func (f testFigure) text(format string) string {
	s := f.figure.text(format)
	if math.IsNaN(float64(f.P)) {
		return s
	}
	return s + fmt.Sprintf(" p=%.3f", float64(f.P))
}
