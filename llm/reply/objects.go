package reply

import (
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/erreval/erreval/internal/jsonobject"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

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
