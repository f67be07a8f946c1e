package commandline

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// proseIndent is how far prose stands from the left on a help page; what stands further is a command to type.
const proseIndent = 3

// entry is a line with a name, a gap and what the name means, such as a flag of a help page.
var entry = regexp.MustCompile(`^( *)(\S+(?: \S+)*) {2,}(\S.*)$`)

// word is one of a command: what stands between quotes stays in one piece.
var word = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|\S)+`)

// Wrap breaks the lines of a help page that are wider than so many columns; 0 is any width. A command that is broken
// can still be copied, and where names take more than half of a line, what they mean stands below them.
func Wrap(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	lines, out := strings.Split(text, "\n"), []string(nil)
	for i, line := range lines {
		indent := indentOf(line)
		isWide := utf8.RuneCountInString(line) > columns
		parts := entry.FindStringSubmatch(line)
		switch {
		case parts != nil:
			out = append(out, wrapEntry(line, parts, columns)...)
		case !isWide:
			out = append(out, line)
		case len(indent) > proseIndent:
			out = append(out, fill(word.FindAllString(line, -1), indent, indent+"   ", ` \`, columns)...)
		default:
			broken := fill(strings.Fields(line), indent, indent, "", columns)
			if end := len(broken) - 1; i+1 < len(lines) && isProse(lines[i+1], indent) { // one paragraph
				lines[i+1] = broken[end] + " " + strings.TrimSpace(lines[i+1])
				broken = broken[:end]
			}
			out = append(out, broken...)
		}
	}
	return strings.Join(out, "\n")
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " "))] }

func isProse(line, indent string) bool {
	return strings.TrimSpace(line) != "" && indentOf(line) == indent && !entry.MatchString(line)
}

// wrapEntry breaks a line whose parts are those of entry.
func wrapEntry(line string, parts []string, columns int) []string {
	indent, name, meaning := parts[1], parts[2], parts[3]
	column := utf8.RuneCountInString(line) - utf8.RuneCountInString(meaning)
	if column > columns/2 {
		below := indent + "      "
		return append(fill(strings.Fields(name), indent, below, "", columns),
			fill(strings.Fields(meaning), below, below, "", columns)...)
	}
	below := strings.Repeat(" ", column)
	broken := fill(strings.Fields(meaning), below, below, "", columns)
	broken[0] = line[:len(line)-len(meaning)] + broken[0][column:]
	return broken
}

// fill puts words into lines, the first after an indent and the others after a hanging one; end stands
// behind each but the last. A word that is too long has a line of its own.
func fill(words []string, indent, hanging, end string, columns int) (lines []string) {
	line := ""
	for _, word := range words {
		switch {
		case line == "":
			line = indent + word
		case utf8.RuneCountInString(line+" "+word+end) > columns:
			lines, line = append(lines, line+end), hanging+word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
