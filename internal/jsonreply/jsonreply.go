// Package jsonreply reads the JSON objects that models reply with.
package jsonreply

import (
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/erreval/erreval/internal/replies"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

// Reasons why a reply does not hold what was asked for.
const (
	Missing     = "missing"     // there is no such object, or it lacks what it must have
	Ambiguous   = "ambiguous"   // two objects that differ
	Refused     = "refused"     // the model, or the endpoint, would not answer
	Filtered    = "filtered"    // the endpoint's content filter stepped in
	Cut         = "cut"         // the reply ended at its token limit, or in the middle
	Unavailable = "unavailable" // there is no reply: retries are used up
)

// Fault is why there is no answer.
type Fault struct {
	Reason string // one of the constants, or a caller's own
	Detail string // for people; may be empty
}

// Error is reason and detail.
func (f *Fault) Error() string {
	if f.Detail == "" {
		return f.Reason
	}
	return f.Reason + ": " + f.Detail
}

const (
	maxText   = 64 << 10 // bytes of a reply that are looked at: its end
	maxPlaces = 200      // that are tried as the beginning of an object
	clipped   = 160      // bytes of a reply in a message
)

// Clip is a reply for a message.
func Clip(text string) string { return replies.Clip(text, clipped) }

// Body is a reply without a reasoning model's thoughts; a *Fault where it was withheld or cut. decided tells whether a
// text gives the answer asked for.
func Body(reply *llm.Reply, decided func(string) bool) (string, error) {
	switch strings.ToLower(reply.Finish) {
	case llm.FinishFilter:
		return "", &Fault{Filtered, "the endpoint's content filter withheld the reply"}
	case llm.FinishRefuse:
		return "", &Fault{Refused, Clip(reply.Text)}
	case llm.FinishLength, "max_tokens":
		return "", &Fault{Cut, "the reply reached its token limit; raise --reply-tokens"}
	}
	text, ok := replies.WithoutThoughts(reply.Text, decided)
	if !ok {
		return "", &Fault{Cut, "the reply ends within the model's thoughts; raise --reply-tokens"}
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-maxText):], "\uFFFD")), nil
}

// Objects are the JSON objects of text that do not stand in the prompt, in order. rest is text without any objects, and
// broken tells whether one begins and does not end.
func Objects(text, asked string) (found []replies.Object, rest string, broken bool) {
	var outside strings.Builder
	for range maxPlaces {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		outside.WriteString(text[:i])
		text = text[i:]
		v, n, err := replies.DecodeJSON(text)
		object, ok := v.(replies.Object)
		if err != nil || !ok {
			broken = broken || errors.Is(err, io.ErrUnexpectedEOF)
			outside.WriteByte(text[0])
			text = text[1:]
			continue
		}
		if raw := text[:n]; !strings.Contains(asked, raw) && !strings.Contains(asked, prompt.Clean(raw)) {
			found = append(found, object)
		}
		text = text[n:]
	}
	return found, outside.String() + text, broken
}

var refusal = regexp.MustCompile(`(?i)^\W*(?:i'?m|i am)?\s*(?:very |so |truly )?sorry\b|\b(?:i|we)\s+(?:can(?:not|'t)|am unable|am not able|won't|will not|must decline|decline)\b|\bunable to (?:assist|help|comply|provide)\b|\bas an ai\b`)

// Read is the object with the key, in any case, that the reply to asked (all messages, see prompt.Join) holds. The
// error is a *Fault.
func Read(reply *llm.Reply, asked, key string) (replies.Object, error) {
	with := func(text string) ([]replies.Object, string, bool) {
		all, rest, broken := Objects(text, asked)
		var found []replies.Object
		for _, o := range all {
			if _, ok := Get(o, key); ok {
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
	case len(found) == 0 && refusal.MatchString(strings.ReplaceAll(rest, "’", "'")):
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

// Get is the value of a key, in any case. A key that is there twice has none.
func Get(o replies.Object, key string) (value any, ok bool) {
	for _, m := range o {
		if !strings.EqualFold(m.Key, key) {
			continue
		}
		if ok {
			return nil, false
		}
		value, ok = m.Value, true
	}
	return value, ok
}

// Text is the text of a key, without the blank space around it; "" where there is none.
func Text(o replies.Object, key string) string {
	v, _ := Get(o, key)
	s, _ := v.(string)
	return strings.TrimSpace(s)
}
