package refine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
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
		f := &Figure{Figure: report.NewShare(values[i], stats.Column(samples, i), now.Groups())}
		if before != nil {
			changes := stats.Column(samples, i)
			for k := range changes {
				changes[k] -= samplesBefore[k][i]
			}
			f.Difference = &Difference{report.Number(valuesBefore[i]),
				report.NewDifference(values[i]-valuesBefore[i], changes, now.Groups())}
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

// Metrics is metrics.json of an iteration: what was measured, against what, and what was made of it.
type Metrics struct {
	Iteration int    `json:"iteration"`
	Model     string `json:"model"`    // name@version
	Taxonomy  string `json:"taxonomy"` // name@version
	// the model it is compared with, name@version; absent if there was none
	Before   string         `json:"before,omitempty"`
	Training TrainingCounts `json:"training"`
	// Thresholds of the identifier, chosen on the development rows.
	Thresholds map[string]float64 `json:"thresholds"`
	// on dev.jsonl, on which thresholds were chosen; absent without such rows
	Dev      *Evaluation     `json:"dev,omitempty"`
	Random   *Evaluation     `json:"random,omitempty"` // on the reviewed rows of random slices; absent without such rows
	Verifier *VerifierScores `json:"verifier,omitempty"`
	Promoted bool            `json:"promoted"` // it is in use from here on
	Why      string          `json:"why"`      // a sentence
	Inputs   string          `json:"inputs"`   // SHA-256 of all that the training depends on

	dir string // the iteration's folder
}

// TrainingCounts say what an iteration was trained on.
type TrainingCounts struct {
	Rows   int            `json:"rows"`
	Kinds  map[string]int `json:"kinds"`  // provenance to rows
	Labels map[string]int `json:"labels"` // label to rows
	Left   int            `json:"left"`   // rows left out, since a development row shares their group
}

// Evaluation are the figures of one set of rows.
type Evaluation struct {
	Rows     int                      `json:"rows"`
	Groups   int                      `json:"groups"` // by which intervals resample
	Figures  map[string]*Figure       `json:"figures"`
	Constant map[string]report.Number `json:"constant"` // of the most frequent label set, given for every row
	Labels   []LabelFigures           `json:"labels"`
	// Trained counts the rows of which another row of the group is in the training set.
	Trained    int  `json:"rows_of_trained_groups,omitempty"`
	MinSupport int  `json:"min_support"`
	Resamples  int  `json:"resamples"`
	SameAsDev  bool `json:"same_as_dev,omitempty"` // these rows also chose thresholds and the best epoch
}

// Figure is one number with its 95 % interval, and what it was with the model before.
type Figure struct {
	report.Figure
	Difference *Difference `json:"difference,omitempty"` // absent where there was no model before
}

// Difference is an iteration's figure minus that of the model before, on the same rows, with its paired 95 % interval.
type Difference struct {
	Before report.Number `json:"before"`
	report.Difference
}

// LabelFigures are those of one label.
type LabelFigures struct {
	Label     string        `json:"label"`
	Support   int           `json:"support"`
	Predicted int           `json:"predicted"`
	Precision report.Number `json:"precision"`
	Recall    report.Number `json:"recall"`
	F1        report.Number `json:"f1"`
}

// VerifierScores are those of the paper's Table 8, on label sets of development rows: the right ones and as many wrong
// ones.
type VerifierScores struct {
	Model     string        `json:"model"`
	Rows      int           `json:"rows"`
	Right     int           `json:"right"` // of the rows
	Accuracy  report.Number `json:"accuracy"`
	Precision report.Number `json:"precision"`
	Recall    report.Number `json:"recall"`
	F1        report.Number `json:"f1"`
}

// MetricsFile is the name of an iteration's figures.
const MetricsFile = "metrics.json"

// Metrics reads the figures of an iteration.
func (w *Workspace) Metrics(iteration int) (*Metrics, error) {
	m := &Metrics{dir: w.Path(IterationDir, IterationName(iteration))}
	err := review.ReadJSON(filepath.Join(m.dir, MetricsFile), regularfile.Max, m)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; the iteration was changed by hand: put it back, or take it back with: erreval refine "+
			"undo %s", err, w.Dir)
	}
	return m, err
}

// allMetrics are the figures of all iterations, and which of them is in use: the last promoted one, or -1 for the model
// to start from. Those that cannot be read are left out, with an error.
func (w *Workspace) allMetrics() (all []*Metrics, current int, err error) {
	numbers, err := w.Iterations()
	current = -1
	for _, n := range numbers {
		m, metricsErr := w.Metrics(n)
		if metricsErr != nil {
			err = errors.Join(err, metricsErr)
			continue
		}
		if all = append(all, m); m.Promoted {
			current = n
		}
	}
	return all, current, err
}
