// Package people compares a judge's verdicts on pairs with people's, and people with each other.
package people

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// Pair is one with people's verdicts.
type Pair struct {
	Item, SystemA, SystemB string
	People                 []string // values of verdicts, "" where somebody gave none
	Judge                  string   // its verdict; "" where there is none
	Judged                 bool     // the file has a verdict of a judge on it, perhaps without a value
	Inconsistent           bool     // the judgements on it differ, which is why Judge is empty
	// ByMode are the judge's verdicts by mode, vanilla and error-aware, where there are both.
	ByMode map[string]string
}

// Report says how far a judge and people agree. Its JSON keys are stable.
type Report struct {
	File       string         `json:"file"`
	Type       string         `json:"type"`
	Pairs      int            `json:"pairs"`
	People     int            `json:"people"`    // columns of verdicts
	Alpha      report.Number  `json:"alpha"`     // Krippendorff's, nominal, of people
	AlphaLow   report.Number  `json:"alpha_low"` // of the interval, which resamples items
	AlphaHigh  report.Number  `json:"alpha_high"`
	Agreement  report.Number  `json:"agreement"`   // share of equal verdicts of two people, the mean over pairs
	NoMajority int            `json:"no_majority"` // pairs on which no verdict has more votes than every other
	Unlabelled int            `json:"unlabelled"`  // pairs on which nobody gave a verdict
	Majority   map[string]int `json:"majority"`    // pairs by people's verdict
	// TiesMerged: nobody said both_bad, so that both kinds of ties are one.
	TiesMerged  bool    `json:"ties_merged"`
	WithTies    *Accord `json:"with_ties,omitempty"`    // nil without a judge
	WithoutTies *Accord `json:"without_ties,omitempty"` // pairs in which one text wins by both
	// Pairs with a majority on which the judge has no verdict, since its judgements differ or for another reason.
	Inconsistent int       `json:"inconsistent"`
	Unjudged     int       `json:"unjudged"`
	Rankings     []Ranking `json:"rankings,omitempty"`
	Lift         *Lift     `json:"lift,omitempty"` // nil where no pair was judged in both modes
	systems      int
	faults       []error
}

// Lift is what showing the judge the errors found changes, on the pairs on which people have a majority and the judge
// a verdict in both modes.
type Lift struct {
	Pairs      int               `json:"pairs"`
	Vanilla    report.Number     `json:"vanilla"`     // accuracy
	ErrorAware report.Number     `json:"error_aware"` // accuracy
	Difference report.Difference `json:"difference"`  // error-aware less vanilla; pairs of one item stand and fall together
	Changed    int               `json:"changed"`     // pairs with another verdict
}

// Accord is that of a judge with people's majority, on the pairs on which both have a verdict.
type Accord struct {
	Pairs    int           `json:"pairs"`
	Accuracy report.Figure `json:"accuracy"` // in its interval, pairs of one item stand and fall together
	Constant report.Number `json:"constant"` // accuracy of who always gives the most frequent verdict
	MacroF1  report.Number `json:"macro_f1"` // over the verdicts that either gives
	Kappa    report.Number `json:"kappa"`    // Cohen's
}

// Ranking is how far the orders of the systems by the judge and by people agree.
type Ranking struct {
	Estimator string        `json:"estimator"`
	Tau       report.Number `json:"tau"` // Kendall's tau-b
}

// Options say how the figures are computed.
type Options struct {
	Intervals report.IntervalOptions
	Ratings   leaderboard.Options
}

// Compute compares the pairs of a file by one type.
func Compute(ctx context.Context, file, name string, pairs []Pair, o Options) (*Report, error) {
	r := &Report{File: file, Type: name, Pairs: len(pairs), Majority: map[string]int{}}
	if len(pairs) == 0 {
		return nil, errors.New(file + ": there are no pairs")
	}
	pairs = slices.Clone(pairs) // ties of judges may change
	r.TiesMerged = !slices.ContainsFunc(pairs, func(p Pair) bool { return slices.Contains(p.People, verdicts.BothBad) })
	units := make([][]string, len(pairs))
	majority := make([]string, len(pairs))
	judged, systems := false, stats.Numbers[string]{}
	for i := range pairs {
		p := &pairs[i]
		systems.Of(p.SystemA)
		systems.Of(p.SystemB)
		r.People = max(r.People, len(p.People))
		units[i] = slices.DeleteFunc(slices.Clone(p.People), func(v string) bool { return v == "" })
		switch majority[i] = majorityOf(p.People); {
		case len(units[i]) == 0:
			r.Unlabelled++
		case majority[i] == "":
			r.NoMajority++
		default:
			r.Majority[majority[i]]++
		}
		p.Judge = tieOf(p.Judge, r.TiesMerged)
		judged = judged || p.Judged
		switch {
		case !p.Judged || p.Judge != "" || majority[i] == "":
		case p.Inconsistent:
			r.Inconsistent++
		default:
			r.Unjudged++
		}
	}
	r.systems = len(systems)
	err := r.addAgreement(ctx, pairs, units, &o.Intervals)
	if err != nil || !judged {
		return r, err
	}
	r.WithTies = accord(pairs, majority, func(string) bool { return true })
	r.WithoutTies = accord(pairs, majority, wins)
	r.Lift = liftOf(pairs, majority, r.TiesMerged)
	r.Rankings, err = rankings(ctx, pairs, majority, &o)
	return r, err
}

// addAgreement measures how far people agree with each other; units are their verdicts on each pair.
func (r *Report) addAgreement(ctx context.Context, pairs []Pair, units [][]string, o *report.IntervalOptions) error {
	r.Alpha, r.Agreement = report.Number(stats.AlphaNominal(units)), meanAgreement(units)
	r.AlphaLow, r.AlphaHigh = report.Undefined, report.Undefined
	if o.Resamples == 0 || !r.Alpha.Defined() {
		return nil
	}
	items, itemOf := stats.Numbers[string]{}, make([]int, len(pairs))
	for i := range pairs {
		itemOf[i] = items.Of(pairs[i].Item)
	}
	samples, err := stats.Bootstrap(ctx, len(items), o.Resamples, o.Seed, func(weight []int32) float64 {
		var drawn [][]string
		for i, unit := range units {
			for range weight[itemOf[i]] {
				drawn = append(drawn, unit)
			}
		}
		return stats.AlphaNominal(drawn)
	})
	if err != nil {
		return err
	}
	low, high := stats.IntervalOf(samples, len(items))
	r.AlphaLow, r.AlphaHigh = report.Number(low), report.Number(high)
	return nil
}

// meanAgreement is the share of equal verdicts among all two of a unit, as the mean over the units that have two.
func meanAgreement(units [][]string) report.Number {
	sum, n := 0.0, 0.0
	for _, unit := range units {
		same, all := 0.0, 0.0
		for i, v := range unit {
			for _, other := range unit[:i] {
				if all++; v == other {
					same++
				}
			}
		}
		if all > 0 {
			sum, n = sum+same/all, n+1
		}
	}
	if n == 0 {
		return report.Undefined
	}
	return report.Number(sum / n)
}

func wins(v string) bool { return v == verdicts.A || v == verdicts.B }

func majorityOf(people []string) string {
	v := verdicts.Verdict{}
	for _, value := range people {
		v.Runs = append(v.Runs, verdicts.Run{Value: value})
	}
	v.Reconcile(verdicts.Majority)
	return v.Value
}

// accord compares the pairs of which both verdicts count.
func accord(pairs []Pair, majority []string, counts func(string) bool) *Accord {
	var gold, judge []string
	var groupOf []int
	items, frequency := stats.Numbers[string]{}, map[string]int{}
	for i := range pairs {
		if majority[i] == "" || pairs[i].Judge == "" || !counts(majority[i]) || !counts(pairs[i].Judge) {
			continue
		}
		gold, judge = append(gold, majority[i]), append(judge, pairs[i].Judge)
		groupOf = append(groupOf, items.Of(pairs[i].Item))
		frequency[majority[i]]++
	}
	a := &Accord{Pairs: len(gold), Constant: report.Undefined,
		Accuracy: report.Figure{Value: report.Undefined, Low: report.Undefined, High: report.Undefined}}
	if a.MacroF1, a.Kappa = report.Undefined, report.Undefined; a.Pairs == 0 {
		return a
	}
	right, all := make([]float64, len(items)), make([]float64, len(items))
	for i := range gold {
		if all[groupOf[i]]++; gold[i] == judge[i] {
			right[groupOf[i]]++
		}
	}
	sums := stats.SumsOf(right, all)
	low, high := sums.ShareInterval()
	a.Accuracy = report.Figure{Value: report.Number(sums.Mean()), Low: report.Number(low), High: report.Number(high)}
	most := slices.Max(slices.Collect(maps.Values(frequency)))
	a.Constant = report.Number(float64(most) / float64(a.Pairs))
	a.MacroF1 = report.Number(macroF1(gold, judge))
	a.Kappa = report.Number(stats.Kappa(gold, judge))
	return a
}

// macroF1 is the mean F1 over the values that either list has.
func macroF1(gold, found []string) float64 {
	sum, n := 0.0, 0
	for _, value := range verdicts.Values() {
		var both, onlyGold, onlyFound float64
		for i := range gold {
			switch {
			case gold[i] == value && found[i] == value:
				both++
			case gold[i] == value:
				onlyGold++
			case found[i] == value:
				onlyFound++
			}
		}
		if both+onlyGold+onlyFound > 0 {
			sum, n = sum+2*both/(2*both+onlyGold+onlyFound), n+1
		}
	}
	return sum / float64(n)
}

// rankings compares the orders of the systems by each estimator, on the pairs on which both have a verdict.
func rankings(ctx context.Context, pairs []Pair, majority []string, o *Options) ([]Ranking, error) {
	var boards [2]*leaderboard.Table
	for side := range boards {
		v := leaderboard.NewVerdicts(nil)
		for i := range pairs {
			if pairs[i].Judge == "" || majority[i] == "" {
				continue
			}
			value := pairs[i].Judge
			if side == 1 {
				value = majority[i]
			}
			v.Add(verdicts.Overall, pairs[i].Item, pairs[i].SystemA, pairs[i].SystemB, value, "")
		}
		ratings := o.Ratings
		ratings.Resamples = 0
		b, err := v.Compute(ctx, ratings)
		if err != nil {
			return nil, err
		}
		if len(b.Tables) == 0 { // no pair has both
			return nil, nil
		}
		boards[side] = &b.Tables[0]
	}
	var out []Ranking
	for _, e := range []struct {
		name string
		of   func(*leaderboard.Row) float64
	}{{"Bradley-Terry", func(r *leaderboard.Row) float64 { return float64(r.Rating.Value) }},
		{"Davidson", func(r *leaderboard.Row) float64 { return float64(r.Davidson) }},
		{"Elo", func(r *leaderboard.Row) float64 { return float64(r.Elo) }},
		{"Glicko-2", func(r *leaderboard.Row) float64 { return float64(r.Glicko2) }},
		{"Borda", func(r *leaderboard.Row) float64 { return float64(r.Borda) }},
		{"win rate", func(r *leaderboard.Row) float64 { return float64(r.WinRate.Value) }}} {
		judge, gold := valuesOf(boards[0], e.of), valuesOf(boards[1], e.of)
		var x, y []float64
		for _, system := range slices.Sorted(maps.Keys(judge)) {
			if g, ok := gold[system]; ok && !math.IsNaN(g) && !math.IsNaN(judge[system]) {
				x, y = append(x, judge[system]), append(y, g)
			}
		}
		out = append(out, Ranking{e.name, report.Number(stats.NewPairs(x, y, nil).Correlations(nil).Kendall)})
	}
	return out, nil
}

func valuesOf(t *leaderboard.Table, of func(*leaderboard.Row) float64) map[string]float64 {
	out := map[string]float64{}
	for i := range t.Rows {
		out[t.Rows[i].System] = of(&t.Rows[i])
	}
	return out
}

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
