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

// TestNoSpread: where resamples are all alike, the interval is that of so many groups; else it is theirs. Wilson's of 2 of 4
// is 0.150 to 0.850 (scipy); Newcombe's of 0 of 20 twice is ±z²/(20+z²) = 0.161.
func TestNoSpread(t *testing.T) {
	flat, wide := []float64{0.5, 0.5, 0.5}, []float64{0.25, 0.5, 0.75}
	paired := Z * math.Sqrt(2.0/26/26)
	for name, c := range map[string]struct {
		got       Interval
		low, high float64
	}{
		"share":         {ShareInterval(0.5, flat, 4), 0.150036, 0.849964},
		"share, spread": {ShareInterval(0.5, wide, 4), 0.2625, 0.7375},
		"all":           {ShareInterval(1, []float64{1, 1}, 4), 0.510109, 1},
		"paired":        {PairedInterval(0, 0, []float64{0, 0}, 24), -paired, paired},
		"apart":         {ApartInterval(0, 0, []float64{0, 0}, 20, 20), -0.161125, 0.161125},
	} {
		if math.Abs(c.got.Low-c.low) > 1e-5 || math.Abs(c.got.High-c.high) > 1e-5 {
			t.Errorf("%s: [%v, %v], want [%v, %v]", name, c.got.Low, c.got.High, c.low, c.high)
		}
	}
}

// Rows that stand alone are worth one less than they are, since their variance is estimated; rows of a group that are
// all alike are worth one.
func TestShareSums(t *testing.T) {
	sums := func(groups ...[2]float64) *ShareSums {
		s := &ShareSums{}
		for _, g := range groups {
			s.AddGroup(g[0], g[1])
		}
		return s
	}
	yes, no := [2]float64{1, 1}, [2]float64{0, 1}
	for _, c := range []struct {
		name string
		s    *ShareSums
		size float64
	}{
		{"each row its own group", sums(yes, no, no, yes, no), 4},
		{"groups of two that are alike", sums([2]float64{2, 2}, [2]float64{0, 2}, [2]float64{0, 2}, [2]float64{2, 2}), 3},
		{"groups more alike than chance", sums([2]float64{1, 2}, [2]float64{1, 2}), 4}, // the design effect is at least 1
		{"none, in groups of two and one", sums([2]float64{0, 2}, no, no), 16.0 / 6},
		{"all, in groups of two", sums([2]float64{2, 2}, [2]float64{2, 2}), 2},
		{"one group", sums([2]float64{1, 3}), 1},
		{"one group, none", sums([2]float64{0, 3}), 1},
		{"groups without rows", sums([2]float64{0, 0}, [2]float64{1, 3}), 1},
	} {
		if got := c.s.EffectiveSize(); math.Abs(got-c.size) > 1e-12 {
			t.Errorf("%s: worth %v rows, want %v", c.name, got, c.size)
		}
		low, high := c.s.Wilson()
		if wantLow, wantHigh := wilson(c.s.Share(), c.size); math.Abs(low-wantLow)+math.Abs(high-wantHigh) > 1e-12 {
			t.Errorf("%s: [%v, %v], want [%v, %v]", c.name, low, high, wantLow, wantHigh)
		}
	}
	// By hand: p = 5/10; Σ(y − n/2)² = 1 + 1 + 0.25 + 0.25 = 2.5; variance 2.5·4/3/100; design effect (1/30)/(1/40) = 4/3;
	// 7.5 rows.
	s := sums([2]float64{3, 4}, [2]float64{0, 2}, [2]float64{1, 1}, [2]float64{1, 3})
	if got := s.EffectiveSize(); math.Abs(got-7.5) > 1e-12 {
		t.Errorf("worth %v rows, want 7.5", got)
	}
	low, high := (&ShareSums{}).Wilson()
	if !math.IsNaN(low) || !math.IsNaN(high) || !math.IsNaN((&ShareSums{}).Share()) {
		t.Errorf("of nothing: [%v, %v]", low, high)
	}
}

// Of the same sums the page of a report computes the same intervals; they are statsmodels' (report/page/test/stats.py).
func TestShareSumsAsOnThePage(t *testing.T) {
	data, err := os.ReadFile("../../report/page/test/stats.json")
	if err != nil {
		t.Fatal(err)
	}
	var known struct {
		Shares []struct {
			Sums struct {
				Rows, Squares, Products, Of, GroupSquares float64
				Groups                                    int
			}
			Size, Low, High float64
		}
	}
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	for i, c := range known.Shares {
		s := ShareSums{Groups: c.Sums.Groups, Hits: c.Sums.Rows, Rows: c.Sums.Of, HitSquares: c.Sums.Squares,
			RowSquares: c.Sums.GroupSquares, CrossProducts: c.Sums.Products}
		low, high := s.Wilson()
		if math.Abs(s.EffectiveSize()-c.Size) > 1e-7 || math.Abs(low-c.Low)+math.Abs(high-c.High) > 1e-9 {
			t.Errorf("case %d: worth %v rows, [%v, %v]; want %+v", i, s.EffectiveSize(), low, high, c)
		}
	}
	if len(known.Shares) < 3 {
		t.Errorf("%d cases", len(known.Shares))
	}
}

func TestLabelSums(t *testing.T) {
	// Groups of three and one: found, found wrongly, missed; found.
	table := &Table{Gold: [][]bool{{true}, {false}, {true}, {true}}, Pred: [][]bool{{true}, {true}, {false}, {true}},
		Group: []int{0, 0, 0, 1}, Groups: 2}
	e, err := NewEvaluator(table, Options{NoError: -1})
	if err != nil {
		t.Fatal(err)
	}
	var want LabelSums
	for _, g := range []struct{ tp, fp, fn float64 }{{1, 1, 1}, {1, 0, 0}} {
		want.Precision.AddGroup(g.tp, g.tp+g.fp)
		want.Recall.AddGroup(g.tp, g.tp+g.fn)
		want.F1.AddGroup(2*g.tp, 2*g.tp+g.fp+g.fn)
	}
	got := e.LabelSums()
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if label := e.Labels()[0]; math.Abs(got[0].F1.Share()-label.F1) > 1e-12 {
		t.Errorf("F1 %v, want %v", got[0].F1.Share(), label.F1)
	}
}

func TestCalibration(t *testing.T) {
	table := &Table{Gold: [][]bool{{true}, {false}, {true}, {false}}, Prob: [][]float64{{0.95}, {0.95}, {0.99}, nil},
		Pred: [][]bool{{true}, {true}, {true}, {true}}, Group: []int{0, 0, 1, 1}, Groups: 2}
	bins := table.Calibration(0)
	if len(bins) != 1 || bins[0].Rows != 3 || math.Abs(bins[0].Probability-2.89/3) > 1e-12 || bins[0].Share != 2.0/3 {
		t.Fatalf("%+v", bins)
	}
	s := ShareSums{}
	s.AddGroup(1, 2)
	s.AddGroup(1, 1)
	if low, high := s.Wilson(); bins[0].Low != low || bins[0].High != high {
		t.Errorf("[%v, %v], want [%v, %v]", bins[0].Low, bins[0].High, low, high)
	}
	if table.Prob = nil; table.Calibration(-1) != nil {
		t.Error("bins without probabilities")
	}
}
