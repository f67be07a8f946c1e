package evaluation

import (
	"math"
	"testing"

	"github.com/erreval/erreval/internal/stats"
)

// Where every resample is the same, a share has the interval of so many units; a correlation, which is none, has none.
func TestFiguresWithoutSpread(t *testing.T) {
	r := &resampled[[]float64]{metrics: []stats.Metric{{Key: "share"}, {Key: "correlation", IsSigned: true}}, units: 3,
		whole: []float64{1, 1}, samples: [][]float64{{1, 1}, {1, 1}}}
	f := r.figures(func(v []float64) []float64 { return v })
	if math.Abs(float64(f["share"].Low)-0.1395) > 1e-4 || f["correlation"].Low.Defined() {
		t.Errorf("%+v", f)
	}
}
