package wordpiece

import (
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Normalizer prepares text as Hugging Face's BertNormalizer does.
type Normalizer struct {
	CleanText    bool // drop control characters and U+FFFD, make every white space a space
	ChineseChars bool // put spaces around CJK ideographs
	StripAccents bool // decompose (NFD) and drop nonspacing marks
	Lowercase    bool
}

// Buffer normalises text; it serves one goroutine.
type Buffer struct {
	options Normalizer
	classes *pieces.Classes
	maps    mappings
	ascii   [utf8.RuneSelf]uint8 // what each becomes; drop: nothing
	out     []byte
	waiting []mark // marks that canonical ordering may still move
}

type mark struct {
	r    rune
	rank rune
}

const drop = 0xff

// NewBuffer returns a buffer that normalises as n says.
func (n Normalizer) NewBuffer() *Buffer {
	b := &Buffer{options: n, classes: properties(), maps: tables()}
	for i := range b.ascii {
		c, class := uint8(i), b.classes.Of(rune(i))
		switch {
		case n.CleanText && class&isRemoved != 0:
			c = drop
		case n.CleanText && class&isBlank != 0:
			c = ' '
		case n.Lowercase && c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		b.ascii[i] = c
	}
	return b
}

// Normalize returns the normalised text, valid until the next call. The text must be valid UTF-8.
func (b *Buffer) Normalize(text []byte) []byte {
	b.out = b.out[:0]
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			if c = b.ascii[c]; c == drop {
				continue
			}
			if len(b.waiting) > 0 {
				b.flush()
			}
			b.out = append(b.out, c)
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		b.rune(r)
	}
	b.flush()
	return b.out
}

// rune normalises a code point outside ASCII.
func (b *Buffer) rune(r rune) {
	class := b.classes.Of(r)
	if b.options.CleanText {
		if class&isRemoved != 0 {
			return
		}
		if class&isBlank != 0 {
			r, class = ' ', 0
		}
	}
	if b.options.ChineseChars && class&isChinese != 0 {
		b.appendRune(' ')
		b.decompose(r, class)
		b.appendRune(' ')
		return
	}
	b.decompose(r, class)
}

// decompose strips accents, if asked to, and emits what is left.
func (b *Buffer) decompose(r rune, class uint8) {
	if !b.options.StripAccents {
		b.lower(r)
		return
	}
	switch {
	case class&isMark != 0:
		if class&isTransparent == 0 {
			b.flush()
		}
	case r >= hangulFirst && r <= hangulLast:
		b.hangul(r - hangulFirst)
	case class&isStripped != 0:
		for _, d := range b.maps.stripped[r] {
			b.reorder(d)
		}
	default:
		b.reorder(r)
	}
}

// reorder emits a code point, or keeps it back if marks that follow may have to come before it.
func (b *Buffer) reorder(r rune) {
	if b.classes.Of(r)&isRanked == 0 {
		b.flush()
		b.lower(r)
		return
	}
	b.waiting = append(b.waiting, mark{r, b.maps.rank[r][0]})
}

func (b *Buffer) flush() {
	if len(b.waiting) == 0 {
		return
	}
	slices.SortStableFunc(b.waiting, func(x, y mark) int { return int(x.rank) - int(y.rank) })
	for _, m := range b.waiting {
		b.lower(m.r)
	}
	b.waiting = b.waiting[:0]
}

func (b *Buffer) lower(r rune) {
	if b.options.Lowercase && b.classes.Of(r)&isLowered != 0 {
		for _, l := range b.maps.lowered[r] {
			b.out = utf8.AppendRune(b.out, l)
		}
		return
	}
	b.out = utf8.AppendRune(b.out, r)
}

// appendRune appends a code point that nothing changes.
func (b *Buffer) appendRune(r rune) {
	b.flush()
	b.out = utf8.AppendRune(b.out, r)
}

// Hangul syllables decompose by arithmetic (The Unicode Standard, section 3.12).
const (
	hangulFirst, hangulLast  = 0xac00, 0xd7a3
	leadFirst, vowelFirst    = 0x1100, 0x1161
	trailFirst, trails, rest = 0x11a7, 28, 21 * 28
)

func (b *Buffer) hangul(s rune) {
	b.appendRune(leadFirst + s/rest)
	b.appendRune(vowelFirst + s%rest/trails)
	if t := s % trails; t != 0 {
		b.appendRune(trailFirst + t)
	}
}

// Properties of a code point, from tables.txt.
const (
	isRemoved     = 1 << iota // clean_text drops it
	isBlank                   // clean_text makes it a space
	isChinese                 // handle_chinese_chars puts spaces around it
	isMark                    // strip_accents drops it
	isTransparent             // a dropped mark that does not end a run of reordered marks
	isStripped                // strip_accents changes it
	isRanked                  // a mark that strip_accents keeps and that canonical ordering may move
	isLowered                 // lowercase changes it
)

var properties = sync.OnceValue(func() *pieces.Classes {
	c := pieces.NewClasses().Or(isRemoved, "removed").Or(isBlank, "blank").Or(isChinese, "chinese").
		Or(isMark, "marks").Or(isTransparent, "transparent")
	for class, mapping := range map[uint8]map[rune][]rune{isStripped: tables().stripped, isRanked: tables().rank,
		isLowered: tables().lowered} {
		for r := range mapping {
			c.OrRune(class, r)
		}
	}
	return c
})

// mappings say what becomes of code points.
type mappings struct {
	stripped, lowered map[rune][]rune
	rank              map[rune][]rune // one number each: the place in the order of marks
}

var tables = sync.OnceValue(func() mappings {
	return mappings{pieces.Mapping("stripped"), pieces.Mapping("lowered"), pieces.Mapping("ranks")}
})

// Classes that words are cut by.
const (
	inWord = iota
	isSpace
	isPunctuation
)

var cuts = sync.OnceValue(func() *pieces.Classes {
	return pieces.NewClasses().Or(isSpace, "separators").Or(isPunctuation, "punctuation")
})
