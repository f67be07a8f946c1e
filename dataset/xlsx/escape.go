package xlsx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// escapeXML writes text for a workbook: characters that XML does not have as _xHHHH_, which Excel reads
// back (ECMA-376, part 1, 22.9.2.19), and a text that looks like that with its first character so.
func escapeXML(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r < 0x20 && r != '\t' && r != '\n', r == 0xfffe, r == 0xffff:
			fmt.Fprintf(&b, "_x%04X_", r)
		case r == '_' && excelEscape(text[i:]) >= 0:
			b.WriteString("_x005F_")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// excelEscape is the character that a text's leading _xHHHH_ stands for, or -1.
func excelEscape(text string) rune {
	if len(text) < 7 || text[1] != 'x' || text[6] != '_' {
		return -1
	}
	r, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil || utf16.IsSurrogate(rune(r)) {
		return -1
	}
	return rune(r)
}

func unescapeExcel(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	var b strings.Builder
	for text != "" {
		i := strings.Index(text, "_x")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		if r := excelEscape(text); r >= 0 {
			b.WriteRune(r)
			text = text[7:]
		} else {
			b.WriteString(text[:2])
			text = text[2:]
		}
	}
	return b.String() + text
}
