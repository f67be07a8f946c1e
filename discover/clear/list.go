package clear

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/erreval/erreval/internal/plainjson"
)

// maxList is the most bytes of a list: as values it takes a multiple of them.
const maxList = 1 << 20

// readList reads a list of texts and whole numbers as JSON or Python writes it, the numbers as their digits.
func readList(text string) (items []string, ok bool) {
	if text = strings.TrimSpace(text); len(text) > maxList {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var list []any
	if json.Valid([]byte(text)) && dec.Decode(&list) == nil && list != nil {
		for _, item := range list {
			switch v := item.(type) {
			case string:
				items = append(items, v)
			case json.Number:
				items = append(items, v.String())
			default:
				return nil, false
			}
		}
		return items, true
	}
	p := &pythonList{text: text}
	return p.read()
}

// pythonList reads what Python's repr makes of a list of texts and whole numbers.
type pythonList struct {
	text string
	at   int
}

func (p *pythonList) read() (items []string, ok bool) {
	if !p.take('[') {
		return nil, false
	}
	for first := true; ; first = false {
		p.skipSpace()
		if p.take(']') {
			return items, p.at == len(p.text)
		}
		if !first {
			if !p.take(',') {
				return nil, false
			}
			p.skipSpace()
			if p.take(']') { // behind a comma at the end
				return items, p.at == len(p.text)
			}
		}
		item, err := p.item()
		if err != nil {
			return nil, false
		}
		items = append(items, item)
	}
}

func (p *pythonList) take(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *pythonList) skipSpace() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

var errItem = errors.New("neither a text nor a whole number")

func (p *pythonList) item() (string, error) {
	switch {
	case p.take('\''):
		return p.quoted('\'')
	case p.take('"'):
		return p.quoted('"')
	}
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("-0123456789", p.text[p.at]) >= 0 {
		p.at++
	}
	if _, err := strconv.Atoi(p.text[start:p.at]); err != nil {
		return "", errItem
	}
	return p.text[start:p.at], nil
}

// quoted reads on behind an opening quote.
func (p *pythonList) quoted(quote byte) (string, error) {
	var b strings.Builder
	for !p.take(quote) {
		switch rest := p.text[p.at:]; {
		case rest == "" || rest[0] == '\n':
			return "", errItem
		case rest[0] != '\\':
			b.WriteByte(rest[0])
			p.at++
		case strings.HasPrefix(rest, `\'`) || strings.HasPrefix(rest, `\"`):
			b.WriteByte(rest[1])
			p.at += 2
		default: // Go's other escapes are those that repr writes, and octal numbers
			r, _, tail, err := strconv.UnquoteChar(rest, 0)
			if err != nil || rest[1] <= '9' {
				return "", errItem
			}
			b.WriteRune(r)
			p.at = len(p.text) - len(tail)
		}
	}
	return b.String(), nil
}

// jsonList is texts as a JSON list, which Python reads as a literal too: only what has to be escaped is.
func jsonList(items []string) (string, error) {
	texts := make([]string, len(items))
	for i, item := range items {
		text, err := plainjson.Marshal(item, "")
		if err != nil {
			return "", err
		}
		texts[i] = strings.TrimSuffix(string(text), "\n")
	}
	return "[" + strings.Join(texts, ", ") + "]", nil
}

// pythonTexts is texts as Python's repr writes a list of them.
func pythonTexts(items []string) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		quote := byte('\'')
		if strings.Contains(item, "'") && !strings.Contains(item, `"`) {
			quote = '"'
		}
		b.WriteByte(quote)
		for _, r := range item {
			writePython(&b, r, quote)
		}
		b.WriteByte(quote)
	}
	return "[" + b.String() + "]"
}

func writePython(b *strings.Builder, r rune, quote byte) {
	switch {
	case r == rune(quote) || r == '\\':
		b.WriteByte('\\')
		b.WriteRune(r)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case unicode.IsPrint(r):
		b.WriteRune(r)
	case r < 0x100:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// pythonNumbers is numbers as Python's repr writes a list of them.
func pythonNumbers(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
