package unigram

import (
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Form is a normalisation form of Unicode, with the characters that Hugging Face's crate knows: those of an older
// version than x/text's, whose Properties are read here. Its own forms put U+034F into long runs of marks and compose
// characters beyond U+FFFF that only look alike in their lower 16 bits.
type Form int

// The forms that compose.
const (
	NFC Form = iota
	NFKC
)

// Hangul syllables compose by arithmetic (The Unicode Standard, section 3.12).
const (
	hangulFirst, hangulLast            = 0xac00, 0xd7a3
	leadFirst, vowelFirst, trailFirst  = 0x1100, 0x1161, 0x11a7
	leads, vowels, trails, vowelTrails = 19, 21, 28, 21 * 28
)

// Bits of a code point in forms.classes.
const (
	changes = 1 << iota // alone, the form makes something else of it
	follows             // what it decomposes to may move before, or compose with, what stands before it
)

type forms struct {
	classes [2]*pieces.Classes
	known   *pieces.Classes // 0: to Hugging Face's crate it has no mapping and the class 0
	pairs   map[[2]rune]rune
}

// normalized is the table of all that Hugging Face's crate knows of normalisation.
const normalized = "normalized"

var unicodeForms = sync.OnceValue(func() *forms {
	f := &forms{known: pieces.NewClasses().Or(1, normalized), pairs: map[[2]rune]rune{}}
	second := map[rune]bool{}
	pieces.Points(normalized, func(r rune) { f.addPair(r, second) })
	for r := rune(vowelFirst); r < trailFirst+trails; r++ {
		second[r] = r < vowelFirst+vowels || r > trailFirst
	}
	for form := range f.classes {
		f.classes[form] = f.classify(Form(form), second)
	}
	return f
})

// addPair notes what two characters compose to r.
func (f *forms) addPair(r rune, second map[rune]bool) {
	if r >= hangulFirst && r <= hangulLast {
		return
	}
	d := norm.NFD.PropertiesString(string(r)).Decomposition()
	if utf8.RuneCount(d) < 2 || norm.NFC.String(string(r)) != string(r) {
		return
	}
	last, size := utf8.DecodeLastRune(d)
	first, _ := utf8.DecodeRune(norm.NFC.Bytes(slices.Clone(d[:len(d)-size])))
	f.pairs[[2]rune{first, last}] = r
	second[last] = true
}

func (f *forms) classify(form Form, second map[rune]bool) *pieces.Classes {
	c := pieces.NewClasses()
	for r := range second {
		if second[r] {
			c.OrRune(follows, r)
		}
	}
	pieces.Points(normalized, func(r rune) {
		if r >= hangulFirst && r <= hangulLast {
			return
		}
		first, _ := utf8.DecodeRune(form.decompose(nil, r))
		if f.rank(first) > 0 || second[first] {
			c.OrRune(follows, r)
		}
		if norm.NFC.String(string(form.decompose(nil, r))) != string(r) {
			c.OrRune(changes, r)
		}
	})
	return c
}

// decompose appends the full decomposition of a character that is known.
func (form Form) decompose(dst []byte, r rune) []byte {
	var buf [utf8.UTFMax]byte
	text := buf[:utf8.EncodeRune(buf[:], r)]
	p := norm.NFD.Properties(text)
	if form == NFKC {
		p = norm.NFKD.Properties(text)
	}
	if d := p.Decomposition(); d != nil {
		return append(dst, d...)
	}
	return append(dst, text...)
}

// rank is the canonical combining class of a character, 0 for one that Hugging Face's crate does not know.
func (f *forms) rank(r rune) uint8 {
	if f.known.Of(r) == 0 {
		return 0
	}
	var buf [utf8.UTFMax]byte
	return norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).CCC()
}

// compose returns what two characters compose to.
func (f *forms) compose(a, b rune) (rune, bool) {
	switch {
	case a >= leadFirst && a < leadFirst+leads && b >= vowelFirst && b < vowelFirst+vowels:
		return hangulFirst + (a-leadFirst)*vowelTrails + (b-vowelFirst)*trails, true
	case a >= hangulFirst && a <= hangulLast && (a-hangulFirst)%trails == 0 && b > trailFirst && b < trailFirst+trails:
		return a + b - trailFirst, true
	}
	r, ok := f.pairs[[2]rune{a, b}]
	return r, ok
}

// ranked is a decomposed character.
type ranked struct {
	r    rune
	rank uint8
}

func (form Form) append(dst, text []byte) []byte {
	f := unicodeForms()
	classes := f.classes[form]
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && text[end] < utf8.RuneSelf {
			end++
		}
		if end == len(text) {
			return append(dst, text[i:]...)
		}
		end = max(end-1, i) // the last may compose with what follows
		dst = append(dst, text[i:end]...)
		i = end
		r, size := utf8.DecodeRune(text[i:])
		alone := classes.Of(r) == 0
		for end = i + size; end < len(text); end += size {
			if r, size = utf8.DecodeRune(text[end:]); classes.Of(r)&follows == 0 {
				break
			}
			alone = false
		}
		if alone {
			dst = append(dst, text[i:end]...)
		} else {
			dst = f.appendComposed(dst, form, text[i:end])
		}
		i = end
	}
	return dst
}

// appendComposed normalises characters that may interact with each other, and with nothing around them.
func (f *forms) appendComposed(dst []byte, form Form, text []byte) []byte {
	var few [16]ranked
	var buf [64]byte
	all := few[:0]
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if f.known.Of(r) == 0 {
			all = append(all, ranked{r: r})
			continue
		}
		for d := form.decompose(buf[:0], r); len(d) > 0; d = d[size:] {
			r, size = utf8.DecodeRune(d)
			all = append(all, ranked{r, f.rank(r)})
		}
	}
	reorder(all)
	for _, c := range f.recompose(all) {
		dst = utf8.AppendRune(dst, c.r)
	}
	return dst
}

// reorder puts each run of marks into the order of their classes.
func reorder(all []ranked) {
	for i := 0; i < len(all); i++ {
		start := i
		for i < len(all) && all[i].rank > 0 {
			i++
		}
		if i > start+1 {
			slices.SortStableFunc(all[start:i], func(a, b ranked) int { return int(a.rank) - int(b.rank) })
		}
	}
}

// recompose composes in place, as the standard says (section 3.11, D117).
func (f *forms) recompose(all []ranked) []ranked {
	out, starter := all[:0], -1
	for _, c := range all {
		if starter >= 0 {
			last := out[len(out)-1]
			blocked := len(out)-1 > starter && (last.rank == 0 || last.rank >= c.rank)
			if r, ok := f.compose(out[starter].r, c.r); ok && !blocked {
				out[starter].r = r
				continue
			}
		}
		if out = append(out, c); c.rank == 0 {
			starter = len(out) - 1
		}
	}
	return out
}
