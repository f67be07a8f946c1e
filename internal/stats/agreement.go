package stats

import "math"

// AlphaNominal is Krippendorff's α for names (Content Analysis, 2004, section 11.3): two values agree or they do not.
// Units and the result are as in Alpha.
func AlphaNominal[V comparable](units [][]V) float64 {
	count := map[V]float64{}
	var n, observed float64
	for _, u := range units {
		if len(u) < 2 {
			continue
		}
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
