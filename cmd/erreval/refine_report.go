package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
	"github.com/erreval/erreval/training/refine"
)

func refineReportCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "show the figures of every iteration, the verifier's, and what was trained on", ArgsUsage: "DIR",
		Description: `As text, Markdown or JSON, and as a picture of the learning curve:
   erreval refine report work
   erreval refine report work --markdown --plot curve.svg`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "plot", Usage: "draw the learning curve to `FILE`, .svg or .png"},
			&cli.BoolFlag{Name: "overwrite", Usage: "replace the file of --plot if it exists"},
			jsonFlag(), markdownFlag(),
		},
		Action: func(ctx *cli.Context) error {
			w, err := openWorkspace(ctx)
			if err != nil {
				return err
			}
			return runRefineReport(ctx, e, w)
		},
	}
}

func runRefineReport(ctx *cli.Context, e *env, w *refine.Workspace) error {
	form, err := readReportForm(ctx)
	if err != nil {
		return err
	}
	picture := readPlotOptions(ctx, "plot")
	if err := picture.Check(); err != nil {
		return err
	}
	r := &refineReport{w: w, Taxonomy: w.Taxonomy.ID(), Current: -1}
	numbers, err := w.Iterations()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		m, err := w.Metrics(n)
		if err != nil {
			return err
		}
		r.Iterations = append(r.Iterations, m)
		if m.Promoted {
			r.Current = n
		}
	}
	if len(numbers) == 0 {
		return fmt.Errorf("%s: no iteration was trained yet; see what comes next: erreval refine status %[1]s", words.Quote(w.Dir))
	}
	if err := picture.Write(r.draw); err != nil {
		return err
	}
	return form.print(e, r)
}

// refineReport is what "refine report --json" prints; keys are stable.
type refineReport struct {
	Taxonomy   string            `json:"taxonomy"`
	Current    int               `json:"current"` // iteration in use; -1 is the model to start from
	Iterations []*refine.Metrics `json:"iterations"`

	w *refine.Workspace
}

// Report puts the figures into tables.
func (r *refineReport) Report() *report.Report {
	out := &report.Report{Title: "Refinement: " + r.Taxonomy, Facts: []string{r.inUse()}}
	out.Sections = append(out.Sections, r.identifier("Identifier, development rows", func(m *refine.Metrics) *refine.Evaluation { return m.Dev }))
	if slices.ContainsFunc(r.Iterations, func(m *refine.Metrics) bool { return m.Random != nil }) {
		out.Sections = append(out.Sections, r.identifier("Identifier, reviewed rows of random slices", func(m *refine.Metrics) *refine.Evaluation { return m.Random }))
	}
	if slices.ContainsFunc(r.Iterations, func(m *refine.Metrics) bool { return m.Verifier != nil }) {
		out.Sections = append(out.Sections, r.verifier())
	}
	out.Sections = append(out.Sections, r.decisions(), r.counts(), perLabel(r.Iterations[len(r.Iterations)-1]))
	return out
}

func (r *refineReport) inUse() string {
	if r.Current < 0 {
		return "in use: the model to start from"
	}
	return "in use: iteration " + refine.IterationName(r.Current)
}

// identifier is a table as the paper's Table 7, with the change against the model before.
func (r *refineReport) identifier(title string, of func(*refine.Metrics) *refine.Evaluation) report.Section {
	s := report.Section{Title: title, Notes: []string{
		"F1 micro, macro, weighted; EMR: exact match; OPR: over-prediction (lower is better); in %. ± is against the model before, on the same rows."}}
	titles := []string{"Iteration", "Rows"}
	for _, f := range shownFigures {
		titles = append(titles, f.short, "±")
	}
	s.Table = report.NewTable(titles...)
	add := func(name string, v *refine.Evaluation, cells func(key string) []string) {
		row := []string{name, fmt.Sprint(v.Rows)}
		for _, f := range shownFigures {
			row = append(row, cells(f.key)...)
		}
		s.Table.Rows = append(s.Table.Rows, row)
	}
	var last *refine.Evaluation
	for _, m := range r.Iterations {
		v := of(m)
		if v == nil {
			continue
		}
		if last == nil && m.Before != "" {
			add(m.Before, v, func(key string) []string { return beforeCells(v.Figures[key]) })
		}
		add(r.name(m), v, func(key string) []string { return figureCells(v.Figures[key]) })
		last = v
	}
	if last != nil {
		add("most frequent labels for every row", last, func(key string) []string { return constantCells(last.Constant, key) })
	}
	return s
}

func beforeCells(f *refine.Figure) []string {
	if f == nil || f.Difference == nil {
		return []string{"-", ""}
	}
	return []string{hundredths(f.Difference.Before), ""}
}

func constantCells(of map[string]report.Number, key string) []string {
	if v, ok := of[key]; ok {
		return []string{hundredths(v), ""}
	}
	return []string{"-", ""}
}

func (r *refineReport) name(m *refine.Metrics) string {
	name := refine.IterationName(m.Iteration)
	if !m.Promoted {
		name += " (not promoted)"
	}
	return name
}

func figureCells(f *refine.Figure) []string {
	switch {
	case f == nil:
		return []string{"-", ""}
	case f.Difference == nil:
		return []string{hundredths(f.Value), ""}
	}
	return []string{hundredths(f.Value), fmt.Sprintf("%+.1f", 100*float64(f.Difference.Value))}
}

func hundredths(n report.Number) string {
	if !n.Defined() {
		return "-"
	}
	return (100 * n).Text("%.1f")
}

// verifier is a table as the paper's Table 8.
func (r *refineReport) verifier() report.Section {
	s := report.Section{Title: "Verifier, right and wrong label sets of development rows",
		Table: report.NewTable("Iteration", "Label sets", "Right", "Accuracy", "Precision", "Recall", "F1")}
	for _, m := range r.Iterations {
		if v := m.Verifier; v != nil {
			s.Table.Rows = append(s.Table.Rows, []string{r.name(m), fmt.Sprint(v.Rows), fmt.Sprint(v.Right), hundredths(v.Accuracy), hundredths(v.Precision), hundredths(v.Recall), hundredths(v.F1)})
		}
	}
	return s
}

func (r *refineReport) decisions() report.Section {
	s := report.Section{Title: "Decisions"}
	for _, m := range r.Iterations {
		s.Notes = append(s.Notes, refine.IterationName(m.Iteration)+": "+m.Why)
	}
	return s
}

// counts are the rows with each label that each iteration was trained on.
func (r *refineReport) counts() report.Section {
	titles := []string{"Iteration", "Rows"}
	for _, y := range r.w.Taxonomy.Types {
		titles = append(titles, y.Code)
	}
	s := report.Section{Title: "Training rows with each label", Table: report.NewTable(titles...)}
	s.Table.Columns = append(s.Table.Columns, report.Column{Title: "From"})
	for _, m := range r.Iterations {
		row := []string{refine.IterationName(m.Iteration), fmt.Sprint(m.Training.Rows)}
		for _, y := range r.w.Taxonomy.Types {
			row = append(row, fmt.Sprint(m.Training.Labels[y.Name]))
		}
		s.Table.Rows = append(s.Table.Rows, append(row, kindWords(m.Training.Kinds)))
	}
	return s
}

func perLabel(m *refine.Metrics) report.Section {
	s := report.Section{Title: fmt.Sprintf("Labels, iteration %s", refine.IterationName(m.Iteration)),
		Table: report.NewTable("Label", "Rows", "Predicted", "Precision", "Recall", "F1", "Threshold")}
	for _, l := range m.Measured().Labels {
		threshold := ""
		if t, ok := m.Thresholds[l.Label]; ok {
			threshold = fmt.Sprintf("%.3f", t)
		}
		s.Table.Rows = append(s.Table.Rows, []string{l.Label, fmt.Sprint(l.Support), fmt.Sprint(l.Predicted), hundredths(l.Precision), hundredths(l.Recall), hundredths(l.F1), threshold})
	}
	return s
}

// draw draws the learning curve on the rows of Measured.
func (r *refineReport) draw(format string) ([]byte, error) {
	var lines []chart.Line
	for _, f := range shownFigures {
		l := chart.Line{Name: strings.ToUpper(f.name[:1]) + f.name[1:]}
		for _, m := range r.Iterations {
			v, low, high := math.NaN(), math.NaN(), math.NaN()
			if x := m.Measured().Figures[f.key]; x != nil {
				v, low, high = float64(x.Value), float64(x.Low), float64(x.High)
			}
			l.X, l.Y, l.Low, l.High = append(l.X, float64(m.Iteration)), append(l.Y, v), append(l.Low, low), append(l.High, high)
		}
		lines = append(lines, l)
	}
	return chart.Curves("Learning curve, with 95 % intervals", "iteration", "share", lines, format)
}
