package wordpiece

import (
	"sync"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

// Properties of a code point, from tables.go.
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
	c := pieces.NewClasses().Or(isRemoved, removed).Or(isBlank, blank).Or(isChinese, chinese).
		Or(isMark, marks).Or(isTransparent, transparent)
	for r := range tables().stripped {
		c.OrRune(isStripped, r)
	}
	for r := range tables().rank {
		c.OrRune(isRanked, r)
	}
	for r := range tables().lowered {
		c.OrRune(isLowered, r)
	}
	return c
})

type mappings struct {
	stripped, lowered map[rune][]rune
	rank              map[rune]uint8
}

var tables = sync.OnceValue(func() mappings {
	m := mappings{stripped: expand(stripped), lowered: expand(lowered), rank: map[rune]uint8{}}
	for i := 0; i < len(ranks); i += 2 {
		m.rank[ranks[i]] = uint8(ranks[i+1])
	}
	return m
})

// expand reads a table of code point, length and replacement.
func expand(table []rune) map[rune][]rune {
	m := map[rune][]rune{}
	for i := 0; i < len(table); {
		n := int(table[i+1])
		m[table[i]] = table[i+2 : i+2+n]
		i += 2 + n
	}
	return m
}

// Classes that words are cut by.
const (
	inWord = iota
	isSpace
	isPunctuation
)

var cuts = sync.OnceValue(func() *pieces.Classes {
	return pieces.NewClasses().Or(isSpace, spaces).Or(isPunctuation, punctuation)
})
