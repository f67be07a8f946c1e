package leaderboard

import (
	"github.com/erreval/erreval/internal/stats/rating"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

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
