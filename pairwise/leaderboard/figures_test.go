package leaderboard

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/stats/rating"
	"github.com/erreval/erreval/pairwise/verdicts"
)

func board(t *testing.T, games [][3]string) *Board {
	t.Helper()
	v := NewVerdicts([]string{verdicts.Overall})
	for i, g := range games {
		v.Add(verdicts.Overall, string(rune('a'+i)), g[0], g[1], g[2], "")
	}
	b, err := v.Compute(context.Background(), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(b); err != nil {
		t.Errorf("no JSON: %v", err)
	}
	return b
}

// Ties alone: Davidson's tie parameter is infinite, which JSON cannot say.
func TestTiesOnly(t *testing.T) {
	b := board(t, [][3]string{{"x", "y", verdicts.BothGood}, {"y", "x", verdicts.BothBad}})
	row := b.Tables[0].Rows[0]
	if b.Tables[0].Ties.Defined() || row.Rating.Value != 1000 || row.Davidson != 1000 {
		t.Errorf("%+v", b.Tables[0])
	}
	if !slices.ContainsFunc(b.Tables[0].Notes, func(s string) bool { return strings.HasPrefix(s, "all games are ties") }) {
		t.Errorf("notes %v", b.Tables[0].Notes)
	}
}

// Two systems with equal records get equal points, though Elo's orders tell them apart by a hair; where Davidson's model
// has no fit, it counts for nobody.
func TestEqualRecords(t *testing.T) {
	var games [][3]string
	for range 5 {
		games = append(games, [3]string{"x", "z", verdicts.A}, [3]string{"y", "z", verdicts.A},
			[3]string{"x", "y", verdicts.BothGood}, [3]string{"z", "x", verdicts.BothGood},
			[3]string{"y", "z", verdicts.BothGood})
	}
	table := board(t, games).Tables[0]
	for _, r := range table.Rows[:2] {
		if r.Borda != 4.5 || r.Davidson.Defined() {
			t.Errorf("%s: Borda %v, Davidson %v; want 4.5 and none", r.System, r.Borda, r.Davidson)
		}
	}
	if !table.LacksDavidson() {
		t.Error("the table says that Davidson's model has ratings")
	}
}

// TestWinRateOfFew: who wins all of three items does not surely win more than half; 3 ÷ (3 + 4.3027²) is Wilson's limit
// with Student's quantile.
func TestWinRateOfFew(t *testing.T) {
	for _, c := range []struct {
		games    [][3]string
		low, top float64
	}{
		{[][3]string{{"x", "y", verdicts.A}, {"x", "y", verdicts.A}, {"y", "x", verdicts.B}}, 0.1395, 1},
		{[][3]string{{"x", "y", verdicts.BothGood}, {"x", "y", verdicts.BothGood}, {"x", "y", verdicts.BothBad}}, 0.0362, 0.9638},
	} {
		rate := board(t, c.games).Tables[0].Rows[0].WinRate
		if math.Abs(float64(rate.Low)-c.low) > 1e-4 || math.Abs(float64(rate.High)-c.top) > 1e-4 {
			t.Errorf("%v: %v", c.games, rate)
		}
	}
	if rate := winRate(rating.Record{Won: 1}, stats.SumsOf([]float64{1}, []float64{1}), false); rate.Low.Defined() {
		t.Errorf("without intervals: %v", rate)
	}
}
