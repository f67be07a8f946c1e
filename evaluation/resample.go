package evaluation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
)

// resampled holds the same metrics of several subjects: over all rows, and over each resample of the groups. Every
// subject sees the same resamples, so that differences are paired.
type resampled struct {
	metrics []stats.Metric
	values  []float64   // subject by subject, in the order of metrics
	samples [][]float64 // the same of each resample
}

// resample computes the values of all subjects, with each group counted as often as weight says (nil: once).
func resample(ctx context.Context, metrics []stats.Metric, groups int, o *report.IntervalOptions,
	values func(weight []int32) []float64) (*resampled, error) {
	samples, err := stats.Bootstrap(ctx, groups, resamples(o), o.Seed, values)
	return &resampled{metrics, values(nil), samples}, err
}

func resamples(o *report.IntervalOptions) int {
	if o.Method == report.None {
		return 0
	}
	return o.Resamples
}

func checkIntervals(o *report.IntervalOptions) error {
	switch {
	case o.Resamples < 0:
		return report.OptionErrorf("--bootstrap %d: a number of resamples, 0 for no intervals", o.Resamples)
	case o.Method != report.Bootstrap && o.Method != report.None:
		return report.OptionErrorf("--interval %s: these figures have intervals by %s, or %s",
			o.Method, report.Bootstrap, report.None)
	}
	return nil
}

// minus is one subject, whose values are those of a minus those of b.
func (r *resampled) minus(a, b int) *resampled {
	n := len(r.metrics)
	subtract := func(v []float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = v[a*n+i] - v[b*n+i]
		}
		return out
	}
	d := &resampled{metrics: r.metrics, values: subtract(r.values)}
	for _, s := range r.samples {
		d.samples = append(d.samples, subtract(s))
	}
	return d
}

// figures are those of a subject, by the metrics' keys.
func (r *resampled) figures(subject int) map[string]report.Figure {
	out := map[string]report.Figure{}
	for i, m := range r.metrics {
		at := subject*len(r.metrics) + i
		f := report.NewFigure(r.values[at], stats.Column(r.samples, at))
		f.Better = better(m)
		out[m.Key] = f
	}
	return out
}

// differences are the figures of the single subject that minus gives, with p-values.
func (r *resampled) differences() map[string]report.Difference {
	out := map[string]report.Difference{}
	for i, m := range r.metrics {
		d := report.NewDifference(r.values[i], stats.Column(r.samples, i))
		d.Better = better(m)
		out[m.Key] = d
	}
	return out
}

func better(m stats.Metric) string {
	if m.HigherIsBetter {
		return report.Higher
	}
	return report.Lower
}

// describeWhere is what a title says of the rows that were chosen.
func describeWhere(where map[string]string) (text string) {
	for _, column := range slices.Sorted(maps.Keys(where)) {
		text += fmt.Sprintf(", %s=%s", column, where[column])
	}
	return text
}

func describeGroup(group string) string {
	if group == "" {
		return "rows"
	}
	return "by " + group
}

// describeIntervals are the lines of a report that say what the intervals are.
func describeIntervals(groups, resamples int, seed uint64) []string {
	if resamples == 0 {
		return nil
	}
	return append(report.RoughIntervals(groups),
		fmt.Sprintf("[%.0f %% intervals from %d resamples of the groups, seed %d]", 100*stats.Level, resamples, seed))
}
