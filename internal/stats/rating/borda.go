package rating

import "math"

// Borda puts several ratings of the same systems together: a system gets a point for each that a rating puts below it,
// half a point for each of equal rating (Borda 1784), summed over the ratings. Systems that a rating lacks (NaN) get
// nothing from it, and give nothing.
func Borda(ratings ...[]float64) []float64 {
	var out []float64
	for _, r := range ratings {
		if out == nil {
			out = make([]float64, len(r))
		}
		for i := range r {
			for j := range r {
				switch {
				case i == j || math.IsNaN(r[i]) || math.IsNaN(r[j]):
				case r[i] > r[j]:
					out[i]++
				case r[i] == r[j]:
					out[i] += 0.5
				}
			}
		}
	}
	return out
}

// Ranks are those by intervals: 1 and one more for each system whose low end lies above the system's high end. 0
// where there is no interval.
func Ranks(low, high []float64) []int {
	out := make([]int, len(low))
	for i := range low {
		if math.IsNaN(low[i]) {
			continue
		}
		out[i] = 1
		for j := range low {
			if low[j] > high[i] {
				out[i]++
			}
		}
	}
	return out
}
