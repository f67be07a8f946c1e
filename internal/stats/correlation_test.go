package stats

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

type corrValues struct{ Pearson, Spearman, Kendall *float64 }

type corrFixture struct {
	Problems []struct {
		Name          string
		X, Y          []float64
		Group, Unit   []int
		Groups        int
		Values, Units corrValues
		Resamples     []struct {
			Drawn         []int
			Values, Units corrValues
		}
	}
	Alphas []struct {
		Name         string
		Units        [][]float64
		Alpha, Error *float64
	}
}

// readCorrelations reads scipy's and krippendorff's figures: testdata/make_correlations.py.
func readCorrelations(t *testing.T) *corrFixture {
	t.Helper()
	data, err := os.ReadFile("testdata/correlations.json")
	if err != nil {
		t.Fatal(err)
	}
	f := &corrFixture{}
	if err := json.Unmarshal(data, f); err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) < 8 || len(f.Alphas) < 7 {
		t.Fatalf("%d problems, %d alphas", len(f.Problems), len(f.Alphas))
	}
	return f
}

func (w corrValues) check(t *testing.T, what string, got Correlations) {
	t.Helper()
	near9(t, what+": Pearson", got.Pearson, w.Pearson)
	near9(t, what+": Spearman", got.Spearman, w.Spearman)
	near9(t, what+": Kendall", got.Kendall, w.Kendall)
}

func near9(t *testing.T, what string, got float64, want *float64) {
	t.Helper()
	if want == nil && !math.IsNaN(got) || want != nil && !(math.Abs(got-*want) <= 1e-9) {
		t.Errorf("%s: %v, want %v", what, got, deref(want))
	}
}

func deref(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

func TestCorrelationsEqualScipy(t *testing.T) {
	for _, p := range readCorrelations(t).Problems {
		pairs, means := NewPairs(p.X, p.Y, p.Group), NewMeans(p.X, p.Y, p.Unit, slices.Max(p.Unit)+1, p.Group)
		p.Values.check(t, p.Name, pairs.Correlations(nil))
		p.Units.check(t, p.Name+", units", means.Correlations(nil))
		for _, r := range p.Resamples {
			weight := make([]int32, p.Groups)
			for _, g := range r.Drawn {
				weight[g]++
			}
			r.Values.check(t, p.Name+", resample", pairs.Correlations(weight))
			r.Units.check(t, p.Name+", resampled units", means.Correlations(weight))
		}
	}
}

func TestAlphaEqualsThePublishedAndThePackage(t *testing.T) {
	published := map[string]float64{"Krippendorff 2011": 0.849, "Wikipedia": 0.811}
	for _, a := range readCorrelations(t).Alphas {
		near9(t, a.Name, Alpha(a.Units), a.Alpha)
		near9(t, a.Name+": error", RepeatError(a.Units), a.Error)
		if want, ok := published[a.Name]; ok && math.Abs(Alpha(a.Units)-want) > 5e-4 {
			t.Errorf("%s: %v, published %v", a.Name, Alpha(a.Units), want)
		}
	}
}

// Correlations do not change with the order of rows, with the other variable first, or under a growing map (for ranks).
func TestCorrelationsAreSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range 50 {
		n := 2 + rng.IntN(30)
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(rng.IntN(5)), float64(rng.IntN(4))
		}
		a, b := NewPairs(x, y, nil).Correlations(nil), NewPairs(y, x, nil).Correlations(nil)
		cubes, negative := make([]float64, n), make([]float64, n)
		rng.Shuffle(n, func(i, j int) { x[i], x[j], y[i], y[j] = x[j], x[i], y[j], y[i] })
		for i := range n {
			cubes[i], negative[i] = x[i]*x[i]*x[i], -x[i]
		}
		c, d := NewPairs(cubes, y, nil).Correlations(nil), NewPairs(negative, y, nil).Correlations(nil)
		for _, pair := range [][2]float64{{a.Pearson, b.Pearson}, {a.Spearman, b.Spearman}, {a.Kendall, b.Kendall},
			{a.Spearman, c.Spearman}, {a.Kendall, c.Kendall}, {a.Pearson, -d.Pearson}, {a.Kendall, -d.Kendall}} {
			if math.IsNaN(pair[0]) != math.IsNaN(pair[1]) || math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Fatalf("%v and %v: %v", x, y, pair)
			}
		}
	}
}

func TestCorrelationsOfNothing(t *testing.T) {
	for _, n := range []int{0, 1} {
		c := NewPairs(make([]float64, n), make([]float64, n), nil).Correlations(nil)
		if !math.IsNaN(c.Pearson) || !math.IsNaN(c.Spearman) || !math.IsNaN(c.Kendall) {
			t.Errorf("%d rows: %+v", n, c)
		}
	}
}

// By hand: of 4 resamples one is not above 0, and one is undefined.
func TestPairedP(t *testing.T) {
	nan := math.NaN()
	for want, d := range map[float64][]float64{
		2 * (1 + 1) / 5.0: {0.1, 0.2, -0.1, 0.3, nan},
		2 * (0 + 1) / 4.0: {-1, -2, -3},
		1:                 {-1, 0, 0, 1},
	} {
		if got := PairedP(d, 1e9); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
	for _, d := range [][]float64{{nan}, {0, 0, 0}, {1, 1}} {
		if got := PairedP(d, 100); !math.IsNaN(got) {
			t.Errorf("%v: %v, though there is no interval", d, got)
		}
	}
	if got := PairedP([]float64{1, 2}, 1); !math.IsNaN(got) {
		t.Errorf("one unit: %v", got)
	}
}

// Where nothing differs, p is below 5 % about once in twenty samples; where much does, always.
func TestPairedPHoldsItsLevel(t *testing.T) {
	const trials, rows = 300, 60
	rng := rand.New(rand.NewPCG(9, 1))
	low := func(lift float64) (hits int) {
		for trial := range trials {
			difference := make([]float64, rows)
			for i := range rows {
				difference[i] = lift + rng.NormFloat64()
			}
			samples, err := Bootstrap(context.Background(), rows, 199, uint64(trial), func(w []int32) []float64 {
				sum := 0.0
				for i, d := range difference {
					sum += float64(w[i]) * d
				}
				return []float64{sum / rows}
			})
			if err != nil {
				t.Fatal(err)
			}
			column := make([]float64, len(samples))
			for i, s := range samples {
				column[i] = s[0]
			}
			if PairedP(column, rows) < 0.05 {
				hits++
			}
		}
		return hits
	}
	// 300 trials at 5 %: 15 expected, standard deviation 3.8; the bootstrap is a little liberal on 60 rows.
	if hits := low(0); hits < 4 || hits > 33 {
		t.Errorf("no difference: p < 0.05 in %d of %d", hits, trials)
	}
	if hits := low(1); hits < 295 {
		t.Errorf("large difference: p < 0.05 in %d of %d", hits, trials)
	}
}

// TestCoverageOfF1: how often the interval of an F1 holds the true one where rows of a group are alike; plain percentiles
// do so in 82 % of cases with 5 groups, and in 88 % with 10.
func TestCoverageOfF1(t *testing.T) {
	const trials = 300
	rng := rand.New(rand.NewPCG(1, 5))
	draw := func(groups int) func([]int32) float64 {
		hits, errors := make([]float64, groups), make([]float64, groups) // of 8 rows a group
		for g := range groups {
			for q := 0.6 + 0.2*rng.NormFloat64(); hits[g]+errors[g] < 8; {
				if rng.Float64() < q {
					hits[g]++
				} else {
					errors[g]++
				}
			}
		}
		return func(weight []int32) float64 {
			var hit, wrong float64
			for g := range groups {
				hit, wrong = hit+WeightOf(weight, g)*hits[g], wrong+WeightOf(weight, g)*errors[g]
			}
			return 2 * hit / (2*hit + wrong)
		}
	}
	truth := draw(200_000)(nil)
	for _, c := range []struct {
		groups int
		least  float64
	}{{5, 0.86}, {10, 0.91}, {50, 0.93}} {
		held, groups := 0, c.groups
		for trial := range trials {
			samples, err := Bootstrap(context.Background(), groups, 399, uint64(trial), draw(groups))
			if err != nil {
				t.Fatal(err)
			}
			if low, high := IntervalOf(samples, groups); low <= truth && truth <= high {
				held++
			}
		}
		if share := float64(held) / trials; share < c.least {
			t.Errorf("%d groups: %.3f of the intervals hold the true value", groups, share)
		}
	}
}

func BenchmarkCorrelations(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y, weight := make([]float64, 3000), make([]float64, 3000), make([]int32, 3000)
	for i := range x {
		x[i], y[i] = 1+2*rng.Float64(), float64(rng.IntN(9))
	}
	p := NewPairs(x, y, nil)
	for b.Loop() {
		drawGroups(weight, 1, 1)
		p.Correlations(weight)
	}
}
