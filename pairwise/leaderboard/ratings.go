package leaderboard

import (
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats/rating"
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
	return report.NewFigureOfUnits(value, resampled, units)
}
