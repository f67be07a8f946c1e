package rating

import (
	"math"
	"math/rand/v2"
)

// EloOptions are those of Elo's ratings.
type EloOptions struct {
	K      float64 // points that a game is about
	Start  float64 // rating before the first game
	Orders int     // in how many orders the games are played, >= 1
	Seed   uint64
}

// DefaultEloOptions are the K and the start that arenas of language models use (Zheng et al. 2023), over 100 orders.
func DefaultEloOptions() EloOptions { return EloOptions{K: 4, Start: 1000, Orders: 100, Seed: 1} }

// Elo gives the ratings of Elo (1978) as the mean over orders of the games, all drawn by the seed: in one order, such
// as that of a file, they tell as much about the order as about the systems. weight is how often each item's games are
// played; nil is once. NaN without games.
func (g *Games) Elo(weight []int32, o EloOptions) []float64 {
	games := make([]game, 0, len(g.games))
	for _, x := range g.games {
		times := int32(1)
		if weight != nil {
			times = weight[x.item]
		}
		for range times {
			games = append(games, x)
		}
	}
	mean, played := make([]float64, g.Systems), make([]bool, g.Systems)
	ratings := make([]float64, g.Systems)
	for order := range o.Orders {
		random := rand.New(rand.NewPCG(o.Seed, uint64(order)))
		random.Shuffle(len(games), func(i, j int) { games[i], games[j] = games[j], games[i] })
		for i := range ratings {
			ratings[i] = o.Start
		}
		for _, x := range games {
			change := o.K * (float64(x.halves)/2 - logistic((ratings[x.a]-ratings[x.b])/points))
			ratings[x.a], ratings[x.b] = ratings[x.a]+change, ratings[x.b]-change
			played[x.a], played[x.b] = true, true
		}
		for i, r := range ratings {
			mean[i] += r / float64(o.Orders)
		}
	}
	for i := range mean {
		if !played[i] {
			mean[i] = math.NaN()
		}
	}
	return mean
}
