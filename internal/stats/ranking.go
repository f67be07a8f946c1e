package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// CalibrationBins is the number of equal-width bins of the calibration error (Guo et al. 2017 use 15). A bin is open
// below and closed above, the first closed on both sides, as in scikit-learn's calibration_curve. Per label, the error
// is Σ over bins of (rows in the bin ÷ rows) · |share of gold − mean probability|.
const CalibrationBins = 15

func calibrationBin(p float64) int {
	b := min(int(p*CalibrationBins), CalibrationBins-1)
	// The edges are those of numpy.linspace; the product above may be off by one unit in the last place.
	for b > 0 && p <= float64(b)*(1.0/CalibrationBins) {
		b--
	}
	for b < CalibrationBins-1 && p > float64(b+1)*(1.0/CalibrationBins) {
		b++
	}
	return b
}

// Ranking holds rows in descending order of a score. It sorts them once for all weightings. Safe for concurrent use.
type Ranking struct {
	group []int32
	gold  []bool
	last  []bool // last row of its score: equal scores are one step
}

// NewRanking sorts the rows by score. group is the resampling group of each row; nil: its own.
func NewRanking(scores []float64, gold []bool, group []int) *Ranking {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	r := &Ranking{make([]int32, len(order)), make([]bool, len(order)), make([]bool, len(order))}
	for j, i := range order {
		r.group[j], r.gold[j] = int32(i), gold[i]
		if group != nil {
			r.group[j] = int32(group[i])
		}
		r.last[j] = j == len(order)-1 || scores[order[j+1]] != scores[i]
	}
	return r
}

// eachStep calls f for every distinct score, from the highest, with the weight of gold and other rows that have it.
func (r *Ranking) eachStep(weight []int32, f func(pos, neg float64)) {
	pos, neg := 0.0, 0.0
	for j, g := range r.group {
		if w := WeightOf(weight, g); r.gold[j] {
			pos += w
		} else {
			neg += w
		}
		if r.last[j] {
			f(pos, neg)
			pos, neg = 0, 0
		}
	}
}

// AveragePrecision is Σ (Rₙ − Rₙ₋₁)·Pₙ over the distinct scores, without interpolation: scikit-learn's
// average_precision_score. NaN where no row is gold (scikit-learn: 0). Weight counts groups, nil: once each.
func (r *Ranking) AveragePrecision(weight []int32) float64 {
	var tp, all, sum float64
	r.eachStep(weight, func(pos, neg float64) {
		tp, all = tp+pos, all+pos+neg
		if pos > 0 {
			sum += pos * tp / all
		}
	})
	return mean(sum, tp)
}

// AUC is the area under the ROC curve: the share of (gold, other) pairs in which the gold row scores higher, ties
// counting half (Mann and Whitney 1947). NaN unless both kinds of rows are there. Weight counts groups, nil: once each.
func (r *Ranking) AUC(weight []int32) float64 {
	var tp, fp, wins float64
	r.eachStep(weight, func(pos, neg float64) {
		wins += neg * (tp + pos/2)
		tp, fp = tp+pos, fp+neg
	})
	if tp == 0 || fp == 0 {
		return math.NaN()
	}
	return wins / (tp * fp)
}

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
