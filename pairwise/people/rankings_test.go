package people

import (
	"context"
	"testing"

	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// A pair on which the judge, or a majority of people, has no verdict is no tie: both orders are of the pairs with both.
func TestRankingsLeaveOutMissing(t *testing.T) {
	pair := func(item, a, b, people, judge string) Pair {
		return Pair{Item: item, SystemA: a, SystemB: b, People: []string{people}, Judge: judge, Judged: true}
	}
	pairs := []Pair{pair("1", "x", "y", verdicts.A, verdicts.A), pair("2", "x", "y", verdicts.A, verdicts.A),
		pair("3", "x", "y", verdicts.B, verdicts.B)}
	for range 9 { // x would fall behind y if these were ties
		pairs = append(pairs, pair("4", "y", "z", "", ""), pair("5", "y", "w", verdicts.A, ""))
	}
	o := Options{Intervals: report.IntervalOptions{}, Ratings: leaderboard.DefaultOptions()}
	r, err := Compute(context.Background(), "f", verdicts.Overall, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range r.Rankings {
		if k.Tau != 1 {
			t.Errorf("%s: tau %v, want 1", k.Estimator, k.Tau)
		}
	}
	if r, err := Compute(context.Background(), "f", verdicts.Overall, pairs[3:], o); err != nil || r.Rankings != nil {
		t.Errorf("no pair with both: %v, %v", r.Rankings, err)
	}
}
