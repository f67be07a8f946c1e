package unigram

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Normalizer prepares text by one stage after the other.
type Normalizer []Stage

// Stage is a normaliser of Hugging Face's; it is safe for concurrent use.
type Stage interface {
	append(dst, text []byte) []byte
}

// Buffer normalises text; it serves one goroutine.
type Buffer struct {
	stages    Normalizer
	out, next []byte
}

// NewBuffer returns a buffer that normalises as n says.
func (n Normalizer) NewBuffer() *Buffer { return &Buffer{stages: n} }

// Normalize returns the normalised text, valid until the next call. The text must be valid UTF-8.
func (b *Buffer) Normalize(text []byte) []byte {
	for _, s := range b.stages {
		text = s.append(b.next[:0], text)
		b.out, b.next = text, b.out
	}
	return text
}

// Strip drops white space at the ends.
type Strip struct{ Left, Right bool }

func (s Strip) append(dst, text []byte) []byte {
	if s.Left {
		text = text[leadingSpace(text):]
	}
	if s.Right {
		text = bytes.TrimRightFunc(text, unicode.IsSpace)
	}
	return append(dst, text...)
}

// replace puts content wherever match finds something.
type replace struct {
	match   func(text []byte) int // size of the match at the beginning of text, which is not empty; 0: none
	content string
}

// ReplaceString replaces every occurrence of old, which is not empty.
func ReplaceString(old, content string) (Stage, error) {
	if old == "" {
		return nil, fmt.Errorf("an empty pattern to replace is not implemented")
	}
	match := func(text []byte) int {
		if text[0] == old[0] && bytes.HasPrefix(text, []byte(old)) {
			return len(old)
		}
		return 0
	}
	return replace{match, content}, nil
}

// ReplaceRegex replaces the matches of one of the expressions that XLM-RoBERTa's and DeBERTa-v3's tokenizers use.
func ReplaceRegex(pattern, content string) (Stage, error) {
	if bytes.ContainsRune([]byte(content), '$') {
		return nil, fmt.Errorf("the replacement %q of an expression may hold a group, which is not implemented", content)
	}
	switch pattern {
	case ` {2,}`:
		return replace{func(text []byte) int { return atLeastTwo(leadingBlanks(text)) }, content}, nil
	case `\s{2,}|[\n\r\t]`:
		return replace{spaceRun, content}, nil
	}
	return nil, fmt.Errorf("the expression %q is not implemented; only %q and %q are", pattern, ` {2,}`, `\s{2,}|[\n\r\t]`)
}

func (r replace) append(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if n := r.match(text[i:]); n > 0 {
			dst = append(dst, r.content...)
			i += n
			continue
		}
		dst = append(dst, text[i])
		i++
	}
	return dst
}

func atLeastTwo(n int) int {
	if n < 2 {
		return 0
	}
	return n
}

func leadingBlanks(text []byte) int {
	n := 0
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}

// spaceRun is the size of two or more white spaces, or of a line break or tab.
func spaceRun(text []byte) int {
	n := leadingSpace(text)
	if n == 0 {
		return 0
	}
	if _, size := utf8.DecodeRune(text); n > size || text[0] == '\n' || text[0] == '\r' || text[0] == '\t' {
		return n
	}
	return 0
}

// leadingSpace is the size of the white space at the beginning of text.
func leadingSpace(text []byte) int {
	n := 0
	for n < len(text) {
		size := spaceSize(text[n:])
		if size == 0 {
			break
		}
		n += size
	}
	return n
}

// spaceAt is where the first white space of text is, its length if there is none.
func spaceAt(text []byte) int {
	n := 0
	for n < len(text) && spaceSize(text[n:]) == 0 {
		n++
	}
	return n
}

// spaceSize is the size of the white space character at the beginning of text, 0 if there is none.
func spaceSize(text []byte) int {
	c := text[0]
	if c > ' ' && c < 0xc2 || c > 0xe3 { // no white space begins so, nor does it inside a character
		return 0
	}
	if r, size := utf8.DecodeRune(text); unicode.IsSpace(r) {
		return size
	}
	return 0
}
