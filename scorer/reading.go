package scorer

import (
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/erreval/erreval/internal/replies"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

const (
	maxText     = 64 << 10 // bytes of a reply that are looked at, its end: that is where the verdict stands
	minEcho     = 16       // bytes of a line that has to be the prompt's to count as repeated
	maxAttempts = 200      // places that are tried as the beginning of JSON
)

// reading is a reply made ready to be searched.
type reading struct {
	prompt string
	text   string // without thoughts and repeated prompt
	prose  string // text without the objects in it
	json   []any  // objects and lists in text, in order; those that the prompt holds too only where there is no other
	only   bool   // text is JSON, perhaps in a code block
	broken bool   // JSON that begins and does not end
	given  []any  // objects in the prompt; nil until they are looked for
}

// prepareReply checks how the reply ended and takes out of it what is no answer. The error is an *Unscored.
// decided tells whether a text gives the answer asked for.
func prepareReply(reply *llm.Reply, asked string, decided func(*reading) bool) (*reading, error) {
	return prepareOwnReply(reply, asked, nil, decided)
}

// prepareOwnReply is prepareReply where lines that match own are the reply's own, even if the prompt has such lines,
// unless they follow a line that repeats the prompt. nil matches none.
func prepareOwnReply(reply *llm.Reply, asked string, own *regexp.Regexp, decided func(*reading) bool) (*reading,
	error) {
	switch strings.ToLower(reply.Finish) {
	case llm.FinishFilter:
		return nil, &Unscored{ReasonFiltered, "the endpoint's content filter withheld the reply"}
	case llm.FinishRefuse:
		return nil, &Unscored{ReasonRefused, clip(reply.Text)}
	case llm.FinishLength, "max_tokens":
		return nil, &Unscored{ReasonCut, "the reply reached its token limit; raise the maximum"}
	}
	text, ok := replies.WithoutThoughts(reply.Text, func(before string) bool {
		return decided(newReading(before, asked, own))
	})
	if !ok {
		return nil, &Unscored{ReasonCut, "the reply ends within the model's thoughts; raise the maximum of tokens"}
	}
	return newReading(text, asked, own), nil
}

func newReading(text, asked string, own *regexp.Regexp) *reading {
	text = strings.ToValidUTF8(text[max(0, len(text)-maxText):], "\uFFFD")
	r := &reading{prompt: asked, text: strings.TrimSpace(withoutEcho(text, asked, own))}
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

// withoutQuotes is text without what it quotes from the prompt, as far as a number could stand there.
func (r *reading) withoutQuotes(text string) string {
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
func (r *reading) scanJSON() {
	var outside, text, prose strings.Builder
	skip := func(s string) { outside.WriteString(s); text.WriteString(s); prose.WriteString(s) }
	rest := r.text
	var repeated []any // whose values an object of the prompt has, in another spelling
	for range maxAttempts {
		i := strings.IndexAny(rest, "{[")
		if i < 0 {
			break
		}
		skip(rest[:i])
		rest = rest[i:]
		v, n, err := replies.DecodeJSON(rest)
		if err != nil {
			r.broken = r.broken || errors.Is(err, io.ErrUnexpectedEOF)
			skip(rest[:1])
			rest = rest[1:]
			continue
		}
		raw := rest[:n]
		if raw[0] == '[' || !r.quotes(raw) {
			if r.promptHas(v) {
				repeated = append(repeated, v)
			} else {
				r.json = append(r.json, v)
			}
			text.WriteString(raw)
			if !strings.Contains(raw, "{") {
				prose.WriteString(raw)
			}
		}
		rest = rest[n:]
	}
	skip(rest)
	if len(r.json) == 0 {
		r.json = repeated
	}
	r.text, r.prose = withoutMarked(text.String()), withoutMarked(prose.String())
	r.only = strings.TrimSpace(codeFence.ReplaceAllString(outside.String(), "")) == ""
}

// withoutMarked is text without what markedKey matches.
func withoutMarked(text string) string {
	if strings.Contains(text, prompt.KeyMark) {
		text = markedKey.ReplaceAllString(text, `""`)
	}
	return strings.TrimSpace(text)
}

// quotes tells whether JSON is the prompt's to the letter, or has the mark of the texts in it.
func (r *reading) quotes(raw string) bool {
	return strings.Contains(r.prompt, raw) || strings.Contains(raw, prompt.KeyMark) && markedKey.MatchString(raw) ||
		strings.Contains(r.prompt, prompt.KeyMark) && strings.Contains(r.prompt, prompt.Clean(raw))
}

// promptHas tells whether the prompt holds an object equal to v, in whatever spelling.
func (r *reading) promptHas(v any) bool {
	if _, ok := v.(replies.Object); !ok {
		return false
	}
	if r.given == nil {
		r.given = objectsIn(r.prompt)
	}
	return slices.ContainsFunc(r.given, func(g any) bool { return reflect.DeepEqual(g, v) })
}

// objectsIn are the JSON objects in text, as they are where Clean has marked no key.
func objectsIn(text string) []any {
	text = strings.ReplaceAll(text, prompt.KeyMark, "")
	found := []any{}
	for range maxAttempts {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		text = text[i:]
		v, n, err := replies.DecodeJSON(text)
		if err != nil {
			n = 1
		} else {
			found = append(found, v)
		}
		text = text[n:]
	}
	return found
}

// isJSON tells whether the reply is an object, or was to be one: what stands in its texts is not the verdict.
func (r *reading) isJSON() bool {
	text := strings.TrimSpace(codeFence.ReplaceAllString(r.text[:min(len(r.text), 100)], ""))
	return strings.HasPrefix(text, "{") || r.only && strings.HasPrefix(text, "[") && strings.Contains(text, "{")
}

var refusal = regexp.MustCompile(`(?i)^\W*(?:i'?m|i am)?\s*(?:very |so |truly )?sorry\b|\b(?:i|we)\s+(?:can(?:not|'t)|could not|couldn't|am unable|am not able|won't|will not|must decline|decline)\b|\bunable to (?:assist|help|rate|judge|evaluate|score|comply|provide)\b|\bas an ai\b|\bagainst (?:my|our) (?:guidelines|policy|policies|rules)\b`)

// missing says why there is no verdict.
func (r *reading) missing() error {
	switch {
	case r.text == "":
		return &Unscored{ReasonMissing, "the reply is empty, but for what it repeats of the prompt"}
	case refusal.MatchString(strings.ReplaceAll(r.text, "’", "'")):
		return &Unscored{ReasonRefused, clip(r.text)}
	case r.broken && r.isJSON():
		return &Unscored{ReasonCut, "JSON that does not end: " + clip(r.text)}
	}
	return &Unscored{ReasonMissing, clip(r.text)}
}

// clip is a reply for a message.
func clip(text string) string { return replies.Clip(text, 120) }
