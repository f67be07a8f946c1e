package service

import (
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
	"testing"

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
		if want := `body: reading question from "prediction"`; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", path, got)
		}
		if got := do(s, request(s, "POST", path, rowsOf(1))).Header().Values("Erreval-Notes"); got != nil {
			t.Errorf("%s: of the fields' own columns: %s", path, got)
		}
	}
	if got, want := headerText([]string{"\"Prüfung\"\r\nX-Y: 1", "b\x1b"}), `"Pr\u00fcfung" X-Y: 1 | b\\x1b`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := headerText([]string{strings.Repeat("é", 999)}); len(got) > longestNotes || !strings.HasSuffix(got, `\u00e9...`) {
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
		{"an unknown parameter", "POST", "/v1/identify?treshold=0.4", rowsOf(1), nil, 400, `no parameter "treshold"; it has `},
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
