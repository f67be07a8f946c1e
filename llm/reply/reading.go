package reply

import (
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/erreval/erreval/internal/jsonobject"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

// minEcho is how many bytes of a line have to be the prompt's for it to count as repeated.
const minEcho = 16

// Reading is a reply made ready to be searched.
type Reading struct {
	Text  string // without thoughts and repeated prompt
	Prose string // Text without the objects in it
	JSON  []any  // objects and lists in Text, in order; those that the prompt holds too only where there is no other
	Only  bool   // Text is JSON, perhaps in a code block

	prompt string
	broken bool   // JSON that begins and does not end
	given  []part // of the prompt, with its objects; nil until they are looked for
}

// Prepare checks how the reply to asked (all messages, see prompt.Join) ended, and takes out of it what is no answer.
// Lines that match own are the reply's own, even if the prompt has such lines, unless they follow a line that repeats
// the prompt; nil matches none. decided tells whether a text gives the answer asked for. The error is a *Fault.
func Prepare(reply *llm.Reply, asked string, own *regexp.Regexp, decided func(*Reading) bool) (*Reading, error) {
	text, err := Body(reply, func(before string) bool { return decided(newReading(end(before), asked, own)) })
	if err != nil {
		return nil, err
	}
	return newReading(text, asked, own), nil
}

func newReading(text, asked string, own *regexp.Regexp) *Reading {
	r := &Reading{prompt: asked, Text: strings.TrimSpace(withoutEcho(text, asked, own))}
	r.scanJSON()
	return r
}

// withoutEcho leaves out lines of the prompt that the reply repeats, and the shorter lines that follow them in both.
func withoutEcho(text, asked string, own *regexp.Regexp) string {
	if asked == "" {
		return text
	}
	lines := strings.Split(text, "\n")
	var kept []string
	for i := 0; i < len(lines); {
		n := 0
		if own == nil || !own.MatchString(lines[i]) {
			n = echoed(lines[i:], asked)
		}
		if n == 0 {
			kept = append(kept, lines[i])
			n = 1
		}
		i += n
	}
	return strings.Join(kept, "\n")
}

// echoed counts the lines that stand in the prompt one after the other.
func echoed(lines []string, asked string) int {
	line := strings.Trim(lines[0], " \t\r>*_`-\"'“”")
	if len(line) < minEcho {
		return 0
	}
	i := strings.Index(asked, line)
	if i < 0 {
		return 0
	}
	_, rest, more := strings.Cut(asked[i+len(line):], "\n")
	n := 1
	for more && n < len(lines) {
		var next string
		next, rest, more = strings.Cut(rest, "\n")
		if strings.Trim(next, " \r>") != strings.Trim(lines[n], " \r>") {
			break
		}
		n++
	}
	return n
}

// quoted takes long to compile.
var quoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\"[^\"\\n]{3,600}\"|“[^”\\n]{3,600}”|«[^»\\n]{3,600}»|`[^`\\n]{3,600}`|'[^'\\n]{3,600}'")
})

// WithoutQuotes is text without what it quotes from the prompt, as far as a number could stand there.
func (r *Reading) WithoutQuotes(text string) string {
	return quoted().ReplaceAllStringFunc(text, func(q string) string {
		inside := strings.Trim(q, "\"“”«»`'.,")
		if (len(inside) >= minEcho || strings.ContainsAny(inside, "0123456789")) && strings.Contains(r.prompt, inside) {
			return `""`
		}
		return q
	})
}

var codeFence = regexp.MustCompile("```\\w*")

// markedKey is a key of a verdict as prompt.Clean shows it in texts, and its value.
var markedKey = regexp.MustCompile(`["'“]\Q` + prompt.KeyMark + `\E[^\n,}\]]*`)

// scanJSON finds the objects and lists in the text. An object that the prompt holds to the letter, or that has the mark
// of its texts, is a quotation and leaves the text.
func (r *Reading) scanJSON() {
	var outside, text, prose strings.Builder
	var repeated []any // whose values an object of the prompt has, in another spelling
	parts, broken := split(r.Text, "{[")
	for _, p := range parts {
		if p.value == nil {
			outside.WriteString(p.raw)
			text.WriteString(p.raw)
			prose.WriteString(p.raw)
			continue
		}
		if p.raw[0] == '{' && r.quotes(p.raw) {
			continue
		}
		if r.promptHas(p.value) {
			repeated = append(repeated, p.value)
		} else {
			r.JSON = append(r.JSON, p.value)
		}
		text.WriteString(p.raw)
		if !strings.Contains(p.raw, "{") {
			prose.WriteString(p.raw)
		}
	}
	if len(r.JSON) == 0 {
		r.JSON = repeated
	}
	r.broken, r.Text, r.Prose = broken, withoutMarked(text.String()), withoutMarked(prose.String())
	r.Only = withoutFences(outside.String()) == ""
}

// withoutFences is text without the marks of code blocks.
func withoutFences(text string) string {
	return strings.TrimSpace(codeFence.ReplaceAllString(text, ""))
}

// withoutMarked is text without what markedKey matches.
func withoutMarked(text string) string {
	if strings.Contains(text, prompt.KeyMark) {
		text = markedKey.ReplaceAllString(text, `""`)
	}
	return strings.TrimSpace(text)
}

// quotes tells whether JSON is the prompt's to the letter, or has the mark of the texts in it.
func (r *Reading) quotes(raw string) bool {
	return strings.Contains(r.prompt, raw) || strings.Contains(raw, prompt.KeyMark) && markedKey.MatchString(raw) ||
		strings.Contains(r.prompt, prompt.KeyMark) && strings.Contains(r.prompt, prompt.Clean(raw))
}

// promptHas tells whether the prompt holds an object equal to v, in whatever spelling, where Clean has marked no key.
func (r *Reading) promptHas(v any) bool {
	if _, ok := v.(Object); !ok {
		return false
	}
	if r.given == nil {
		r.given, _ = split(strings.ReplaceAll(r.prompt, prompt.KeyMark, ""), "{")
	}
	return slices.ContainsFunc(r.given, func(p part) bool { return reflect.DeepEqual(p.value, v) })
}

// IsJSON tells whether the reply is an object, or was to be one: what stands in its texts is not the verdict.
func (r *Reading) IsJSON() bool {
	text := withoutFences(r.Text[:min(len(r.Text), 100)])
	return strings.HasPrefix(text, "{") || r.Only && strings.HasPrefix(text, "[") && strings.Contains(text, "{")
}

// IsBroken tells whether the reply was to be an object and is none: its texts cannot be told from the rest.
func (r *Reading) IsBroken() bool {
	return strings.HasPrefix(withoutFences(r.Prose[:min(len(r.Prose), 100)]), "{")
}

// declined is how judges say no, besides refusal.
var declined = regexp.MustCompile(`(?i)\b(?:i|we)\s+(?:could not|couldn't)\b|\bunable to (?:rate|judge|evaluate|score)\b|\bagainst (?:my|our) (?:guidelines|policy|policies|rules)\b`)

// Missing says why there is no verdict.
func (r *Reading) Missing() error {
	switch {
	case r.Text == "":
		return &Fault{Missing, "the reply is empty, but for what it repeats of the prompt"}
	case refuses(r.Text, refusal) || refuses(r.Text, declined):
		return &Fault{Refused, Clip(r.Text)}
	case r.broken && r.IsJSON():
		return &Fault{Cut, "JSON that does not end: " + Clip(r.Text)}
	}
	return &Fault{Missing, Clip(r.Text)}
}

// Object is a JSON object with its members in order.
type Object = jsonobject.Object

// maxPlaces are tried as the beginning of JSON.
const maxPlaces = 200

// part is JSON in a text, or what stands between two of them.
type part struct {
	raw   string
	value any // an Object or []any; nil for what is not JSON
}

// split parts a text where JSON values begin with one of the characters of open. broken tells whether one begins and
// does not end.
func split(text, open string) (parts []part, broken bool) {
	for range maxPlaces {
		i := strings.IndexAny(text, open)
		if i < 0 {
			break
		}
		parts = append(parts, part{raw: text[:i]})
		text = text[i:]
		value, n, err := jsonobject.Decode(text)
		if err != nil {
			broken = broken || errors.Is(err, io.ErrUnexpectedEOF)
			value, n = nil, 1
		}
		parts = append(parts, part{text[:n], value})
		text = text[n:]
	}
	return append(parts, part{raw: text}), broken
}

// Objects are the JSON objects of text that do not stand in the prompt, in order. rest is text without any objects, and
// broken tells whether one begins and does not end.
func Objects(text, asked string) (found []Object, rest string, broken bool) {
	var outside strings.Builder
	parts, broken := split(text, "{")
	for _, p := range parts {
		object, ok := p.value.(Object)
		if !ok {
			outside.WriteString(p.raw)
		} else if !strings.Contains(asked, p.raw) && !strings.Contains(asked, prompt.Clean(p.raw)) {
			found = append(found, object)
		}
	}
	return found, outside.String(), broken
}

var refusal = regexp.MustCompile(`(?i)^\W*(?:i'?m|i am)?\s*(?:very |so |truly )?sorry\b|\b(?:i|we)\s+(?:can(?:not|'t)|am unable|am not able|won't|will not|must decline|decline)\b|\bunable to (?:assist|help|comply|provide)\b|\bas an ai\b`)

func refuses(text string, by *regexp.Regexp) bool {
	return by.MatchString(strings.ReplaceAll(text, "’", "'"))
}

// Read is the object with the key, in any case, that the reply to asked (all messages, see prompt.Join) holds. The
// error is a *Fault.
func Read(reply *llm.Reply, asked, key string) (Object, error) {
	with := func(text string) ([]Object, string, bool) {
		all, rest, broken := Objects(text, asked)
		var found []Object
		for _, o := range all {
			if _, ok := o.Get(key); ok {
				found = append(found, o)
			}
		}
		return found, rest, broken
	}
	text, err := Body(reply, func(before string) bool { found, _, _ := with(before); return len(found) > 0 })
	if err != nil {
		return nil, err
	}
	found, rest, broken := with(text)
	switch {
	case len(found) == 0 && broken:
		return nil, &Fault{Cut, "JSON that does not end: " + Clip(text)}
	case len(found) == 0 && refuses(rest, refusal):
		return nil, &Fault{Refused, Clip(text)}
	case len(found) == 0:
		return nil, &Fault{Missing, "no JSON object with the key \"" + key + "\": " + Clip(text)}
	}
	for _, other := range found[1:] {
		if !reflect.DeepEqual(found[0], other) {
			return nil, &Fault{Ambiguous, "two answers that differ: " + Clip(text)}
		}
	}
	return found[0], nil
}
