package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Correlations are the agreement of two variables over rows. Each is −1 to 1, and NaN where it is undefined: with fewer
// than two rows, or where a variable has one value only.
type Correlations struct {
	Pearson  float64 // linear; gonum's stat.Correlation
	Spearman float64 // Pearson of the ranks, tied values sharing their mean rank: scipy.stats.spearmanr
	Kendall  float64 // tau-b, which takes ties out of both variables: scipy.stats.kendalltau
}

// Pairs holds rows with two values. It sorts them once for all weightings. Safe for concurrent use.
type Pairs struct {
	x, y         []float64
	group        []int32
	byX, byY     []int   // rows in ascending order of x, and of y
	rankX, rankY []int32 // index of a row's value among the distinct ones, from 0
	distinctY    int
}

// NewPairs takes rows (x[i], y[i]) of finite numbers. group is the resampling group of each row; nil: its own.
func NewPairs(x, y []float64, group []int) *Pairs {
	p := &Pairs{x: x, y: y, group: make([]int32, len(x))}
	for i := range p.group {
		p.group[i] = int32(i)
		if group != nil {
			p.group[i] = int32(group[i])
		}
	}
	p.byX, p.rankX, _ = rankValues(x)
	p.byY, p.rankY, p.distinctY = rankValues(y)
	slices.SortStableFunc(p.byX, func(a, b int) int { // rows tied in both are adjacent
		return cmp.Or(cmp.Compare(p.rankX[a], p.rankX[b]), cmp.Compare(p.rankY[a], p.rankY[b]))
	})
	return p
}

// rankValues gives the order of values, the index of each among the distinct ones, and the number of those.
func rankValues(v []float64) (order []int, place []int32, distinct int) {
	order, place = make([]int, len(v)), make([]int32, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	for j, i := range order {
		if j == 0 || v[i] != v[order[j-1]] {
			distinct++
		}
		place[i] = int32(distinct - 1)
	}
	return order, place, distinct
}

// Correlations are those of the rows, each counted as often as weight says for its group; nil: once each.
func (p *Pairs) Correlations(weight []int32) Correlations {
	w := make([]float64, len(p.x))
	for i, g := range p.group {
		w[i] = WeightOf(weight, g)
	}
	if !hasVariance(p.x, w) || !hasVariance(p.y, w) {
		return Correlations{math.NaN(), math.NaN(), math.NaN()}
	}
	return Correlations{
		Pearson:  clampCorrelation(stat.Correlation(p.x, p.y, w)),
		Spearman: clampCorrelation(stat.Correlation(midRanks(p.byX, p.rankX, w), midRanks(p.byY, p.rankY, w), w)),
		Kendall:  p.kendall(w),
	}
}

// clampCorrelation removes what rounding adds beyond −1 and 1.
func clampCorrelation(r float64) float64 { return math.Max(-1, math.Min(1, r)) }

// hasVariance tells whether the rows that count have two distinct values. The computed variance may be a rounding
// error.
func hasVariance(v, w []float64) bool {
	first := math.NaN()
	for i, x := range v {
		if w[i] > 0 && !math.IsNaN(first) && x != first {
			return true
		}
		if w[i] > 0 {
			first = x
		}
	}
	return false
}

// midRanks are the mean ranks of tied values among rows that count w times each.
func midRanks(order []int, place []int32, w []float64) []float64 {
	ranks := make([]float64, len(order))
	below := 0.0
	for start := 0; start < len(order); {
		end, here := start, 0.0
		for ; end < len(order) && place[order[end]] == place[order[start]]; end++ {
			here += w[order[end]]
		}
		for _, i := range order[start:end] {
			ranks[i] = below + (here+1)/2
		}
		below += here
		start = end
	}
	return ranks
}

// kendall is tau-b in O(n log n) (Knight 1966): concordant minus discordant pairs over the geometric mean of the pairs
// that are not tied in x and those not tied in y. All counts are whole numbers.
func (p *Pairs) kendall(w []float64) float64 {
	var tiedX, tiedY, tiedBoth, discordant, seen float64
	above := make(fenwick, p.distinctY+1)
	for start := 0; start < len(p.byX); {
		end, here, both := start, 0.0, 0.0
		for ; end < len(p.byX) && p.rankX[p.byX[end]] == p.rankX[p.byX[start]]; end++ {
			i := p.byX[end]
			if end > start && p.rankY[i] != p.rankY[p.byX[end-1]] {
				tiedBoth, both = tiedBoth+pairsOf(both), 0
			}
			if w[i] > 0 {
				discordant += w[i] * (seen - above.sumUpTo(p.rankY[i]))
			}
			both, here = both+w[i], here+w[i]
		}
		for _, i := range p.byX[start:end] {
			above.addAt(p.rankY[i], w[i])
		}
		tiedX, tiedBoth, seen = tiedX+pairsOf(here), tiedBoth+pairsOf(both), seen+here
		start = end
	}
	for rank := range p.distinctY {
		tiedY += pairsOf(above.sumUpTo(int32(rank)) - above.sumUpTo(int32(rank)-1))
	}
	all := pairsOf(seen)
	return clampCorrelation((all - tiedX - tiedY + tiedBoth - 2*discordant) / math.Sqrt(all-tiedX) / math.Sqrt(all-tiedY))
}

// pairsOf is the number of pairs of n items.
func pairsOf(n float64) float64 { return n * (n - 1) / 2 }

// fenwick holds sums over the beginning of a list (Fenwick 1994).
type fenwick []float64

func (f fenwick) addAt(place int32, n float64) {
	for i := place + 1; int(i) < len(f); i += i & -i {
		f[i] += n
	}
}

// sumUpTo is the sum of the elements up to place.
func (f fenwick) sumUpTo(place int32) float64 {
	total := 0.0
	for i := place + 1; i > 0; i -= i & -i {
		total += f[i]
	}
	return total
}

// Means are the means of values per unit (as a system), over rows in resampling groups.
type Means struct {
	unit, group []int
	x, y        []float64
	units       int
}

// NewMeans takes rows of two values; unit counts from 0. group as in NewPairs.
func NewMeans(x, y []float64, unit []int, units int, group []int) *Means {
	return &Means{unit: unit, group: group, x: x, y: y, units: units}
}

// Correlations are those of the units' means. A unit without a row that counts is left out.
func (m *Means) Correlations(weight []int32) Correlations {
	x, y, n := make([]float64, m.units), make([]float64, m.units), make([]float64, m.units)
	for i, u := range m.unit {
		w := WeightOf(weight, m.group[i])
		x[u], y[u], n[u] = x[u]+w*m.x[i], y[u]+w*m.y[i], n[u]+w
	}
	k := 0
	for u := range n {
		if n[u] > 0 {
			x[k], y[k] = roundNoise(x[u]/n[u]), roundNoise(y[u]/n[u])
			k++
		}
	}
	return NewPairs(x[:k], y[:k], nil).Correlations(nil)
}

// roundNoise removes rounding errors from a mean, so that equal means are tied.
func roundNoise(x float64) float64 { return math.Round(x*1e12) / 1e12 }
