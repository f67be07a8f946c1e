// Package endpoint is what clients of HTTP endpoints share: exchanges within bounds of time and size, errors that
// have a kind and hold no secret, and the options that models reject. Begin with [New].
package endpoint

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// maxReply bounds a reply's body, in bytes. A verdict with its reasons takes a few thousand.
const maxReply = 10 << 20

// API is in what the APIs of vendors differ.
type API struct {
	// Prepare completes a request before Options.Headers are set; nil does nothing.
	Prepare func(*http.Request) error
	// ReplyField is the field that replies have and errors do not: endpoints send errors with status 200, too.
	ReplyField string
	// Status is the one that an error stands for that came with 200; 0 if it does not say.
	Status func(*Fault) int
	// Problem is what an error says beyond its status; nil for nothing.
	Problem func(*Fault) Problem
	// RequestID is the header by which the vendor finds a request again, for messages; "" for none.
	RequestID string
}

// Endpoint makes HTTP calls to one address. It reads replies whole and within bounds, and turns whatever is none into
// an *llm.Error.
type Endpoint struct {
	o       vendor.Options
	api     API
	http    http.Client
	secrets *strings.Replacer
}

// New makes an Endpoint of valid options.
func New(o vendor.Options, api API) *Endpoint {
	e := &Endpoint{o: o, api: api}
	if o.HTTP != nil {
		e.http = *o.HTTP
	} else {
		e.http.Transport = manyConnections()
	}
	e.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e.secrets = strings.NewReplacer(secrets(o)...)
	return e
}

// String names the endpoint and holds no secret.
func (e *Endpoint) String() string { return e.o.String() }

// GoString is String.
func (e *Endpoint) GoString() string { return e.String() }

// manyConnections is the default transport without its limit of two idle connections per host, and with buffers that
// hold most requests, so that each is one write: the default is 4 KB.
func manyConnections() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	t.WriteBufferSize = 16 << 10
	return t
}

// Exchange runs one exchange, bounded in time. The error says whether ctx ended, or the time that a call may take.
func (e *Endpoint) Exchange(ctx context.Context, exchange func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	err := exchange(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("endpoint %s: %w", e.o.Host(), ended(ctx))
	case bounded.Err() != nil:
		return e.Fail(llm.Transient, 0, fmt.Errorf("no full reply within %s", e.o.Timeout),
			"raise the time-out, or ask for fewer tokens")
	}
	return err
}

// ended is ctx's end as an error that is its cause and context.Canceled or DeadlineExceeded.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return context.Cause(ctx)
}

// Do sends req. A response that it returns has status 2xx and its body in memory; an error is an *llm.Error.
func (e *Endpoint) Do(req *http.Request) (*http.Response, error) {
	if err := e.prepare(req); err != nil {
		return nil, e.Fail(llm.Refused, 0, fmt.Errorf("the request cannot be written: %w", err), "check the options")
	}
	resp, err := e.http.Do(req) // #nosec G704 -- the address is the one that the user gave
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL
		}
		return nil, e.Fail(llm.Transient, 0, unconnected(err), "check the base URL and the network")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if resp.StatusCode/100 != 2 {
		return nil, e.refusal(resp, parseFault(body)) // even if cut: the status says enough
	}
	switch {
	case err != nil:
		return nil, e.Fail(llm.Transient, resp.StatusCode, fmt.Errorf("the reply broke off: %s", err.Error()), "try again")
	case len(body) > maxReply:
		return nil, e.Fail(llm.Transient, resp.StatusCode, fmt.Errorf("the reply is larger than %d MB", maxReply>>20),
			"check that the base URL is that of a chat endpoint")
	}
	if f, ok := e.disguised(body); ok {
		resp.StatusCode = f.Status
		return nil, e.refusal(resp, f)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// prepare completes req with what the vendor's API and the user want.
func (e *Endpoint) prepare(req *http.Request) error {
	if e.api.Prepare != nil {
		if err := e.api.Prepare(req); err != nil {
			return err
		}
	}
	for name, value := range e.o.Headers {
		req.Header.Set(name, value)
	}
	return nil
}

// unconnected is err's text: the end of a call in a time-out is not the end of the run. That no connection was made
// stays to be seen, as nothing was sent then.
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

// disguised is the error in a body that came with status 200, as OpenRouter sends them.
func (e *Endpoint) disguised(body []byte) (*Fault, bool) {
	if !bytes.Contains(body, []byte(`"error"`)) { // most often
		return nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || !empty(fields[e.api.ReplyField]) {
		return nil, false
	}
	if fault := string(fields["error"]); fault == "" || fault == "null" {
		return nil, false
	}
	f := parseFault(body)
	if f.Status = e.api.Status(f); f.Status == 0 {
		f.Status = http.StatusBadGateway
	}
	return f, true
}

// empty tells of a JSON value that is missing, null, or a list without elements.
func empty(value json.RawMessage) bool {
	var list []json.RawMessage
	return len(value) == 0 || json.Unmarshal(value, &list) == nil && len(list) == 0
}

// refusal is a response that is not 2xx, as an error with its kind.
func (e *Endpoint) refusal(resp *http.Response, f *Fault) error {
	f.Status = resp.StatusCode
	if e.api.RequestID != "" {
		f.request = resp.Header.Get(e.api.RequestID)
	}
	problem := None
	if e.api.Problem != nil {
		problem = e.api.Problem(f)
	}
	kind, advice := f.kind(problem), ""
	after := retryAfter(resp.Header)
	switch {
	case resp.StatusCode/100 == 3:
		kind, advice = llm.Auth, "set the base URL to where it points"
		f.Message = "it points to " + redirectHost(resp)
	case kind == llm.Transient && after > 0:
		kind = llm.Wait
	}
	switch {
	case advice != "":
	case resp.StatusCode == http.StatusUnauthorized && e.o.Key == "" && len(e.o.Headers) == 0:
		advice = "no key was sent; set one"
	default:
		advice = f.advice(kind, problem)
	}
	err := e.Fail(kind, resp.StatusCode, f, advice)
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
