package cluster

import (
	"cmp"
	"slices"
)

// Index holds sentences, of which a Shortlist finds groups. Its methods may be called from several goroutines.
type Index struct{ *grouping }

// Match is a group that was found.
type Match struct {
	At         int     // the group's number
	Similarity float64 // at most 1
}

// NewIndex makes an index of sentences, by the similarity that Group has. vectors has one vector a sentence, all of one
// size, or is nil: then words alone count.
func NewIndex(sentences []string, vectors [][]float32) (*Index, error) {
	if err := checkVectors(len(sentences), vectors); err != nil {
		return nil, err
	}
	items := make([]item, len(sentences))
	for i, s := range sentences {
		items[i] = item{text: s, weight: 1}
		if vectors != nil {
			items[i].vector = vectors[i]
		}
	}
	return &Index{newGrouping(items, DefaultOptions())}, nil
}

// largestMatches are the n places of the largest scores.
func largestMatches(scores []float64, n int) []Match {
	all := make([]Match, len(scores))
	for i, s := range scores {
		all[i] = Match{i, min(s, 1)}
	}
	slices.SortStableFunc(all, func(a, b Match) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return all[:min(max(n, 0), len(all))]
}

// Shortlist finds the groups most like a sentence of an index, while groups grow. It is for one goroutine.
type Shortlist struct {
	index *Index
	means *means
}

// NewShortlist has no groups yet.
func (x *Index) NewShortlist() *Shortlist { return &Shortlist{x, &means{}} }

// Add puts the sentence at a place of the index into a group. Groups are numbered from 0 on.
func (s *Shortlist) Add(group, at int) {
	for len(s.means.weight) <= group {
		s.means.grow(len(s.index.centre))
	}
	s.means.add(s.index.grouping, group, at)
}

// Nearest gives the n groups whose sentences are, on average, most like the one at a place of the index, the most
// similar first, and of equal ones the first. A group without sentences is left out.
func (s *Shortlist) Nearest(at, n int) []Match {
	row, unit := s.index.space.rows[at], s.index.unit(at)
	scores := make([]float64, len(s.means.weight))
	for group := range scores {
		scores[group] = s.means.similarity(group, row, unit)
	}
	all := slices.DeleteFunc(largestMatches(scores, len(scores)), func(m Match) bool { return s.means.weight[m.At] == 0 })
	return all[:min(max(n, 0), len(all))]
}
