package reporting

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/scoring"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/people"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// addNew adds the lines that are not there.
func addNew(lines, more []string) []string {
	for _, line := range more {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// intervals are the usual ones of a taxonomy.
func (m *maker) intervals(t *taxonomy.Taxonomy) report.IntervalOptions {
	o := report.DefaultIntervals()
	o.Group, o.Seed = t.GroupField(), m.o.Seed
	return o
}

// warnings say what figures leave out.
func warnings(figures interface{ Warnings() []report.FileWarning }) (lines []string) {
	for _, w := range figures.Warnings() {
		lines = addNew(lines, w.Notes)
		if n := len(w.Faults); n > 0 {
			lines = addNew(lines, []string{fmt.Sprintf("lines that are no rows, and left out: %d", n)})
		}
	}
	return lines
}

// cutNote says that a figure is of some rows only.
func (m *maker) cutNote(cut bool, which string) []string {
	if !cut {
		return nil
	}
	return []string{fmt.Sprintf("of the first %d %s of the run", m.limit(), which)}
}

// labels are the figures of "erreval meta labels".
func (m *maker) labels(ctx context.Context, r Run) ([]view.Section, error) {
	rows, err := m.o.Open(r.Path)
	if err != nil {
		return nil, err
	}
	o := evaluation.DefaultLabelOptions(rows.Taxonomy)
	o.Confusion, o.PerLabel, o.Intervals = true, true, m.intervals(rows.Taxonomy)
	labels, err := evaluation.NewLabels(o)
	if err != nil {
		return nil, err
	}
	cut := false
	for _, take := range []run.TakeRows{labels.ReadGold, labels.ReadPredictions} {
		if cut, err = m.read(ctx, &rows, r, hasGold, take); err != nil {
			return nil, err
		}
	}
	figures, err := labels.ComputeReport(ctx)
	if err != nil {
		return nil, err
	}
	one := &figures.Predictions[0]
	printed := figures.Report()
	whole := view.Section{View: view.ViewMeasured, Title: "Labels against gold labels",
		Notes: slices.Concat(printed.Facts, figures.Unscored(one), warnings(figures),
			m.cutNote(cut, "rows with gold labels")),
		Table: labelFigures(figures, one)}
	return append([]view.Section{whole, perLabel(one), confusion(one)}, calibration(one)...), nil
}

func hasGold(row *dataset.Row) bool {
	raw, ok := row.FindAnyCase(dataset.ColumnLabels)
	return ok && string(raw) != "null"
}

func labelFigures(r *evaluation.LabelReport, one *evaluation.LabelledFile) *report.Table {
	t := &report.Table{Columns: []report.Column{text("figure"), text("better"), number("value"),
		number("most frequent labels for every row"), number("difference")}}
	for _, metric := range stats.Metrics() {
		f := one.Metrics[metric.Key]
		t.Rows = append(t.Rows, []any{metric.Name, f.Better, f, r.Baseline.Metrics[metric.Key].Value,
			one.MinusBaseline[metric.Key]})
	}
	return t
}

func perLabel(one *evaluation.LabelledFile) view.Section {
	s := view.Section{View: view.ViewMeasured, Title: "Each label",
		Notes: []string{"intervals: Wilson's, with rows of one group counted as far as they differ"},
		Table: &report.Table{Columns: []report.Column{text("label"), number("gold rows"), number("predicted"),
			number("precision"), number("recall"), number("F1"), number("average precision"), number("calibration error"),
			text("in macro")}},
		Chart: &view.Chart{Kind: "forest", X: "share"}}
	for _, l := range one.Labels {
		line := []any{l.Label, l.Support, l.Predicted}
		for _, f := range []struct {
			name   string
			figure report.Figure
		}{{"precision", l.Intervals.Precision}, {"recall", l.Intervals.Recall}, {"F1", l.Intervals.F1}} {
			line = append(line, f.figure)
			if l.Support > 0 {
				s.Chart.Points = append(s.Chart.Points, point(l.Label, f.name, f.figure))
			}
		}
		macro := "no"
		if l.InMacro {
			macro = "yes"
		}
		s.Table.Rows = append(s.Table.Rows, append(line, l.AP, l.ECE, macro))
	}
	return s
}

// nothing names the column of gold labels that were missed while nothing was predicted wrongly.
const nothing = "(nothing)"

func confusion(one *evaluation.LabelledFile) view.Section {
	s := view.Section{View: view.ViewMeasured, Title: "Which label instead of which",
		Notes: []string{"how often a gold label (row) was found, and, in rows in which it was missed, what was predicted " +
			"wrongly (column)"},
		Table: &report.Table{Columns: []report.Column{text("gold label"), number("gold rows"), number("found"),
			number("missed"), text("instead"), number("nothing instead"), number("added where nothing was missed")}},
		Chart: &view.Chart{Kind: "matrix", X: "predicted", Y: "gold label", Diagonal: true}}
	var columns []string
	for _, c := range one.Confusion {
		columns = append(columns, c.Label)
	}
	columns = append(columns, nothing)
	for _, c := range one.Confusion {
		var instead []string
		rows := map[string]int{nothing: c.NothingInstead, c.Label: c.Hit}
		for _, l := range c.Instead {
			instead = append(instead, fmt.Sprintf("%s %d", l.Label, l.Rows))
			rows[l.Label] = l.Rows
		}
		for _, column := range columns {
			s.Chart.Cells = append(s.Chart.Cells, view.Cell{Row: c.Label, Column: column, Value: report.Number(rows[column])})
		}
		s.Table.Rows = append(s.Table.Rows, []any{c.Label, c.Support, c.Hit, c.Missed, strings.Join(instead, ", "),
			c.NothingInstead, c.Added})
	}
	return s
}

// calibration is a curve of all labels together, and a picture with those of single labels that count in macro
// averages.
func calibration(one *evaluation.LabelledFile) (sections []view.Section) {
	inMacro := map[string]bool{"": true}
	for _, l := range one.Labels {
		inMacro[l.Label] = l.InMacro
	}
	together := view.Section{View: view.ViewMeasured, Title: "Calibration: how often a probability was right",
		Notes: []string{fmt.Sprintf("probabilities in %d bins of equal width; a point is the mean probability of a bin and "+
			"the share of its rows that have the label, with Wilson's interval for groups", stats.CalibrationBins)},
		Table: &report.Table{Columns: []report.Column{number("probability"), number("probabilities"),
			number("share with the label")}},
		Chart: calibrationChart()}
	apart := view.Section{View: view.ViewMeasured, Title: "Calibration of each label",
		Notes: []string{"labels with enough gold rows for macro averages"}, Chart: calibrationChart()}
	for _, curve := range one.Calibration {
		series := view.Series{Name: cmp.Or(curve.Label, "all labels")}
		for _, p := range curve.Points {
			series.Points = append(series.Points, [4]float64{float64(p.Probability), float64(p.Share.Value),
				float64(p.Share.Low), float64(p.Share.High)})
			if curve.Label == "" {
				together.Table.Rows = append(together.Table.Rows, []any{p.Probability, p.Rows, p.Share.As(report.InPercent)})
			}
		}
		switch {
		case curve.Label == "":
			together.Chart.Series = append(together.Chart.Series, series)
		case inMacro[curve.Label]:
			apart.Chart.Series = append(apart.Chart.Series, series)
		}
	}
	if len(together.Chart.Series) > 0 {
		sections = append(sections, together)
	}
	if len(apart.Chart.Series) > 0 {
		sections = append(sections, apart)
	}
	return sections
}

func calibrationChart() *view.Chart {
	return &view.Chart{Kind: "lines", X: "probability", Y: "share with the label", Diagonal: true}
}

// people are the figures of "erreval meta pairs".
func (m *maker) people(ctx context.Context, r Run) ([]view.Section, error) {
	k, err := m.rank(r)
	if err != nil {
		return nil, err
	}
	k.Columns.Verdicts = m.o.Verdicts
	pairs, faults, err := k.ReadPeople(ctx, r.Path, verdicts.Overall)
	if err != nil {
		return nil, err
	}
	intervals := report.DefaultIntervals()
	intervals.Seed = m.o.Seed
	figures, err := people.Compute(ctx, r.Name, verdicts.Overall, pairs,
		people.Options{Intervals: intervals, Ratings: leaderboard.DefaultOptions()})
	if err != nil {
		return nil, err
	}
	printed := figures.Report()
	first := view.Section{View: view.ViewMeasured, Title: printed.Title}
	var sections []view.Section
	if figures.WithTies != nil {
		first = onPage(view.ViewMeasured, figures.Accords())
		first.Chart = accordChart(figures)
		for _, s := range figures.Others() {
			sections = append(sections, onPage(view.ViewMeasured, s))
		}
	}
	first.Notes = slices.Concat(printed.Facts, noted(k.Process, r), m.left(r, len(faults)))
	return append([]view.Section{first}, sections...), nil
}

// accordChart shows accuracies beside those of the most frequent verdict.
func accordChart(figures *people.Report) *view.Chart {
	c := &view.Chart{Kind: "forest", X: "share of pairs with people's verdict"}
	for _, a := range []struct {
		name   string
		accord *people.Accord
	}{{"all pairs", figures.WithTies}, {"pairs in which one text wins by both", figures.WithoutTies}} {
		c.Points = append(c.Points, point(a.name, "judge", a.accord.Accuracy), point(a.name, "most frequent verdict",
			report.Figure{Value: a.accord.Constant, Low: report.Undefined, High: report.Undefined}))
	}
	return c
}

// lookAhead is the number of rows in which columns are looked for.
const lookAhead = 1000

// scoreColumns tells which of people's columns a run has, and whether its judgements are of both modes.
func (m *maker) scoreColumns(ctx context.Context, rows run.Rows, r Run) (human []evaluation.HumanScores, both bool,
	err error) {
	seen, modes := map[string]bool{}, map[string]bool{}
	rows.Limit = lookAhead
	_, err = rows.Each(ctx, quiet(), r.Path, func(row *dataset.Row) error {
		for _, name := range row.Columns() {
			seen[name] = true
		}
		scores, err := row.Scores()
		for _, s := range scores {
			for _, one := range s.Runs {
				modes[one.Mode] = true
			}
		}
		return err
	})
	for _, dimension := range slices.Sorted(maps.Keys(m.o.Human)) {
		h := evaluation.HumanScores{Dimension: dimension, Columns: strings.Split(m.o.Human[dimension], ",")}
		if !slices.ContainsFunc(h.Columns, func(c string) bool { return !seen[c] }) {
			human = append(human, h)
			delete(m.unused, dimension)
		}
	}
	return human, modes[dataset.ModeVanilla] && modes[dataset.ModeErrorAware], err
}

// scores are the figures of "erreval meta scores": against people's, and by mode where both were judged.
func (m *maker) scores(ctx context.Context, r Run) ([]view.Section, error) {
	rows, err := m.o.Open(r.Path)
	if err != nil {
		return nil, err
	}
	o := evaluation.DefaultScoreOptions(rows.Taxonomy)
	if o.Intervals = m.intervals(rows.Taxonomy); m.o.System != report.ByFile { // r is one
		o.System = m.o.System
	}
	if o.Human, o.ByMode, err = m.scoreColumns(ctx, rows, r); err != nil {
		return nil, err
	}
	if len(o.Human) == 0 && !o.ByMode {
		return nil, nil
	}
	if o.ByMode {
		o.Aggregate = scoring.AggregateBy(cmp.Or(scoring.RecordedAggregate(r.Path), scorer.Mean))
	}
	scores, err := evaluation.NewScores(o)
	if err != nil {
		return nil, err
	}
	cut, err := m.read(ctx, &rows, r, isAnyRow, scores.ReadScores)
	if err != nil {
		return nil, err
	}
	figures, err := scores.ComputeReport(ctx)
	if err != nil {
		return nil, err
	}
	notes := slices.Concat(figures.Report().Facts, warnings(figures), m.cutNote(cut, "rows"))
	var sections []view.Section
	if len(figures.Lift) > 0 {
		sections = append(sections, lift(figures.Lift))
	}
	for i := range figures.Files {
		sections = append(sections, scoreSection(&figures.Files[i]))
	}
	if d := figures.Difference; d != nil {
		sections = append(sections, scoreDifference(d))
	}
	sections[0].Notes = append(sections[0].Notes, notes...)
	return sections, nil
}

func lift(rows []evaluation.LiftRow) view.Section {
	s := view.Section{View: view.ViewMeasured, Title: "Lift: what showing the errors to the judge changes",
		Table: &report.Table{Columns: []report.Column{text("dimension"), number("rows"), number("unscored"),
			number("without the errors"), number("with them"), number("lift"), number("p"), number("rows changed")}},
		Chart: &view.Chart{Kind: "forest", X: "error-aware minus vanilla", Line: new(0.0)}}
	for _, l := range rows {
		figure := l.Difference().Figure
		s.Table.Rows = append(s.Table.Rows, []any{l.Dimension, l.Rows, l.Unscored, l.Vanilla, l.ErrorAware, figure, l.P,
			l.Changed})
		if l.Rows > 0 {
			s.Chart.Points = append(s.Chart.Points, point("", l.Dimension, figure))
		}
	}
	return s
}

func scoreSection(f *evaluation.ScoredFile) view.Section {
	s := view.Section{View: view.ViewMeasured, Title: "Scores against people's",
		Table: &report.Table{Columns: []report.Column{text("dimension"), text("figure"), number("rows"),
			number("unscored"), number("mean"), number("people's mean"), number("value")}},
		Chart: &view.Chart{Kind: "forest", X: "correlation", Line: new(0.0)}}
	if f.Mode != "" {
		s.Title += ", " + f.Mode
	}
	for _, d := range f.Dimensions {
		for _, metric := range evaluation.ScoreMetrics() {
			figure := d.Metrics[metric.Key]
			if !figure.Value.Defined() {
				continue
			}
			name := scoreMetricName(metric)
			s.Table.Rows = append(s.Table.Rows, []any{d.Dimension, name, d.Rows, d.Unscored, d.Mean, d.HumanMean, figure})
			if metric.HigherIsBetter { // the others are no correlations
				s.Chart.Points = append(s.Chart.Points, point(d.Dimension, name, figure))
			}
		}
	}
	return s
}

// scoreMetricName tells figures over systems apart from those over rows.
func scoreMetricName(metric stats.Metric) string {
	if strings.HasPrefix(metric.Key, "system_") {
		return metric.Name + " (systems)"
	}
	return metric.Name
}

func scoreDifference(d *evaluation.ScoreDifference) view.Section {
	s := view.Section{View: view.ViewMeasured, Title: "Did the errors help? Error-aware minus vanilla",
		Table: &report.Table{Columns: []report.Column{text("dimension"), text("figure"), number("difference"),
			number("p")}},
		Chart: &view.Chart{Kind: "forest", X: "difference", Line: new(0.0)}}
	for _, one := range d.Dimensions {
		for _, metric := range evaluation.ScoreMetrics() {
			difference := one.Metrics[metric.Key]
			if !difference.Value.Defined() {
				continue
			}
			name := scoreMetricName(metric)
			s.Table.Rows = append(s.Table.Rows, []any{one.Dimension, name, difference.Figure, difference.P})
			s.Chart.Points = append(s.Chart.Points, point(one.Dimension, name, difference.Figure))
		}
	}
	return s
}
