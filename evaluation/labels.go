package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// LabelOptions say how labels are measured.
type LabelOptions struct {
	Taxonomy   *taxonomy.Taxonomy
	Column     string            // of the gold labels; "" is dataset.ColumnLabels
	Where      map[string]string // column to the value that gold rows must have there
	MinSupport int               // macro averages take labels with at least so many gold rows
	Confusion  bool              // also count what was predicted instead of each gold label
	By         string            // column of the gold rows by whose values there are figures besides; "" is none
	Limit      int               // how many rows with other labels are listed; negative: all
	// PerLabel adds intervals to the figures of each label, and calibration curves.
	PerLabel bool
	// Verdict is a boolean column of the gold rows. With it there is one figure more: the area under the ROC curve of P(no
	// error) against it. "" is none.
	Verdict string
	// Intervals are by report.Bootstrap or report.None. Their group is a field or column of the gold rows.
	Intervals report.IntervalOptions
}

// DefaultLabelOptions resample the groups of the taxonomy.
func DefaultLabelOptions(t *taxonomy.Taxonomy) LabelOptions {
	o := LabelOptions{Taxonomy: t, MinSupport: stats.DefaultMinSupport, Intervals: report.DefaultIntervals()}
	o.Intervals.Group = t.GroupField()
	return o
}

func (o *LabelOptions) column() string { return cmp.Or(o.Column, dataset.ColumnLabels) }

// Validate finds the first option that is wrong: an *OptionError.
func (o *LabelOptions) Validate() error {
	if o.MinSupport < 0 {
		return report.OptionErrorf("--min-support %d: a number of rows, 0 or more", o.MinSupport)
	}
	if err := o.Intervals.Validate(); err != nil {
		return err
	}
	if o.Verdict != "" && o.Taxonomy.NoErrorIndex() < 0 {
		return report.OptionErrorf("--auc: %s has no label that means no error", o.Taxonomy.ID())
	}
	return nil
}

// Labels collects gold labels and predictions, and compares them.
type Labels struct {
	o     LabelOptions
	gold  *goldSet
	preds []*predictionSet
}

// NewLabels starts without rows. The error is that of LabelOptions.Validate.
func NewLabels(o LabelOptions) (*Labels, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Labels{o: o}, nil
}

// ReadGold reads the file with the gold labels. read gives its rows until io.EOF, as a dataset.Reader
// does; file is its name in the report and in errors. ReadGold counts rows without gold labels and leaves them out. It
// is an error if no row has gold labels.
func (l *Labels) ReadGold(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	g := &goldSet{file: file, index: dataset.NewIndex(), filter: dataset.Filter{Where: l.o.Where},
		ids: map[string]goldTexts{}}
	var err error
	if g.faults, err = dataset.EachRow(ctx, read, func(r *dataset.Row) error { return g.addRow(r, &l.o) }); err != nil {
		return err
	}
	g.counts.Gold, g.counts.Rejected = len(g.rows), len(g.faults)
	l.gold = g
	return g.checkRows(l.o.column())
}

// ReadPredictions reads a file with predicted labels (column "diagnosis"), as ReadGold does. Call it after ReadGold: it
// joins its rows to the gold rows by id.
func (l *Labels) ReadPredictions(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	if l.gold == nil {
		return errors.New("predictions are joined to gold labels: call ReadGold first")
	}
	p := newPredictionSet(file, l.gold)
	var err error
	p.faults, err = dataset.EachRow(ctx, read, func(r *dataset.Row) error { return p.addRow(r, &l.o) })
	p.counts.Rejected = len(p.faults)
	l.preds = append(l.preds, p)
	return err
}

// ComputeReport computes all figures, on the gold rows for which every file has a prediction. It is an error if there
// are none; otherwise the error is the context's.
func (l *Labels) ComputeReport(ctx context.Context) (*LabelReport, error) {
	if len(l.preds) == 0 {
		return nil, errors.New("there is nothing to measure: call ReadPredictions first")
	}
	silent := l.notJudged()
	if len(silent) > 0 {
		l.leaveOut(silent)
	}
	data := newLabelData(l, l.listJoined())
	if len(data.rows) == 0 {
		return nil, fmt.Errorf("no gold row has a prediction: %s; are the ids the same in both files, and the texts? "+
			"--id none joins rows by these. Where one lacks a column that the other has, such as the answer, they differ; a "+
			"gold file of ids and labels alone needs none",
			l.describeCounts())
	}
	constant := stats.MostFrequentSet(data.labels)
	subjects, err := data.newSubjects(constant)
	if err != nil {
		return nil, err
	}
	figures, err := data.resample(ctx, subjects)
	if err != nil {
		return nil, err
	}
	r := data.newReport(figures.metrics)
	r.NotJudged = silent
	r.Baseline = Baseline{Labels: data.nameLabels(constant),
		Metrics: figures.figures(func(v labelValues) []float64 { return v.baseline })}
	for j, p := range l.preds {
		one := data.measureFile(p, subjects.files[j])
		if l.o.PerLabel {
			data.addPerLabel(&one, subjects.files[j])
		}
		one.Metrics = figures.figures(func(v labelValues) []float64 { return v.files[j] })
		one.MinusBaseline = figures.changes(func(v labelValues) []float64 { return subtract(v.files[j], v.baseline) })
		r.Predictions = append(r.Predictions, one)
	}
	if len(l.preds) == 2 {
		r.Difference = figures.changes(func(v labelValues) []float64 { return subtract(v.files[1], v.files[0]) })
	}
	if l.o.By != "" {
		r.ByValue, err = data.byValue(ctx, constant)
	}
	return r, err
}

// leaveOut takes types from all labels, gold and predicted: figures are of the others.
func (l *Labels) leaveOut(types []string) {
	for i, row := range l.gold.rows {
		l.gold.rows[i].labels = leaveOut(row.labels, types, l.o.Taxonomy)
		for _, p := range l.preds {
			p.labels[i] = leaveOut(p.labels[i], types, l.o.Taxonomy)
		}
	}
}

// byValue is the micro-F1 of each file over the rows of each value.
func (data *labelData) byValue(ctx context.Context, constant []bool) ([]ByValue, error) {
	var values []string
	for _, row := range selectRows(data.gold.rows, data.rows) {
		values = append(values, row.by)
	}
	return byValue(values, func(of []int) (figures []report.Figure, err error) {
		part := newLabelData(data.Labels, selectRows(data.rows, of))
		subjects, err := part.newSubjects(constant)
		if err != nil {
			return nil, err
		}
		all, err := part.resample(ctx, subjects)
		for j := range data.preds {
			figures = append(figures, all.figures(func(v labelValues) []float64 { return v.files[j] })["micro_f1"])
		}
		return figures, err
	})
}

// describeCounts lists the counts of each file that are not zero.
func (l *Labels) describeCounts() string {
	text := l.gold.counts.describe(l.gold.file)
	for _, p := range l.preds {
		text += "; " + p.counts.describe(p.file)
	}
	return text
}

// warnings are one for each file that was read.
func (l *Labels) warnings() []report.FileWarning {
	all := []report.FileWarning{{Faults: l.gold.faults}}
	for _, p := range l.preds {
		w := report.FileWarning{Faults: p.faults}
		if n := p.counts.unscored(); n > 0 {
			w.Notes = append(w.Notes, fmt.Sprintf("%s: %d of %d gold rows have no prediction and are left out of the figures",
				p.file, n, len(l.gold.rows)))
		}
		if n := p.counts.Changed; n > 0 {
			w.Notes = append(w.Notes, fmt.Sprintf("%s: %d ids have another text than in %s; "+
				"tag the same file that the gold labels are for", p.file, n, l.gold.file))
		}
		all = append(all, w)
	}
	return all
}

// listJoined lists the gold rows for which every file has a prediction, so that all figures use the same rows.
func (l *Labels) listJoined() []int {
	var rows []int
	for i := range l.gold.rows {
		if !slices.ContainsFunc(l.preds, func(p *predictionSet) bool { return p.labels[i] == nil }) {
			rows = append(rows, i)
		}
	}
	return rows
}
