package rating

import (
	"math"
	"testing"
)

// The worked example of Glickman's paper. Its printed figures are rounded on the way; exactly they are these.
func TestGlickmansExample(t *testing.T) {
	results := []glickoResult{{Glicko2Rating{1400, 30, 0.06}, 1, 1}, {Glicko2Rating{1550, 100, 0.06}, 0, 1},
		{Glicko2Rating{1700, 300, 0.06}, 0, 1}}
	got := updateGlicko2(Glicko2Rating{1500, 200, 0.06}, results, 0.5)
	for _, c := range [][3]float64{{got.Rating, 1464.0507, 1e-3}, {got.Deviation, 151.5165, 1e-3},
		{got.Volatility, 0.0599960, 1e-6}} {
		if math.Abs(c[0]-c[1]) > c[2] {
			t.Errorf("%v, want %v", c[0], c[1])
		}
	}
}
