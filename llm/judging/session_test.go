package judging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/vendor"
)

// twoModels are one at a vendor's own endpoint and one of the Messages API at url, with prices for the first and a
// journal in a folder of its own.
func twoModels(t *testing.T, url string) Options {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	src := sources(t)
	src.Names, src.File = "gpt,claude", write("erreval.yaml",
		"judges:\n  claude: {vendor: anthropic, model: claude-x, base_url: "+url+", key_env: TEAM_KEY}\n")
	src.Base.Endpoint.Headers = nil
	o := Options{Repeats: 1, Attempts: 3, Calls: true, Journal: filepath.Join(dir, "journal"),
		Prices: write("prices.yaml", "currency: EUR\ndate: 2026-01-02\nmodels:\n  gpt: {input: 1, output: 2}\n")}
	var err error
	if o.Models, o.Base, err = Read(*src); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return o
}

// question is a call that says a text to m.
func question(m *llm.Model, text string) *llm.Request {
	return m.Request([]llm.Message{{Role: llm.User, Content: text}}, nil, 0)
}

// TestSession: a model of another vendor is asked, its usage is counted, and the record says what its API did without.
func TestSession(t *testing.T) {
	server := llmtest.NewMessagesServer(llmtest.Always(llmtest.Text("Score: 3")))
	o := twoModels(t, server.Start(t))
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	claude := s.Models()[1]
	request := question(&claude, "Well?")
	reply, err := claude.Client.Complete(t.Context(), request)
	if err != nil || reply.Text != "Score: 3" || reply.Cached {
		t.Fatalf("%+v, %v", reply, err)
	}
	forecast := s.Forecast()
	for _, r := range []*llm.Request{request, question(&claude, "And now?")} {
		if err := forecast.Add("claude", r); err != nil {
			t.Fatal(err)
		}
	}
	if forecast.Calls != 2 || forecast.InJournal != 1 || forecast.Input != 2 || forecast.MaxOutput != 1000 ||
		forecast.MaxCost != nil {
		t.Errorf("%+v", forecast)
	}
	usage, err := s.Usage()
	if err != nil || usage.ThisRun.Calls != 1 || usage.ByJudge["claude"] != usage.ThisRun ||
		usage.ByJudge["gpt"] != (Used{}) ||
		usage.Prices["claude-x"] != nil || *usage.Prices["gpt"] != (journal.Price{Input: 1, Output: 2}) ||
		usage.Rejected["claude"] != "json_schema, seed" {
		t.Errorf("%+v, %v", usage, err)
	}
	data, err := json.Marshal(o.Record(runrecord.Reading{Columns: map[string]string{}, Limit: 7}, "judge@1.0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`{"judge":["gpt","claude"],"endpoint":"api.openai.com","azure_version":"2020-01-01","map":{},"limit":7,`,
		`"configured":{"claude":{"model":"claude-x","endpoint":"127.0.0.1:`, `"vendor":"anthropic","temperature":1,`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s\nlacks %s", data, part)
		}
	}
	if strings.Contains(string(data), "usual") || strings.Contains(string(data), `"team"`) {
		t.Errorf("a key is in %s", data)
	}
}

// TestOpen: without calls there need be no journal; one in another currency does not fit.
func TestOpen(t *testing.T) {
	o := twoModels(t, "https://m.example")
	o.Calls = false
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Open(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(o.Journal); err == nil {
		t.Error("there is a journal, though nothing is called")
	}

	o.Calls = true
	server := llmtest.NewMessagesServer(llmtest.Always(llmtest.Text("Score: 3")))
	o.Models[0].Vendor, o.Models[0].Endpoint = o.Models[1].Vendor, o.Models[1].Endpoint
	o.Models[0].Endpoint.BaseURL = server.Start(t)
	if s, err = New(o); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	gpt := s.Models()[0]
	if _, err := gpt.Client.Complete(t.Context(), question(&gpt, "Well?")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.Prices = "" // the built-in list is in USD
	if s, err = New(o); err != nil {
		t.Fatal(err)
	}
	err = s.Open()
	if _, ok := errors.AsType[*MismatchError](err); !ok || !strings.Contains(err.Error(),
		"its costs are in EUR, the price list is in USD") {
		t.Errorf("%v", err)
	}
	o.Journal, o.Prices = o.Models[1].File, ""
	if s, err = New(o); err != nil {
		t.Fatal(err)
	}
	err = s.Open()
	if _, ok := errors.AsType[*MismatchError](err); ok || err == nil {
		t.Errorf("a file that is no journal: %v", err)
	}
}

// TestNewFaults: what cannot be paid for or read is said before there is a journal.
func TestNewFaults(t *testing.T) {
	o := twoModels(t, "https://m.example")
	o.Budget.MaxCost = new(float64)
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "--max-cost: the price of claude-x is not known") {
		t.Errorf("%v", err)
	}
	o.Prices = filepath.Join(t.TempDir(), "none.yaml")
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "--prices: open ") {
		t.Errorf("%v", err)
	}
	o.Models[1] = o.Models[0]
	o.Models[1].Name = "twin"
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(),
		"judges gpt and twin are one model with the same settings") {
		t.Errorf("%v", err)
	}
}

// TestFinish: a call that has begun ends by itself, whatever becomes of the run.
func TestFinish(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	model := llmtest.NewFake(func(inner context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		cancel()
		if inner.Err() != nil {
			t.Errorf("the call ends with the run: %v", inner.Err())
		}
		return llmtest.Say("2")(inner, n, r)
	})
	reply, err := finishCalls(model).Complete(ctx, llmtest.Sample(0))
	if err != nil || reply.Text != "2" {
		t.Errorf("%v, %v", reply, err)
	}
}

// A version of the model that was asked is no other model.
func TestOtherModel(t *testing.T) {
	for _, c := range []struct {
		asked, name string
		other       bool
	}{
		{"gpt-4o-mini", "gpt-4o-mini-2024-07-18", false},
		{"gpt-4o", "gpt-4o-mini-2024-07-18", true},
		{"openai/gpt-4o", "GPT-4o", false},
		{"gpt-4o", "openai/gpt-4o", false},
		{"claude-sonnet-4-latest", "claude-sonnet-4-20250514", false},
		{"llama3.1", "llama3.1:8b", false},
		{"gpt-4o", "llama3.1", true},
		{"gpt-4o", "", false},
	} {
		if got := isOther(c.asked, c.name); got != c.other {
			t.Errorf("%s, asked for as %s: another model: %v", c.name, c.asked, got)
		}
	}
	said := 0
	one := &client{warn: func(string, ...any) { said++ }}
	for range 3 {
		for i := range 20 {
			one.warnOther("gpt-4o", fmt.Sprintf("other%d", i))
		}
	}
	if names := one.answered.list(); said != 1 || len(names) != maxAnswered {
		t.Errorf("it is said %d times, of %v", said, names)
	}
}

// A header that may hold a key goes to one host.
func TestHeaderGoesToOneHost(t *testing.T) {
	for _, c := range []struct {
		header string
		hosts  []string
		want   string
	}{
		{"X-Gateway", []string{"https://a/v1", "https://b/v1"}, "--header X-Gateway may hold a key, and would go to a and b"},
		{"X-Gateway", []string{"https://a/v1", "https://a/v2"}, ""},
		{"user-agent", []string{"https://a/v1", "https://b/v1"}, ""},
	} {
		o := Options{Base: Settings{Endpoint: vendor.Options{Headers: map[string]string{c.header: "value-of-it"}}}}
		for _, url := range c.hosts {
			o.Models = append(o.Models, Settings{Endpoint: vendor.Options{BaseURL: url}})
		}
		err := o.checkHeaders()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s to %v: %v", c.header, c.hosts, err)
		}
	}
}
