// Package wordpiece is the WordPiece encoding of BERT, with the ids of Hugging Face's tokenizers.
package wordpiece

import (
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Config describes an encoder as a tokenizer.json does.
type Config struct {
	Vocab    map[string]int32 // token to id
	Unk      string           // token for a word that cannot be built, or that is too long
	Prefix   string           // what a token that continues a word begins with, "##" for BERT
	MaxChars int              // longest word in code points, 100 for BERT
}

// Model is safe for concurrent use; its encoders are not.
type Model struct {
	whole    *pieces.Table // words that are tokens
	trie     *pieces.Trie
	inner    int32 // node of the trie that continuing tokens hang on
	unk      int32
	maxChars int
	cuts     *pieces.Classes
}

// New builds the model.
func New(c Config) (*Model, error) {
	unk, ok := c.Vocab[c.Unk]
	if !ok {
		return nil, fmt.Errorf("unk_token %q is not in the vocabulary", c.Unk)
	}
	trie, err := pieces.NewTrie(c.Vocab)
	if err != nil {
		return nil, err
	}
	return &Model{whole: pieces.NewTable(short(c.Vocab, c.MaxChars)), trie: trie, inner: trie.Walk(pieces.Root, c.Prefix),
		unk: unk, maxChars: c.MaxChars, cuts: cuts()}, nil
}

// short returns the tokens that are not longer than the longest word.
func short(vocab map[string]int32, maxChars int) map[string]int32 {
	tokens := maps.Clone(vocab)
	maps.DeleteFunc(tokens, func(token string, _ int32) bool { return utf8.RuneCountInString(token) > maxChars })
	return tokens
}

// Encoder appends ids; it serves one goroutine.
type Encoder struct {
	model *Model
	memo  *pieces.Memo
	text  []byte
}

// NewEncoder returns an encoder, which holds about 512 KiB of memory.
func (m *Model) NewEncoder() *Encoder { return &Encoder{model: m, memo: pieces.NewMemo(m.whole)} }

// Append appends the ids of normalised text, which must be valid UTF-8.
func (e *Encoder) Append(dst []int32, text []byte) []int32 {
	buf := append(e.text[:0], text...)
	e.text = append(buf, make([]byte, pieces.MaxSize)...)
	for i := 0; i < len(buf); {
		class, size := e.model.cuts.At(buf, i)
		if class == isSpace {
			i += size
			continue
		}
		end := i + size
		for class == inWord && end < len(buf) {
			after, n := e.model.cuts.At(buf, end)
			if after != inWord {
				break
			}
			end += n
		}
		dst = e.word(dst, i, end)
		i = end
	}
	return dst
}

func (e *Encoder) word(dst []int32, start, end int) []int32 {
	dst, ok := e.memo.Append(dst, e.text, start, end)
	if ok {
		return dst
	}
	from := len(dst)
	dst = e.model.splitWord(dst, e.text[start:end])
	e.memo.Store(dst[from:], e.text, start, end)
	return dst
}

// splitWord appends the longest tokens from the left, or the unknown token if the word cannot be built of tokens.
func (m *Model) splitWord(dst []int32, word []byte) []int32 {
	if len(word) > m.maxChars && utf8.RuneCount(word) > m.maxChars {
		return append(dst, m.unk)
	}
	from, node := len(dst), pieces.Root
	for len(word) > 0 {
		id, size := m.trie.Longest(node, word)
		if size == 0 {
			return append(dst[:from], m.unk)
		}
		dst, word, node = append(dst, id), word[size:], m.inner
	}
	return dst
}
