package cluster

import (
	"cmp"
	"fmt"
	"slices"
)

// Index finds the sentences most like another one, and, by a Shortlist, the groups. Its methods may be called from
// several goroutines.
type Index struct {
	*grouping
	targets *targets
}

// Match is a sentence or a group that was found.
type Match struct {
	At         int     // its place among the sentences, or the group's number
	Similarity float64 // at most 1
}

// NewIndex makes an index of sentences, by the similarity that Group has. vectors has one vector a sentence, all of one
// size, or is nil: then words alone count.
func NewIndex(sentences []string, vectors [][]float32) (*Index, error) {
	if err := checkVectors(len(sentences), vectors); err != nil {
		return nil, err
	}
	items, all := make([]item, len(sentences)), make([]int, len(sentences))
	for i, s := range sentences {
		items[i], all[i] = item{text: s, weight: 1}, i
		if vectors != nil {
			items[i].vector = vectors[i]
		}
	}
	x := &Index{grouping: newGrouping(items, DefaultOptions())}
	x.targets = x.itemTargets(all)
	return x, nil
}

// Nearest gives the n sentences most like the one given, the most similar first and of equal ones the first. vector is
// that of sentence, or nil where the index has none; one of another size is an error. Sentences without anything in
// common follow in their order, so that there are n wherever the index has as many.
func (x *Index) Nearest(sentence string, vector []float32, n int) ([]Match, error) {
	if len(vector) != len(x.centre) {
		return nil, fmt.Errorf("a vector of %d numbers for an index of vectors of %d", len(vector), len(x.centre))
	}
	scores := make([]float64, len(x.items))
	x.targets.addFrom(0, x.space.vector(sentence), x.centred(vector), scores)
	return largestMatches(scores, n), nil
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

// Nearest gives the places of the n sentences of others that are most like sentence by words, as Index.Nearest does.
func Nearest(sentence string, others []string, n int) []int {
	x, err := NewIndex(others, nil)
	if err != nil {
		return nil // only vectors are refused
	}
	found, _ := x.Nearest(sentence, nil, n)
	var out []int
	for _, m := range found {
		out = append(out, m.At)
	}
	return out
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
