package view

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func post(t *testing.T, h http.Handler, path, body string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w.Code, w.Body.String(), w.Header()
}

// TestHandler: over HTTP the answers are the same, and what is wrong is said.
func TestHandler(t *testing.T) {
	x := openRuns(t, Options{})
	h := Handler(x)
	for _, q := range queries() {
		kind, want, err := answer(context.Background(), x, q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if code, got, _ := post(t, h, "/view/"+kind, string(body)); code != 200 || got != string(wanted) {
			t.Errorf("%s %s: %d %.200s", kind, body, code, got)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/view/catalog", nil))
	if want, err := json.Marshal(x.Catalog()); err != nil || w.Code != 200 || w.Body.String() != string(want) {
		t.Errorf("catalog: %d %.100s", w.Code, w.Body)
	}
	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"counts", `{"facet":"label","colour":1}`, 400, `unknown field`},
		{"counts", `{"facet":"label"} {}`, 400, "more than one JSON value"},
		{"counts", `[]`, 400, "cannot be read"},
		{"counts", ``, 400, "cannot be read: it is empty; send a JSON object"},
		{"counts", `{"facet":"` + strings.Repeat("a", maxBody) + `"}`, 400, "too large"},
		{"counts", `{"facet":"<b>"}`, 400, `there is no facet`},
		{"rows", `{"limit":1,"filter":{"facets":{"label":{"any":["x"]}}}}`, 400, `has no value`},
		{"row", `{"n":1000}`, 404, "there is no row 1000"},
		{"export", `{"format":"xlsx"}`, 400, "there is no format"},
		{"export", `{"format":"csv","sort":{"key":"x"}}`, 400, "cannot be sorted"},
		{"passwd", `{}`, 404, "there is no /view/passwd"},
		{"mark", `{"n":0,"labels":["Vague"]}`, 404, "there is no /view/mark"}, // the source keeps none
		{"catalog", `{}`, 405, "/view/catalog takes GET"},
	} {
		code, got, header := post(t, h, "/view/"+c.path, c.body)
		if code != c.code || !strings.Contains(got, c.want) {
			t.Errorf("%s %.80s: %d %s", c.path, c.body, code, got)
		}
		var said struct{ Error string }
		if json.Unmarshal([]byte(got), &said) != nil || said.Error == "" ||
			header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s %v", c.path, got, header)
		}
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/view/rows", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Error(w.Code, w.Header())
	}
}

// TestExport: records byte for byte, and a table in which nothing is a formula.
func TestExport(t *testing.T) {
	x := openRuns(t, Options{})
	h := Handler(x)
	tagged, err := os.ReadFile(filepath.Join("testdata", "runs", "tagged.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := bytes.Cut(tagged, []byte("this is no row"))
	code, got, header := post(t, h, "/view/export", `{"format":"jsonl","filter":{"facets":{"run":{"any":["tagged.jsonl"]}}}}`)
	if code != 200 || got != string(want) || header.Get("Content-Disposition") != `attachment; filename="rows.jsonl"` {
		t.Errorf("%d %.300s %v", code, got, header)
	}
	code, got, _ = post(t, h, "/view/export",
		`{"format":"csv","sort":{"key":"id","descending":true},"filter":{"facets":{"run":{"any":["twins.jsonl"]}}}}`)
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if code != 200 || err != nil || len(rows) != 10 ||
		strings.Join(rows[0][:6], " ") != "run id question answer passage system" {
		t.Fatalf("%d %v %s", code, err, got)
	}
	line := strings.Join(rows[len(rows)-1], "|")
	if !strings.Contains(line, "|carrow-1|") || !strings.Contains(line, "|'=1+1|") {
		t.Error(line)
	}
	if code, got, header := post(t, h, "/view/export", `{"format":"csv","filter":{"search":"nothingbeginsso"}}`); code != 200 ||
		strings.Count(got, "\n") != 1 || !strings.HasPrefix(header.Get("Content-Type"), "text/csv") {
		t.Error(code, got, header)
	}
	if code, got, header := post(t, h, "/view/export", `{"format":"jsonl","filter":{"search":"nothingbeginsso"}}`); code != 200 ||
		got != "" || header.Get("Content-Type") != "application/x-ndjson" {
		t.Error(code, got, header)
	}
}

// broken fails after some bytes.
type broken struct{ *Index }

func (b broken) Export(_ context.Context, w io.Writer, _ ExportQuery) error {
	if _, err := io.WriteString(w, "{}\n"); err != nil {
		return err
	}
	return errDamaged
}

// TestExportBreaks: an export that cannot go on does not end as one that is whole.
func TestExportBreaks(t *testing.T) {
	server := httptest.NewServer(Handler(broken{openHand(t)}))
	defer server.Close()
	answer, err := http.Post(server.URL+"/view/export", "application/json", strings.NewReader(`{"format":"jsonl"}`))
	if err == nil {
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
	}
	if err == nil {
		t.Error("it ended well")
	}
}
