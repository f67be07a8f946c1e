package cluster

import (
	"cmp"
	"slices"
)

// Index finds the sentences most like another one, by the words alone. It may be used by several goroutines.
type Index struct {
	space    *space
	postings *postings
}

// Match is a sentence that an Index found.
type Match struct {
	At         int     // its place among the sentences of the index
	Similarity float64 // 0..1, where 1 is the same n-grams
}

// NewIndex makes an index of sentences.
func NewIndex(sentences []string) *Index {
	s := newSpace(sentences)
	return &Index{s, newPostings(s.rows, len(s.idf))}
}

// Nearest gives the n sentences most like the one given, the most similar first and of equal ones the first. Sentences
// without anything in common follow in their order, so that there are n wherever the index has as many.
func (x *Index) Nearest(sentence string, n int) []Match {
	scores := make([]float64, len(x.space.rows))
	x.postings.scores(x.space.vector(sentence), 1, scores)
	all := make([]Match, len(scores))
	for i, s := range scores {
		all[i] = Match{i, min(s, 1)}
	}
	slices.SortStableFunc(all, func(a, b Match) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return all[:min(max(n, 0), len(all))]
}

// Nearest gives the places of the n sentences of others that are most like sentence, as Index.Nearest does.
func Nearest(sentence string, others []string, n int) []int {
	var out []int
	for _, m := range NewIndex(others).Nearest(sentence, n) {
		out = append(out, m.At)
	}
	return out
}
