package unigram

import (
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// step is the best way to a place in the text: its score, and the piece that it ends with.
type step struct {
	score float64
	start int32 // where the piece starts; unreached: no way is known
	id    int32
}

const unreached = -1

// span is a piece on the best path.
type span struct{ start, end, id int32 }

// viterbi appends the ids of the pieces with the highest sum of scores. Sums are made in Hugging Face's order, and of
// equal ones the first stays, so that rounding and ties give the same ids.
func (e *Encoder) viterbi(dst []int32, text []byte) []int32 {
	m := e.model
	e.best = append(e.best[:0], step{})
	for range text {
		e.best = append(e.best, step{start: unreached})
	}
	for start := 0; start < len(text); {
		sofar := e.best[start].score
		_, size := utf8.DecodeRune(text[start:])
		single := false
		node := pieces.Root
		for end := start; end < len(text); {
			if node = m.trie.Step(node, text[end]); node == pieces.None {
				break
			}
			end++
			if id := m.trie.Value(node); id != pieces.None {
				e.best[end].offer(sofar+m.scores[id], start, id)
				single = single || end == start+size
			}
		}
		if !single {
			e.best[start+size].offer(sofar+m.unkScore, start, m.config.Unk)
		}
		start += size
	}
	return e.appendPath(dst, text)
}

func (s *step) offer(score float64, start int, id int32) {
	if s.start == unreached || score > s.score {
		*s = step{score, int32(start), id}
	}
}

// appendPath appends the ids of the best path; unknown pieces in a row are one.
func (e *Encoder) appendPath(dst []int32, text []byte) []int32 {
	unk := e.model.config.Unk
	e.path = e.path[:0]
	for end := int32(len(text)); end > 0; {
		s := e.best[end]
		if n := len(e.path); n > 0 && s.id == unk && e.path[n-1].id == unk {
			e.path[n-1].start = s.start
		} else {
			e.path = append(e.path, span{s.start, end, s.id})
		}
		end = s.start
	}
	for i := len(e.path) - 1; i >= 0; i-- {
		if p := e.path[i]; p.id == unk {
			dst = e.model.unknown(dst, text[p.start:p.end])
		} else {
			dst = append(dst, p.id)
		}
	}
	return dst
}

// unknown appends what a run of unknown pieces becomes: the piece that it spells after all, its bytes, or the unknown
// one.
func (m *Model) unknown(dst []int32, text []byte) []int32 {
	if node := m.trie.Walk(pieces.Root, string(text)); node != pieces.None && m.trie.Value(node) != pieces.None {
		return append(dst, m.trie.Value(node))
	}
	if m.bytes == nil {
		return append(dst, m.config.Unk)
	}
	from := len(dst)
	for _, b := range text {
		id := m.bytes[b]
		if id == pieces.None {
			return append(dst[:from], m.config.Unk)
		}
		dst = append(dst, id)
	}
	return dst
}
