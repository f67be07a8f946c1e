package service

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
)

// gate is a runner that waits for its test.
type gate struct {
	runs    atomic.Int64
	began   chan int // rows of a run
	release chan struct{}
}

func newGate() *gate { return &gate{began: make(chan int), release: make(chan struct{})} }

func (g *gate) Run(ctx context.Context, in identifier.Input, _ []float32) error {
	g.runs.Add(1)
	for began := false; ; {
		send := g.began
		if began {
			send = nil
		}
		select {
		case send <- in.Rows():
			began = true
		case <-g.release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// async runs a request beside the test.
func async(s *Service, r *http.Request) <-chan *httptest.ResponseRecorder {
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() { done <- do(s, r) }()
	return done
}

// TestBusy: with its queue full the server says when to come again; while it drains it takes nothing new, and finishes
// what it has.
func TestBusy(t *testing.T) {
	g := newGate()
	s := start(t, g, func(o *Options) { o.Bounds.Queue = 1 })
	first := async(s, request(s, "POST", "/v1/identify", rowsOf(3)))
	<-g.began
	got := do(s, request(s, "POST", "/v1/identify", rowsOf(1)))
	if got.Code != 429 || got.Header().Get("Retry-After") != "1" {
		t.Errorf("of a full queue: %d %v %s", got.Code, got.Header(), got.Body)
	}
	drained := make(chan struct{})
	go func() {
		s.Drain(t.Context())
		close(drained)
	}()
	for !s.draining.Load() {
		if got := do(s, request(s, "GET", "/healthz", "")); got.Code == 503 {
			break
		}
	}
	got = do(s, request(s, "POST", "/v1/identify", rowsOf(1)))
	if got.Code != 503 || got.Header().Get("Retry-After") != "1" {
		t.Errorf("while it drains: %d %s", got.Code, got.Body)
	}
	got = do(s, request(s, "GET", "/healthz", ""))
	if got.Code != 503 || !strings.Contains(got.Body.String(), `"draining":true`) {
		t.Errorf("its health: %d %s", got.Code, got.Body)
	}
	close(g.release)
	if got := <-first; got.Code != 200 || strings.Count(got.Body.String(), "diagnosis") != 3 {
		t.Errorf("what it had: %d %s", got.Code, got.Body)
	}
	<-drained
}

// TestTimeout: a request that takes too long is refused, or cut off once its reply has begun.
func TestTimeout(t *testing.T) {
	g := newGate()
	s := start(t, g, func(o *Options) { o.Bounds.Time = time.Nanosecond })
	if got := do(s, request(s, "POST", "/v1/identify", rowsOf(1))); got.Code != 504 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	s.o.Bounds.Time = time.Second
	cut := func() (thrown any) {
		defer func() { thrown = recover() }()
		do(s, request(s, "POST", "/v1/identify", "{}\n"+rowsOf(1)))
		return nil
	}()
	if cut != http.ErrAbortHandler { //nolint:errorlint // what was thrown is any
		t.Errorf("a reply that has begun ends with %v", cut)
	}
}

// TestSlowBody: a client is told that its body did not come.
func TestSlowBody(t *testing.T) {
	s := start(t, fake(atOnce), func(o *Options) { o.Bounds.Stall = 50 * time.Millisecond })
	conn := connect(t, s, "POST /v1/identify", 1000, "{")
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != 408 || !got.Close {
		t.Errorf("%s, closed: %v", got.Status, got.Close)
	}
}

// connect begins a request over a connection; length is what it says of its body.
func connect(t *testing.T, s *Service, what string, length int, body string) net.Conn {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	s.o.Guard.Hosts = []string{address}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/x-ndjson\r\n"+
		"Content-Length: %d\r\n\r\n%s", what, address, s.o.Guard.Token, length, body)
	return conn
}

// late is a body that does not come.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestGone: nobody computes the rows of a client that went away.
func TestGone(t *testing.T) {
	g := newGate()
	s := start(t, g, nil)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan any)
	go func() {
		defer func() { gone <- recover() }()
		do(s, request(s, "POST", "/v1/identify", rowsOf(1000)).WithContext(ctx))
	}()
	<-g.began
	leave()
	if thrown := <-gone; thrown != http.ErrAbortHandler { //nolint:errorlint // what was thrown is any
		t.Errorf("it ended with %v", thrown)
	}
	if n := s.taggers[0].pool.length(); n != 0 {
		t.Errorf("%d rows wait for nobody", n)
	}
	close(g.release)
	if got := do(s, request(s, "POST", "/v1/identify", rowsOf(1))); got.Code != 200 {
		t.Errorf("the next one: %d %s", got.Code, got.Body)
	}
	if n := g.runs.Load(); n > 10 {
		t.Errorf("%d rows were computed", n)
	}
}

// TestFair: a request of one row waits for a few rows of one that has many, not for all.
func TestFair(t *testing.T) {
	for name, o := range map[string]identifier.Options{
		"row by row": {Workers: 2, Window: 8},
		"in batches": {Workers: 1, Window: 2000, BatchTokens: 200},
	} {
		const many = 10_000
		var runs atomic.Int64
		var once sync.Once
		begun := make(chan struct{})
		s := start(t, nil, func(opt *Options) {
			opt.Open = with(t, fake(func(_ context.Context, in identifier.Input, _ []float32) error {
				once.Do(func() { close(begun) })
				runs.Add(int64(in.Rows()))
				return nil
			}), o)
		})
		large := async(s, request(s, "POST", "/v1/identify", rowsOf(many)))
		<-begun
		if got := do(s, request(s, "POST", "/v1/identify", rowsOf(1))); got.Code != 200 {
			t.Fatalf("%s: %d %s", name, got.Code, got.Body)
		}
		if n := runs.Load(); n > many/2 {
			t.Errorf("%s: one row waited for %d others", name, n)
		}
		if got := <-large; strings.Count(got.Body.String(), "\n") != many {
			t.Errorf("%s: %d of %d rows came back", name, strings.Count(got.Body.String(), "\n"), many)
		}
	}
}

// TestShared: rows of several requests are computed in one run, where the model computes batches.
func TestShared(t *testing.T) {
	g := newGate()
	s := start(t, g, func(o *Options) {
		o.Open = with(t, g, identifier.Options{Workers: 1, Window: 200, BatchTokens: 1 << 15})
	})
	var done []<-chan *httptest.ResponseRecorder
	for range batchRounds { // which keeps all rounds busy
		done = append(done, async(s, request(s, "POST", "/v1/identify", rowsOf(1))))
		<-g.began
	}
	for range 5 {
		done = append(done, async(s, request(s, "POST", "/v1/identify", rowsOf(2))))
	}
	for s.queued() < 10 {
		if got := do(s, request(s, "GET", "/healthz", "")); got.Code != 200 {
			t.Fatal(got.Body)
		}
	}
	g.release <- struct{}{}
	if rows := <-g.began; rows != 10 {
		t.Errorf("a run had %d rows, want those of five requests", rows)
	}
	close(g.release)
	for _, d := range done {
		if got := <-d; got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
}

// TestStalled: a client that does not read its reply is given up, and its place is free again.
func TestStalled(t *testing.T) {
	s := start(t, fake(atOnce), func(o *Options) { o.Bounds.Stall, o.Bounds.Queue = 50*time.Millisecond, 1 })
	body := rowsOf(50_000) // of which the reply is more than buffers hold
	connect(t, s, "POST /v1/score", len(body), body)
	for s.held.Load() == 0 {
		do(s, request(s, "GET", "/healthz", ""))
	}
	s.Drain(t.Context())
	if t.Context().Err() != nil {
		t.Error("its place was not given up")
	}
	for !strings.Contains(do(s, request(s, "GET", "/metrics", "")).Body.String(),
		`erreval_requests_total{code="499",path="/v1/score"} 1`) {
		if t.Context().Err() != nil {
			t.Fatal("it is not counted as given up")
		}
	}
}

// TestLongRows: long records wait for each other, wherever pieces of the body end; others do not wait, and lists of many
// small ones only until they were read once.
func TestLongRows(t *testing.T) {
	s := start(t, fake(atOnce), nil)
	long := strings.Repeat("x", lightRow+1)
	for _, c := range []struct {
		format, text string
		want         int64
	}{
		{dataset.JSONL, strings.Repeat(strings.Repeat("x", 1000)+"\n", 1000), 1000},
		{dataset.JSONL, "a\n" + long + "\nb\n", lightRow + 1},
		{dataset.JSONL, long, lightRow + 1},
		{dataset.JSON, "[" + strings.Repeat("{},\n", 1000) + "{}]", 4004},
	} {
		for _, piece := range []int{7, 32 << 10} {
			b := &body{reading: dataset.Options{Format: dataset.Format{Name: c.format}}, s: s}
			for rest := []byte(c.text); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
				if err := b.keep(rest[:min(piece, len(rest))]); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.longestRecord(); got != c.want {
				t.Errorf("%d bytes of %s in pieces of %d: %d, want %d", len(c.text), c.format, piece, got, c.want)
			}
			b.close()
		}
	}

	g := newGate()
	s = start(t, g, nil)
	row := func(passage string) string { return `{"question":"Who?","answer":"a","passage":"` + passage + `"}` }
	list := request(s, "POST", "/v1/identify", "["+strings.Repeat(row("b")+",", lightRow/40)+row("b")+"]")
	list.Header.Set("Content-Type", "application/json")
	s.o.Bounds.Time = time.Minute
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan any)
	go func() {
		defer func() { gone <- recover() }()
		do(s, list.WithContext(ctx))
	}()
	<-g.began
	if !s.heavy.TryAcquire(heavyRows) {
		t.Error("a long list of small rows keeps long ones waiting")
	}
	s.o.Bounds.Time = time.Millisecond
	if got := do(s, request(s, "POST", "/v1/identify", row(long))); got.Code != 504 {
		t.Errorf("a long row did not wait for others: %d", got.Code)
	}
	s.heavy.Release(heavyRows)
	leave()
	<-gone
	close(g.release)
	s.o.Bounds.Time = time.Minute
	if got := do(s, request(s, "POST", "/v1/identify", row(long))); got.Code != 200 {
		t.Errorf("after them: %d %.200s", got.Code, got.Body)
	}
}
