package pieces

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tables are the Unicode classes and mappings that Hugging Face's crates use: a data file, which says what it holds.
//
//go:embed tables.txt
var tables string

// entries are those of a table, which ends where the comment of the next one begins.
func entries(name string) []string {
	_, text, found := strings.Cut(tables, "\n"+name+":")
	if !found {
		panic(fmt.Sprintf("tables.txt has no table %q", name)) // the program was built wrong
	}
	text, _, _ = strings.Cut(text, "#")
	return strings.Fields(text)
}

func codePoint(hex string) rune {
	c, err := strconv.ParseInt(hex, 16, 32)
	if err != nil {
		panic("tables.txt: " + err.Error()) // the program was built wrong
	}
	return rune(c)
}

// Points calls do for each code point of a table of classes.
func Points(table string, do func(r rune)) {
	for _, entry := range entries(table) {
		first, last, more := strings.Cut(entry, "-")
		if !more {
			last = first
		}
		end := codePoint(last)
		for r := codePoint(first); r <= end; r++ {
			do(r)
		}
	}
}

// Mapping is a table of what becomes of code points.
func Mapping(table string) map[rune][]rune {
	all := entries(table)
	m := make(map[rune][]rune, len(all))
	for _, entry := range all {
		from, to, _ := strings.Cut(entry, ":")
		var becomes []rune
		for hex := range strings.SplitSeq(to, ",") {
			becomes = append(becomes, codePoint(hex))
		}
		m[codePoint(from)] = becomes
	}
	return m
}

// Classes gives every code point a byte: two levels, so that the planes nobody uses cost nothing.
type Classes struct {
	ascii  [utf8.RuneSelf]uint8
	index  [(utf8.MaxRune + 1) / blockSize]uint16
	blocks [][blockSize]uint8
}

const blockSize = 256

// NewClasses returns classes that are 0 everywhere.
func NewClasses() *Classes { return &Classes{blocks: make([][blockSize]uint8, 1)} }

// Or sets the bits of class on the code points of a table.
func (c *Classes) Or(class uint8, table string) *Classes {
	Points(table, func(r rune) { c.OrRune(class, r) })
	return c
}

// OrRune sets the bits of class on one code point.
func (c *Classes) OrRune(class uint8, r rune) {
	at := &c.index[r/blockSize]
	if *at == 0 {
		*at = uint16(len(c.blocks))
		c.blocks = append(c.blocks, [blockSize]uint8{})
	}
	c.blocks[*at][r%blockSize] |= class
	if r < utf8.RuneSelf {
		c.ascii[r] |= class
	}
}

// Of returns the class of a code point.
func (c *Classes) Of(r rune) uint8 {
	return c.blocks[c.index[uint32(r)/blockSize]][uint32(r)%blockSize]
}

// At returns the class and the size of the code point at text[i].
func (c *Classes) At(text []byte, i int) (class uint8, size int) {
	if b := text[i]; b < utf8.RuneSelf {
		return c.ascii[b], 1
	}
	r, size := utf8.DecodeRune(text[i:])
	return c.Of(r), size
}
