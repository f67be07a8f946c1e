// Package wordmatch finds where a text says another one word for word, such as an answer in its passage. Case and white
// space do not matter.
package wordmatch

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestTarget is the longest text that is searched: longer ones are no answers, and make slow patterns.
const longestTarget = 2000

// Find gives the ranges [from, to) of the targets in content, in order and without overlap. If two begin at the same
// position, the longer one counts.
func Find(content string, targets []string) [][]int {
	var patterns []string
	for _, t := range targets {
		words := strings.Fields(t)
		if len(words) == 0 || len(t) > longestTarget {
			continue
		}
		for i, w := range words {
			words[i] = regexp.QuoteMeta(w)
		}
		patterns = append(patterns, strings.Join(words, `\s+`))
	}
	if len(patterns) == 0 {
		return nil
	}
	slices.SortFunc(patterns, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	re, err := regexp.Compile(`(?i)` + strings.Join(patterns, "|"))
	if err != nil { // too large for a pattern: nothing is marked
		return nil
	}
	return slices.DeleteFunc(re.FindAllStringIndex(content, -1), func(at []int) bool {
		return !isWholeWords(content,
			at[0], at[1])
	})
}

// Piece is a part of a text.
type Piece struct {
	Text string `json:"text"`
	Mark bool   `json:"mark,omitempty"` // it says a target
}

// Cut gives the pieces of content: what says one of the targets, and what stands between; none is empty.
func Cut(content string, targets []string) []Piece {
	out, end := []Piece{}, 0
	add := func(to int, mark bool) {
		if to > end {
			out = append(out, Piece{content[end:to], mark})
			end = to
		}
	}
	for _, at := range Find(content, targets) {
		add(at[0], false)
		add(at[1], true)
	}
	add(len(content), false)
	return out
}

// isWholeWords tells whether the range cuts no word, in scripts that put spaces between words.
func isWholeWords(s string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	begin, _ := utf8.DecodeRuneInString(s[from:])
	last, _ := utf8.DecodeLastRuneInString(s[:to])
	after, _ := utf8.DecodeRuneInString(s[to:])
	return !(isInWord(before) && isInWord(begin)) && !(isInWord(last) && isInWord(after))
}

func isInWord(r rune) bool {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar) {
		return false
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}
