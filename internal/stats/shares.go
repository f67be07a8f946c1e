package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Z is the standard normal quantile at (1+Level)/2.
const Z = 1.959963984540054

// GroupSums are sums over groups of rows that stand and fall together, such as the questions on one passage: y is the
// sum of a group's n values, such as the number of its rows that have an error. A share or a mean of rows, its interval
// and its differences follow from them; report/page/src/stats.ts computes the same.
//
// All intervals are by the design effect (Kish 1965), that is the variance of the mean between groups by that of as
// many independent rows, and by Student's t of the groups. testdata/make_shares.py has their coverage.
type GroupSums struct {
	Groups     int
	Sum        float64 // Σ y
	Rows       float64 // Σ n
	SumSquares float64 // Σ y²
	RowSquares float64 // Σ n²
	Products   float64 // Σ y·n
}

// AddGroup adds a group of rows with the sum of their values. One without rows changes nothing.
func (s *GroupSums) AddGroup(sum, rows float64) {
	if rows == 0 {
		return
	}
	s.Groups++
	s.Sum, s.Rows = s.Sum+sum, s.Rows+rows
	s.SumSquares, s.RowSquares, s.Products = s.SumSquares+sum*sum, s.RowSquares+rows*rows, s.Products+sum*rows
}

// SumsOf are those of groups with these sums of values and numbers of rows.
func SumsOf(sums, rows []float64) *GroupSums {
	s := &GroupSums{}
	for g, n := range rows {
		s.AddGroup(sums[g], n)
	}
	return s
}

// Mean is that of the rows' values, which is a share where they are 0 and 1; NaN without rows.
func (s *GroupSums) Mean() float64 { return mean(s.Sum, s.Rows) }

// variance is that of the mean between at least two groups.
func (s *GroupSums) variance() float64 {
	m, groups := s.Mean(), float64(s.Groups)
	residuals := math.Max(0, s.SumSquares-2*m*s.Products+m*m*s.RowSquares)
	return residuals * groups / (groups - 1) / (s.Rows * s.Rows)
}

// effectiveSize is the number of independent rows, each of this variance, that would tell as much of the mean: Rows
// divided by the design effect, which is at least 1. Where no row differs from another, it is 1 + (m-1)·alike (Kish
// 1965), with m rows a group and the correlation of its rows, for which 1 is the safe guess. One group is one
// observation.
func (s *GroupSums) effectiveSize(variance, alike float64) float64 {
	switch {
	case variance <= 0:
		return s.Rows / (1 + (s.RowSquares/s.Rows-1)*alike)
	case s.Groups < 2:
		return 1
	}
	return s.Rows / math.Max(1, s.variance()/(variance/s.Rows))
}

// correlation is that of two rows of a group, at least 0, by the pairs of rows that are both unlike p, which is 0 or 1;
// 1 where there are none. One more row, of a group whose rows are all unlike p, stands for what few rows do not show.
func (s *GroupSums) correlation(p float64) float64 {
	unlike, m := *s, s.RowSquares/s.Rows
	if p >= 1 {
		unlike.Sum, unlike.Products = s.Rows-s.Sum, s.RowSquares-s.Products
		unlike.SumSquares = s.RowSquares - 2*s.Products + s.SumSquares
	}
	unlike.Sum, unlike.Rows = unlike.Sum+1, unlike.Rows+1
	unlike.Products, unlike.SumSquares = unlike.Products+m, unlike.SumSquares+m
	q, pairs := unlike.Mean(), unlike.Products-unlike.Sum
	if pairs <= 0 || q >= 1 {
		return 1
	}
	return math.Max(0, ((unlike.SumSquares-unlike.Sum)/pairs-q)/(1-q))
}

// ShareInterval is Wilson's score interval (1927) at Level of a share, of its effective number of rows (Korn and
// Graubard 1998 do so with Clopper and Pearson's). With one group it is all from 0 to 1; NaN without rows.
func (s *GroupSums) ShareInterval() (low, high float64) { return s.shareInterval(1-Level, nil) }

// shareInterval misses the share with probability alpha. Where no row differs from another, the rows that it is
// compared with tell how alike a group's rows are; other may be nil.
func (s *GroupSums) shareInterval(alpha float64, other *GroupSums) (low, high float64) {
	if s.Rows == 0 {
		return math.NaN(), math.NaN()
	}
	t := criticalT(alpha, s.Groups)
	if math.IsInf(t, 1) {
		return 0, 1
	}
	p := s.Mean()
	alike := 1.0
	if other != nil {
		alike = other.correlation(p)
	}
	low, high = wilson(p, s.effectiveSize(p*(1-p), alike), t)
	if p <= 0 {
		low = 0 // the formula's own value, without its rounding error
	}
	if p >= 1 {
		high = 1
	}
	return low, high
}

// PointsInterval is Wilson's interval at Level of a mean of values from 0 to 1, such as points of games with ties: of
// the number of rows that have the variance between the groups, which with ties are more than there are. Where all
// groups are alike it is that of as many rows as groups. With one group it is all from 0 to 1; NaN without rows.
func (s *GroupSums) PointsInterval() (low, high float64) {
	if s.Rows == 0 || s.Groups < 2 {
		return s.ShareInterval()
	}
	p, rows := s.Mean(), s.effectiveSize(0, 1)
	if between := s.variance(); between > 0 {
		rows = p * (1 - p) / between
	}
	return wilson(p, rows, T(s.Groups))
}

func wilson(p, rows, t float64) (low, high float64) {
	t2 := t * t
	centre := (p + t2/(2*rows)) / (1 + t2/rows)
	half := t / (1 + t2/rows) * math.Sqrt(p*(1-p)/rows+t2/(4*rows*rows))
	return math.Max(0, centre-half), math.Min(1, centre+half)
}

// MeanInterval is Student's interval at Level of a mean whose values may be any numbers. NaN with fewer than two
// groups.
func (s *GroupSums) MeanInterval() (low, high float64) {
	if s.Groups < 2 {
		return math.NaN(), math.NaN()
	}
	reach := T(s.Groups) * math.Sqrt(s.variance())
	return s.Mean() - reach, s.Mean() + reach
}

// Difference is that of two shares or means, with its interval at Level and the p-value that it is not 0. They agree: P
// is below 1 - Level exactly where the interval excludes 0.
type Difference struct{ Value, Low, High, P float64 }

// PairedShares is the difference b - a of two shares of the same rows, of which onlyA have what is looked for in a
// alone; the values of change are 1 where only b has it, -1 where only a has it, else 0. The interval is the adjusted
// Wald interval (Bonett and Price 2012) of the effective number of rows. NaN without rows.
func PairedShares(onlyA float64, change *GroupSums) Difference {
	if change.Rows == 0 {
		return Difference{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	value, a := change.Mean(), onlyA/change.Rows
	b := a + value
	rows := change.effectiveSize(a+b-value*value, 1)
	a, b = (a*rows+1)/(rows+2), (b*rows+1)/(rows+2)
	centre, deviation := b-a, math.Sqrt((a+b-(b-a)*(b-a))/(rows+2))
	reach := criticalT(1-Level, change.Groups) * deviation
	return Difference{value, math.Max(-1, centre-reach), math.Min(1, centre+reach),
		DifferenceP(centre/deviation, change.Groups)}
}

// PairedMeans is the difference b - a of two means of the same rows, by Student's test of the change between groups,
// which is each row's b - a. Low, High and P are NaN with fewer than two groups, or where all rows change by the same.
func PairedMeans(change *GroupSums) Difference {
	d := Difference{change.Mean(), math.NaN(), math.NaN(), math.NaN()}
	if change.Groups < 2 || change.variance() == 0 {
		return d
	}
	d.Low, d.High = change.MeanInterval()
	d.P = DifferenceP(d.Value/math.Sqrt(change.variance()), change.Groups)
	return d
}

// ApartShares is the difference b - a of two shares of different rows. The interval is Newcombe's (1998, method 10) of
// shareInterval; P is where it begins to exclude 0. NaN where a or b has no rows.
func ApartShares(a, b *GroupSums) Difference { return apart(a, b) }

// Strata are parts of rows, such as those of a system, each with its weight; the weights are 1 together.
type Strata struct {
	Weights []float64
	Sums    []*GroupSums
}

// Mean is that of the means of the parts.
func (s *Strata) Mean() (mean float64) {
	for i, w := range s.Weights {
		mean += w * s.Sums[i].Mean()
	}
	return mean
}

// shareInterval puts those of the parts together by the variance estimates recovered from them (Yan and Su 2010).
func (s *Strata) shareInterval(alpha float64, other *GroupSums) (low, high float64) {
	mean, below, above := s.Mean(), 0.0, 0.0
	for i, w := range s.Weights {
		p := s.Sums[i].Mean()
		l, h := s.Sums[i].shareInterval(alpha, other)
		below, above = math.Hypot(below, w*(p-l)), math.Hypot(above, w*(h-p))
	}
	return mean - below, mean + above
}

func (s *GroupSums) all() *GroupSums { return s }

func (s *Strata) all() *GroupSums {
	var all GroupSums
	for _, part := range s.Sums {
		all.Groups += part.Groups
		all.Sum, all.Rows = all.Sum+part.Sum, all.Rows+part.Rows
		all.SumSquares, all.RowSquares = all.SumSquares+part.SumSquares, all.RowSquares+part.RowSquares
		all.Products += part.Products
	}
	return &all
}

// ApartStrata is ApartShares of shares that are put together of parts.
func ApartStrata(a, b *Strata) Difference { return apart(a, b) }

// share is one with its interval.
type share interface {
	Mean() float64
	all() *GroupSums // its rows
	shareInterval(alpha float64, other *GroupSums) (low, high float64)
}

func apart(a, b share) Difference {
	low, high := newcombe(a, b, 1-Level)
	d := Difference{b.Mean() - a.Mean(), low, high, 1}
	switch {
	case math.IsNaN(d.Value):
		d.P = math.NaN()
	case d.Value != 0:
		d.P = newcombeP(a, b)
	}
	return d
}

// leastP stands for all p-values below.
const leastP = 1e-12

func newcombeP(a, b share) float64 {
	left := func(x float64) float64 { // between 0 and the interval that misses with probability e^-x
		low, high := newcombe(a, b, math.Exp(-x))
		if b.Mean() > a.Mean() {
			return low
		}
		return -high
	}
	most := -math.Log(leastP)
	switch {
	case !(left(0) > 0):
		return 1 // one group tells nothing
	case left(most) > 0:
		return leastP
	}
	return math.Exp(-root(0, most, left))
}

func newcombe(a, b share, alpha float64) (low, high float64) {
	lowA, highA := a.shareInterval(alpha, b.all())
	lowB, highB := b.shareInterval(alpha, a.all())
	x, y := a.Mean(), b.Mean()
	return y - x - math.Hypot(y-lowB, highA-x), y - x + math.Hypot(highB-y, x-lowA)
}

// ApartMeans is the difference b - a of two means of different rows, by the test of Welch (1947). Low, High and P are
// NaN where a or b has fewer than two groups, or none of their values differ: nothing tells then how far they spread.
func ApartMeans(a, b *GroupSums) Difference {
	d := Difference{b.Mean() - a.Mean(), math.NaN(), math.NaN(), math.NaN()}
	if a.Groups < 2 || b.Groups < 2 {
		return d
	}
	x, y := a.variance(), b.variance()
	if x+y == 0 {
		return d
	}
	freedom := (x + y) * (x + y) / (x*x/float64(a.Groups-1) + y*y/float64(b.Groups-1))
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	deviation := math.Sqrt(x + y)
	reach := student.Quantile((1+Level)/2) * deviation
	d.Low, d.High, d.P = d.Value-reach, d.Value+reach, 2*student.CDF(-math.Abs(d.Value)/deviation)
	return d
}
