package bpe

import (
	"sync"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// The classes of the GPT-2 expression; a code point of none of them is "other".
const (
	other = iota
	letter
	number
	space
)

var classes = sync.OnceValue(func() *pieces.Classes {
	return pieces.NewClasses().Or(letter, "letters").Or(number, "numbers").Or(space, "spaces")
})

// scanner cuts text as the GPT-2 expression does, by these classes:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
type scanner struct{ *pieces.Classes }

// endOfPiece returns where the piece that begins at text[i] ends.
func (s scanner) endOfPiece(text []byte, i int) int {
	class, size := s.At(text, i)
	switch {
	case text[i] == '\'':
		if n := contractionLength(text[i+1:]); n > 0 {
			return i + 1 + n
		}
	case text[i] == ' ' && i+1 < len(text):
		if after, n := s.At(text, i+1); after != space {
			return s.endOfRun(text, i+1+n, after)
		}
	}
	if class == space {
		return s.endOfSpace(text, i, size)
	}
	return s.endOfRun(text, i+size, class)
}

// endOfRun returns the end of the run of one class that text[i] may continue.
func (s scanner) endOfRun(text []byte, i int, class uint8) int {
	for i < len(text) {
		c, size := s.At(text, i)
		if c != class {
			break
		}
		i += size
	}
	return i
}

// endOfSpace returns the end of the white space that begins at text[i]; before the last of several that text follows,
// since \s+(?!\S) gives that one back to the piece behind it.
func (s scanner) endOfSpace(text []byte, i, size int) int {
	last, end := i, i+size
	for end < len(text) {
		class, n := s.At(text, end)
		if class != space {
			if last > i {
				return last
			}
			return end
		}
		last, end = end, end+n
	}
	return end
}

// contractionLength returns how many bytes of text, which follows an apostrophe, belong to a contraction.
func contractionLength(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case 's', 't', 'm', 'd':
		return 1
	case 'r', 'v':
		if len(text) > 1 && text[1] == 'e' {
			return 2
		}
	case 'l':
		if len(text) > 1 && text[1] == 'l' {
			return 2
		}
	}
	return 0
}
