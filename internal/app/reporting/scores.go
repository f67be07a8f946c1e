package reporting

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/scoring"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
	"github.com/erreval/erreval/scorer"
)

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
	o.Intervals = m.intervals(rows.Taxonomy)
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
