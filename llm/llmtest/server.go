package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/erreval/erreval/llm"
)

// Call is one request as it arrived at a Server.
type Call struct {
	N       int         // counted from 0 in the order of arrival
	Request llm.Request // as far as the body says
	Path    string      // with the query
	Header  http.Header
	Body    []byte
	form    form
}

// Step is what a Server does with one call. ctx ends when the caller closes the connection. It is called concurrently.
type Step func(ctx context.Context, w http.ResponseWriter, c *Call)

// Script chooses the step for a call. It is called concurrently.
type Script func(c *Call) Step

// Always is the same step for every call.
func Always(s Step) Script { return func(*Call) Step { return s } }

// InTurn is one step after another, in the order of arrival; later calls get the last one.
func InTurn(steps ...Step) Script {
	return func(c *Call) Step { return steps[min(c.N, len(steps)-1)] }
}

// Serve answers calls with a. Its errors become the statuses that endpoints use for their kinds.
func Serve(a Answer) Script {
	return func(c *Call) Step {
		return func(ctx context.Context, w http.ResponseWriter, c *Call) {
			reply, err := a(ctx, c.N, &c.Request)
			if err != nil {
				failStep(err)(ctx, w, c)
				return
			}
			Reply(*reply)(ctx, w, c)
		}
	}
}

func failStep(err error) Step {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return Fail(http.StatusInternalServerError, "server_error", err.Error())
	}
	switch e.Kind {
	case llm.Wait:
		return TooMany(fmt.Sprint(e.After.Seconds()))
	case llm.Refused:
		return Fail(http.StatusBadRequest, "invalid_request_error", e.Error())
	case llm.Auth:
		return Fail(http.StatusUnauthorized, "invalid_api_key", e.Error())
	case llm.Filtered:
		return PromptFiltered()
	}
	return Fail(http.StatusInternalServerError, "server_error", e.Error())
}

// form is how an API writes calls, replies and errors.
type form interface {
	base() string // part of the address before the paths of calls
	request(body []byte) (llm.Request, error)
	reply(r llm.Reply, c *Call) any
	fault(status int, code, param, message string) any
	filtered() any // what comes with 400 where the content filter stops the prompt
}

// Server is an endpoint: of NewServer, an OpenAI-compatible one, Azure's paths included. Start or Pipe gives its
// address.
type Server struct {
	// Forget keeps Calls empty, for long runs whose calls would fill the memory. Count still counts.
	Forget bool
	script Script
	form   form
	mu     sync.Mutex
	count  int
	calls  []*Call
}

// NewServer makes a Server that behaves as s says.
func NewServer(s Script) *Server { return &Server{script: s, form: chat{}} }

// ServeHTTP records a call and does its step.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller closed the connection
	}
	call := &Call{Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, form: s.form}
	call.Request, err = s.form.request(body)
	s.record(call)
	if err != nil {
		Fail(http.StatusBadRequest, "invalid_request_error", err.Error())(r.Context(), w, call)
		return
	}
	s.script(call)(r.Context(), w, call)
}

func (s *Server) record(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.N = s.count
	s.count++
	if !s.Forget {
		s.calls = append(s.calls, c)
	}
}

// Count is how many calls arrived.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Calls are the calls so far, in the order of arrival.
func (s *Server) Calls() []*Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Call(nil), s.calls...)
}

// Start serves on this machine until t ends, and returns the base URL.
func (s *Server) Start(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + s.form.base()
}

// PipeURL is the base URL for clients of Pipe.
const PipeURL = "http://llm.test/v1"

// Pipe serves in memory, for tests in a synctest bubble, and returns a client that reaches nothing else. It ends with
// t; in a bubble, t must be the bubble's.
func (s *Server) Pipe(t testing.TB) *http.Client {
	t.Helper()
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: s}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(pipes) // ends with ErrServerClosed
	}()
	transport := &http.Transport{DialContext: pipes.dial, MaxIdleConnsPerHost: 1024}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close() // of connections in memory
		<-done
	})
	return &http.Client{Transport: transport}
}

type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "llm.test"} }
