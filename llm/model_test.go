package llm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
)

func TestModelRequest(t *testing.T) {
	temperature, seed := 0.5, int64(7)
	m := llm.Model{Name: "m", Model: "m-1", Temperature: &temperature, Seed: &seed, MaxTokens: 33}
	said, schema := []llm.Message{{Role: llm.User, Content: "Well?"}}, &llm.Schema{Name: "verdict"}
	r := m.Request(said, schema, 2)
	if r.Model != "m-1" || *r.Temperature != 0.5 || *r.Seed != 9 || r.MaxTokens != 33 || r.Repeat != 2 ||
		r.Schema != schema || len(r.Messages) != 1 {
		t.Errorf("%+v", r)
	}
	m.Lines, m.Seed = true, nil
	if r = m.Request(said, schema, 2); r.Schema != nil || r.Seed != nil {
		t.Errorf("asked for lines, without a seed: %+v", r)
	}
}

func TestModelValidate(t *testing.T) {
	var c llm.ClientFunc = func(context.Context, *llm.Request) (*llm.Reply, error) { return nil, nil }
	good := llm.Model{Name: "m", Model: "m-1", Client: c, MaxTokens: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	nameless, nobody, mute := good, good, good
	nameless.Name, nobody.Client, mute.MaxTokens = "", nil, 0
	for want, m := range map[string]llm.Model{"has no name": nameless, "judge m has no model or no client": nobody,
		"judge m: 0 tokens": mute} {
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
