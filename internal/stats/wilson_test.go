package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The values are scipy's: testdata/make_wilson.py.
func TestWilson(t *testing.T) {
	data, err := os.ReadFile("testdata/wilson.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Hits, N   int
		Low, High float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		low, high := Wilson(c.Hits, c.N)
		if math.Abs(low-c.Low) > 1e-12 || math.Abs(high-c.High) > 1e-12 {
			t.Errorf("%d of %d: [%v, %v], want [%v, %v]", c.Hits, c.N, low, high, c.Low, c.High)
		}
	}
	if len(cases) < 10 {
		t.Errorf("%d cases", len(cases))
	}
	if low, high := Wilson(0, 0); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("of nothing: [%v, %v]", low, high)
	}
}
