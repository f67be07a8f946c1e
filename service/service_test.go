package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// fake is a runner whose logits a test decides.
type fake func(ctx context.Context, in identifier.Input, logits []float32) error

func (f fake) Run(ctx context.Context, in identifier.Input, logits []float32) error {
	return f(ctx, in, logits)
}

// atOnce is a runner that finds every error with a probability of a half.
func atOnce(context.Context, identifier.Input, []float32) error { return nil }

func questions(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func tiny(t testing.TB) *models.Model {
	t.Helper()
	m, err := models.Open(filepath.Join("..", "identifier", "testdata", "bert"), questions(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// with gives Options.Open of the tiny model on a runner.
func with(t testing.TB, r identifier.Runner, o identifier.Options) func(context.Context,
	func(int)) (*Model, error) {
	return func(_ context.Context, ran func(int)) (*Model, error) {
		m := tiny(t)
		o.Ran = ran
		id, err := identifier.New(m, questions(t), r, o)
		if err != nil {
			return nil, err
		}
		batch := 0
		if o.BatchTokens > 0 {
			batch = o.Window / 2
		}
		return &Model{Identifier: id, Manifest: &m.Manifest, SHA256: m.SHA256, Device: "cpu", Workers: o.Workers,
			Batch: batch, Close: func() error { return nil }}, nil
	}
}

// start makes a service, which change may change before, and closes it with the test.
func start(t testing.TB, r identifier.Runner, change func(*Options)) *Service {
	t.Helper()
	guard, err := loopback.NewGuard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8321})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Task: Task{Taxonomy: questions(t), Open: with(t, r, identifier.Options{Workers: 2, Window: 8})},
		Guard: guard, Bounds: DefaultBounds(), Build: "test"}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// request makes one as a client with the token does.
func request(s *Service, method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:4", s.o.Guard.Hosts[0]
	r.Header.Set("Authorization", "Bearer "+s.o.Guard.Token)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-ndjson")
	}
	return r
}

func do(s *Service, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// rowsOf are n rows as JSON Lines.
func rowsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"%d","question":"Who?","answer":"Oke.","passage":"It was Oke."}`+"\n", i)
	}
	return b.String()
}

// TestIdentify: rows come back to the byte as Identify and the writer of files have them, lines that are no rows are
// answered in their place.
func TestIdentify(t *testing.T) {
	m := tiny(t)
	runner := orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output)
	s := start(t, runner, nil)
	lines, err := os.ReadFile(filepath.Join("..", "identifier", "testdata", "bert", "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := identifier.New(m, questions(t), runner, identifier.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	out, in := dataset.NewWriter(&want), dataset.NewReader(bytes.NewReader(lines), "rows", dataset.Options{
		Taxonomy: questions(t)})
	err = id.Identify(t.Context(), in.Read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		return errors.Join(row.SetDiagnosis(d), out.Write(row))
	})
	if err := errors.Join(err, out.Flush()); err != nil {
		t.Fatal(err)
	}
	got := do(s, request(s, "POST", "/v1/identify", string(lines)))
	if got.Code != 200 || got.Body.String() != want.String() {
		t.Errorf("%d\n%s\nwant\n%s", got.Code, got.Body, &want)
	}
	if kind := got.Header().Get("Content-Type"); kind != "application/x-ndjson" {
		t.Errorf("it is %s", kind)
	}

	rows := strings.SplitAfter(strings.TrimSpace(string(lines)), "\n")
	tagged := strings.SplitAfter(want.String(), "\n")
	bad := `{"status":"rejected","line":2,"reason":"not JSON: `
	got = do(s, request(s, "POST", "/v1/identify", rows[0]+"{nonsense\n"+rows[1]))
	parts := strings.SplitAfter(got.Body.String(), "\n")
	if len(parts) != 4 || parts[0] != tagged[0] || !strings.HasPrefix(parts[1], bad) || parts[2] != tagged[1] {
		t.Errorf("with a bad line: %d %s", got.Code, got.Body)
	}
	r := request(s, "POST", "/v1/identify", "["+strings.TrimSpace(rows[0])+", 7, "+strings.TrimSpace(rows[1])+"]")
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	got = do(s, r)
	parts = strings.SplitAfter(got.Body.String(), "\n")
	if len(parts) != 4 || parts[0] != tagged[0] || !strings.Contains(parts[1], `"status":"rejected","line":2`) ||
		parts[2] != tagged[1] {
		t.Errorf("of a list: %d %s", got.Code, got.Body)
	}
}

// TestNotes: what was assumed about the rows is said in a header, which anything may stand in as ASCII.
func TestNotes(t *testing.T) {
	s := start(t, fake(atOnce), nil)
	row := `{"id":"1","prediction":"Who?","answer":"Oke.","passage":"It was Oke."}` + "\n"
	for _, path := range []string{"/v1/identify", "/v1/score"} {
		got := do(s, request(s, "POST", path, row)).Header().Get("Erreval-Notes")
		if want := `body: no column "question"; taking "prediction" for it`; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", path, got)
		}
		if got := do(s, request(s, "POST", path, rowsOf(1))).Header().Values("Erreval-Notes"); got != nil {
			t.Errorf("%s: of the fields' own columns: %s", path, got)
		}
	}
	if got, want := headerText([]string{"\"Prüfung\"\r\nX-Y: 1", "b\x1b"}), `"Pr\u00fcfung" X-Y: 1 | b\\x1b`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := headerText([]string{strings.Repeat("é", 999)}); len(got) != longestNotes || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// TestThresholds: those of one request change its labels alone. The fake model gives every error 0.5.
func TestThresholds(t *testing.T) {
	s := start(t, fake(atOnce), nil)
	for _, c := range []struct{ query, labels string }{
		{"", `"labels":["Incomplete",`},
		{"?threshold=0.6", `"labels":["No Error"]`},
		{"?threshold=0.6&map=question=question", `"labels":["No Error"]`},
		{"?threshold=0.6&threshold=Vague=0.5", `"labels":["Vague"]`},
		{"", `"labels":["Incomplete",`},
	} {
		t.Run(c.query, func(t *testing.T) {
			got := do(s, request(s, "POST", "/v1/identify"+c.query, rowsOf(2)))
			if got.Code != 200 || strings.Count(got.Body.String(), c.labels) != 2 {
				t.Errorf("%d %s, want rows with %s", got.Code, got.Body, c.labels)
			}
		})
	}
}

func TestScore(t *testing.T) {
	s := start(t, fake(atOnce), nil)
	tagged := do(s, request(s, "POST", "/v1/identify", rowsOf(2)+`{"id":"c","question":"Who?"}`)).Body.String()
	got := do(s, request(s, "POST", "/v1/score", tagged))
	lines := strings.Split(strings.TrimSpace(got.Body.String()), "\n")
	if got.Code != 200 || len(lines) != 3 || !strings.Contains(lines[1], `"scores":{"fluency":{"value":`) ||
		!strings.Contains(lines[2], `"status":"rejected","line":3`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	foreign := `{"question":"a","answer":"b","passage":"c","diagnosis":{"labels":[],"taxonomy":"other@1"}}`
	got = do(s, request(s, "POST", "/v1/score", rowsOf(1)+foreign))
	if got.Code != 200 || !strings.Contains(got.Body.String(), `"status":"unscored"`) ||
		!strings.Contains(got.Body.String(), "was tagged with the taxonomy other@1") {
		t.Errorf("untagged and foreign rows: %d %s", got.Code, got.Body)
	}
}

// TestRefusals: what is refused, and what is said.
func TestRefusals(t *testing.T) {
	s := start(t, fake(atOnce), func(o *Options) { o.Bounds.Body, o.Bounds.Rows = 1000, 3 })
	long := func(r *http.Request) { r.ContentLength = -1 }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		name, method, path, body string
		edit                     func(*http.Request)
		status                   int
		says                     string
	}{
		{"no token", "POST", "/v1/identify", rowsOf(1), header("Authorization", ""), 401, "open the address"},
		{"another host", "GET", "/healthz", "", func(r *http.Request) { r.Host = "evil.example" }, 421, "this is 127"},
		{"a form", "POST", "/v1/identify", rowsOf(1), header("Content-Type", "application/x-www-form-urlencoded"), 415,
			"--data-binary"},
		{"said to be compressed", "POST", "/v1/identify", "x", header("Content-Encoding", "gzip"), 415, "compressed"},
		{"compressed", "POST", "/v1/identify", "\x1f\x8b\b", nil, 415, "compressed"},
		{"nothing", "POST", "/v1/identify", "", nil, 400, "no row"},
		{"too many bytes", "POST", "/v1/identify", rowsOf(20), nil, 413, "more than 1000 bytes"},
		{"too many, unsaid", "POST", "/v1/identify", rowsOf(20), long, 413, "more than 1000 bytes"},
		{"too many rows", "POST", "/v1/identify", rowsOf(4), nil, 413, "more than 3 rows"},
		{"too many bad rows", "POST", "/v1/identify", "1\n2\n3\n4\n", nil, 413, "more than 3 rows"},
		{"a missing column", "POST", "/v1/identify", `{"question":"a"}`, nil, 400, `no column "passage"`},
		{"a column of another name", "POST", "/v1/identify", `{"q":"a","passage":"p"}`, nil, 400, "with ?map=question=COLUMN"},
		{"columns of other names", "POST", "/v1/identify", `{"q":"a","p":"b"}`, nil, 400,
			"as in: ?map=question=COLUMN&map=passage=COLUMN (and, where there is one, &map=answer=COLUMN)"},
		{"a map of no field", "POST", "/v1/score?map=q=question", rowsOf(1), nil, 400, `comes first: ?map=question=q`},
		{"no list", "POST", "/v1/identify", `[{"question":`, header("Content-Type", "application/json"), 400, "ends in its"},
		{"the wrong method", "GET", "/v1/score", "", nil, 405, "takes POST"},
		{"the wrong method", "POST", "/v1/model", "", nil, 405, "takes GET"},
		{"an unknown parameter", "POST", "/v1/identify?treshold=0.4", rowsOf(1), nil, 400, `no parameter "treshold"`},
		{"a parameter of another", "POST", "/v1/score?threshold=0.4", rowsOf(1), nil, 400, `no parameter "threshold"`},
		{"a parameter where there is none", "GET", "/v1/model?threshold=0.4", "", nil, 400, `no parameter "threshold"`},
		{"a parameter where there is none", "GET", "/v1/taxonomy?map=a=b", "", nil, 400, `no parameter "map"`},
		{"a threshold out of range", "POST", "/v1/identify?threshold=2", rowsOf(1), nil, 400, `threshold "2": write a number`},
		{"a threshold of nothing", "POST", "/v1/identify?threshold=Vage=0", rowsOf(1), nil, 400, `no error type "Vage"`},
		{"another path", "GET", "/v2", "", nil, 404, "/openapi.json lists"},
	} {
		r := request(s, c.method, c.path, c.body)
		if c.edit != nil {
			c.edit(r)
		}
		got := do(s, r)
		var p struct{ Error string }
		err := json.Unmarshal(got.Body.Bytes(), &p)
		if err != nil || got.Code != c.status || !strings.Contains(p.Error, c.says) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, got.Code, got.Body, c.status, c.says)
		}
		if strings.Contains(got.Body.String(), `\u0026`) { // people read it
			t.Errorf("%s: %s", c.name, got.Body)
		}
		allowed := map[string]string{"takes POST": "POST", "takes GET": "GET, HEAD"}[c.says]
		if got.Header().Get("Allow") != allowed {
			t.Errorf("%s: it allows %q", c.name, got.Header().Get("Allow"))
		}
	}
	if held := s.held.Load(); held != 0 {
		t.Errorf("%d bytes of bodies are held", held)
	}
}

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

// TestOpening: the model is opened by the first call that needs it, and after a failure by the next.
func TestOpening(t *testing.T) {
	tries := 0
	s := start(t, nil, func(o *Options) {
		open := with(t, fake(atOnce), identifier.Options{Workers: 1, Window: 1})
		o.Open = func(ctx context.Context, ran func(int)) (*Model, error) {
			if tries++; tries == 1 {
				return nil, errors.New("no library")
			}
			return open(ctx, ran)
		}
	})
	health := func(status int, says string) {
		t.Helper()
		got := do(s, request(s, "GET", "/healthz", ""))
		if got.Code != status || !strings.Contains(got.Body.String(), says) {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	health(200, "opened at the first call")
	got := do(s, request(s, "GET", "/v1/model", ""))
	if got.Code != 503 || !strings.Contains(got.Body.String(), "no library") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	health(503, `"model":"failed"`)
	if got := do(s, request(s, "POST", "/v1/identify", rowsOf(1))); got.Code != 200 || tries != 2 {
		t.Errorf("%d %s after %d tries", got.Code, got.Body, tries)
	}
	health(200, `"model":"opened"`)
}

// TestView: what is not of the API is the view's.
func TestView(t *testing.T) {
	s := start(t, fake(atOnce), func(o *Options) {
		o.View = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "view of ", r.URL.Path) })
	})
	for _, path := range []string{"/view/rows", "/view/mark", "/", "/page.js"} {
		r := request(s, "GET", path, "")
		if got := do(s, r); got.Body.String() != "view of "+path {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
		r.Header.Del("Authorization")
		if got := do(s, r); (got.Code == 401) != strings.HasPrefix(path, "/view/") {
			t.Errorf("%s without the token: %d %s", path, got.Code, got.Body)
		}
		r = request(s, "POST", path, "{}")
		r.Header.Set("Origin", "http://evil.example")
		if got := do(s, r); got.Code != 403 {
			t.Errorf("%s of another site's page: %d %s", path, got.Code, got.Body)
		}
	}
	if got := do(s, request(s, "POST", "/view/rows", strings.Repeat(" ", maxQuery+1))); got.Code != 400 {
		t.Errorf("a large query: %d %s", got.Code, got.Body)
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
