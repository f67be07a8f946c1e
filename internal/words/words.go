// Package words puts numbers, command lines and other people's texts into sentences.
package words

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Plural is "1 row" or "2 rows".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Count is a number of things that are or were something.
type Count struct {
	N    int
	What string
}

// Some are the counts that are not 0: "2 untagged, 1 truncated".
func Some(counts ...Count) string {
	var parts []string
	for _, c := range counts {
		if c.N != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.N, c.What))
		}
	}
	return strings.Join(parts, ", ")
}

// Rejected is the end of a summary: "; 2 lines rejected", or nothing.
func Rejected(lines int) string {
	if lines == 0 {
		return ""
	}
	return "; " + Plural(lines, "line", "lines") + " rejected"
}

// Counts is "cut 1, refused 2", by name.
func Counts(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

// ParseSize reads a number of bytes as people write it: "16MiB", "8GB" or "1024"; "" is 0.
func ParseSize(text string) (int64, error) {
	number, unit := strings.ToUpper(strings.TrimSpace(text)), 1.0
	for _, u := range []struct {
		suffix string
		bytes  float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"GIB", 1 << 30}, {"MIB", 1 << 20}, {"KIB", 1 << 10}} {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q: write a size, as in 8GB or 900MB", text)
	}
	return int64(n * unit), nil
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

// Or lists what there is to choose from: "a, b or c".
func Or(choices []string) string {
	last := len(choices) - 1
	if last < 1 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// First is a text's first code points, at most so many.
func First(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// ClipMiddle is a text of at most so many code points: of a longer one "…" stands in the place of its middle.
func ClipMiddle(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most/2]) + "…" + string(r[len(r)-(most-1-most/2):])
}

// Clip is the end of a text in one line of at most so many bytes, without what a terminal would execute.
func Clip(text string, most int) string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if text = strings.Join(parts, " "); len(text) > most {
		text = "… " + text[len(text)-most:]
	}
	return strings.ToValidUTF8(text, "")
}

// joiners are invisible but part of words and emoji, and harmless in a terminal.
const joiners = "\u200c\u200d"

// Printable makes a text one line without anything that a terminal would execute: white space becomes a space, every
// other invisible character its escape, such as \x1b.
func Printable(s string) string {
	return strings.Map(spaceRune, PrintableLines(s))
}

func spaceRune(r rune) rune {
	if r == '\n' {
		return ' '
	}
	return r
}

// PrintableLines is like Printable, but keeps line breaks.
func PrintableLines(s string) string {
	var b strings.Builder
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for _, r := range s {
		switch {
		case r == '\n' || unicode.IsPrint(r) || strings.ContainsRune(joiners, r):
			b.WriteRune(r)
		case unicode.IsSpace(r) && r != 0x85: // U+0085 is a C1 control
			b.WriteByte(' ')
		default:
			b.WriteString(escapeRune(r))
		}
	}
	return b.String()
}

func escapeRune(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// NotReliedOn begins a sentence on why a label is not to be relied on.
func NotReliedOn(label string) string { return "do not rely on " + Printable(label) + ": " }
