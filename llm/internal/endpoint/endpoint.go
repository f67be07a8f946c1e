// Package endpoint is what clients of HTTP endpoints share. These are exchanges limited in time and size, errors that
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
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/jsonobject"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// maxReply is the largest body of a reply, in bytes. A verdict with its reasons has a few thousand.
const maxReply = 10 << 20

// API holds the differences between the APIs of vendors.
type API struct {
	// Prepare completes a request before Options.Headers are set.
	Prepare func(*http.Request) error
	// ReplyField is a field that replies have and errors do not: endpoints also send errors with status 200.
	ReplyField string
	// Status is the status that an error names if it came with 200; 0 if it names none.
	Status func(*Fault) int
	// Problem finds what an error says beyond its status.
	Problem func(*Fault) Problem
	// RequestID is the header that names the request for the vendor, for messages; "" for none.
	RequestID string
}

// Endpoint makes HTTP calls to one address. It reads whole replies up to a limit, and turns every other answer into an
// *llm.Error.
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
	e.secrets = vendor.Hide(secrets(o), hidden)
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

// Exchange runs one exchange with a time-out. The error says whether ctx ended or the time-out passed.
func (e *Endpoint) Exchange(ctx context.Context, exchange func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	err := exchange(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("endpoint %s: %w", e.o.Host(), llm.ContextError(ctx))
	case bounded.Err() != nil:
		return e.Fail(llm.Transient, 0, fmt.Errorf("no full reply within %s", e.o.Timeout),
			"raise the time-out, or ask for fewer tokens")
	}
	return err
}

// Do sends req. The response has status 2xx and its body in memory; an error is an *llm.Error.
func (e *Endpoint) Do(req *http.Request) (*http.Response, error) {
	if err := e.prepareRequest(req); err != nil {
		return nil, e.Fail(llm.Refused, 0, fmt.Errorf("the request cannot be written: %w", err), "check the options")
	}
	resp, err := e.http.Do(req) // #nosec G704 -- the address is the one that the user gave
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL
		}
		return nil, e.Fail(llm.Transient, 0, connectError(err), "check the base URL and the network")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if resp.StatusCode/100 != 2 {
		return nil, e.refusalError(resp, parseFault(body)) // even if cut: the status says enough
	}
	switch {
	case err != nil:
		return nil, e.Fail(llm.Transient, resp.StatusCode, fmt.Errorf("the reply broke off: %s", err.Error()), "try again")
	case len(body) > maxReply:
		return nil, e.Fail(llm.Transient, resp.StatusCode, fmt.Errorf("the reply is larger than %d MB", maxReply>>20),
			"check that the base URL is that of a chat endpoint")
	}
	if f, ok := e.findFault(body); ok {
		resp.StatusCode = f.Status
		return nil, e.refusalError(resp, f)
	}
	resp.Header.Del(AmbiguousHeader)
	if key := jsonobject.DoubledKey(body); key != "" {
		resp.Header.Set(AmbiguousHeader, strconv.Quote(key))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// AmbiguousHeader is set by Do where an object of the reply has a key twice, which readers resolve in different ways.
// It holds the key.
const AmbiguousHeader = "X-Erreval-Doubled-Key"

// Ambiguous makes of a reply one that is of no use, since what is twice in it. Its Usage counts.
func Ambiguous(reply *llm.Reply, what string) {
	reply.Text, reply.Finish = "the endpoint's reply has "+what+" twice", llm.FinishAmbiguous
}

// prepareRequest adds the headers of the vendor's API and of the user to req.
func (e *Endpoint) prepareRequest(req *http.Request) error {
	if err := e.api.Prepare(req); err != nil {
		return err
	}
	for name, value := range e.o.Headers {
		req.Header.Set(name, value)
	}
	return nil
}

// connectError is an error with err's text alone: a time-out of a call must not look like the end of the run. It keeps
// a failed connection visible, since nothing was sent then.
func connectError(err error) error {
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

// findFault finds an error in a body with status 200, as OpenRouter sends them.
func (e *Endpoint) findFault(body []byte) (*Fault, bool) {
	if !bytes.Contains(body, []byte(`"error"`)) { // most often
		return nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || !isEmpty(fields[e.api.ReplyField]) {
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

// isEmpty tells whether a JSON value is missing, null, or a list without elements.
func isEmpty(value json.RawMessage) bool {
	var list []json.RawMessage
	return len(value) == 0 || json.Unmarshal(value, &list) == nil && len(list) == 0
}

// refusalError is the error, with its kind, for a response that is not 2xx.
func (e *Endpoint) refusalError(resp *http.Response, f *Fault) error {
	f.Status = resp.StatusCode
	f.request = resp.Header.Get(e.api.RequestID)
	problem := e.api.Problem(f)
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
