package endpoint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// Fail makes an error that names the endpoint, what happened and what to try, without secrets. All error texts are made
// here.
func (e *Endpoint) Fail(kind llm.Kind, status int, err error, advice string) *llm.Error {
	text := fmt.Sprintf("endpoint %s: %s; %s", e.o.Host(), e.removeSecrets(err.Error()), advice)
	return &llm.Error{Kind: kind, Status: status, Err: &failure{text, err}}
}

// failure is an error with a clean text; the text of its cause may hold secrets.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }

// Is and As find the cause. There is no Unwrap, which would show its text.
func (f *failure) Is(target error) bool { return errors.Is(f.err, target) }

func (f *failure) As(target any) bool { return errors.As(f.err, target) }

const (
	hidden     = "[hidden]"
	maxMessage = 400 // runes of an endpoint's message that are shown
)

// keyLike matches keys, whole or masked by the endpoint, other than the configured one.
var keyLike = regexp.MustCompile(`(?i)\b(sk|pk|rk)-[\w*.-]{4,}|\bbearer\s+[^\s"']{4,}|[\w-]*\*{3,}[\w-]*`)

// removeSecrets makes a message of the endpoint safe for a terminal and a log: no secrets, no control characters, one
// short line.
func (e *Endpoint) removeSecrets(s string) string {
	s = e.secrets.Replace(s)
	s = keyLike.ReplaceAllString(s, hidden)
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(s); len(runes) > maxMessage {
		s = string(runes[:maxMessage]) + "…"
	}
	return s
}

// secrets are the key, the headers' values and the words in them.
func secrets(o vendor.Options) []string {
	words := []string{o.Key}
	for _, value := range o.Headers {
		words = append(words, value)
		words = append(words, strings.Fields(value)...)
	}
	return slices.DeleteFunc(words, func(s string) bool {
		// shorter ones are versions and names: replacing them would damage ordinary words
		return s == "" || s != o.Key && len(s) < 8
	})
}
