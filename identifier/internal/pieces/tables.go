package pieces

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
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
