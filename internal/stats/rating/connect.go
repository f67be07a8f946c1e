package rating

import "slices"

// Standing is how a system stands to those that can be rated together.
type Standing string

// Standings.
const (
	Rated     Standing = "rated"
	Above     Standing = "above"     // it, or those with it, never lost to the rated ones: no rating is high enough
	Below     Standing = "below"     // likewise, never won
	Apart     Standing = "apart"     // no chain of games leads to the rated ones
	NoGames   Standing = "no games"  //
	Undecided Standing = "undecided" // a chain of games leads to the rated ones, but none that says who is better
)

// connect finds the largest set of systems that can be rated together: of which each can be reached from each other one
// by a chain of games that were won or tied (Ford 1957). For such a set the likelihood of Bradley and Terry has a
// maximum; for others it has not.
func (g *Games) connect(sums []counts) []Standing {
	beats := make([][]bool, g.Systems)
	for i := range beats {
		beats[i] = make([]bool, g.Systems)
	}
	played := make([]bool, g.Systems)
	for p, c := range sums {
		a, b := g.pairs[p][0], g.pairs[p][1]
		if c.games() > 0 {
			played[a], played[b] = true, true
		}
		if c.won+c.tied > 0 {
			beats[a][b] = true
		}
		if c.lost+c.tied > 0 {
			beats[b][a] = true
		}
	}
	reach := closure(beats)
	best := g.largest(reach, played)
	out := make([]Standing, g.Systems)
	for i := range out {
		switch {
		case !played[i]:
			out[i] = NoGames
		case best < 0:
			out[i] = Apart
		case i == best || reach[i][best] && reach[best][i]:
			out[i] = Rated
		case reach[i][best]:
			out[i] = Above
		case reach[best][i]:
			out[i] = Below
		case linked(beats, i, best):
			out[i] = Undecided
		default:
			out[i] = Apart
		}
	}
	return out
}

// closure tells which systems can be reached from which (Warshall).
func closure(edge [][]bool) [][]bool {
	reach := make([][]bool, len(edge))
	for i := range edge {
		reach[i] = slices.Clone(edge[i])
	}
	for k := range reach {
		for i := range reach {
			if !reach[i][k] {
				continue
			}
			for j, ok := range reach[k] {
				reach[i][j] = reach[i][j] || ok
			}
		}
	}
	return reach
}

// largest is the first member of the largest set whose members reach each other; -1 where no two do.
func (g *Games) largest(reach [][]bool, played []bool) int {
	best, most := -1, 1
	for i := range reach {
		n := 0
		for j := range reach {
			if played[i] && played[j] && (i == j || reach[i][j] && reach[j][i]) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

// linked tells whether a chain of games leads from one system to another, whoever won them.
func linked(beats [][]bool, from, to int) bool {
	either := make([][]bool, len(beats))
	for i := range beats {
		either[i] = make([]bool, len(beats))
		for j := range beats {
			either[i][j] = beats[i][j] || beats[j][i]
		}
	}
	return closure(either)[from][to]
}
