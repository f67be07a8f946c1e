package evaluation

import (
	"cmp"
	"context"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
)

// labelSubject is one prediction with everything that is resampled: the metrics of stats, and the area under the ROC
// curve as one more.
type labelSubject struct {
	*stats.Evaluator
	auc *stats.Ranking // nil without LabelOptions.Verdict
}

func (s labelSubject) values(weight []int32) []float64 {
	v := s.Values(weight)
	if s.auc != nil {
		v = append(v, s.auc.AUC(weight))
	}
	return v
}

// labelFrame is what all predictions share: the gold rows that figures stand on, and their groups.
type labelFrame struct {
	*Labels
	rows   []int    // of the gold rows
	labels [][]bool // gold
	group  []int
	groups int
}

func newLabelFrame(l *Labels) *labelFrame {
	f := &labelFrame{Labels: l, rows: l.listJoined()}
	groups := numbering{}
	for _, row := range pick(l.gold.rows, f.rows) {
		f.labels, f.group = append(f.labels, row.labels), append(f.group, groups.of(row.group))
	}
	f.groups = len(groups)
	return f
}

func (f *labelFrame) statsOptions() stats.Options {
	return stats.Options{MinSupport: f.o.MinSupport, NoError: f.o.Taxonomy.NoErrorIndex()}
}

// newSubjects are the constant prediction, then those of each file.
func (f *labelFrame) newSubjects(constant []bool) ([]labelSubject, error) {
	base, err := f.newSubject(stats.Constant(constant, len(f.rows)), nil)
	if err != nil {
		return nil, err
	}
	subjects := []labelSubject{base}
	for _, p := range f.preds {
		s, err := f.newSubject(pick(p.labels, f.rows), pick(p.probs, f.rows))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	return subjects, nil
}

func (f *labelFrame) newSubject(pred [][]bool, prob [][]float64) (labelSubject, error) {
	table := &stats.Table{Gold: f.labels, Pred: pred, Prob: prob, Group: f.group, Groups: f.groups}
	ev, err := stats.NewEvaluator(table, f.statsOptions())
	s := labelSubject{Evaluator: ev}
	if f.o.Verdict != "" {
		s.auc = f.rankRows(prob)
	}
	return s, err
}

// rankRows orders the rows with a verdict by P(no error); a baseline without probabilities gives every row the same.
func (f *labelFrame) rankRows(prob [][]float64) *stats.Ranking {
	var scores []float64
	var gold []bool
	var group []int
	for j, i := range f.rows {
		verdict := f.gold.rows[i].verdict
		if verdict == nil || prob != nil && prob[j] == nil {
			continue
		}
		score := 0.0
		if prob != nil {
			score = prob[j][f.o.Taxonomy.NoErrorIndex()]
		}
		scores, gold, group = append(scores, score), append(gold, *verdict), append(group, f.group[j])
	}
	return stats.NewRanking(scores, gold, group)
}

// resample computes the metrics of all subjects.
func (f *labelFrame) resample(ctx context.Context, subjects []labelSubject) (*resampled, error) {
	metrics := stats.Metrics()
	if f.o.Verdict != "" {
		auc := stats.Metric{Key: "auc_no_error", Name: "AUC of P(no error), " + f.o.Verdict, HigherIsBetter: true}
		metrics = append(metrics, auc)
	}
	return resample(ctx, metrics, f.groups, &f.o.Intervals, func(weight []int32) (all []float64) {
		for _, s := range subjects {
			all = append(all, s.values(weight)...)
		}
		return all
	})
}

func (f *labelFrame) newReport(metrics []stats.Metric) *LabelReport {
	o := &f.o
	return &LabelReport{Taxonomy: o.Taxonomy.ID(), Gold: f.gold.file, Where: o.Where, Group: o.Intervals.Group,
		Resamples: resamples(&o.Intervals), Seed: o.Intervals.Seed, Level: stats.Level, MinSupport: o.MinSupport,
		Verdicts: f.countVerdicts(), Rows: f.gold.counts, Scored: len(f.rows), Groups: f.groups,
		metrics: metrics, warnings: f.warnings()}
}

func (f *labelFrame) countVerdicts() *VerdictCounts {
	if f.o.Verdict == "" {
		return nil
	}
	c := &VerdictCounts{Column: f.o.Verdict}
	for _, i := range f.rows {
		switch v := f.gold.rows[i].verdict; {
		case v == nil:
			c.Unknown++
		case *v:
			c.Yes++
		default:
			c.No++
		}
	}
	return c
}

func (f *labelFrame) nameLabels(set []bool) []string {
	names := []string{}
	for k, label := range f.o.Taxonomy.Labels() {
		if set[k] {
			names = append(names, label)
		}
	}
	return names
}

// measureFile gives a file's figures but for those that are resampled.
func (f *labelFrame) measureFile(p *predictionSet, s labelSubject) LabelledFile {
	r := LabelledFile{File: p.file, Models: p.models, Counts: p.counts}
	labels := s.Labels()
	for k, name := range f.o.Taxonomy.Labels() {
		l := labels[k]
		r.Labels = append(r.Labels, LabelFigures{
			Label: name, Support: l.Support, Predicted: l.Predicted, InMacro: l.InMacro,
			Precision: report.Number(l.Precision), Recall: report.Number(l.Recall), F1: report.Number(l.F1),
			AP: report.Number(l.AP), ECE: report.Number(l.ECE), Brier: report.Number(l.Brier),
		})
	}
	if p.counts.unscored() > 0 {
		r.UnscoredAsWrong = f.countUnscoredAsWrong(p)
	}
	if f.o.Confusion {
		r.Confusion = f.countConfusion(p, labels)
	}
	return r
}

// countUnscoredAsWrong gives the figures over all gold rows; a row without prediction misses all its labels.
func (f *labelFrame) countUnscoredAsWrong(p *predictionSet) map[string]report.Number {
	table := &stats.Table{Pred: p.labels}
	for _, row := range f.gold.rows {
		table.Gold = append(table.Gold, row.labels)
	}
	out := map[string]report.Number{}
	ev, err := stats.NewEvaluator(table, f.statsOptions())
	if err != nil { // the same rows made a valid table before
		return out
	}
	values := ev.Values(nil)
	for _, i := range []int{stats.MicroF1, stats.MacroF1, stats.WeightedF1, stats.ExactMatch,
		stats.MicroF1Errors, stats.MacroF1Errors} {
		out[stats.Metrics()[i].Key] = report.Number(values[i])
	}
	return out
}

func (f *labelFrame) countConfusion(p *predictionSet, labels []stats.Label) []Confusion {
	c := stats.NewConfusion(&stats.Table{Gold: f.labels, Pred: pick(p.labels, f.rows)})
	names := f.o.Taxonomy.Labels()
	var out []Confusion
	for g, name := range names {
		r := Confusion{Label: name, Support: labels[g].Support, Hit: labels[g].Hit, Missed: c.Missed[g],
			Instead: []LabelRows{}, NothingInstead: c.Alone[g], Added: c.Spurious[g]}
		for k, n := range c.Instead[g] {
			if n > 0 {
				r.Instead = append(r.Instead, LabelRows{names[k], n})
			}
		}
		slices.SortStableFunc(r.Instead, func(a, b LabelRows) int { return cmp.Compare(b.Rows, a.Rows) })
		out = append(out, r)
	}
	return out
}
