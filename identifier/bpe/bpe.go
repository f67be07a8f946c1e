// Package bpe is the byte-level byte-pair encoding of GPT-2 and RoBERTa, with the ids of Hugging Face's tokenizers.
package bpe

import (
	"fmt"
	"maps"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Config describes an encoder as a tokenizer.json does.
type Config struct {
	Vocab map[string]int32 // token, its bytes written as the characters of the byte-level alphabet, to id
	// pairs of tokens, the first to be merged first; of a pair given twice the later counts
	Merges         [][2]string
	Unk            string // token for a byte that Vocab lacks; "": the byte is left out
	FuseUnk        bool   // one Unk for a run of such bytes
	IgnoreMerges   bool   // a piece that is a token is not built from merges
	AddPrefixSpace bool   // put a space before text that has none
	Regex          bool   // cut text by the GPT-2 expression before merging
}

// Model is safe for concurrent use; its encoders are not.
type Model struct {
	config  Config
	scanner scanner
	bytes   [256]int32 // id of a single byte, none if the vocabulary lacks it
	unk     int32
	pairs   pairs
	merged  []int32          // what the two tokens of a merge become, by rank
	whole   *pieces.Table    // pieces that become one token
	long    map[string]int32 // those that are too long for the table
}

const none = int32(-1)

// New checks the merges against the vocabulary. Its errors name the token or the merge at fault.
func New(c Config) (*Model, error) {
	m := &Model{config: c, scanner: scanner{classes()}, unk: none, pairs: newPairs(len(c.Merges))}
	if err := m.setBytes(); err != nil {
		return nil, err
	}
	for i, tokens := range c.Merges {
		if err := m.addMerge(tokens); err != nil {
			return nil, fmt.Errorf("merge %d (%q %q): %w", i+1, tokens[0], tokens[1], err)
		}
	}
	m.setWhole()
	return m, nil
}

// setBytes finds the ids of the 256 bytes and of the token for those that are missing.
func (m *Model) setBytes() error {
	complete := true
	for b := range m.bytes {
		id, ok := m.config.Vocab[string(alphabet[b])]
		if !ok {
			id, complete = none, false
		}
		m.bytes[b] = id
	}
	if m.config.Unk == "" || complete {
		return nil
	}
	id, ok := m.config.Vocab[m.config.Unk]
	if !ok {
		return fmt.Errorf("unk_token %q is not in the vocabulary, which also lacks some of the 256 bytes", m.config.Unk)
	}
	m.unk = id
	return nil
}

func (m *Model) addMerge(tokens [2]string) error {
	var ids [3]int32
	for i, token := range [3]string{tokens[0], tokens[1], tokens[0] + tokens[1]} {
		id, ok := m.config.Vocab[token]
		if !ok {
			return fmt.Errorf("the vocabulary lacks %q", token)
		}
		ids[i] = id
	}
	*m.pairs.find(ids[0], ids[1]) = pair{ids[0], ids[1], int32(len(m.merged)), ids[2]}
	m.merged = append(m.merged, ids[2])
	return nil
}

// setWhole finds the tokens that their own bytes are merged to, which is not so for every token of a vocabulary.
func (m *Model) setWhole() {
	whole := make(map[string]int32, len(m.config.Vocab))
	var w word
	for token, id := range m.config.Vocab {
		text, ok := tokenBytes(token)
		if !ok || len(text) == 0 {
			continue
		}
		if !m.config.IgnoreMerges {
			w.loadBytes(m, text)
			w.merge(m)
			if len(w.ids) == 0 || w.ids[0] != id || w.next[0] != none {
				continue
			}
		}
		whole[string(text)] = id
	}
	m.whole = pieces.NewTable(whole)
	m.long = whole
	maps.DeleteFunc(m.long, func(text string, _ int32) bool { return len(text) <= pieces.MaxSize })
}

// Encoder appends ids; it serves one goroutine.
type Encoder struct {
	model *Model
	memo  *pieces.Memo
	word  word
	text  []byte
}

// NewEncoder returns an encoder, which holds about 512 KiB of memory.
func (m *Model) NewEncoder() *Encoder { return &Encoder{model: m, memo: pieces.NewMemo(m.whole)} }

// Append appends the ids of text, which must be valid UTF-8.
func (e *Encoder) Append(dst []int32, text []byte) []int32 {
	if len(text) == 0 {
		return dst
	}
	m, buf := e.model, e.text[:0]
	if m.config.AddPrefixSpace && text[0] != ' ' {
		buf = append(buf, ' ')
	}
	buf = append(buf, text...)
	end := len(buf)
	e.text = append(buf, make([]byte, pieces.MaxSize)...)
	if !m.config.Regex {
		return e.piece(dst, 0, end)
	}
	for i := 0; i < end; {
		next := m.scanner.endOfPiece(e.text[:end], i)
		dst = e.piece(dst, i, next)
		i = next
	}
	return dst
}

func (e *Encoder) piece(dst []int32, start, end int) []int32 {
	dst, ok := e.memo.Append(dst, e.text, start, end)
	if ok {
		return dst
	}
	text := e.text[start:end]
	if len(text) > pieces.MaxSize {
		if id, ok := e.model.long[string(text)]; ok {
			return append(dst, id)
		}
	}
	from := len(dst)
	e.word.loadBytes(e.model, text)
	e.word.merge(e.model)
	dst = e.word.appendIDs(dst)
	e.memo.Store(dst[from:], e.text, start, end)
	return dst
}

// alphabet gives each byte the character that stands for it in a vocabulary: itself if it is printable and no space
// in Latin-1, else one from U+0100 on, as in the encoder of GPT-2.
var alphabet = func() (a [256]rune) {
	moved := rune(256)
	for b := range a {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			a[b] = rune(b)
		default:
			a[b] = moved
			moved++
		}
	}
	return a
}()

var alphabetBytes = func() map[rune]byte {
	m := make(map[rune]byte, len(alphabet))
	for b, r := range alphabet {
		m[r] = byte(b)
	}
	return m
}()

// tokenBytes returns the bytes that a token stands for; false if it has characters outside the alphabet.
func tokenBytes(token string) ([]byte, bool) {
	text := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := alphabetBytes[r]
		if !ok {
			return nil, false
		}
		text = append(text, b)
	}
	return text, true
}
