package report

import (
	"math"

	"github.com/erreval/erreval/internal/stats"
)

// Contrast says how far a system is from another one in a column.
type Contrast struct {
	Of         string `json:"of"` // "without error" or "without issue", an error type, a dimension, an issue's id
	System     string `json:"system"`
	Than       string `json:"than"` // the other system
	Difference        // System minus Than: of shares (0 to 1), or of mean scores
	PHolm      Number `json:"p_holm"` // corrected for the number of columns

	column, system int
}

// isSettled tells whether the difference is taken for one.
func (c *Contrast) isSettled() bool { return float64(c.PHolm) <= 1-stats.Level }

// contrast compares two systems in each column, the best first; of three or more, the best in the column with the one
// from which it differs with the largest p. Systems of few groups are not among three or more.
func (s *Stats) contrast(samples [][][]float64, groups []int) {
	order := s.order()
	several := len(order) > 2
	if several {
		order = slicesWithout(order, func(i int) bool { return groups[i] < FewGroups })
		s.few = len(s.Systems) - len(order)
	}
	if len(order) < 2 || several && samples == nil {
		return
	}
	var p []float64
	for _, c := range s.shown() {
		a, others := order[0], order[1:]
		if several {
			a, others = s.bestIn(c, order)
		}
		if nearest, ok := s.nearest(samples, groups, c, a, others); ok {
			s.Differences, p = append(s.Differences, nearest), append(p, float64(nearest.P))
		}
	}
	for i, corrected := range stats.Holm(p) {
		s.Differences[i].PHolm = Number(corrected)
	}
}

// nearest compares a system in a column with others, and gives the comparison of the largest p; false without any.
func (s *Stats) nearest(samples [][][]float64, groups []int, c, a int, others []int) (most Contrast, found bool) {
	for _, b := range others {
		x, y := s.Systems[a].cells[c].Share.Share, s.Systems[b].cells[c].Share.Share
		if !x.Defined() || !y.Defined() {
			continue
		}
		values := resampled(samples, func(means [][]float64) float64 { return means[a][c] - means[b][c] })
		d := Contrast{Of: s.columns[c].title(), System: s.Systems[a].Name, Than: s.Systems[b].Name,
			Difference: NewDifference(float64(x-y), values), PHolm: Undefined, column: c, system: a}
		if d.Better = Lower; s.columns[c].isBetterHigh() {
			d.Better = Higher
		}
		if s.columns[c].kind != kindScore {
			i := stats.ApartInterval(float64(y), float64(x), values, groups[b], groups[a])
			d.Low, d.High = Number(i.Low), Number(i.High)
		}
		if !found || d.P > most.P {
			most, found = d, true
		}
	}
	return most, found
}

// bestIn gives the best of some systems in a column, and the others.
func (s *Stats) bestIn(c int, systems []int) (best int, others []int) {
	rank := func(i int) float64 {
		x := float64(s.Systems[i].cells[c].Share.Share)
		switch {
		case math.IsNaN(x):
			return math.Inf(-1)
		case s.columns[c].isBetterHigh():
			return x
		}
		return -x
	}
	best = systems[0]
	for _, i := range systems {
		if rank(i) > rank(best) {
			best = i
		}
	}
	return best, slicesWithout(systems, func(i int) bool { return i == best })
}
