package stats

import (
	"maps"
	"slices"
)

// CalibrationBin compares probabilities in a bin with how often they were right.
type CalibrationBin struct {
	Rows        int     // whose probability lies in it
	Probability float64 // their mean
	Share       float64 // of the rows that have the label
	Low, High   float64 // of the share's interval: GroupSums.ShareInterval, by the table's groups
}

// Calibration are the bins of CalibrationBins that have rows, for a label, or for all labels together where it is
// negative. Nil without probabilities.
func (t *Table) Calibration(label int) []CalibrationBin {
	type sums struct{ hits, rows, probability float64 }
	var bins [CalibrationBins]map[int]*sums // by group
	add := func(group int, p float64, gold bool) {
		b := calibrationBin(p)
		if bins[b] == nil {
			bins[b] = map[int]*sums{}
		}
		s := bins[b][group]
		if s == nil {
			s = &sums{}
			bins[b][group] = s
		}
		s.hits, s.rows, s.probability = s.hits+indicator(gold), s.rows+1, s.probability+p
	}
	for i := range t.Gold {
		for k, p := range t.prob(i) {
			if label < 0 || k == label {
				add(t.group(i), p, t.Gold[i][k])
			}
		}
	}
	var out []CalibrationBin
	for _, byGroup := range bins {
		var share GroupSums
		probability := 0.0
		for _, group := range slices.Sorted(maps.Keys(byGroup)) { // sums do not depend on the order of a map
			s := byGroup[group]
			share.AddGroup(s.hits, s.rows)
			probability += s.probability
		}
		if share.Rows == 0 {
			continue
		}
		b := CalibrationBin{Rows: int(share.Rows), Probability: probability / share.Rows, Share: share.Mean()}
		b.Low, b.High = share.ShareInterval()
		out = append(out, b)
	}
	return out
}
