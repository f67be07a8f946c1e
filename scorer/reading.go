package scorer

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/erreval/erreval/internal/replies"
	"github.com/erreval/erreval/llm"
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
	json   []any  // objects and lists in text, in order
	only   bool   // text is JSON, perhaps in a code block
	broken bool   // JSON that begins and does not end
}

// prepareReply checks how the reply ended and takes out of it what is no answer. The error is an *Unscored.
func prepareReply(reply *llm.Reply, prompt string) (*reading, error) {
	return prepareOwnReply(reply, prompt, nil)
}

// prepareOwnReply is prepareReply where lines that match own are the reply's own, even if the prompt has such lines,
// unless they follow a line that repeats the prompt. nil matches none.
func prepareOwnReply(reply *llm.Reply, prompt string, own *regexp.Regexp) (*reading, error) {
	switch strings.ToLower(reply.Finish) {
	case llm.FinishFilter:
		return nil, &Unscored{ReasonFiltered, "the endpoint's content filter withheld the reply"}
	case llm.FinishRefuse:
		return nil, &Unscored{ReasonRefused, clip(reply.Text)}
	case llm.FinishLength, "max_tokens":
		return nil, &Unscored{ReasonCut, "the reply reached its token limit; raise the maximum"}
	}
	text, ok := replies.WithoutThoughts(reply.Text)
	if !ok {
		return nil, &Unscored{ReasonCut, "the reply ends within the model's thoughts; raise the maximum of tokens"}
	}
	text = strings.ToValidUTF8(text[max(0, len(text)-maxText):], "\uFFFD")
	r := &reading{prompt: prompt, text: strings.TrimSpace(withoutEcho(text, prompt, own))}
	r.scanJSON()
	return r, nil
}

// withoutEcho leaves out lines of the prompt that the reply repeats, and the shorter lines that follow them in both.
func withoutEcho(text, prompt string, own *regexp.Regexp) string {
	if prompt == "" {
		return text
	}
	lines := strings.Split(text, "\n")
	var kept []string
	for i := 0; i < len(lines); {
		n := 0
		if own == nil || !own.MatchString(lines[i]) {
			n = echoed(lines[i:], prompt)
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
func echoed(lines []string, prompt string) int {
	line := strings.Trim(lines[0], " \t\r>*_`-\"'“”")
	if len(line) < minEcho {
		return 0
	}
	i := strings.Index(prompt, line)
	if i < 0 {
		return 0
	}
	_, rest, more := strings.Cut(prompt[i+len(line):], "\n")
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

var quoted = regexp.MustCompile("\"[^\"\\n]{3,600}\"|“[^”\\n]{3,600}”|«[^»\\n]{3,600}»|`[^`\\n]{3,600}`|'[^'\\n]{3,600}'")

// withoutQuotes is the text without what it quotes from the prompt, as far as a number could stand there.
func (r *reading) withoutQuotes() string {
	return quoted.ReplaceAllStringFunc(r.text, func(q string) string {
		inside := strings.Trim(q, "\"“”«»`'.,")
		if (len(inside) >= minEcho || strings.ContainsAny(inside, "0123456789")) && strings.Contains(r.prompt, inside) {
			return `""`
		}
		return q
	})
}

var codeFence = regexp.MustCompile("```\\w*")

// scanJSON finds the objects and lists in the text. An object that the prompt holds to the letter is a quotation and
// leaves the text.
func (r *reading) scanJSON() {
	var outside, text strings.Builder
	rest := r.text
	for range maxAttempts {
		i := strings.IndexAny(rest, "{[")
		if i < 0 {
			break
		}
		outside.WriteString(rest[:i])
		text.WriteString(rest[:i])
		rest = rest[i:]
		var v any
		dec := json.NewDecoder(strings.NewReader(rest))
		dec.UseNumber()
		err := dec.Decode(&v)
		if err != nil {
			r.broken = r.broken || errors.Is(err, io.ErrUnexpectedEOF)
			outside.WriteByte(rest[0])
			text.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		n := int(dec.InputOffset())
		if rest[0] == '[' || !strings.Contains(r.prompt, rest[:n]) {
			r.json = append(r.json, v)
			text.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	outside.WriteString(rest)
	text.WriteString(rest)
	r.text = strings.TrimSpace(text.String())
	r.only = strings.TrimSpace(codeFence.ReplaceAllString(outside.String(), "")) == ""
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
