package people

import (
	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// liftOf compares the judge's accuracy in both modes; nil where no pair has a verdict in both.
func liftOf(pairs []Pair, majority []string, merged bool) *Lift {
	l, items := &Lift{}, stats.Numbers[string]{}
	var all, right, change []float64 // by item: pairs, those on which vanilla is right, and error-aware less vanilla
	onlyVanilla := 0.0
	for i := range pairs {
		p := &pairs[i]
		a, b := p.ByMode[dataset.ModeVanilla], p.ByMode[dataset.ModeErrorAware]
		if majority[i] == "" || a == "" || b == "" {
			continue
		}
		if a, b = tieOf(a, merged), tieOf(b, merged); a != b {
			l.Changed++
		}
		n := items.Of(p.Item)
		if n == len(all) {
			all, right, change = append(all, 0), append(right, 0), append(change, 0)
		}
		l.Pairs++
		all[n]++
		vanilla, aware := a == majority[i], b == majority[i]
		if vanilla {
			right[n]++
		}
		switch {
		case vanilla && !aware:
			onlyVanilla++
			change[n]--
		case aware && !vanilla:
			change[n]++
		}
	}
	if l.Pairs == 0 {
		return nil
	}
	l.Vanilla = report.Number(stats.SumsOf(right, all).Mean())
	l.Difference = report.DifferenceOf(stats.PairedShares(onlyVanilla, stats.SumsOf(change, all)))
	l.ErrorAware = l.Vanilla + l.Difference.Value
	return l
}

// tieOf is a verdict where people may know one kind of tie only.
func tieOf(value string, merged bool) string {
	if merged && value == verdicts.BothBad {
		return verdicts.BothGood
	}
	return value
}
