package wordpiece

import (
	"sync"

	"github.com/erreval/erreval/identifier/internal/pieces"
)

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
