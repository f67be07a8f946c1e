package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

type sumsFixture struct {
	Groups     int
	Sum, Rows  float64
	SumSquares float64 `json:"sum_squares"`
	RowSquares float64 `json:"row_squares"`
	Products   float64
}

func (s sumsFixture) sums() *GroupSums {
	of := GroupSums(s)
	return &of
}

// sharesFixture is testdata/make_shares.py's: scipy's and statsmodels' figures. The page is tested with it as well
// (report/page/test/stats.test.ts).
type sharesFixture struct {
	Shares, Means []struct {
		Of sumsFixture
		Difference
	}
	Paired []struct {
		OnlyA  float64 `json:"only_a"`
		Change sumsFixture
		Difference
	}
	Apart      []apartFixture
	ApartMeans []apartFixture `json:"apart_means"`
	Strata     []struct {
		Weights []float64
		A, B    []sumsFixture
		Difference
	}
}

type apartFixture struct {
	A, B sumsFixture
	Difference
}

func nearDifference(t *testing.T, what string, i int, got, want Difference) {
	t.Helper()
	for _, pair := range [][2]float64{{got.Value, want.Value}, {got.Low, want.Low}, {got.High, want.High},
		{math.Log(got.P), math.Log(want.P)}} {
		if !(math.Abs(pair[0]-pair[1]) < 1e-8) {
			t.Errorf("%s %d: %+v, want %+v", what, i, got, want)
		}
	}
}

func TestSharesEqualScipy(t *testing.T) {
	data, err := os.ReadFile("testdata/shares.json")
	if err != nil {
		t.Fatal(err)
	}
	var f sharesFixture
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Shares) < 8 || len(f.Paired) < 6 || len(f.Apart) < 11 || len(f.Means) < 4 || len(f.ApartMeans) < 2 ||
		len(f.Strata) < 3 {
		t.Fatal("the witness is not whole")
	}
	for i, c := range f.Shares {
		low, high := c.Of.sums().ShareInterval()
		nearDifference(t, "share", i, Difference{c.Of.sums().Mean(), low, high, 1}, Difference{c.Value, c.Low, c.High, 1})
	}
	for i, c := range f.Means {
		low, high := c.Of.sums().MeanInterval()
		nearDifference(t, "mean", i, Difference{c.Of.sums().Mean(), low, high, 1}, Difference{c.Value, c.Low, c.High, 1})
		nearDifference(t, "paired means", i, PairedMeans(c.Of.sums()), c.Difference)
	}
	for i, c := range f.Paired {
		nearDifference(t, "paired", i, PairedShares(c.OnlyA, c.Change.sums()), c.Difference)
	}
	for i, c := range f.Apart {
		nearDifference(t, "apart", i, ApartShares(c.A.sums(), c.B.sums()), c.Difference)
	}
	for i, c := range f.Strata {
		of := [2]Strata{{Weights: c.Weights}, {Weights: c.Weights}}
		for k, parts := range [][]sumsFixture{c.A, c.B} {
			for _, part := range parts {
				of[k].Sums = append(of[k].Sums, part.sums())
			}
		}
		nearDifference(t, "strata", i, ApartStrata(&of[0], &of[1]), c.Difference)
	}
	for i, c := range f.ApartMeans {
		nearDifference(t, "means apart", i, ApartMeans(c.A.sums(), c.B.sums()), c.Difference)
	}
}

// groupsOf are sums of groups with these values and numbers of rows.
func groupsOf(groups ...[2]float64) *GroupSums {
	s := &GroupSums{}
	for _, g := range groups {
		s.AddGroup(g[0], g[1])
	}
	return s
}

// Rows that stand alone are worth as much as they are; rows of a group that are all alike are worth one, less what
// estimating their variance costs.
func TestEffectiveSize(t *testing.T) {
	yes, no := [2]float64{1, 1}, [2]float64{0, 1}
	for name, c := range map[string]struct {
		s    *GroupSums
		size float64
	}{
		"each row its own group":                      {groupsOf(yes, no, no, yes, no), 4},
		"groups of two that are alike":                {groupsOf([2]float64{2, 2}, [2]float64{0, 2}, [2]float64{0, 2}, [2]float64{2, 2}), 3},
		"groups more alike than chance, at least one": {groupsOf([2]float64{1, 2}, [2]float64{1, 2}), 4},
		"none, in groups of two and one":              {groupsOf([2]float64{0, 2}, no, no), 16.0 / 6},
		"all, in groups of two":                       {groupsOf([2]float64{2, 2}, [2]float64{2, 2}), 2},
		"one group":                                   {groupsOf([2]float64{1, 3}), 1},
		"one group, none":                             {groupsOf([2]float64{0, 3}), 1},
		"groups without rows":                         {groupsOf([2]float64{0, 0}, [2]float64{1, 3}), 1},
		// By hand: p = 5/10; Σ(y − n/2)² = 1 + 1 + 0.25 + 0.25 = 2.5; variance 2.5·4/3/100; design effect
		// (1/30)/(1/40) = 4/3; 7.5 rows.
		"by hand": {groupsOf([2]float64{3, 4}, [2]float64{0, 2}, [2]float64{1, 1}, [2]float64{1, 3}), 7.5},
	} {
		p := c.s.Mean()
		if got := c.s.effectiveSize(p*(1-p), 1); math.Abs(got-c.size) > 1e-12 {
			t.Errorf("%s: worth %v rows, want %v", name, got, c.size)
		}
	}
}

// One group tells nothing of how far a share is off; no rows tell nothing at all.
func TestSharesOfNothing(t *testing.T) {
	one, none := groupsOf([2]float64{1, 3}), &GroupSums{}
	if low, high := one.ShareInterval(); low != 0 || high != 1 {
		t.Errorf("one group: [%v, %v]", low, high)
	}
	if d := PairedShares(0, one); d.Low != -1 || d.High != 1 || d.P != 1 {
		t.Errorf("one group in pairs: %+v", d)
	}
	many := groupsOf([2]float64{3, 3}, [2]float64{3, 3}, [2]float64{3, 3})
	if d := ApartShares(one, many); !(d.Low < 0 && d.High > 0) || d.P != 1 {
		t.Errorf("one group and three: %+v", d)
	}
	if d := ApartShares(groupsOf([2]float64{0, 1}), groupsOf([2]float64{1, 1})); !(d.Low < 0 && d.High > 0) || d.P != 1 {
		t.Errorf("one row each: %+v", d)
	}
	low, high := none.ShareInterval()
	for _, x := range []float64{low, high, none.Mean(), PairedShares(0, none).P, ApartShares(none, one).P,
		ApartMeans(one, many).P, ApartMeans(many, many).P} {
		if !math.IsNaN(x) {
			t.Errorf("of nothing: %v", x)
		}
	}
}

// simulation draws groups of rows, as testdata/make_shares.py's author did with numpy to choose the formulas.
type simulation struct {
	*rand.Rand
	groups int
	size   float64 // mean rows of a group; 1: each has one
	alike  float64 // correlation of the rows of a group
}

func (s *simulation) rows() (n int) {
	for limit, product := math.Exp(1-s.size), s.Float64(); product > limit && s.size > 1; product *= s.Float64() {
		n++ // of Poisson's distribution
	}
	return 1 + n
}

// share is that of a group, of which the mean is p: of a beta distribution, by two gamma ones.
func (s *simulation) share(p float64) float64 {
	if s.alike == 0 || p <= 0 || p >= 1 {
		return p
	}
	k := (1 - s.alike) / s.alike
	a, b := s.gamma(p*k), s.gamma((1-p)*k)
	if a+b == 0 { // both below the smallest number
		return p
	}
	return a / (a + b)
}

// gamma is of Marsaglia and Tsang (2000).
func (s *simulation) gamma(shape float64) float64 {
	if shape < 1 {
		return s.gamma(shape+1) * math.Pow(s.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := s.NormFloat64()
		v := 1 + x/math.Sqrt(9*d)
		if v > 0 && math.Log(s.Float64()) < x*x/2+d-d*v*v*v+d*math.Log(v*v*v) {
			return d * v * v * v
		}
	}
}

func (s *simulation) binomial(n int, p float64) (hits float64) {
	for range n {
		if s.Float64() < p {
			hits++
		}
	}
	return hits
}

func (s *simulation) shares(p float64) *GroupSums {
	sums := &GroupSums{}
	for range s.groups {
		n := s.rows()
		sums.AddGroup(s.binomial(n, s.share(p)), float64(n))
	}
	return sums
}

// pairs draws shares of rows that a alone and b alone have.
func (s *simulation) pairs(a, b float64) (onlyA float64, change *GroupSums) {
	change = &GroupSums{}
	for range s.groups {
		n := s.rows()
		differ := s.binomial(n, s.share(a+b))
		onlyB := s.binomial(int(differ), s.share(b/(a+b)))
		onlyA += differ - onlyB
		change.AddGroup(2*onlyB-differ, float64(n))
	}
	return onlyA, change
}

// eachCase calls f for few and many groups, of one row and of several, which are alike or not.
func eachCase(f func(s *simulation)) {
	for _, groups := range []int{5, 10, 20, 50} {
		for _, size := range []float64{1, 5} {
			for _, alike := range []float64{0, 0.2, 0.6} {
				f(&simulation{rand.New(rand.NewPCG(27, uint64(groups))), groups, size, alike})
			}
		}
	}
}

// Of intervals at 95 %, at least 93 % hold the true value; 88 % where it is a small share, and rows of a group are nearly
// all alike, so that it rests on the two or three groups that have it.
func TestCoverage(t *testing.T) {
	eachCase(func(s *simulation) {
		for _, p := range []float64{0.05, 0.3, 0.5} {
			s.cover(t, "share", p, func() (low, high float64) { return s.shares(p).ShareInterval() })
		}
		for _, p := range [][2]float64{{0.02, 0.02}, {0.05, 0.15}, {0.1, 0.4}} { // that a alone has it, and b alone; and both
			s.cover(t, "paired", p[1]-p[0], func() (low, high float64) {
				d := PairedShares(s.pairs(p[0], p[1]))
				return d.Low, d.High
			})
			s.cover(t, "apart", p[1]-p[0], func() (low, high float64) {
				return newcombe(s.shares(p[0]), s.shares(p[1]), 1-Level)
			})
			s.cover(t, "strata", p[1]-p[0], func() (low, high float64) {
				of := func(p float64) *Strata {
					return &Strata{[]float64{0.8, 0.2}, []*GroupSums{s.shares(p), s.shares(p)}}
				}
				return newcombe(of(p[0]), of(p[1]), 1-Level)
			})
		}
	})
}

// TestApartFromNone: what no row of one side has is red where the other side's rows have it often enough, though groups
// have several rows, and hardly ever where both sides have it as often.
func TestApartFromNone(t *testing.T) {
	const trials = 2000
	for _, c := range []struct{ a, b, alike, least, most float64 }{
		{0, 0.05, 0, 0.9, 1}, {0, 0.08, 0.3, 0.85, 1}, {0.01, 0.01, 0, 0, 0.02}, {0.01, 0.01, 0.6, 0, 0.02},
		{0.02, 0.02, 0.9, 0, 0.02},
	} {
		s := &simulation{rand.New(rand.NewPCG(37, 1)), 60, 5, c.alike}
		red := 0.0
		for range trials {
			if a, b := s.shares(c.a), s.shares(c.b); a.Sum == 0 && ApartShares(a, b).P < 1-Level {
				red++
			}
		}
		if red /= trials; red < c.least || red > c.most {
			t.Errorf("%+v: red in %.3f", c, red)
		}
	}
}

func (s *simulation) cover(t *testing.T, what string, truth float64, draw func() (low, high float64)) {
	t.Helper()
	const trials = 2000
	held := 0.0
	for range trials {
		if low, high := draw(); low <= truth && truth <= high {
			held++
		}
	}
	least := 0.93
	if what == "share" && truth < 0.1 && s.alike > 0.5 {
		least = 0.88
	}
	if held/trials < least {
		t.Errorf("%s, %d groups of %v rows, alike %v: coverage %.3f", what, s.groups, s.size, s.alike, held/trials)
	}
}

// TestApartSharesOfOneGroup: a side of one group, or of one row, is told apart from nothing, however far the shares are.
func TestApartSharesOfOneGroup(t *testing.T) {
	one, ten := SumsOf([]float64{1}, []float64{1}), SumsOf(make([]float64, 10), slices.Repeat([]float64{3}, 10))
	for _, d := range []Difference{ApartShares(SumsOf([]float64{0}, []float64{2}), one), ApartShares(one, ten),
		ApartShares(ten, one)} {
		if d.P != 1 || d.Low > 0 || d.High < 0 {
			t.Errorf("%+v", d)
		}
	}
}

// P is below 5 % exactly where the interval excludes 0.
func TestPAgreesWithInterval(t *testing.T) {
	excluded := 0
	eachCase(func(s *simulation) {
		for range 20 {
			for _, d := range []Difference{PairedShares(s.pairs(0.05, 0.3)), ApartShares(s.shares(0.1), s.shares(0.5))} {
				outside := d.Low > 0 || d.High < 0
				if outside {
					excluded++
				}
				if outside != (d.P < 1-Level) {
					t.Fatalf("%+v", d)
				}
			}
		}
	})
	if excluded < 100 || excluded > 860 {
		t.Errorf("%d of 960 intervals exclude 0", excluded)
	}
}

// TestCoverageOfPoints: the interval of points of games with ties holds the true mean, and is narrower than that of a
// share, which knows of no ties.
func TestCoverageOfPoints(t *testing.T) {
	const trials = 1000
	rng := rand.New(rand.NewPCG(3, 4))
	for _, items := range []int{4, 10, 60} {
		for _, p := range [][2]float64{{0.5, 0.4}, {0.2, 0.7}, {0.8, 0.15}, {0.6, 0}} { // of a win and a tie
			held, narrower := 0, 0
			for range trials {
				s := &GroupSums{}
				for range items {
					points := 0.0
					if x := rng.Float64(); x < p[0] {
						points = 1
					} else if x < p[0]+p[1] {
						points = 0.5
					}
					s.AddGroup(points, 1)
				}
				low, high := s.PointsInterval()
				if truth := p[0] + p[1]/2; low <= truth && truth <= high {
					held++
				}
				if shareLow, shareHigh := s.ShareInterval(); high-low < shareHigh-shareLow {
					narrower++
				}
			}
			if held < 930*trials/1000 || p[1] > 0.3 && narrower < trials/2 {
				t.Errorf("%d items, %v: %d of %d hold the true value, %d are narrower", items, p, held, trials, narrower)
			}
		}
	}
}
