package selection

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// greedy is what a ranking must keep, computed the slow way: all rows, best first, each taken where the limits let it.
func greedy(rows []*candidate, score func(*candidate) float64, limit, perGroup int) []string {
	all := slices.Clone(rows)
	slices.SortFunc(all, func(a, b *candidate) int {
		if compare(entry{a, score(a)}, entry{b, score(b)}) < 0 {
			return -1
		}
		return 1
	})
	var out []string
	groups, texts := map[uint64]int{}, map[uint64]bool{}
	for _, c := range all {
		if len(out) == limit || c.group != 0 && perGroup > 0 && groups[c.group] == perGroup || texts[c.text] {
			continue
		}
		groups[c.group]++
		texts[c.text] = true
		out = append(out, c.id)
	}
	return out
}

func TestRankingKeepsWhatTheWholePoolWould(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, limit, perGroup := rng.IntN(80), rng.IntN(12), rng.IntN(4)
		rows := make([]*candidate, n)
		scores := map[string]float64{}
		for i := range rows {
			group := uint64(rng.IntN(5)) // 0 is none
			rows[i] = &candidate{id: fmt.Sprint(i), key: uint64(rng.IntN(3)), group: group, text: group<<8 | uint64(rng.IntN(6))}
			scores[rows[i].id] = float64(rng.IntN(6))
		}
		score := func(c *candidate) float64 { return scores[c.id] }
		want := greedy(rows, score, limit, perGroup)
		for range 3 {
			rng.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			r := newRanking(limit, perGroup)
			for _, c := range rows {
				r.offer(c, score(c), func(*candidate) {})
			}
			var got []string
			for _, e := range r.entries {
				got = append(got, e.of.id)
			}
			if !slices.Equal(got, want) || r.offered != n {
				t.Fatalf("seed %d, limit %d, per group %d: kept %v of %d, want %v of %d", seed, limit, perGroup, got,
					r.offered, want, n)
			}
		}
	}
}

func TestRankingCountsThoseAhead(t *testing.T) {
	r := newRanking(1, 0)
	r.watched = &entry{of: &candidate{id: "b", key: 5}, score: 0.5}
	for i, c := range []struct {
		score float64
		key   uint64
		id    string
	}{{0.9, 9, "x"}, {0.5, 4, "y"}, {0.5, 5, "a"}, {0.5, 5, "b"}, {0.5, 5, "c"}, {0.1, 0, "z"}} {
		r.offer(&candidate{id: c.id, key: c.key, text: uint64(i)}, c.score, func(*candidate) {})
	}
	if r.ahead != 3 { // x by its score, y by its key, a by its id
		t.Errorf("%d rows ahead, want 3", r.ahead)
	}
}
