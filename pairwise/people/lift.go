package people

import (
	"context"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// liftOf compares the judge's accuracy in both modes; nil where no pair has a verdict in both.
func liftOf(ctx context.Context, pairs []Pair, majority []string, merged bool, o *Options) (*Lift, error) {
	var vanilla, aware []bool
	var groupOf []int
	l, items := &Lift{}, map[string]int{}
	for i := range pairs {
		p := &pairs[i]
		a, b := p.ByMode[dataset.ModeVanilla], p.ByMode[dataset.ModeErrorAware]
		if majority[i] == "" || a == "" || b == "" {
			continue
		}
		if a, b = tieOf(a, merged), tieOf(b, merged); a != b {
			l.Changed++
		}
		n, ok := items[p.Item]
		if !ok {
			n = len(items)
			items[p.Item] = n
		}
		vanilla, aware = append(vanilla, a == majority[i]), append(aware, b == majority[i])
		groupOf = append(groupOf, n)
	}
	if l.Pairs = len(vanilla); l.Pairs == 0 {
		return nil, nil
	}
	accuracies := func(weight []int32) []float64 {
		var a, b, all float64
		for i := range vanilla {
			w := float64(weight[groupOf[i]])
			if all += w; vanilla[i] {
				a += w
			}
			if aware[i] {
				b += w
			}
		}
		return []float64{a / all, b / all, (b - a) / all}
	}
	var samples [][]float64
	if o.Intervals.Method == report.Bootstrap {
		var err error
		samples, err = stats.Bootstrap(ctx, len(items), o.Intervals.Resamples, o.Intervals.Seed, accuracies)
		if err != nil {
			return nil, err
		}
	}
	whole := accuracies(slices.Repeat([]int32{1}, len(items)))
	l.Vanilla, l.ErrorAware = report.Number(whole[0]), report.Number(whole[1])
	l.Difference = report.NewDifference(whole[2], stats.Column(samples, 2))
	l.McNemar = report.Number(stats.NewCrossTable(vanilla, aware).McNemar())
	return l, nil
}

// tieOf is a verdict where people may know one kind of tie only.
func tieOf(value string, merged bool) string {
	if merged && value == verdicts.BothBad {
		return verdicts.BothGood
	}
	return value
}
