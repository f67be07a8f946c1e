// Package unigram is the SentencePiece Unigram encoding of XLM-RoBERTa and DeBERTa-v3. The ids are those of Hugging
// Face's tokenizers.
package unigram

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Scheme says which texts Metaspace puts its replacement before, unless they begin with it.
type Scheme string

// The schemes, spelled as in a tokenizer.json.
const (
	Always Scheme = "always" // every text between added tokens; every word, with SplitSpace
	First  Scheme = "first"  // the one that begins the input
	Never  Scheme = "never"
)

// Config describes an encoder as a tokenizer.json does.
type Config struct {
	Pieces       []Piece // by id
	Unk          int32   // id of the piece for text that no piece covers
	ByteFallback bool    // such text becomes its bytes, <0x00> to <0xFF>, if there are pieces for all of them

	SplitSpace  bool   // WhitespaceSplit before Metaspace: cut at white space and drop it
	Replacement string // Metaspace's character for a space, "▁"
	Prepend     Scheme // Metaspace's prepend_scheme
	Split       bool   // Metaspace cuts before each replacement
}

// Piece is an entry of the vocabulary.
type Piece struct {
	Text  string
	Score float64 // log probability
}

// unkPenalty is how much less than the lowest score an unknown character scores (K_UNK_PENALTY, as in SentencePiece).
const unkPenalty = 10

// Model is safe for concurrent use; its encoders are not.
type Model struct {
	config   Config
	trie     *pieces.Trie
	scores   []float64 // by id
	unkScore float64
	bytes    *[256]int32 // nil: no byte fallback; None where there is no piece
}

// New builds the model.
func New(c Config) (*Model, error) {
	if c.Unk < 0 || int(c.Unk) >= len(c.Pieces) {
		return nil, fmt.Errorf("unk_id %d is not in the vocabulary of %d pieces", c.Unk, len(c.Pieces))
	}
	if utf8.RuneCountInString(c.Replacement) != 1 || c.Replacement == " " {
		return nil, fmt.Errorf("replacement %q is not one character other than a space", c.Replacement)
	}
	if !slices.Contains([]Scheme{Always, First, Never}, c.Prepend) {
		return nil, fmt.Errorf("prepend_scheme %q is not known; only always, first and never are", c.Prepend)
	}
	if c.Prepend == First && c.SplitSpace {
		return nil, errors.New(`prepend_scheme "first" behind WhitespaceSplit is not implemented`)
	}
	ids, lowest := make(map[string]int32, len(c.Pieces)), math.Inf(1)
	m := &Model{config: c, scores: make([]float64, len(c.Pieces))}
	for id, p := range c.Pieces {
		if math.IsNaN(p.Score) || math.IsInf(p.Score, 0) {
			return nil, fmt.Errorf("piece %d (%q) has no finite score", id, p.Text)
		}
		ids[p.Text], m.scores[id] = int32(id), p.Score // of equal pieces the last counts
		lowest = min(lowest, p.Score)
	}
	m.unkScore = lowest - unkPenalty
	if c.ByteFallback {
		m.bytes = bytePieces(ids)
	}
	m.config.Pieces = nil
	var err error
	m.trie, err = pieces.NewTrie(ids)
	return m, err
}

func bytePieces(ids map[string]int32) *[256]int32 {
	var all [256]int32
	for b := range all {
		id, ok := ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id = pieces.None
		}
		all[b] = id
	}
	return &all
}

// Encoder appends ids; it serves one goroutine.
type Encoder struct {
	model *Model
	memo  *pieces.Memo
	piece []byte
	best  []step
	path  []span
}

// NewEncoder returns an encoder, which holds about 512 KiB of memory.
func (m *Model) NewEncoder() *Encoder {
	return &Encoder{model: m, memo: pieces.NewMemo(pieces.NewTable(nil))}
}

// Append appends the ids of normalised text, which must be valid UTF-8; first: it begins the input.
func (e *Encoder) Append(dst []int32, text []byte, first bool) []int32 {
	c := &e.model.config
	prepend := c.Prepend == Always || c.Prepend == First && first
	if !c.SplitSpace {
		return e.metaspace(dst, text, prepend)
	}
	for word := range bytes.FieldsFuncSeq(text, unicode.IsSpace) {
		dst = e.metaspace(dst, word, prepend)
	}
	return dst
}

// metaspace encodes text with its spaces replaced, cut before each replacement.
func (e *Encoder) metaspace(dst []int32, text []byte, prepend bool) []int32 {
	mark := e.model.config.Replacement
	e.piece = slices.Grow(e.piece[:0], (len(text)+1)*len(mark)+pieces.MaxSize) // which the memo may read behind a piece
	piece := e.piece
	if prepend && len(text) > 0 && e.model.markAt(text) == 0 {
		piece = append(piece, mark...)
	}
	for len(text) > 0 {
		if n := e.model.markAt(text); n > 0 {
			if e.model.config.Split && len(piece) > 0 {
				dst, piece = e.encode(dst, piece), piece[:0]
			}
			piece, text = append(piece, mark...), text[n:]
			continue
		}
		end := 1
		for end < len(text) && text[end] != ' ' && text[end] != mark[0] {
			end++
		}
		piece, text = append(piece, text[:end]...), text[end:]
	}
	if len(piece) > 0 {
		dst = e.encode(dst, piece)
	}
	return dst
}

// markAt returns the size of the space or the replacement at the beginning of text, 0 if there is none.
func (m *Model) markAt(text []byte) int {
	mark := m.config.Replacement
	switch {
	case text[0] == ' ':
		return 1
	case text[0] == mark[0] && bytes.HasPrefix(text, []byte(mark)):
		return len(mark)
	}
	return 0
}

// encode appends the ids of a piece of text, remembered ones if it is short. MaxSize bytes must follow within its
// capacity.
func (e *Encoder) encode(dst []int32, text []byte) []int32 {
	dst, ok := e.memo.Append(dst, text, 0, len(text))
	if ok {
		return dst
	}
	from := len(dst)
	dst = e.viterbi(dst, text)
	e.memo.Store(dst[from:], text, 0, len(text))
	return dst
}

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
