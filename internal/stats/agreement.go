package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// AlphaNominal is Krippendorff's α for names (Content Analysis, 2004, section 11.3): two values agree or they do not.
// Units and the result are as in Alpha.
func AlphaNominal[V comparable](units [][]V) float64 {
	count := map[V]float64{}
	var n, observed float64
	for _, u := range SeveralValues(units) {
		m, here := float64(len(u)), map[V]float64{}
		for _, v := range u {
			here[v]++
			count[v]++
		}
		observed += (m*m - sumSquares(here)) / (m - 1)
		n += m
	}
	expected := n*n - sumSquares(count) // exact: counts are whole numbers
	if expected == 0 {
		return math.NaN()
	}
	return 1 - (n-1)*observed/expected
}

func sumSquares[V comparable](count map[V]float64) float64 {
	var sum float64
	for _, c := range count {
		sum += c * c
	}
	return sum
}

// SameShare is the share of items of which both lists say the same; NaN without items. a and b have the same length.
func SameShare[V comparable](a, b []V) float64 {
	same := 0.0
	for i := range a {
		same += indicator(a[i] == b[i])
	}
	return mean(same, float64(len(a)))
}

// Kappa is Cohen's κ of two raters of the same items (Cohen 1960): agreement beyond the chance that the raters'
// frequencies give. NaN without values, or if both always give the same value. a and b have the same length.
func Kappa[V comparable](a, b []V) float64 {
	inA, inB := map[V]float64{}, map[V]float64{}
	same, n := 0.0, float64(len(a))
	for i := range a {
		inA[a[i]]++
		inB[b[i]]++
		same += indicator(a[i] == b[i])
	}
	chance := 0.0
	for v, c := range inA {
		chance += c * inB[v]
	}
	if chance == n*n {
		return math.NaN()
	}
	return (n*same - chance) / (n*n - chance)
}

// Jaccard is the mean over rows of |a∩b| ÷ |a∪b| of two label sets, 1 where both are empty. NaN without rows. Rows of a
// and b are parallel, with one column per label.
func Jaccard(a, b [][]bool) float64 {
	var sum float64
	for i := range a {
		both, any := 0.0, 0.0
		for k := range a[i] {
			both += indicator(a[i][k] && b[i][k])
			any += indicator(a[i][k] || b[i][k])
		}
		if any == 0 {
			both, any = 1, 1
		}
		sum += both / any
	}
	return mean(sum, float64(len(a)))
}

// Alpha is Krippendorff's α for interval data: 1 − observed ÷ expected disagreement, the squared difference being the
// disagreement of two values (Krippendorff, Content Analysis, 2004, section 11.3). Each unit holds the values given to
// it; a unit with fewer than two says nothing and is left out. 1 is perfect agreement, 0 that of chance. NaN where no
// unit has two values, or where all values are the same.
func Alpha(units [][]float64) float64 {
	var n, sum, observed, total float64
	units = SeveralValues(units)
	for _, u := range units {
		m, s := meanAndSquares(u)
		n, sum = n+float64(len(u)), sum+m*float64(len(u))
		observed += s * float64(len(u)) / float64(len(u)-1) // half of Σ (v−v′)² ÷ (values − 1)
	}
	if n == 0 {
		return math.NaN()
	}
	differ, first := false, math.NaN()
	for _, u := range units {
		for _, v := range u {
			total += (v - sum/n) * (v - sum/n)
			differ = differ || !math.IsNaN(first) && v != first
			first = v
		}
	}
	if !differ {
		return math.NaN()
	}
	return 1 - (observed/n)/(total/(n-1))
}

// SeveralValues are the units with two values or more.
func SeveralValues[V any](units [][]V) [][]V {
	return slices.DeleteFunc(slices.Clone(units), func(u []V) bool { return len(u) < 2 })
}

// RepeatError is the standard error of a unit's mean over its repeats: the root of the mean, over units with two values
// or more, of (sample variance ÷ values). NaN without such units.
func RepeatError(units [][]float64) float64 {
	var sum, n float64
	for _, u := range SeveralValues(units) {
		_, s := meanAndSquares(u)
		sum += s / float64(len(u)-1) / float64(len(u))
		n++
	}
	return math.Sqrt(mean(sum, n))
}

// meanAndSquares are the mean of values, and the sum of their squared differences from it.
func meanAndSquares(v []float64) (m, squares float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	for _, x := range v {
		squares += (x - m) * (x - m)
	}
	return m, squares
}

// PairedP is the two-sided p-value that a difference is not 0, from a column of Bootstrap's result that holds the
// difference in each resample: twice the share of resamples on the far side of 0, those at 0 included, and counting the
// data themselves as one more resample, so that it is never 0 (Davison and Hinkley 1997, section 4.2). With few units
// it is as much larger as IntervalOf is wider, so that they agree: below 1 − Level where the interval excludes 0. NaN
// where there is no interval.
func PairedP(differences []float64, units int) float64 {
	var low, high, n float64
	for _, d := range differences {
		if math.IsNaN(d) {
			continue
		}
		n++
		if d <= 0 {
			low++
		}
		if d >= 0 {
			high++
		}
	}
	if start, _ := IntervalOf(differences, units); math.IsNaN(start) {
		return math.NaN()
	}
	errors := distuv.UnitNormal.Quantile(math.Min(0.5, (math.Min(low, high)+1)/(n+1)))
	return DifferenceP(errors/expansion(units), units)
}
