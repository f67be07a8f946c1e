package stats

import "math"

// Alpha is Krippendorff's α for interval data: 1 − observed ÷ expected disagreement, the squared difference being the
// disagreement of two values (Krippendorff, Content Analysis, 2004, section 11.3). Each unit holds the values given to
// it; a unit with fewer than two says nothing and is left out. 1 is perfect agreement, 0 that of chance. NaN where no
// unit has two values, or where all values are the same.
func Alpha(units [][]float64) float64 {
	var n, sum, observed, total float64
	for _, u := range units {
		if len(u) < 2 {
			continue
		}
		m, s := meanAndSquares(u)
		n, sum = n+float64(len(u)), sum+m*float64(len(u))
		observed += s * float64(len(u)) / float64(len(u)-1) // half of Σ (v−v′)² ÷ (values − 1)
	}
	if n == 0 {
		return math.NaN()
	}
	differ, first := false, math.NaN()
	for _, u := range units {
		if len(u) < 2 {
			continue
		}
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

// RepeatError is the standard error of a unit's mean over its repeats: the root of the mean, over units with two values
// or more, of (sample variance ÷ values). NaN without such units.
func RepeatError(units [][]float64) float64 {
	var sum, n float64
	for _, u := range units {
		if len(u) < 2 {
			continue
		}
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
// data themselves as one more resample, so that it is never 0 (Davison and Hinkley 1997, section 4.2). It agrees with
// the percentile interval: below 1 − Level where the interval excludes 0. NaN without a resample in which it is
// defined.
func PairedP(differences []float64) float64 {
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
	if n == 0 {
		return math.NaN()
	}
	return math.Min(1, 2*(math.Min(low, high)+1)/(n+1))
}
