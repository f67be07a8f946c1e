package openai

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/erreval/erreval/llm"
)

// maxReply bounds a reply's body, in bytes. A verdict with its reasons takes a few thousand.
const maxReply = 10 << 20

// wire is the HTTP client under go-openai: it sends what the library leaves out, reads replies whole and within bounds, and
// turns whatever is no chat completion into an *llm.Error. The library's own errors lack the headers that say when to
// try again.
type wire struct {
	o       Options
	host    string
	http    http.Client
	secrets *strings.Replacer
}

func newWire(o Options) *wire {
	w := &wire{o: o, host: o.host()}
	if o.HTTP != nil {
		w.http = *o.HTTP
	} else {
		w.http.Transport = roomy()
	}
	w.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	w.secrets = strings.NewReplacer(secrets(o)...)
	return w
}

// secrets are pairs for a Replacer: the key, the headers' values and the words in them, as they are and as an endpoint may
// quote them, the longest first.
func secrets(o Options) []string {
	words := []string{o.Key}
	for _, value := range o.Headers {
		words = append(words, value)
		words = append(words, strings.Fields(value)...)
	}
	words = slices.DeleteFunc(words, func(s string) bool {
		return s == "" || s != o.Key && len(s) < 8 // shorter ones are versions and names, and would eat ordinary words
	})
	var forms []string
	for _, word := range words {
		quoted, _ := json.Marshal(word)
		forms = append(forms, word, strings.Trim(string(quoted), `"`), url.QueryEscape(word), url.PathEscape(word))
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, hidden)
	}
	return pairs
}

// roomy is the default transport without its limit of two idle connections per host, and with buffers that hold most requests, so that
// each is one write: the default is 4 KB.
func roomy() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	t.WriteBufferSize = 16 << 10
	return t
}

// Do implements go-openai's HTTPDoer. A response that it returns has status 2xx and its body in memory.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	if err := w.prepare(req); err != nil {
		return nil, w.fail(llm.Refused, 0, fmt.Errorf("the request cannot be written: %w", err), "check the options")
	}
	resp, err := w.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL
		}
		return nil, w.fail(llm.Transient, 0, unconnected(err), "check the base URL and the network")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if resp.StatusCode/100 != 2 {
		return nil, w.refusal(resp, parseFault(body)) // even if cut: the status says enough
	}
	switch {
	case err != nil:
		return nil, w.fail(llm.Transient, resp.StatusCode, fmt.Errorf("the reply broke off: %s", err.Error()), "try again")
	case len(body) > maxReply:
		return nil, w.fail(llm.Transient, resp.StatusCode, fmt.Errorf("the reply is larger than %d MB", maxReply>>20),
			"check that the base URL is that of a chat endpoint")
	}
	if f, ok := disguised(body); ok {
		resp.StatusCode = f.status
		return nil, w.refusal(resp, f)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// unconnected is err's text: the end of a call in a time-out is not the end of the run. That no connection was made stays to be
// seen, as nothing was sent then.
func unconnected(err error) error {
	text := errors.New(err.Error())
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &net.OpError{Op: op.Op, Net: op.Net, Source: op.Source, Addr: op.Addr, Err: errors.New(op.Err.Error())}
	}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	if badCertificate || errors.Is(err, http.ErrSchemeMismatch) {
		return &net.OpError{Op: "dial", Net: "tls", Err: text}
	}
	return text
}

// prepare puts headers and the temperature into req.
func (w *wire) prepare(req *http.Request) error {
	if w.o.Key == "" {
		req.Header.Del("api-key") // the library sends an empty one
	}
	for name, value := range w.o.Headers {
		req.Header.Set(name, value)
	}
	temperature, _ := req.Context().Value(temperatureKey{}).(*float64)
	if temperature == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	body = append(fmt.Appendf(nil, `{"temperature":%v,`, *temperature), bytes.TrimPrefix(body, []byte("{"))...)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// disguised is the error in a body that came with status 200, as OpenRouter sends them.
func disguised(body []byte) (*fault, bool) {
	if !bytes.Contains(body, []byte(`"error"`)) { // most often
		return nil, false
	}
	var head struct {
		Error   json.RawMessage   `json:"error"`
		Choices []json.RawMessage `json:"choices"`
	}
	if json.Unmarshal(body, &head) != nil || len(head.Error) == 0 || string(head.Error) == "null" || len(head.Choices) > 0 {
		return nil, false
	}
	f := parseFault(body)
	f.status = http.StatusBadGateway // unless it names another
	if code, err := strconv.Atoi(f.code); err == nil && code >= 400 && code < 600 {
		f.status = code
	}
	return f, true
}

// refusal is a response that is not 2xx, as an error with its kind.
func (w *wire) refusal(resp *http.Response, f *fault) error {
	f.status = resp.StatusCode
	kind, advice := f.kind(), ""
	after := retryAfter(resp.Header)
	switch {
	case resp.StatusCode/100 == 3:
		kind, advice = llm.Auth, "set the base URL to where it points"
		f.message = "it points to " + redirectHost(resp)
	case kind == llm.Transient && after > 0:
		kind = llm.Wait
	}
	switch {
	case advice != "":
	case resp.StatusCode == http.StatusUnauthorized && w.o.Key == "" && len(w.o.Headers) == 0:
		advice = "no key was sent; set one"
	default:
		advice = f.advice(kind)
	}
	err := w.fail(kind, resp.StatusCode, f, advice)
	if kind == llm.Wait {
		err.After = after
	}
	return err
}

func redirectHost(resp *http.Response) string {
	if u, err := resp.Location(); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return "another address"
}

// fail is the one place where error texts are made.
func (w *wire) fail(kind llm.Kind, status int, err error, advice string) *llm.Error {
	text := fmt.Sprintf("endpoint %s: %s; %s", w.host, w.clean(err.Error()), advice)
	return &llm.Error{Kind: kind, Status: status, Err: &failure{text, err}}
}

// failure has a clean text around an error whose own may hold anything.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }

// Is and As reach the cause; Unwrap would hand out its text.
func (f *failure) Is(target error) bool { return errors.Is(f.err, target) }

func (f *failure) As(target any) bool { return errors.As(f.err, target) }

const (
	hidden     = "[hidden]"
	maxMessage = 400 // runes of an endpoint's message that are shown
)

// keyLike are keys, whole or masked by the endpoint, that are not the one configured.
var keyLike = regexp.MustCompile(`(?i)\b(sk|pk|rk)-[\w*.-]{4,}|\bbearer\s+[^\s"']{4,}|[\w-]*\*{3,}[\w-]*`)

// clean makes a message of the endpoint fit for a terminal and a log: no secrets, no control characters, one short line.
func (w *wire) clean(s string) string {
	s = w.secrets.Replace(s)
	s = keyLike.ReplaceAllString(s, hidden)
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(s); len(runes) > maxMessage {
		s = string(runes[:maxMessage]) + "…"
	}
	return s
}

// retryAfter is how long the endpoint asks to wait: Retry-After in seconds or as a date, or the milliseconds that OpenAI and
// Azure send beside it. 0: it does not ask, or asks for nothing that can be understood.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return span(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return span(seconds)
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date")) // the endpoint's clock, which may not be ours
	if err != nil {
		now = time.Now()
	}
	return span(date.Sub(now).Seconds())
}

// span is seconds as a duration, within 0 and a year.
func span(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN included
		return 0
	}
	return time.Duration(math.Min(seconds, 365*24*3600) * float64(time.Second))
}
