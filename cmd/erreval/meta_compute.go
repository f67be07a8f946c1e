package main

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats"
)

// subject is one prediction with everything that is resampled: the metrics of stats, and the --auc area as one more.
type subject struct {
	*stats.Evaluator
	auc *stats.Ranking // nil without --auc
}

func (s subject) values(weight []int32) []float64 {
	v := s.Values(weight)
	if s.auc != nil {
		v = append(v, s.auc.AUC(weight))
	}
	return v
}

// metaFrame is what all predictions share: the scored gold rows and their groups.
type metaFrame struct {
	o      *metaOptions
	gold   *goldSet
	rows   []int
	labels [][]bool
	group  []int
	groups int
}

func newFrame(o *metaOptions, gold *goldSet, rows []int) *metaFrame {
	f := &metaFrame{o: o, gold: gold, rows: rows}
	number := map[string]int{}
	for _, i := range rows {
		f.labels = append(f.labels, gold.rows[i].labels)
		name := gold.rows[i].group
		if _, ok := number[name]; !ok {
			number[name] = len(number)
		}
		f.group = append(f.group, number[name])
	}
	f.groups = len(number)
	return f
}

func (f *metaFrame) statsOptions() stats.Options {
	return stats.Options{MinSupport: f.o.minSupport, NoError: f.o.taxonomy.NoErrorIndex()}
}

func (f *metaFrame) subject(pred [][]bool, prob [][]float64) (subject, error) {
	table := &stats.Table{Gold: f.labels, Pred: pred, Prob: prob, Group: f.group, Groups: f.groups}
	ev, err := stats.NewEvaluator(table, f.statsOptions())
	s := subject{Evaluator: ev}
	if f.o.auc != "" {
		s.auc = f.ranking(prob)
	}
	return s, err
}

// ranking orders the rows with a verdict by P(no error); a baseline without probabilities gives every row the same.
func (f *metaFrame) ranking(prob [][]float64) *stats.Ranking {
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
			score = prob[j][f.o.taxonomy.NoErrorIndex()]
		}
		scores, gold, group = append(scores, score), append(gold, *verdict), append(group, f.group[j])
	}
	return stats.NewRanking(scores, gold, group)
}

// pick takes the scored rows out of a prediction's rows.
func pick[T any](all []T, rows []int) []T {
	out := make([]T, len(rows))
	for j, i := range rows {
		out[j] = all[i]
	}
	return out
}

func computeMeta(ctx context.Context, o *metaOptions, gold *goldSet, preds []*predSet, rows []int) (*metaReport, error) {
	f := newFrame(o, gold, rows)
	constant := stats.MostFrequentSet(f.labels)
	base, err := f.subject(stats.Constant(constant, len(rows)), nil)
	if err != nil {
		return nil, err
	}
	subjects := []subject{base}
	for _, p := range preds {
		s, err := f.subject(pick(p.labels, rows), pick(p.probs, rows))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	compared, err := compare(ctx, o, subjects)
	if err != nil {
		return nil, err
	}
	r := f.report(compared.keys)
	r.Baseline = baselineReport{Labels: f.names(constant), Metrics: compared.value(0)}
	for j, p := range preds {
		one := f.predReport(p, subjects[j+1])
		one.Metrics, one.MinusBaseline = compared.value(j+1), compared.difference(j+1, 0)
		r.Preds = append(r.Preds, one)
	}
	if len(preds) == 2 {
		r.Difference = compared.difference(2, 1)
	}
	return r, nil
}

func (f *metaFrame) report(keys []stats.Metric) *metaReport {
	o := f.o
	return &metaReport{
		Taxonomy: o.taxonomy.ID(), Gold: f.gold.file, Where: o.where, Group: o.group, Resamples: o.resamples, Seed: o.seed,
		Level: stats.Level, MinSupport: o.minSupport, Verdicts: f.verdicts(), Rows: f.gold.counts, Scored: len(f.rows), Groups: f.groups, keys: keys,
	}
}

func (f *metaFrame) verdicts() *verdictCounts {
	if f.o.auc == "" {
		return nil
	}
	c := &verdictCounts{Column: f.o.auc}
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

func (f *metaFrame) names(set []bool) []string {
	names := []string{}
	for k, label := range f.o.taxonomy.Labels() {
		if set[k] {
			names = append(names, label)
		}
	}
	return names
}

// comparison holds the metrics of all subjects: over all rows, and for every resample the same groups for each.
type comparison struct {
	keys    []stats.Metric
	values  [][]float64   // subject × metric
	samples [][][]float64 // subject × resample × metric
}

func compare(ctx context.Context, o *metaOptions, subjects []subject) (*comparison, error) {
	c := &comparison{keys: stats.Metrics()}
	if o.auc != "" {
		c.keys = append(c.keys, stats.Metric{Key: "auc_no_error", Name: "AUC of P(no error), " + o.auc, HigherIsBetter: true})
	}
	for _, s := range subjects {
		c.values = append(c.values, s.values(nil))
	}
	joined, err := stats.Bootstrap(ctx, subjects[0].Groups(), o.resamples, o.seed, func(weight []int32) []float64 {
		var all []float64
		for _, s := range subjects {
			all = append(all, s.values(weight)...)
		}
		return all
	})
	for s := range subjects {
		var own [][]float64
		for _, all := range joined {
			own = append(own, all[s*len(c.keys):(s+1)*len(c.keys)])
		}
		c.samples = append(c.samples, own)
	}
	return c, err
}

func (c *comparison) value(s int) map[string]figure {
	return c.figures(c.values[s], c.samples[s])
}

// difference is subject a minus subject b, its interval that of the paired differences.
func (c *comparison) difference(a, b int) map[string]figure {
	samples := make([][]float64, len(c.samples[a]))
	for i := range samples {
		samples[i] = minus(c.samples[a][i], c.samples[b][i])
	}
	return c.figures(minus(c.values[a], c.values[b]), samples)
}

func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

func (c *comparison) figures(values []float64, samples [][]float64) map[string]figure {
	intervals := stats.Intervals(samples)
	out := map[string]figure{}
	for i, m := range c.keys {
		f := figure{Value: number(values[i]), Low: number(math.NaN()), High: number(math.NaN()), Better: "lower"}
		if m.HigherIsBetter {
			f.Better = "higher"
		}
		if intervals != nil {
			f.Low, f.High = number(intervals[i].Low), number(intervals[i].High)
		}
		out[m.Key] = f
	}
	return out
}

func (f *metaFrame) predReport(p *predSet, s subject) predReport {
	r := predReport{File: p.file, Models: append([]string{}, p.models...), Counts: p.counts}
	labels := s.Labels()
	for k, name := range f.o.taxonomy.Labels() {
		l := labels[k]
		r.Labels = append(r.Labels, labelReport{
			Label: name, Support: l.Support, Predicted: l.Predicted, Precision: number(l.Precision), Recall: number(l.Recall),
			F1: number(l.F1), AP: number(l.AP), ECE: number(l.ECE), Brier: number(l.Brier), InMacro: l.InMacro,
		})
	}
	if p.counts.unscored() > 0 {
		r.UnscoredAsWrong = f.unscoredAsWrong(p)
	}
	if f.o.confusion {
		r.Confusion = f.confusion(p, labels)
	}
	return r
}

// unscoredAsWrong are the figures over all gold rows; a row without prediction misses all its labels.
func (f *metaFrame) unscoredAsWrong(p *predSet) map[string]number {
	table := &stats.Table{Pred: p.labels}
	for _, row := range f.gold.rows {
		table.Gold = append(table.Gold, row.labels)
	}
	out := map[string]number{}
	ev, err := stats.NewEvaluator(table, f.statsOptions())
	if err != nil { // the same rows made a valid table before
		return out
	}
	values := ev.Values(nil)
	for _, i := range []int{stats.MicroF1, stats.MacroF1, stats.WeightedF1, stats.ExactMatch, stats.MicroF1Errors, stats.MacroF1Errors} {
		out[stats.Metrics()[i].Key] = number(values[i])
	}
	return out
}

func (f *metaFrame) confusion(p *predSet, labels []stats.Label) []confusionReport {
	c := stats.NewConfusion(&stats.Table{Gold: f.labels, Pred: pick(p.labels, f.rows)})
	names := f.o.taxonomy.Labels()
	var out []confusionReport
	for g, name := range names {
		r := confusionReport{Label: name, Support: labels[g].Support, Hit: labels[g].Hit, Missed: c.Missed[g],
			Instead: []labelRows{}, NothingWrong: c.Alone[g], SpuriousAlone: c.Spurious[g]}
		for k, n := range c.Instead[g] {
			if n > 0 {
				r.Instead = append(r.Instead, labelRows{names[k], n})
			}
		}
		slices.SortStableFunc(r.Instead, func(a, b labelRows) int { return cmp.Compare(b.Rows, a.Rows) })
		out = append(out, r)
	}
	return out
}
