package refine

import (
	"context"
	"fmt"
	"math"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// labelled are rows with their labels.
type labelled struct {
	rows   []*dataset.Row
	labels [][]string
}

func (l *labelled) add(t *taxonomy.Taxonomy, row *dataset.Row) error {
	labels, err := row.Labels(t)
	if err == nil {
		labels = t.Judged(labels, t.NotJudged(row.Values))
	}
	l.rows, l.labels = append(l.rows, row), append(l.labels, labels)
	return err
}

// evaluate compares diagnoses with labels; before is nil where there is nothing to compare with.
func (w *Workspace) evaluate(ctx context.Context, gold *labelled, found, before []*dataset.Diagnosis,
	seen map[string]bool) (*Evaluation, error) {
	frame := stats.Table{}
	var err error
	if frame.Gold, err = w.sets(gold.labels); err != nil {
		return nil, err
	}
	trained := 0
	frame.Group, frame.Groups, trained = w.groupNumbers(gold.rows, seen)
	now, err := w.evaluator(frame, found)
	if err != nil {
		return nil, err
	}
	var then *stats.Evaluator
	if before != nil {
		if then, err = w.evaluator(frame, before); err != nil {
			return nil, err
		}
	}
	e := &Evaluation{Rows: len(gold.rows), Groups: frame.Groups, Trained: trained, MinSupport: w.Config.Promote.MinSupport,
		Resamples: w.Config.Promote.Resamples}
	if err := e.figures(ctx, now, then, uint64(w.Config.Train.Seed)); err != nil {
		return nil, err
	}
	e.labels(w.Taxonomy, now)
	return e, e.constant(w, frame)
}

func (w *Workspace) statsOptions() stats.Options {
	return stats.Options{MinSupport: w.Config.Promote.MinSupport, NoError: w.Taxonomy.NoErrorIndex()}
}

func (w *Workspace) evaluator(frame stats.Table, found []*dataset.Diagnosis) (*stats.Evaluator, error) {
	for _, d := range found {
		var set []bool // nil for a row that could not be looked at: it misses all its labels
		if d != nil && d.Status != dataset.StatusUntagged {
			var err error
			if set, err = w.set(d.Labels); err != nil {
				return nil, err
			}
		}
		frame.Pred = append(frame.Pred, set)
	}
	return stats.NewEvaluator(&frame, w.statsOptions())
}

func (w *Workspace) set(labels []string) ([]bool, error) {
	set := make([]bool, len(w.Taxonomy.Types))
	for _, name := range labels {
		i, ok := w.Taxonomy.Index(name)
		if !ok {
			return nil, fmt.Errorf("%s has no label %q; the model is for another taxonomy", w.Taxonomy.ID(), name)
		}
		set[i] = true
	}
	return set, nil
}

func (w *Workspace) sets(labels [][]string) (sets [][]bool, err error) {
	for _, names := range labels {
		set, err := w.set(names)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// groupNumbers numbers the groups of rows, and counts the rows whose group is in seen.
func (w *Workspace) groupNumbers(rows []*dataset.Row, seen map[string]bool) (of []int, groups, among int) {
	number := map[string]int{}
	for _, row := range rows {
		g := w.GroupOf(row)
		if _, ok := number[g]; !ok {
			number[g] = len(number)
		}
		of = append(of, number[g])
		among += count(seen[g])
	}
	return of, len(number), among
}

// figures resamples both models alike, so that their differences are paired; before is nil where there is no other.
func (e *Evaluation) figures(ctx context.Context, now, before *stats.Evaluator, seed uint64) error {
	samples, err := stats.Bootstrap(ctx, now.Groups(), e.Resamples, seed, now.Values)
	values := now.Values(nil)
	var samplesBefore [][]float64
	var valuesBefore []float64
	if before != nil && err == nil {
		samplesBefore, err = stats.Bootstrap(ctx, now.Groups(), e.Resamples, seed, before.Values)
		valuesBefore = before.Values(nil)
	}
	if err != nil {
		return err
	}
	e.Figures = map[string]*Figure{}
	for i, m := range stats.Metrics() {
		if math.IsNaN(values[i]) {
			continue // ranking and calibration need probabilities of both models
		}
		f := &Figure{Figure: report.NewFigure(values[i], stats.Column(samples, i))}
		if before != nil {
			changes := stats.Column(samples, i)
			for k := range changes {
				changes[k] -= samplesBefore[k][i]
			}
			f.Difference = &Difference{report.Number(valuesBefore[i]), report.NewDifference(values[i]-valuesBefore[i], changes)}
		}
		e.Figures[m.Key] = f
	}
	return nil
}

func (e *Evaluation) labels(t *taxonomy.Taxonomy, ev *stats.Evaluator) {
	for i, l := range ev.Labels() {
		e.Labels = append(e.Labels, LabelFigures{Label: t.Types[i].Name, Support: l.Support, Predicted: l.Predicted,
			Precision: report.Number(l.Precision), Recall: report.Number(l.Recall), F1: report.Number(l.F1)})
	}
}

// constant measures what one gets by giving every row the most frequent label set.
func (e *Evaluation) constant(w *Workspace, frame stats.Table) error {
	frame.Pred = stats.Constant(stats.MostFrequentSet(frame.Gold), len(frame.Gold))
	ev, err := stats.NewEvaluator(&frame, w.statsOptions())
	if err != nil {
		return err
	}
	e.Constant = map[string]report.Number{}
	for i, v := range ev.Values(nil) {
		if !math.IsNaN(v) {
			e.Constant[stats.Metrics()[i].Key] = report.Number(v)
		}
	}
	return nil
}
