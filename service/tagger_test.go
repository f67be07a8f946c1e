package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/taxonomy"
)

const responses = "?taxonomy=instruction-following"

// forResponses is a task of responses, with the tiny model under labels and fields of theirs. It counts its openings.
func forResponses(t *testing.T, r identifier.Runner, opened *atomic.Int64) Task {
	t.Helper()
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	m := tiny(t)
	f := &m.Manifest
	f.Name, f.Taxonomy, f.Labels, f.Fields = "tiny-responses", task.ID(), task.Labels(), task.FieldNames()
	f.Segments, f.Probes, f.Thresholds = nil, nil, map[string]float64{}
	for _, label := range f.Labels {
		f.Thresholds[label] = 0.5
	}
	return Task{Taxonomy: task, Open: func(_ context.Context, ran func(int)) (*Model, error) {
		opened.Add(1)
		id, err := identifier.New(m, task, r, identifier.Options{Workers: 2, Window: 8, Ran: ran})
		return &Model{Identifier: id, Manifest: f, SHA256: m.SHA256, Device: "cpu", Workers: 2,
			Close: func() error { return nil }}, err
	}}
}

// both are rows that either taxonomy reads.
func both(n int) string {
	return strings.ReplaceAll(rowsOf(n), `"question"`, `"instruction":"Name them.","response":"Oke did.","question"`)
}

// TestTaxonomies: a request is answered by the model, the labels and the fields of the taxonomy that it names. The model
// is opened at its first request, and stays open.
func TestTaxonomies(t *testing.T) {
	var opened atomic.Int64
	s := start(t, fake(atOnce), func(o *Options) {
		o.Reading.Map = map[string]string{"question": "response"}
		o.Others = []Task{forResponses(t, fake(atOnce), &opened)}
	})
	first := do(s, request(s, "POST", "/v1/identify", both(1))).Body.String()
	if opened.Load() != 0 || !strings.Contains(first, `"model":"tiny-bert@1"`) {
		t.Errorf("%d openings before a request; the first model says %s", opened.Load(), first)
	}
	for _, c := range []struct{ method, path, body, says string }{
		{"POST", "/v1/identify" + responses, both(1), `"labels":["Request Following",`},
		{"POST", "/v1/identify" + responses + "&threshold=Fluency=0.4&threshold=0.6", both(1), `"labels":["Fluency"]`},
		{"POST", "/v1/identify" + responses + "&map=response=passage", both(1), `"model":"tiny-responses@1"`},
		{"POST", "/v1/identify?taxonomy=question-generation", both(1), `"model":"tiny-bert@1"`},
		{"POST", "/v1/score" + responses, first, "was tagged with the taxonomy question-generation@"},
		{"POST", "/v1/score", first, `"scores":{"fluency":{"value":`},
		{"GET", "/v1/model" + responses, "", `"model":"tiny-responses@1"`},
		{"GET", "/v1/model", "", `"model":"tiny-bert@1"`},
		{"GET", "/v1/taxonomy" + responses, "", `"name":"instruction-following"`},
	} {
		got := do(s, request(s, c.method, c.path, c.body))
		if got.Code != 200 || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s: %d %s, want %s", c.path, got.Code, got.Body, c.says)
		}
	}
	tagged := do(s, request(s, "POST", "/v1/identify"+responses, both(1))).Body.String()
	got := do(s, request(s, "POST", "/v1/score"+responses, tagged)).Body.String()
	if !strings.Contains(got, `"scores":{`) || strings.Contains(got, `"status"`) {
		t.Errorf("scores of a response: %s", got)
	}
	if opened.Load() != 1 {
		t.Errorf("the second model was opened %d times", opened.Load())
	}
}

// TestOtherTaxonomies: what a request may not name is refused before its body is read; a model that fails is not the
// first's.
func TestOtherTaxonomies(t *testing.T) {
	broken := forResponses(t, fake(atOnce), &atomic.Int64{})
	broken.Open = func(context.Context, func(int)) (*Model, error) { return nil, errors.New("no library") }
	s := start(t, fake(atOnce), func(o *Options) { o.Others = []Task{broken} })
	for query, says := range map[string]string{
		"?taxonomy=response": `a taxonomy \"response\"; it has for question-generation, instruction-following`,
		"?taxonomy=":         `a taxonomy \"\"; it has for`,
		"?taxonomy=question-generation&taxonomy=instruction-following": "2 taxonomies; name one a request",
	} {
		for path, method := range map[string]string{"/v1/identify": "POST", "/v1/score": "POST", "/v1/model": "GET",
			"/v1/taxonomy": "GET"} {
			if got := do(s, request(s, method, path+query, "")); got.Code != 400 || !strings.Contains(got.Body.String(), says) {
				t.Errorf("%s%s: %d %s, want %s", path, query, got.Code, got.Body, says)
			}
		}
	}
	if got := do(s, request(s, "POST", "/v1/identify"+responses, both(1))); got.Code != 503 {
		t.Errorf("a model that does not open: %d %s", got.Code, got.Body)
	}
	var health struct{ Ready bool }
	got := do(s, request(s, "GET", "/healthz", ""))
	if err := json.Unmarshal(got.Body.Bytes(), &health); err != nil || !health.Ready {
		t.Errorf("health of the first: %d %s", got.Code, got.Body)
	}
}

// TestTaxonomiesAtOnce: requests for two taxonomies at the same time get what each gets alone.
func TestTaxonomiesAtOnce(t *testing.T) {
	m := tiny(t)
	runner := orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output)
	var opened atomic.Int64
	s := start(t, runner, func(o *Options) { o.Others = []Task{forResponses(t, runner, &opened)} })
	paths := []string{"/v1/identify", "/v1/identify" + responses}
	replies := map[string][]<-chan *httptest.ResponseRecorder{}
	for range 8 {
		for _, path := range paths {
			replies[path] = append(replies[path], async(s, request(s, "POST", path, both(20))))
		}
	}
	for _, path := range paths {
		alone := do(s, request(s, "POST", path, both(20))).Body.String()
		for _, reply := range replies[path] {
			if got := <-reply; got.Code != 200 || got.Body.String() != alone {
				t.Errorf("%s: %d %.300s, want %.300s", path, got.Code, got.Body, alone)
			}
		}
		if strings.Contains(alone, `"model":"tiny-responses@1"`) != (path == paths[1]) {
			t.Errorf("%s was answered by another model: %.300s", path, alone)
		}
	}
	if opened.Load() != 1 {
		t.Errorf("the second model was opened %d times", opened.Load())
	}
}

// TestQueueOfAll: the figure of rows that wait is that of all models.
func TestQueueOfAll(t *testing.T) {
	g := newGate()
	s := start(t, g, func(o *Options) { o.Others = []Task{forResponses(t, g, &atomic.Int64{})} })
	var replies []<-chan *httptest.ResponseRecorder
	for _, path := range []string{"/v1/identify", "/v1/identify" + responses} {
		replies = append(replies, async(s, request(s, "POST", path, both(40))))
	}
	for s.queued() <= 40 { // which neither has alone
		do(s, request(s, "GET", "/healthz", ""))
	}
	close(g.release)
	for _, reply := range replies {
		if got := <-reply; got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
}
