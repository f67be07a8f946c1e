package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// Fault is the error that an endpoint sends for a refused call, as far as it can be read.
type Fault struct {
	Status     int
	Message    string // as the endpoint wrote it: do not show it
	Code, Type string
	Inner      string // Azure's innererror.code
	Param      string
	Flagged    bool // OpenRouter's metadata.flagged_input

	request string // id of the request for the vendor
}

// Error is status and message.
func (f *Fault) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", f.Status, http.StatusText(f.Status)))
	if f.Message != "" {
		text += ": " + f.Message
	}
	if f.request != "" {
		text += " (request " + f.request + ")"
	}
	return text
}

// parseFault understands {"error": {…}}, {"error": "…"}, [{"error": …}], {"message": …}, {"detail": …} and plain text.
func parseFault(body []byte) *Fault {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return &Fault{Message: plainText(body)}
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	fields, _ := value.(map[string]any)
	switch e := fields["error"].(type) {
	case map[string]any:
		fields = e
	case string:
		return &Fault{Message: e, Code: scalar(fields["code"])}
	}
	f := &Fault{Code: scalar(fields["code"]), Type: scalar(fields["type"]), Param: scalar(fields["param"])}
	inner, _ := fields["innererror"].(map[string]any)
	f.Inner = scalar(inner["code"])
	metadata, _ := fields["metadata"].(map[string]any)
	_, f.Flagged = metadata["flagged_input"]
	for _, name := range []string{"message", "detail"} {
		if f.Message == "" && fields[name] != nil {
			f.Message = scalar(fields[name])
		}
	}
	return f
}

func plainText(body []byte) string {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") {
		return "(an HTML page)"
	}
	return text
}

func scalar(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// Problem is a cause of an error that its status does not tell.
type Problem int

// Problems, which each vendor names differently.
const (
	None     Problem = iota
	Filtered         // the content filter stopped the prompt
	Unpaid           // the account has no credit
	Busy             // the endpoint has too much to do
	TooLong          // the prompt is longer than the model's context
)

// Has tells whether f has one of codes.
func (f *Fault) Has(codes ...string) bool {
	return slices.Contains(codes, f.Code) || slices.Contains(codes, f.Type) || slices.Contains(codes, f.Inner)
}

// kind is what to do about f.
func (f *Fault) kind(p Problem) llm.Kind {
	switch s := f.Status; {
	case p == Filtered:
		return llm.Filtered
	case p == Unpaid:
		return llm.Auth
	case p == Busy, s == http.StatusTooManyRequests:
		return llm.Wait
	case s == http.StatusRequestTimeout, s == http.StatusConflict, s == http.StatusTooEarly, s >= 500:
		return llm.Transient
	case s >= 401 && s <= 405, s == http.StatusGone:
		return llm.Auth
	}
	return llm.Refused
}

// AdviceFiltered is what to try after a content filter stopped a prompt.
const AdviceFiltered = "another judge may take this text"

// advice is what to try next.
func (f *Fault) advice(kind llm.Kind, p Problem) string {
	switch {
	case kind == llm.Filtered:
		return AdviceFiltered
	case kind == llm.Wait && p != Busy:
		return "allow fewer calls or tokens per minute"
	case kind == llm.Wait, kind == llm.Transient:
		return "try again later, or see the endpoint's status page"
	case kind == llm.Refused && (f.Status == http.StatusRequestEntityTooLarge || p == TooLong):
		return "shorten the row's texts, or choose a model with a larger context"
	case kind == llm.Refused:
		return "check the model's options"
	case f.Status == http.StatusPaymentRequired || p == Unpaid:
		return "add credit to the account, or use another key"
	case f.Status == http.StatusUnauthorized:
		return "check the key"
	case f.Status == http.StatusForbidden:
		return "check that the key may use this model here"
	}
	return "check the model's name and the base URL"
}

// retryAfter is how long the endpoint asks to wait: Retry-After in seconds or as a date, or the milliseconds that
// OpenAI and Azure send beside it. 0: it does not ask, or the header cannot be read.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return durationOf(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return durationOf(seconds)
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date")) // the endpoint's clock, which may not be ours
	if err != nil {
		now = time.Now()
	}
	return durationOf(date.Sub(now).Seconds())
}

// durationOf is seconds as a duration, from 0 to a year.
func durationOf(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN included
		return 0
	}
	return time.Duration(math.Min(seconds, 365*24*3600) * float64(time.Second))
}

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
