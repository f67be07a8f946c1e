package words

import (
	"fmt"
	"strings"
	"unicode"
)

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
