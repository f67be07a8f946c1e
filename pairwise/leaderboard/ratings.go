package leaderboard

import (
	"cmp"
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/stats/rating"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// rated is what Bradley-Terry says of one resample.
type rated struct {
	fit    *rating.Fit
	points []float64
	errors []float64 // of differences to the anchor, or of strengths, in log odds
}

func (v *Verdicts) rate(games *rating.Games, anchor string, weight []int32) *rated {
	r := &rated{fit: games.BradleyTerry(weight)}
	r.points, r.errors = rating.Points(r.fit.Strength), r.fit.Errors
	if anchor == "" {
		return r
	}
	at := v.systems.at[anchor]
	r.points = anchored(r.points, at)
	r.errors = make([]float64, len(r.points))
	for i := range r.errors {
		r.errors[i] = r.fit.DifferenceError(i, at)
	}
	return r
}

// anchored moves ratings such that one of them is 1000.
func anchored(points []float64, anchor int) []float64 {
	out := slices.Clone(points)
	for i := range out {
		out[i] += 1000 - points[anchor]
	}
	return out
}

// ratings are four of the same systems.
type ratings struct{ bradleyTerry, davidson, elo, glicko []float64 }

// inWholePoints are the four in whole points: smaller differences are noise of arithmetic and of Elo's orders.
func (r *ratings) inWholePoints() [][]float64 {
	out := [][]float64{slices.Clone(r.bradleyTerry), slices.Clone(r.davidson), slices.Clone(r.elo), slices.Clone(r.glicko)}
	for _, list := range out {
		for i := range list {
			list[i] = math.Round(list[i])
		}
	}
	return out
}

func fourRatings(v *Verdicts, anchor string, whole *rated, davidson *rating.Fit, elo []float64,
	glicko []rating.Glicko2Rating) *ratings {
	r := &ratings{bradleyTerry: whole.points, davidson: rating.Points(davidson.Strength), elo: elo,
		glicko: make([]float64, len(glicko))}
	for i, g := range glicko {
		r.glicko[i] = g.Rating
	}
	if anchor != "" {
		at := v.systems.at[anchor]
		r.davidson, r.elo, r.glicko = anchored(r.davidson, at), anchored(r.elo, at), anchored(r.glicko, at)
	}
	return r
}

// figureOf is a figure with its values in the samples. A sample in which it is not defined is left out.
func figureOf(value float64, samples []*rated, of func(*rated) float64, units int) report.Figure {
	var resampled []float64
	for _, s := range samples {
		resampled = append(resampled, of(s))
	}
	return report.NewFigure(value, resampled, units)
}

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
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(fit.Strength[b], fit.Strength[a]) })
	level := Level / float64(look*(look+1))
	for n := 1; n < len(order); n++ {
		z := (fit.Strength[order[n-1]] - fit.Strength[order[n]]) / fit.DifferenceError(order[n-1], order[n])
		if p := stats.DifferenceP(z, fit.Clusters); !(p <= level) {
			return false
		}
	}
	return true
}

// bothBad is, for each system, the share of its pairs in which both texts do badly.
func (c *collected) bothBad(v *Verdicts) []float64 {
	all, bad := make([]float64, len(v.systems.list)), make([]float64, len(v.systems.list))
	for _, j := range c.games {
		if j.value == "" {
			continue
		}
		for _, s := range []int32{j.a, j.b} {
			if all[s]++; j.value == verdicts.BothBad {
				bad[s]++
			}
		}
	}
	for i := range bad {
		bad[i] /= all[i]
	}
	return bad
}

// matrix is how often each system of rows wins against each other; undefined where they did not meet.
func (v *Verdicts) matrix(games *rating.Games, rows []Row) Matrix {
	m := make(Matrix, len(rows))
	for i, r := range rows {
		between := games.Between(v.systems.at[r.System])
		m[i] = make([]report.Number, len(rows))
		for j, other := range rows {
			m[i][j] = report.Undefined
			if i != j {
				m[i][j] = report.Number(between[v.systems.at[other.System]].Rate())
			}
		}
	}
	return m
}
