package leaderboard

import (
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/stats/rating"
)

// Level is the chance, over all looks, that neighbours of equal strength are taken for settled.
const Level = 1 - stats.Level

// Settled tells whether the order of the systems by a type is known: each two neighbours differ by more than chance
// explains (Bradley-Terry, errors clustered by item), and every system can be rated. It is for looks while verdicts
// come in, counted from 1: look k spends Level/(k(k+1)), which sums up to Level over all.
func (v *Verdicts) Settled(name string, look int) bool {
	c := v.byType[name]
	if c == nil || len(v.systems.list) < 2 {
		return false
	}
	fit := c.toGames(v, InconsistentTie).BradleyTerry(nil)
	order := make([]int, len(v.systems.list))
	for i, s := range fit.Standing {
		if order[i] = i; s != rating.Rated {
			return false
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if fit.Strength[a] > fit.Strength[b] {
			return -1
		}
		return 1
	})
	level := Level / float64(look*(look+1))
	for n := 1; n < len(order); n++ {
		z := (fit.Strength[order[n-1]] - fit.Strength[order[n]]) / fit.DifferenceError(order[n-1], order[n])
		if p := stats.DifferenceP(z, fit.Clusters); !(p <= level) {
			return false
		}
	}
	return true
}
