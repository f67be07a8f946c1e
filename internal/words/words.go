// Package words puts numbers and command lines into sentences.
package words

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Plural is "1 row" or "2 rows".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Counts is "cut 1, refused 2", by name.
func Counts(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quote is a word as sh reads it.
func Quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// QuoteAll is a command line as sh reads it.
func QuoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}

// Prefixed is s with prefix before it, or "" where s is.
func Prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
