package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// description is what a test reads of openapi.json.
type description struct {
	Paths      map[string]map[string]operation
	Components struct{ Responses map[string]response }
}

type operation struct {
	Security  []any // empty, not absent: no token
	Responses map[string]response
}

type response struct {
	Description string
	Ref         string `json:"$ref"`
	Content     map[string]struct{ Schema json.RawMessage }
}

func describe(t *testing.T) *description {
	t.Helper()
	var d description
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// find gives the response, and the place of its schema in openapi.json.
func (d *description) find(path, method, status string) (r response, pointer string, ok bool) {
	r, ok = d.Paths[path][method].Responses[status]
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	pointer = "/paths/" + escape.Replace(path) + "/" + method + "/responses/" + status
	if r.Ref != "" {
		pointer = strings.TrimPrefix(r.Ref, "#")
		r = d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
	}
	return r, pointer, ok
}

// check compares a reply with what is said of it.
func (d *description) check(t *testing.T, path, method string, got *httptest.ResponseRecorder) {
	t.Helper()
	r, pointer, ok := d.find(path, method, fmt.Sprint(got.Code))
	kind, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";")
	if _, known := r.Content[kind]; !ok || !known {
		t.Errorf("%s %s: a reply %d of %s is not described: %s", method, path, got.Code, kind, got.Body)
		return
	}
	if kind == "text/plain" {
		return
	}
	place := "openapi.json#" + pointer + "/content/" + strings.ReplaceAll(kind, "/", "~1") + "/schema"
	schema, err := compiler(t).Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	values := [][]byte{got.Body.Bytes()}
	if kind == "application/x-ndjson" {
		values = slices.Collect(bytes.Lines(got.Body.Bytes()))
	}
	for _, v := range values {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(v))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s %s %d: %v in %s", method, path, got.Code, err, v)
		}
	}
}

func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOpenAPI has every reply that is described, and compares each with its schema.
func TestOpenAPI(t *testing.T) {
	d := describe(t)
	seen := map[string]bool{}
	try := func(s *Service, path, method, body string, edit func(*http.Request)) {
		t.Helper()
		r := request(s, strings.ToUpper(method), path, body)
		if edit != nil {
			edit(r)
		}
		got := do(s, r)
		said := method // of a method that there is not, by the path's own
		if d.Paths[path][method].Responses == nil {
			said = slices.Collect(maps.Keys(d.Paths[path]))[0]
		}
		d.check(t, path, said, got)
		seen[fmt.Sprint(path, " ", said, " ", got.Code)] = true
	}
	s := start(t, fake(atOnce), nil)
	small := start(t, fake(atOnce), func(o *Options) { o.Bounds.Rows = 1 })
	hurried := start(t, fake(atOnce), func(o *Options) { o.Bounds.Time = 1 })
	full := start(t, fake(atOnce), nil)
	full.slots = make(chan struct{})
	ended := start(t, fake(atOnce), nil)
	ended.Drain(t.Context())
	broken := start(t, nil, func(o *Options) {
		o.Open = func(context.Context, func(int)) (*Model, error) { return nil, errClosed }
	})
	plain := start(t, fake(atOnce), func(o *Options) {
		bare := *o.Taxonomy
		bare.Dimensions, o.Taxonomy = nil, &bare
	})
	unknown := func(r *http.Request) { r.URL.RawQuery = "taxonomy=none" }
	for path, methods := range d.Paths {
		for method, op := range methods {
			body, other := "", "post"
			if method == "post" {
				body, other = rowsOf(1)+"{nonsense\n"+`{"question":"a"}`+"\n"+`{"question":"a","passage":"b"}`, "get"
			}
			if path == "/v1/score" {
				body = do(s, request(s, "POST", "/v1/identify", body)).Body.String() + rowsOf(1)
			}
			try(s, path, method, body, nil)
			try(s, path, other, "", nil)
			try(s, path, method, body, func(r *http.Request) { r.Host = "evil.example" })
			try(s, path, method, body, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
			if op.Security == nil {
				try(s, path, method, body, func(r *http.Request) { r.Header.Del("Authorization") })
			}
			switch path {
			case "/v1/model":
				try(broken, path, method, "", nil)
				try(s, path, method, "", unknown)
			case "/v1/taxonomy":
				try(s, path, method, "", unknown)
			case "/healthz":
				try(ended, path, method, "", nil)
			}
			if method != "post" {
				continue
			}
			try(s, path, method, "", nil)
			try(s, path, method, body, func(r *http.Request) { r.Header.Del("Content-Type") })
			try(s, path, method, body, func(r *http.Request) { r.Body = io.NopCloser(late{}) })
			try(small, path, method, body, nil)
			try(full, path, method, body, nil)
			try(ended, path, method, body, nil)
			try(hurried, path, method, body, nil)
		}
	}
	try(plain, "/v1/score", "post", rowsOf(1), nil)
	for path, methods := range d.Paths {
		for method, op := range methods {
			for status := range op.Responses {
				if !seen[path+" "+method+" "+status] {
					t.Errorf("%s %s: no reply was %s", method, path, status)
				}
			}
		}
	}
}

// TestPaths: what is described is served, and what is served is described.
func TestPaths(t *testing.T) {
	s := start(t, fake(atOnce), nil)
	for path := range describe(t).Paths {
		if got := do(s, request(s, "PUT", path, "")); got.Code != 405 {
			t.Errorf("PUT %s: %d", path, got.Code)
		}
	}
	if got := do(s, request(s, "GET", "/metrics", "")).Body.String(); strings.Count(got, `code="405"`) != len(
		describe(t).Paths) {
		t.Errorf("the server has other paths: %s", got)
	}
}

// TestMetrics reads the figures with Prometheus's own parser.
func TestMetrics(t *testing.T) {
	s := start(t, fake(atOnce), nil)
	do(s, request(s, "POST", "/v1/identify", rowsOf(3)+"{nonsense\n"))
	do(s, request(s, "POST", "/v1/identify", ""))
	got := do(s, request(s, "GET", "/metrics", ""))
	if kind := got.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("it is %s", kind)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			name = f.GetName()
		}
	}
	for name, want := range map[string]float64{
		"erreval_requests_total 200 /v1/identify": 1, "erreval_requests_total 400 /v1/identify": 1,
		"erreval_request_seconds /v1/identify": 2, "erreval_rows_total tagged": 3, "erreval_rows_total rejected": 1,
		"erreval_rows_total untagged": 0, "erreval_batch_rows": 3, "erreval_queue_rows": 0, "erreval_bodies_bytes": 0,
		"erreval_requests_in_flight": 1, "erreval_build_info " + questions(t).ID() + " test": 1,
	} {
		if v, ok := values[name]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, ok, want)
		}
	}
}

// TestDocs: the page says all that openapi.json does, needs nothing but its style sheet, and no token.
func TestDocs(t *testing.T) {
	s := start(t, fake(atOnce), nil)
	r := request(s, "GET", "/docs", "")
	r.Header.Del("Authorization")
	got := do(s, r)
	text := got.Body.String()
	if got.Code != 200 || got.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", got.Code, got.Header())
	}
	d := describe(t)
	for path, methods := range d.Paths {
		for method, o := range methods {
			want := fmt.Sprintf(`<span class="method">%s</span> <code>%s</code>`, method, path)
			if !strings.Contains(text, want) || !strings.Contains(text, "http://127.0.0.1:8321"+path+"</pre>") {
				t.Errorf("no %s %s", method, path)
			}
			for status := range o.Responses {
				if r, _, _ := d.find(path, method, status); !strings.Contains(text, template.HTMLEscapeString(r.Description)) {
					t.Errorf("%s %s %s: no %q", method, path, status, r.Description)
				}
			}
		}
	}
	for _, want := range []string{"?threshold=0.4", "?map=question=prediction", `<section id="TaggedLine">`,
		`<code>probabilities</code></dt>`, "object of number: Error type to probability.", "opened or opening or opened at the first call or failed",
		`<a href="#Rejection">Rejection</a>`, "list of <a href=\"#Row\">Row</a>", "&#34;question&#34;: &#34;Who wrote it?&#34;"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, bad := range []string{"<script", "style=", "<no value>", "%!", "map["} {
		if strings.Contains(text, bad) {
			t.Errorf("there is %q", bad)
		}
	}
	if got := do(s, request(s, "GET", "/docs.css", "")); got.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Error(got.Header())
	}
	if got := do(s, request(s, "POST", "/docs", "{}")); got.Code != 405 || !strings.Contains(got.Body.String(), `"error"`) {
		t.Error(got.Code, got.Body)
	}
}
