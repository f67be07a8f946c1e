package evaluation

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
)

// resampled holds the values of all subjects, such as files, as one value of type S: over all rows, and over each
// resample of the groups. Every subject sees the same resamples, so that differences are paired.
type resampled[S any] struct {
	metrics []stats.Metric
	units   int
	whole   S
	samples []S
}

// resample computes the values of all subjects, with each group counted as often as weight says (nil: once).
func resample[S any](ctx context.Context, metrics []stats.Metric, groups int, o *report.IntervalOptions,
	values func(weight []int32) S) (*resampled[S], error) {
	samples, err := stats.Bootstrap(ctx, groups, o.Resamples, o.Seed, values)
	return &resampled[S]{metrics, groups, values(nil), samples}, err
}

// of is for a subject that has rows in so many groups.
func (r *resampled[S]) of(groups int) *resampled[S] {
	c := *r
	c.units = groups
	return &c
}

// figures are those of one subject by the metrics' keys; of selects its values, in the order of metrics.
func (r *resampled[S]) figures(of func(S) []float64) map[string]report.Figure {
	out := map[string]report.Figure{}
	values, samples := of(r.whole), r.columns(of)
	for i, m := range r.metrics {
		figure := report.NewShare
		if m.IsSigned {
			figure = report.NewFigure
		}
		f := figure(values[i], samples[i], r.units)
		f.Better = betterDirection(m)
		out[m.Key] = f
	}
	return out
}

// changes are differences without p-values.
func (r *resampled[S]) changes(of func(S) []float64) map[string]report.Figure {
	out := map[string]report.Figure{}
	for key, d := range r.differences(of) {
		out[key] = d.Figure
	}
	return out
}

// differences are figures with p-values; of computes the difference of two subjects.
func (r *resampled[S]) differences(of func(S) []float64) map[string]report.Difference {
	out, values, samples := map[string]report.Difference{}, of(r.whole), r.columns(of)
	for i, m := range r.metrics {
		d := report.NewDifference(values[i], samples[i], r.units)
		d.Better = betterDirection(m)
		out[m.Key] = d
	}
	return out
}

// columns are the values over all resamples, by metric.
func (r *resampled[S]) columns(of func(S) []float64) [][]float64 {
	samples := make([][]float64, len(r.samples))
	for i, s := range r.samples {
		samples[i] = of(s)
	}
	out := make([][]float64, len(r.metrics))
	for i := range out {
		out[i] = stats.Column(samples, i)
	}
	return out
}

// subtract gives a − b, value by value.
func subtract(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}

func betterDirection(m stats.Metric) string {
	if m.HigherIsBetter {
		return report.Higher
	}
	return report.Lower
}

// describeWhere names the chosen rows in a title.
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
