package rating

import (
	"math"
	"math/rand/v2"

	"github.com/erreval/erreval/internal/stats"
)

// EloOptions are those of Elo's ratings.
type EloOptions struct {
	K      float64 // points that a game is about
	Start  float64 // rating before the first game
	Orders int     // in how many orders the games are played at least, >= 1
	Seed   uint64
}

// DefaultEloOptions are the K and the start that arenas of language models use (Zheng et al. 2023), over at least 100
// orders.
func DefaultEloOptions() EloOptions { return EloOptions{K: 4, Start: 1000, Orders: 100, Seed: 1} }

const (
	// eloError is the standard error in points below which no further order is drawn.
	eloError = 0.5
	// Bounds of what is drawn to reach it.
	maxEloOrders = 40_000
	maxEloGames  = 1_000_000_000
)

// EloRatings are means over orders of the games.
type EloRatings struct {
	Points []float64 // by system; NaN without games
	Error  float64   // the largest standard error of these means, in points, from drawing orders; NaN with one order
	Orders int       // that were drawn
}

// Elo gives the ratings of Elo (1978) as the mean over orders of the games, all drawn by the seed: in one order, such
// as that of a file, they tell as much about the order as about the systems. Orders are drawn until the standard error
// of every mean is below half a point. weight is how often each item's games are played; nil is once.
func (g *Games) Elo(weight []int32, o EloOptions) *EloRatings {
	games := make([]game, 0, len(g.games))
	for _, x := range g.games {
		for range int(stats.WeightOf(weight, x.item)) {
			games = append(games, x)
		}
	}
	most := max(o.Orders, min(maxEloOrders, maxEloGames/max(1, len(games))))
	out := &EloRatings{Points: make([]float64, g.Systems), Error: math.NaN()}
	squares, ratings := make([]float64, g.Systems), make([]float64, g.Systems) // sums of squared deviations
	for out.Orders < o.Orders || out.Error >= eloError && out.Orders < most {
		o.play(games, ratings, uint64(out.Orders))
		out.Orders++
		out.Error = out.add(ratings, squares)
	}
	played := make([]bool, g.Systems)
	for _, x := range games {
		played[x.a], played[x.b] = true, true
	}
	for i := range played {
		if !played[i] {
			out.Points[i] = math.NaN()
		}
	}
	return out
}

// play sets the ratings after all games in an order that is drawn.
func (o *EloOptions) play(games []game, ratings []float64, order uint64) {
	random := rand.New(rand.NewPCG(o.Seed, order))
	random.Shuffle(len(games), func(i, j int) { games[i], games[j] = games[j], games[i] })
	for i := range ratings {
		ratings[i] = o.Start
	}
	for _, x := range games {
		change := o.K * (float64(x.halves)/2 - logistic((ratings[x.a]-ratings[x.b])/points))
		ratings[x.a], ratings[x.b] = ratings[x.a]+change, ratings[x.b]-change
	}
}

// add adds the ratings of one more order to the means (Welford 1962), and gives the largest standard error.
func (r *EloRatings) add(ratings, squares []float64) float64 {
	n, largest := float64(r.Orders), 0.0
	for i, x := range ratings {
		before := x - r.Points[i]
		r.Points[i] += before / n
		squares[i] += before * (x - r.Points[i])
		largest = max(largest, squares[i])
	}
	return math.Sqrt(largest / (n - 1) / n)
}
