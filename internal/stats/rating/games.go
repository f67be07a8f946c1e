// Package rating turns games between systems into ratings: Bradley-Terry, Davidson, Elo and Glicko-2. Games on one item
// stand and fall together, so that standard errors and resamples take items as their units.
package rating

import (
	"cmp"
	"slices"

	"github.com/erreval/erreval/internal/stats"
)

// Game is one verdict between two systems on one item.
type Game struct {
	A, B   int     // systems, numbered from 0; a game of a system against itself says nothing and is left out
	Item   int     // numbered from 0
	Result float64 // 1: A won, 0: B won, 0.5: a tie
}

// Games are those of some systems, gathered by item and pair.
type Games struct {
	Systems int
	Items   int
	games   []game
	pairs   [][2]int // a < b
	tallies []tally  // by item, then pair
}

// game is a Game in little room.
type game struct {
	a, b, item int32
	halves     int8 // points of a: 2 it won, 1 a tie
}

// tally counts the games of a pair on an item, as the pair's first system sees them.
type tally struct {
	item, pair      int32
	won, lost, tied int32
}

// Counts are the games of a pair, by weight.
type counts struct{ won, lost, tied float64 }

func (c counts) games() float64 { return c.won + c.lost + c.tied }

// New gathers games.
func New(systems, items int, games []Game) *Games {
	g := &Games{Systems: systems, Items: items}
	g.games, g.tallies = make([]game, 0, len(games)), make([]tally, 0, len(games))
	at := map[[2]int]int{}
	for _, x := range games {
		if x.A == x.B {
			continue
		}
		g.games = append(g.games, game{int32(x.A), int32(x.B), int32(x.Item), int8(2 * x.Result)})
		t := tally{item: int32(x.Item)}
		result, pair := x.Result, [2]int{x.A, x.B}
		if x.A > x.B {
			result, pair = 1-result, [2]int{x.B, x.A}
		}
		n, ok := at[pair]
		if !ok {
			n = len(g.pairs)
			at[pair] = n
			g.pairs = append(g.pairs, pair)
		}
		t.pair = int32(n)
		switch {
		case result > 0.5:
			t.won = 1
		case result < 0.5:
			t.lost = 1
		default:
			t.tied = 1
		}
		g.tallies = append(g.tallies, t)
	}
	g.gather()
	return g
}

// gather puts the tallies of one item and pair together, in order.
func (g *Games) gather() {
	slices.SortFunc(g.tallies, func(a, b tally) int {
		return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.pair, b.pair))
	})
	kept := g.tallies[:0]
	for _, t := range g.tallies {
		if n := len(kept); n > 0 && kept[n-1].item == t.item && kept[n-1].pair == t.pair {
			kept[n-1].won += t.won
			kept[n-1].lost += t.lost
			kept[n-1].tied += t.tied
			continue
		}
		kept = append(kept, t)
	}
	g.tallies = kept
}

// Len is the number of games.
func (g *Games) Len() int { return len(g.games) }

// sum counts the games of each pair, those of an item as often as weight says; nil is once.
func (g *Games) sum(weight []int32) []counts {
	out := make([]counts, len(g.pairs))
	for _, t := range g.tallies {
		w := stats.WeightOf(weight, t.item)
		c := &out[t.pair]
		c.won += w * float64(t.won)
		c.lost += w * float64(t.lost)
		c.tied += w * float64(t.tied)
	}
	return out
}

// Record is what one system did.
type Record struct{ Won, Lost, Tied float64 }

// Rate is the share of games won, ties as half a win; NaN without games.
func (r Record) Rate() float64 { return (r.Won + r.Tied/2) / (r.Won + r.Lost + r.Tied) }

// records are those of all systems.
func (g *Games) records(sums []counts) []Record {
	out := make([]Record, g.Systems)
	for p, c := range sums {
		a, b := &out[g.pairs[p][0]], &out[g.pairs[p][1]]
		a.Won, a.Lost, a.Tied = a.Won+c.won, a.Lost+c.lost, a.Tied+c.tied
		b.Won, b.Lost, b.Tied = b.Won+c.lost, b.Lost+c.won, b.Tied+c.tied
	}
	return out
}

// WinSums are of each system the sums of its points by item: 1 a game that it won, 0.5 a tie.
func (g *Games) WinSums() []stats.GroupSums {
	out := make([]stats.GroupSums, g.Systems)
	points, games := make([]float64, g.Systems), make([]float64, g.Systems) // on this item
	for i, t := range g.tallies {                                           // in the order of items
		won, lost, tied := float64(t.won), float64(t.lost), float64(t.tied)
		a, b := g.pairs[t.pair][0], g.pairs[t.pair][1]
		points[a], points[b] = points[a]+won+tied/2, points[b]+lost+tied/2
		games[a], games[b] = games[a]+won+lost+tied, games[b]+won+lost+tied
		if i+1 < len(g.tallies) && g.tallies[i+1].item == t.item {
			continue
		}
		for s := range out {
			out[s].AddGroup(points[s], games[s])
			points[s], games[s] = 0, 0
		}
	}
	return out
}

// Between is what a did against each other system.
func (g *Games) Between(a int) []Record {
	out := make([]Record, g.Systems)
	for p, c := range g.sum(nil) {
		switch pair := g.pairs[p]; a {
		case pair[0]:
			out[pair[1]] = Record{c.won, c.lost, c.tied}
		case pair[1]:
			out[pair[0]] = Record{c.lost, c.won, c.tied}
		}
	}
	return out
}
