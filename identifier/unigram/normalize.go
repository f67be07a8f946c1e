package unigram

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
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
		text = bytes.TrimLeftFunc(text, unicode.IsSpace)
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
		return nil, errors.New("an empty pattern to replace has no meaning here")
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
	if strings.Contains(content, "$") {
		return nil, fmt.Errorf("the replacement %q of an expression may hold a group, which is not implemented", content)
	}
	switch pattern {
	case ` {2,}`:
		return replace{blankRun, content}, nil
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

// blankRun is the size of two or more spaces.
func blankRun(text []byte) int {
	if n := len(text) - len(bytes.TrimLeft(text, " ")); n > 1 {
		return n
	}
	return 0
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
func leadingSpace(text []byte) int { return len(text) - len(bytes.TrimLeftFunc(text, unicode.IsSpace)) }
