package unigram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Charsmap is SentencePiece's precompiled_charsmap: a Darts double array from UTF-8 to offsets in a text of
// replacements, each ended by a zero byte. It is applied as Hugging Face's normaliser Precompiled does, which is not
// SentencePiece's way.
type Charsmap struct {
	units        []uint32
	replacements string
	ascii        [utf8.RuneSelf]string // what each becomes
	plain        [utf8.RuneSelf]bool   // becomes itself, and starts no CR LF
}

// The parts of a unit.
func hasLeaf(u uint32) bool  { return u>>8&1 == 1 }
func value(u uint32) uint32  { return u & (1<<31 - 1) }
func label(u uint32) uint32  { return u & (1<<31 | 0xff) }
func offset(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }

var errCharsmap = errors.New("precompiled_charsmap is damaged")

// NewCharsmap reads a precompiled_charsmap: the size of the double array in bytes, it, and the replacements.
func NewCharsmap(data []byte) (*Charsmap, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("%w: %d bytes", errCharsmap, len(data))
	}
	size := binary.LittleEndian.Uint32(data) / 4 * 4
	data = data[4:]
	if size == 0 || uint64(size) > uint64(len(data)) {
		return nil, fmt.Errorf("%w: a trie of %d bytes in %d", errCharsmap, size, len(data))
	}
	m := &Charsmap{units: make([]uint32, size/4), replacements: string(data[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.ValidString(m.replacements) {
		return nil, fmt.Errorf("%w: replacements that are not UTF-8", errCharsmap)
	}
	if err := m.checkTrie(); err != nil {
		return nil, err
	}
	for b := range m.ascii {
		c := [1]byte{byte(b)}
		to, mapped := m.transform(c[:])
		if !mapped {
			to = string(c[:])
		}
		m.ascii[b], m.plain[b] = to, !mapped && b != '\r'
	}
	return m, nil
}

// checkTrie walks every path of the trie, so that no text leads out of it.
func (m *Charsmap) checkTrie() error {
	seen := make([]bool, len(m.units))
	for open := []uint32{offset(m.units[0])}; len(open) > 0; {
		base := open[len(open)-1]
		open = open[:len(open)-1]
		for c := uint32(1); c < 256; c++ {
			at := base ^ c
			if int(at) >= len(m.units) {
				return fmt.Errorf("%w: a path leads out of the trie", errCharsmap)
			}
			u := m.units[at]
			if label(u) != c || seen[at] {
				continue
			}
			seen[at] = true
			at ^= offset(u)
			if hasLeaf(u) && !m.checkLeaf(at) {
				return fmt.Errorf("%w: a leaf leads out of the replacements", errCharsmap)
			}
			open = append(open, at)
		}
	}
	return nil
}

func (m *Charsmap) checkLeaf(at uint32) bool {
	if int(at) >= len(m.units) {
		return false
	}
	v := int(value(m.units[at]))
	return v == len(m.replacements) || v < len(m.replacements) && utf8.RuneStart(m.replacements[v])
}

// transform returns the replacement of the shortest beginning of text that has one.
func (m *Charsmap) transform(text []byte) (to string, ok bool) {
	at := offset(m.units[0])
	for _, c := range text {
		if c == 0 { // a leaf's own label, which check leaves out
			break
		}
		at ^= uint32(c)
		u := m.units[at]
		if label(u) != uint32(c) {
			break
		}
		at ^= offset(u)
		if hasLeaf(u) {
			return m.replacement(value(m.units[at])), true
		}
	}
	return "", false
}

func (m *Charsmap) replacement(start uint32) string {
	for i := int(start); i < len(m.replacements); i++ {
		if m.replacements[i] == 0 {
			return m.replacements[start:i]
		}
	}
	return m.replacements[start:]
}

// maxCluster is the size in bytes from which Hugging Face looks no grapheme cluster up as a whole.
const maxCluster = 6

func (m *Charsmap) append(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if end := m.plainEnd(text, i); end > i {
			dst = append(dst, text[i:end]...)
			i = end
			continue
		}
		if c := text[i]; aloneASCII(text, i) {
			dst = append(dst, m.ascii[c]...)
			i++
			continue
		}
		end := i + cluster(text[i:])
		dst = m.appendCluster(dst, text[i:end])
		i = end
	}
	return dst
}

// plainEnd is where the ASCII characters from i on end that become themselves and form no cluster with what follows.
func (m *Charsmap) plainEnd(text []byte, i int) int {
	end := i
	for end < len(text) && text[end] < utf8.RuneSelf && m.plain[text[end]] {
		end++
	}
	if end > i && end < len(text) && text[end] >= utf8.RuneSelf {
		end--
	}
	return end
}

// aloneASCII reports whether an ASCII character stands at i that is a cluster for sure.
func aloneASCII(text []byte, i int) bool {
	return text[i] < utf8.RuneSelf && (i+1 == len(text) || text[i+1] < utf8.RuneSelf &&
		(text[i] != '\r' || text[i+1] != '\n'))
}

// appendCluster replaces a short grapheme cluster by what its beginning maps to, dropping the rest as Hugging Face
// does; or else each of its characters.
func (m *Charsmap) appendCluster(dst, text []byte) []byte {
	if len(text) < maxCluster {
		if to, ok := m.transform(text); ok {
			return append(dst, to...)
		}
	}
	for len(text) > 0 {
		_, size := utf8.DecodeRune(text)
		if to, ok := m.transform(text[:size]); ok {
			dst = append(dst, to...)
		} else {
			dst = append(dst, text[:size]...)
		}
		text = text[size:]
	}
	return dst
}

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
