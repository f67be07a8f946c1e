package stats

import "math"

// Z is the standard normal quantile at (1+Level)/2.
const Z = 1.959963984540054

// Wilson is the score interval (Wilson 1927) at Level of a share of hits in n independent trials. It stays within 0 and
// 1, and has a width at 0 and n hits, where resampling has none. NaN without trials.
func Wilson(hits, n int) (low, high float64) {
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	low, high = wilson(float64(hits)/float64(n), float64(n))
	if hits == 0 {
		low = 0 // the formula's own value, without its rounding error
	}
	if hits == n {
		high = 1
	}
	return low, high
}

// spreadless is the width below which an interval of a share shows no spread but rounding errors.
const spreadless = 1e-9

// ShareInterval is IntervalOf the resampled values of a share. Where these show no spread, as when every group has the
// same share, it is Wilson's interval with the groups as trials.
func ShareInterval(share float64, resampled []float64, groups int) Interval {
	i := IntervalOf(resampled)
	if i.High-i.Low < spreadless && groups > 0 && !math.IsNaN(share) {
		i.Low, i.High = wilson(share, float64(groups))
		i.Low, i.High = math.Min(i.Low, share), math.Max(i.High, share) // not off by rounding
	}
	return i
}

// PairedInterval is IntervalOf the resampled values of a difference of two shares of the same rows: b-a. Where these
// show no spread, it is the adjusted Wald interval (Bonett and Price 2012) with the groups as pairs, of which the
// shares onlyA and onlyB have one of the two alone. report/page computes the same.
func PairedInterval(onlyA, onlyB float64, resampled []float64, groups int) Interval {
	i, n := IntervalOf(resampled), float64(groups)
	if i.High-i.Low < spreadless && groups > 0 {
		a, b := (onlyA*n+1)/(n+2), (onlyB*n+1)/(n+2)
		half := Z * math.Sqrt((a+b-(b-a)*(b-a))/(n+2))
		i.Low, i.High = math.Max(-1, b-a-half), math.Min(1, b-a+half)
	}
	return i
}

// ApartInterval is IntervalOf the resampled values of a difference of the shares b and a of different rows. Where these
// show no spread, it is Newcombe's interval (1998, method 10) with the groups as trials.
func ApartInterval(a, b float64, resampled []float64, groupsA, groupsB int) Interval {
	i := IntervalOf(resampled)
	if i.High-i.Low < spreadless && groupsA > 0 && groupsB > 0 {
		lowA, highA := wilson(a, float64(groupsA))
		lowB, highB := wilson(b, float64(groupsB))
		i.Low, i.High = b-a-math.Hypot(b-lowB, highA-a), b-a+math.Hypot(highB-b, a-lowA)
	}
	return i
}

func wilson(p, trials float64) (low, high float64) {
	const z2 = Z * Z
	centre := (p + z2/(2*trials)) / (1 + z2/trials)
	half := Z / (1 + z2/trials) * math.Sqrt(p*(1-p)/trials+z2/(4*trials*trials))
	return math.Max(0, centre-half), math.Min(1, centre+half)
}

// ShareSums are sums over groups of rows that stand and fall together, such as the questions on one passage: y of a
// group's n rows count. A share and its interval follow from them.
type ShareSums struct {
	Groups        int
	Hits          float64 // Σ y
	Rows          float64 // Σ n
	HitSquares    float64 // Σ y²
	RowSquares    float64 // Σ n²
	CrossProducts float64 // Σ y·n
}

// AddGroup adds a group of rows of which hits count. One without rows changes nothing.
func (s *ShareSums) AddGroup(hits, rows float64) {
	if rows == 0 {
		return
	}
	s.Groups++
	s.Hits, s.Rows = s.Hits+hits, s.Rows+rows
	s.HitSquares, s.RowSquares, s.CrossProducts = s.HitSquares+hits*hits, s.RowSquares+rows*rows, s.CrossProducts+hits*rows
}

// Share is that of the rows that count; NaN without rows.
func (s *ShareSums) Share() float64 { return mean(s.Hits, s.Rows) }

// EffectiveSize is the number of independent rows that would tell as much of the share: Rows divided by the design
// effect (Kish 1965), which is the variance of the share between groups by that of independent rows, and at least 1. A
// share of 0 or 1 tells nothing of how alike a group's rows are: there it is Rows² ÷ RowSquares, as if they were all
// alike. One group is one observation.
func (s *ShareSums) EffectiveSize() float64 {
	p, groups := s.Share(), float64(s.Groups)
	switch {
	case s.Rows == 0:
		return 0
	case p <= 0 || p >= 1:
		return s.Rows * s.Rows / s.RowSquares
	case s.Groups < 2:
		return 1
	}
	residuals := math.Max(0, s.HitSquares-2*p*s.CrossProducts+p*p*s.RowSquares)
	clustered := residuals * groups / (groups - 1) / (s.Rows * s.Rows)
	return s.Rows / math.Max(1, clustered/(p*(1-p)/s.Rows))
}

// Wilson is Wilson's interval of the share of as many independent rows as EffectiveSize says (Korn and Graubard 1998 do
// so with Clopper and Pearson's). NaN without rows. report/page computes the same.
func (s *ShareSums) Wilson() (low, high float64) {
	if s.Rows == 0 {
		return math.NaN(), math.NaN()
	}
	p := s.Share()
	low, high = wilson(p, s.EffectiveSize())
	if p <= 0 {
		low = 0
	}
	if p >= 1 {
		high = 1
	}
	return low, high
}
