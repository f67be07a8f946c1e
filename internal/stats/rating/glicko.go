package rating

import "math"

// Glicko2Rating is a rating with its deviation (about a standard error) and volatility.
type Glicko2Rating struct{ Rating, Deviation, Volatility float64 }

// unrated is a player before the period, as in Glickman's "Example of the Glicko-2 system" (2013).
var unrated = Glicko2Rating{Rating: 1500, Deviation: 350, Volatility: 0.06}

// tau is how much volatility may change, as there.
const tau = 0.5

// glickoScale turns points of Glicko into those of Glicko-2.
const glickoScale = 173.7178

// Glicko2 rates all systems in one period: they do not change between games, so their order says nothing. NaN without
// games.
func (g *Games) Glicko2(weight []int32) []Glicko2Rating {
	results := make([][]glickoResult, g.Systems)
	for p, c := range g.sum(weight) {
		a, b := g.pairs[p][0], g.pairs[p][1]
		if c.games() > 0 {
			results[a] = append(results[a], glickoResult{unrated, c.won + c.tied/2, c.games()})
			results[b] = append(results[b], glickoResult{unrated, c.lost + c.tied/2, c.games()})
		}
	}
	out := make([]Glicko2Rating, g.Systems)
	for i := range out {
		out[i] = Glicko2Rating{math.NaN(), math.NaN(), math.NaN()}
		if len(results[i]) > 0 {
			out[i] = updateGlicko2(unrated, results[i])
		}
	}
	return out
}

// glickoResult is what a player got against an opponent.
type glickoResult struct {
	opponent     Glicko2Rating
	score, games float64
}

// updateGlicko2 is a player's rating after a period with these results (steps 2 to 8 of Glickman's paper).
func updateGlicko2(player Glicko2Rating, results []glickoResult) Glicko2Rating {
	mu, phi := (player.Rating-1500)/glickoScale, player.Deviation/glickoScale
	var information, gain float64
	for _, r := range results {
		phiJ := r.opponent.Deviation / glickoScale
		weight := 1 / math.Sqrt(1+3*phiJ*phiJ/(math.Pi*math.Pi))
		expected := logistic(weight * (mu - (r.opponent.Rating-1500)/glickoScale))
		information += r.games * weight * weight * expected * (1 - expected)
		gain += weight * (r.score - r.games*expected)
	}
	variance := 1 / information
	sigma := volatility(player.Volatility, phi, variance, variance*gain)
	phi = math.Hypot(phi, sigma)
	phi = 1 / math.Sqrt(1/(phi*phi)+information)
	return Glicko2Rating{glickoScale*(mu+phi*phi*gain) + 1500, glickoScale * phi, sigma}
}

// volatility is that after the period, by the Illinois algorithm (step 5).
func volatility(sigma, phi, variance, delta float64) float64 {
	const epsilon = 1e-9
	start := math.Log(sigma * sigma)
	f := func(x float64) float64 {
		e := math.Exp(x)
		d := phi*phi + variance + e
		return e*(delta*delta-phi*phi-variance-e)/(2*d*d) - (x-start)/(tau*tau)
	}
	a, b := start, 0.0
	if d := delta*delta - phi*phi - variance; d > 0 {
		b = math.Log(d)
	} else {
		k := 1.0
		for f(start-k*tau) < 0 {
			k++
		}
		b = start - k*tau
	}
	fa, fb := f(a), f(b)
	for math.Abs(b-a) > epsilon {
		c := a + (a-b)*fa/(fb-fa)
		fc := f(c)
		if fc*fb <= 0 {
			a, fa = b, fb
		} else {
			fa /= 2
		}
		b, fb = c, fc
	}
	return math.Exp(a / 2)
}
