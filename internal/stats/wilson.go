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
	const z2 = Z * Z
	trials, p := float64(n), float64(hits)/float64(n)
	centre := (p + z2/(2*trials)) / (1 + z2/trials)
	half := Z / (1 + z2/trials) * math.Sqrt(p*(1-p)/trials+z2/(4*trials*trials))
	low, high = math.Max(0, centre-half), math.Min(1, centre+half)
	if hits == 0 {
		low = 0 // the formula's own value, without its rounding error
	}
	if hits == n {
		high = 1
	}
	return low, high
}
