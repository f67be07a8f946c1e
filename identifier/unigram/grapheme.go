package unigram

import (
	"sync"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Properties of a code point that decide about grapheme clusters (Unicode Standard Annex 29), from tables.txt.
const (
	joins       = 1 << iota // Extend, ZWJ or SpacingMark: no boundary before it
	isControl               // Control, CR or LF
	isPrepend               // no boundary behind it
	isPicture               // Extended_Pictographic
	isExtend                // Extend: may stand between a picture and a ZWJ
	isConsonant             // Indic_Conjunct_Break=Consonant
	isConjunct              // Indic_Conjunct_Break=Extend or Linker
	isLinker                // Indic_Conjunct_Break=Linker
)

var graphemes = sync.OnceValue(func() *pieces.Classes {
	return pieces.NewClasses().Or(joins, "joining").Or(isControl, "controls").Or(isPrepend, "prepends").
		Or(isPicture, "pictures").Or(isExtend, "extends").Or(isConsonant, "consonants").Or(isConjunct, "conjuncts").
		Or(isLinker, "linkers")
})

const zwj = 0x200d

// cluster returns the size of the grapheme cluster at the beginning of text. Regional indicators are left alone: a pair
// of them is too long to be looked up, and none begins anything shorter that is not one character.
func cluster(text []byte) int {
	classes := graphemes()
	r, size := utf8.DecodeRune(text)
	c := classes.Of(r)
	if r == '\r' && size < len(text) && text[size] == '\n' {
		return 2
	}
	picture := c&isPicture != 0                   // a picture and extending characters were the last
	zwjBehind := false                            // and then a ZWJ
	conjunct, linked := c&isConsonant != 0, false // a consonant and its extending characters were the last
	for size < len(text) {
		next, n := utf8.DecodeRune(text[size:])
		class := classes.Of(next)
		switch {
		case c&isControl != 0 || class&isControl != 0:
			return size
		case class&joins != 0, c&isPrepend != 0, hangulJoins(r, next):
		case zwjBehind && class&isPicture != 0:
		case conjunct && linked && class&isConsonant != 0:
		default:
			return size
		}
		zwjBehind = picture && next == zwj
		picture = class&isPicture != 0 || picture && class&isExtend != 0
		linked = conjunct && class&isConjunct != 0 && (linked || class&isLinker != 0)
		conjunct = class&isConsonant != 0 || conjunct && class&isConjunct != 0
		r, c = next, class
		size += n
	}
	return size
}

// Kinds of Hangul.
const (
	notHangul = iota
	leading
	vowel
	trailing
	openSyllable
	closedSyllable
)

func hangulKind(r rune) int {
	switch {
	case r < 0x1100:
	case r <= 0x115f, r >= 0xa960 && r <= 0xa97c:
		return leading
	case r <= 0x11a7, r >= 0xd7b0 && r <= 0xd7c6:
		return vowel
	case r <= 0x11ff, r >= 0xd7cb && r <= 0xd7fb:
		return trailing
	case r >= hangulFirst && r <= hangulLast:
		if (r-hangulFirst)%trails == 0 {
			return openSyllable
		}
		return closedSyllable
	}
	return notHangul
}

// hangulJoins reports whether two pieces of a Hangul syllable stand together.
func hangulJoins(a, b rune) bool {
	before := hangulKind(a)
	if before == notHangul {
		return false
	}
	switch hangulKind(b) {
	case leading, openSyllable, closedSyllable:
		return before == leading
	case vowel:
		return before == leading || before == openSyllable || before == vowel
	case trailing:
		return before != leading
	}
	return false
}
