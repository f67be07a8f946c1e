package clear

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == quote:
			return b.String(), nil
		case c == '\n':
			return "", errItem
		case c != '\\':
			b.WriteByte(c)
		default:
			if err := p.escape(&b); err != nil {
				return "", err
			}
		}
	}
	return "", errItem
}

// escape reads on behind a backslash.
func (p *pythonList) escape(b *strings.Builder) error {
	if p.at == len(p.text) {
		return errItem
	}
	c := p.text[p.at]
	p.at++
	if i := strings.IndexByte(`\'"abfnrtv`, c); i >= 0 {
		b.WriteByte("\\'\"\a\b\f\n\r\t\v"[i])
		return nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 || p.at+digits > len(p.text) {
		return errItem
	}
	n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
	if err != nil || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) { // #nosec G115 -- likewise
		return errItem
	}
	p.at += digits
	b.WriteRune(rune(n)) // #nosec G115 -- at most unicode.MaxRune
	return nil
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
