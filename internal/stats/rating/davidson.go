package rating

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Davidson fits the model of Davidson (1970), in which a tie is an outcome of its own, as likely as Ties times the
// geometric mean of both strengths, to the games of the systems that can be rated together. Without a tie it is that of
// Bradley and Terry. Where ever larger differences and an ever larger tie parameter explain the games ever better,
// there is no fit: Strength is NaN, and Ties infinite. It gives no errors.
func (g *Games) Davidson(weight []int32) *Fit {
	f, sums := g.begin(weight)
	n := f.rated()
	ties, decided := 0.0, 0.0
	for p, c := range sums {
		if _, _, ok := f.pair(g.pairs[p]); ok {
			ties, decided = ties+c.tied, decided+c.won+c.lost
		}
	}
	switch {
	case n < 2:
		return f
	case ties == 0:
		f = g.BradleyTerry(weight)
		f.Ties = 0
		return f
	case decided == 0: // ties alone: all are equal, and the parameter has no bound
		f.set(make([]float64, n))
		f.Ties = math.Inf(1)
		return f
	case f.growsForever(g.pairs, sums, n):
		f.Ties = math.Inf(1)
		return f
	}
	theta, eta := make([]float64, n), 0.0
	for range maxSteps {
		gradient, information := mat.NewVecDense(n+1, nil), mat.NewSymDense(n+1, nil)
		for p, c := range sums {
			if a, b, ok := f.pair(g.pairs[p]); ok && c.games() > 0 {
				addDavidson(gradient, information, a, b, c, theta[a]-theta[b], eta)
			}
		}
		step := mat.NewVecDense(n+1, nil)
		var chol mat.Cholesky
		if !chol.Factorize(withOnes(information, n)) || chol.SolveVecTo(step, gradient) != nil {
			break
		}
		change := min(maxStep, max(-maxStep, step.AtVec(n)))
		eta += change
		if max(move(theta, step.SliceVec(0, n).(*mat.VecDense)), math.Abs(change)) < tolerance {
			break
		}
	}
	f.set(theta)
	f.Ties = math.Exp(eta)
	return f
}

// growsForever tells whether the likelihood of games with ties has no maximum: strengths exist such that a pair with
// wins of one side and ties differs by 2, one with wins alone by 2 or more, and one with ties alone by 2 or less. Along
// them, with the logarithm of Ties growing by 1, every game that was played stays the most likely one of its pair. The
// differences are bounds on paths, which exist unless a cycle is negative (Bellman and Ford).
func (f *Fit) growsForever(pairs [][2]int, sums []counts, n int) bool {
	type bound struct {
		from, to int
		most     float64 // of the strength of to less that of from
	}
	var bounds []bound
	for p, c := range sums {
		a, b, ok := f.pair(pairs[p])
		if !ok {
			continue
		}
		if c.won > 0 {
			bounds = append(bounds, bound{a, b, -2})
		}
		if c.lost > 0 {
			bounds = append(bounds, bound{b, a, -2})
		}
		if c.tied > 0 {
			bounds = append(bounds, bound{a, b, 2}, bound{b, a, 2})
		}
	}
	theta := make([]float64, n)
	for range n + 1 {
		settled := true
		for _, b := range bounds {
			if theta[b.from]+b.most < theta[b.to] {
				theta[b.to], settled = theta[b.from]+b.most, false
			}
		}
		if settled {
			return true
		}
	}
	return false
}

// addDavidson adds what a pair's games say: d is the difference of the strengths, eta the logarithm of Ties.
func addDavidson(gradient *mat.VecDense, information *mat.SymDense, a, b int, c counts, d, eta float64) {
	n := gradient.Len() - 1
	first, second, tie := math.Exp(d/2), math.Exp(-d/2), math.Exp(eta)
	all := first + second + tie
	first, second, tie = first/all, second/all, tie/all
	games, lean := c.games(), (first-second)/2
	addPair(gradient, a, b, (c.won-c.lost)/2-games*lean)
	gradient.SetVec(n, gradient.AtVec(n)+c.tied-games*tie)
	addInformation(information, a, b, games*((first+second)/4-lean*lean))
	information.SetSym(n, n, information.At(n, n)+games*tie*(1-tie))
	information.SetSym(a, n, information.At(a, n)-games*tie*lean)
	information.SetSym(b, n, information.At(b, n)+games*tie*lean)
}
