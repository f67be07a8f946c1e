package rating

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestElo: one order, by hand; a mean over orders does not depend on the order of the games; resampled items count again.
func TestElo(t *testing.T) {
	o := EloOptions{K: 32, Start: 1000, Orders: 1, Seed: 1}
	one := New(3, 1, []Game{{0, 1, 0, 1}})
	if got := one.Elo(nil, o).Points; got[0] != 1016 || got[1] != 984 || !math.IsNaN(got[2]) {
		t.Errorf("one game: %v", got)
	}
	// Twice the same game: 1016 against 984 expects 1/(1+10^(-32/400)) = 0.5459...
	twice := one.Elo([]int32{2}, o).Points
	if want := 1016 + 32*(1-1/(1+math.Pow(10, -32.0/400))); math.Abs(twice[0]-want) > 1e-9 {
		t.Errorf("the game twice: %v, want %v", twice[0], want)
	}
	tie := New(2, 1, []Game{{0, 1, 0, 0.5}})
	if got := tie.Elo(nil, o).Points; got[0] != 1000 || got[1] != 1000 {
		t.Errorf("a tie: %v", got)
	}
	games := randomGames(4, 30, 1)
	o.Orders = 4000
	a := New(4, 30, games).Elo(nil, o).Points
	slices.Reverse(games)
	b := New(4, 30, games).Elo(nil, o).Points
	for i := range a {
		if math.Abs(a[i]-b[i]) > 8 { // a standard error of the mean is about 1
			t.Errorf("system %d: %.1f, and %.1f with the games in reverse order", i, a[i], b[i])
		}
	}
}

// TestEloError: so many orders are drawn that seeds agree within the standard error that is given, which is below half a
// point.
func TestEloError(t *testing.T) {
	g := New(4, 30, randomGames(4, 30, 1))
	o := DefaultEloOptions()
	o.K = 12
	first := g.Elo(nil, o)
	if !(first.Error < 0.5) || first.Orders <= o.Orders {
		t.Errorf("an error of %v after %d orders", first.Error, first.Orders)
	}
	for seed := range uint64(4) {
		o.Seed = seed + 2
		next := g.Elo(nil, o)
		for i := range next.Points { // five standard errors of a difference
			if d := math.Abs(next.Points[i] - first.Points[i]); d > 5*math.Sqrt2*0.5 {
				t.Errorf("seed %d, system %d: %.2f points from seed 1", o.Seed, i, d)
			}
		}
	}
	if one := g.Elo(nil, EloOptions{K: 4, Start: 1000, Orders: 1}); !math.IsNaN(one.Error) || one.Orders != 1 {
		t.Errorf("one order: %+v", one)
	}
}

// TestGlicko2: two equal players who tie stay; a win and a loss in one period are alike in either order.
func TestGlicko2(t *testing.T) {
	tie := New(3, 1, []Game{{0, 1, 0, 0.5}}).Glicko2(nil)
	if tie[0].Rating != 1500 || tie[1].Rating != 1500 || tie[0].Deviation >= 350 || !math.IsNaN(tie[2].Rating) {
		t.Errorf("a tie: %+v", tie)
	}
	a := New(2, 2, []Game{{0, 1, 0, 1}, {0, 1, 1, 0}}).Glicko2(nil)
	b := New(2, 2, []Game{{1, 0, 0, 1}, {1, 0, 1, 0}}).Glicko2(nil)
	if a[0] != b[0] || a[1] != b[1] || math.Abs(a[0].Rating-1500) > 1e-9 {
		t.Errorf("%+v and %+v", a, b)
	}
	// Two games as one of weight two.
	w := New(2, 1, []Game{{0, 1, 0, 1}})
	twice := New(2, 2, []Game{{0, 1, 0, 1}, {0, 1, 1, 1}}).Glicko2(nil)
	if got := w.Glicko2([]int32{2}); got[0] != twice[0] {
		t.Errorf("weight two: %+v, want %+v", got[0], twice[0])
	}
	// Glickman's formula by hand, without volatility's change: g, E and v of one win against an equal.
	g := 1 / math.Sqrt(1+3*square(350/173.7178)/square(math.Pi))
	v := 1 / (g * g / 4)
	phi := 1 / math.Sqrt(1/(square(350/173.7178)+square(0.06))+1/v)
	if got := w.Glicko2(nil)[0]; math.Abs(got.Rating-(1500+173.7178*phi*phi*g/2)) > 0.01 ||
		math.Abs(got.Deviation-173.7178*phi) > 0.01 {
		t.Errorf("one win: %+v, want %v", got, 1500+173.7178*phi*phi*g/2)
	}
	many := New(2, 1, []Game{{0, 1, 0, 1}}).Glicko2([]int32{1_000_000})
	for _, r := range many {
		if math.IsNaN(r.Rating) || math.IsInf(r.Rating, 0) || r.Volatility > 10 {
			t.Errorf("a million wins: %+v", many)
		}
	}
}

func square(x float64) float64 { return x * x }

// TestBorda: points for each one below, half for an equal; who is not rated has no part in it.
func TestBorda(t *testing.T) {
	nan := math.NaN()
	got := Borda([]float64{3, 2, 1}, []float64{1, 1, 0}, []float64{5, nan, 6})
	if want := []float64{2 + 1.5 + 0, 1 + 1.5, 0 + 0 + 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Ranks([]float64{5, 4, 0, nan}, []float64{9, 6, 1, nan}); !slices.Equal(got, []int{1, 1, 3, 0}) {
		t.Errorf("ranks %v", got)
	}
}

// TestWeights: a resample of items is their games as often.
func TestWeights(t *testing.T) {
	games := randomGames(4, 40, 2)
	weight := make([]int32, 40)
	random := rand.New(rand.NewPCG(1, 1))
	for range weight {
		weight[random.IntN(40)]++
	}
	var repeated []Game
	for _, x := range games {
		for range weight[x.Item] {
			repeated = append(repeated, x)
		}
	}
	g, r := New(4, 40, games), New(4, 40, repeated)
	near(t, "strength", g.BradleyTerry(weight).Strength, r.BradleyTerry(nil).Strength, 1e-9)
	near(t, "Davidson", g.Davidson(weight).Strength, r.Davidson(nil).Strength, 1e-9)
	if !slices.Equal(g.connect(g.sum(weight)), r.connect(r.sum(nil))) || !slices.Equal(g.BradleyTerry(weight).Records,
		r.BradleyTerry(nil).Records) {
		t.Error("standings or records differ")
	}
}

func randomGames(systems, items int, seed uint64) []Game {
	random := rand.New(rand.NewPCG(seed, 2))
	var games []Game
	for item := range items {
		for a := range systems {
			for b := range a {
				games = append(games, Game{a, b, item, []float64{0, 0.5, 1, 1}[random.IntN(4)]})
			}
		}
	}
	return games
}

// TestBradleyTerryIsAMaximum: for graphs however lopsided, as many wins are expected as were won.
func TestBradleyTerryIsAMaximum(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for n := range 300 {
		systems := 2 + random.IntN(9)
		var games []Game
		for range 1 + random.IntN(60) {
			a, b := random.IntN(systems), random.IntN(systems)
			result := 0.0
			if random.Float64() < 1/(1+math.Exp(3*float64(b-a))) {
				result = 1
			}
			for range 1 + random.IntN(1+n) {
				games = append(games, Game{a, b, len(games), result})
			}
		}
		g := New(systems, len(games), games)
		f := g.BradleyTerry(nil)
		left := make([]float64, systems)
		for p, c := range g.sum(nil) {
			a, b := g.pairs[p][0], g.pairs[p][1]
			if f.Standing[a] != Rated || f.Standing[b] != Rated {
				continue
			}
			rest := c.won + c.tied/2 - c.games()*logistic(f.Strength[a]-f.Strength[b])
			left[a], left[b] = left[a]+rest, left[b]-rest
		}
		for i, x := range left {
			if math.Abs(x) > 1e-6*float64(len(games)) {
				t.Errorf("graph %d, system %d: %v more wins than expected of %d games: %v", n, i, x, len(games), f.Strength)
			}
			if rated := f.Standing[i] == Rated; rated == math.IsNaN(f.Strength[i]) || math.IsInf(f.Strength[i], 0) {
				t.Errorf("graph %d, system %d: %s with %v", n, i, f.Standing[i], f.Strength[i])
			}
		}
	}
}

// TestConnect: who can be rated is what trying all chains of games says.
func TestConnect(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	seen := map[Standing]int{}
	for range 3000 {
		systems := 1 + random.IntN(6)
		var games []Game
		for range random.IntN(9) {
			games = append(games, Game{random.IntN(systems), random.IntN(systems), 0, []float64{0, 0, 1, 1,
				0.5}[random.IntN(5)]})
		}
		g := New(systems, 1, games)
		got, want := g.connect(g.sum(nil)), connectByChains(systems, games)
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", games, got, want)
		}
		for _, s := range got {
			seen[s]++
		}
	}
	if len(seen) != 6 {
		t.Errorf("only %v", seen)
	}
}

// connectByChains walks along each chain of systems without a repetition.
func connectByChains(systems int, games []Game) []Standing {
	chain := func(from, to int, step func(a, b int) bool) bool {
		visited := make([]bool, systems)
		var walk func(at int) bool
		walk = func(at int) bool {
			visited[at] = true
			if at == to {
				return true
			}
			for next := range systems {
				if !visited[next] && step(at, next) && walk(next) {
					return true
				}
			}
			return false
		}
		return walk(from)
	}
	beat := func(a, b int) bool {
		return slices.ContainsFunc(games, func(x Game) bool {
			return x.A != x.B && (x.A == a && x.B == b && x.Result >= 0.5 || x.A == b && x.B == a && x.Result <= 0.5)
		})
	}
	either := func(a, b int) bool { return beat(a, b) || beat(b, a) }
	together := func(a, b int) bool { return a != b && chain(a, b, beat) && chain(b, a, beat) }
	best, most := -1, 0
	for i := range systems {
		n := 0
		for j := range systems {
			if together(i, j) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	out := make([]Standing, systems)
	for i := range out {
		played := slices.ContainsFunc(games, func(x Game) bool { return x.A != x.B && (x.A == i || x.B == i) })
		switch {
		case !played:
			out[i] = NoGames
		case best < 0:
			out[i] = Apart
		case i == best || together(i, best):
			out[i] = Rated
		case chain(i, best, beat):
			out[i] = Above
		case chain(best, i, beat):
			out[i] = Below
		case chain(i, best, either):
			out[i] = Undecided
		default:
			out[i] = Apart
		}
	}
	return out
}

// TestDavidsonTiesAlone: without a win there is no bound to the ties, and all are equal.
func TestDavidsonTiesAlone(t *testing.T) {
	g := New(3, 2, []Game{{0, 1, 0, 0.5}, {1, 2, 1, 0.5}})
	if d := g.Davidson(nil); !math.IsInf(d.Ties, 1) || !slices.Equal(d.Strength, []float64{0, 0, 0}) {
		t.Errorf("%+v", d)
	}
	if f := g.BradleyTerry(nil); !slices.Equal(f.Strength, []float64{0, 0, 0}) || f.DifferenceError(0, 2) != 0 {
		t.Errorf("%+v", f)
	}
}

// TestCores: the number of cores changes nothing.
func TestCores(t *testing.T) {
	g := New(5, 30, randomGames(5, 30, 9))
	elo, f := g.Elo(nil, DefaultEloOptions()).Points, g.BradleyTerry(nil)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !slices.Equal(elo, g.Elo(nil, DefaultEloOptions()).Points) || !slices.Equal(f.Errors, g.BradleyTerry(nil).Errors) {
		t.Error("one core gives other figures")
	}
}
