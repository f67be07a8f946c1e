package leaderboard

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/stats/rating"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// Halo says how much verdicts by different types are one impression.
type Halo struct {
	// Tau is the mean |tau-b| between the types' orders of the systems, by win rate; undefined where no two types order
	// them.
	Tau   report.Number `json:"tau"`
	Same  report.Number `json:"same"`  // share of the pairs with the same verdict by all types
	Pairs int           `json:"pairs"` // that are judged by all types
	Types int           `json:"types"`
}

// fewestSystems are those whose orders can be more or less alike: two systems have one order or the other.
const fewestSystems = 3

// halo compares the tables of types; the one overall is left out.
func (v *Verdicts) halo(b *Board) *Halo {
	h := &Halo{Tau: report.Undefined, Same: report.Undefined}
	var orders [][]float64
	for _, t := range b.Tables {
		if t.Type == verdicts.Overall || t.Games == 0 {
			continue
		}
		h.Types++
		rates := make([]float64, len(v.systems.list))
		for _, r := range t.Rows {
			rates[v.systems.at[r.System]] = float64(r.WinRate.Value)
		}
		if !slices.ContainsFunc(rates, math.IsNaN) {
			orders = append(orders, rates)
		}
	}
	if h.Types < 2 || len(v.systems.list) < fewestSystems {
		return nil
	}
	sum, n := 0.0, 0
	for i := range orders {
		for j := range i {
			if tau := stats.NewPairs(orders[i], orders[j], nil).Correlations(nil).Kendall; !math.IsNaN(tau) {
				sum, n = sum+math.Abs(tau), n+1
			}
		}
	}
	if n > 0 {
		h.Tau = report.Number(sum / float64(n))
	}
	h.countSame(v)
	return h
}

// pairKey is a pair on an item.
type pairKey struct{ a, b, item int32 }

func (h *Halo) countSame(v *Verdicts) {
	type seen struct {
		value string
		n     int
		same  bool
	}
	pairs := map[pairKey]*seen{}
	for name, c := range v.byType {
		if name == verdicts.Overall {
			continue
		}
		for _, j := range c.games {
			if j.value == "" {
				continue
			}
			key := pairKey{j.a, j.b, j.item}
			s := pairs[key]
			if s == nil {
				s = &seen{value: j.value, same: true}
				pairs[key] = s
			}
			s.n++
			s.same = s.same && s.value == j.value
		}
	}
	same := 0
	for _, s := range pairs {
		if s.n != h.Types {
			continue
		}
		if h.Pairs++; s.same {
			same++
		}
	}
	if h.Pairs > 0 {
		h.Same = report.Number(float64(same) / float64(h.Pairs))
	}
}

// FewDecided is the number of pairs with a winner below which intervals are not to be trusted.
const FewDecided = 10

// notesOn say in plain words why systems are not rated.
func notesOn(t *Table) []string {
	by := map[rating.Standing][]string{}
	for _, r := range t.Rows {
		by[r.Standing] = append(by[r.Standing], r.System)
	}
	var notes []string
	add := func(s rating.Standing, one, many string) {
		if n := len(by[s]); n > 0 {
			text := many
			if n == 1 {
				text = one
			}
			notes = append(notes, strings.Join(by[s], ", ")+" "+text)
		}
	}
	if t.Self > 0 {
		notes = append(notes, fmt.Sprintf("%s of a system with itself left out", words.Plural(t.Self, "pair", "pairs")))
	}
	if t.Games == 0 {
		return append(notes, "no pair was judged: nothing can be rated")
	}
	if len(by[rating.Rated]) == 0 {
		notes = append(notes, "no two systems have both won or tied against each other, directly or over others: nobody can "+
			"be rated")
		by[rating.Apart] = nil
	}
	add(rating.Above, "never lost or tied against those that are rated: no rating is high enough for it",
		"never lost or tied against those that are rated: no rating is high enough for them")
	add(rating.Below, "never won or tied against those that are rated: no rating is low enough for it",
		"never won or tied against those that are rated: no rating is low enough for them")
	add(rating.Apart, "has no chain of games to those that are rated: it cannot be compared with them",
		"have no chain of games to those that are rated: they cannot be compared with them")
	add(rating.Undecided,
		"is linked to those that are rated by games that only one side won: it cannot be compared with them",
		"are linked to those that are rated by games that only one side won: they cannot be compared with them")
	add(rating.NoGames, "has no game by this type", "have no game by this type")
	decided := t.decided()
	if decided == 0 {
		notes = append(notes, "all games are ties: every system that is rated has the same rating")
	}
	if t.HasFewDecided() {
		notes = append(notes, fmt.Sprintf("in %s one text won: too few for an interval to trust",
			words.Plural(decided, "pair", "pairs")))
	}
	return notes
}

// decided is the number of pairs in which one text won.
func (t *Table) decided() int { return t.Verdicts[verdicts.A] + t.Verdicts[verdicts.B] }

// HasFewDecided tells whether so few pairs have a winner that its intervals are not to be trusted.
func (t *Table) HasFewDecided() bool { return t.decided() > 0 && t.decided() < FewDecided }
