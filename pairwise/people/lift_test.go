package people

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// Ten pairs with a majority: vanilla is right on 4, error-aware on 7, of which 3 are right by both. Lift 0.3. A pair without majority and one judged in one mode are left out, and
// both_bad of the judge is people's only tie.
func TestLift(t *testing.T) {
	var pairs []Pair
	add := func(people, vanilla, aware string) {
		by := map[string]string{}
		if vanilla != "" {
			by[dataset.ModeVanilla] = vanilla
		}
		if aware != "" {
			by[dataset.ModeErrorAware] = aware
		}
		pairs = append(pairs, Pair{Item: fmt.Sprint(len(pairs)), SystemA: "x", SystemB: "y", People: []string{people},
			Judge: aware, Judged: true, ByMode: by})
	}
	for _, p := range [][3]string{{"A", "A", "A"}, {"B", "B", "B"}, {"both_good", "both_good", "both_bad"},
		{"A", "A", "B"}, {"A", "B", "A"}, {"A", "B", "A"}, {"B", "A", "B"}, {"both_good", "A", "both_bad"}, {"A", "B", "B"}, {"B", "A", "A"},
		{"", "A", "A"}, {"A", "", "A"}} {
		add(p[0], p[1], p[2])
	}
	r, err := Compute(context.Background(), "x", verdicts.Overall, pairs, Options{Ratings: leaderboard.DefaultOptions(),
		Intervals: report.IntervalOptions{Resamples: 100, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	l := r.Lift
	if l == nil || l.Pairs != 10 || l.Changed != 5 || math.Abs(float64(l.Vanilla)-0.4) > 1e-12 ||
		math.Abs(float64(l.ErrorAware)-0.7) > 1e-12 || math.Abs(float64(l.Difference.Value)-0.3) > 1e-12 ||
		!(l.Difference.Low < 0.3 && l.Difference.High > 0.3) {
		t.Errorf("%+v", l)
	}
}
