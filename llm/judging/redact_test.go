package judging

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/vendor"
)

// TestRedact: no key of any model stays in a reply, however JSON or an address spells it; ordinary words stay.
func TestRedact(t *testing.T) {
	o := Options{Models: []Settings{
		{Endpoint: vendor.Options{Key: `sk/0123"456`, Headers: map[string]string{"Authorization": "Bearer tok-0123456789",
			"X-Team": "quality-assurance"}, Published: []string{"X-Team"}}},
		{Endpoint: vendor.Options{Key: "sk/0123"}}, // shorter than keys are
		{Endpoint: vendor.Options{Key: "0123456789"}},
	}}
	for text, want := range map[string]string{
		`my key is sk/0123"456.`:       "my key is [key].",
		`{"why": "sk/0123\"456"}`:      `{"why": "[key]"}`,
		`{"why": "sk\/0123\"456"}`:     `{"why": "[key]"}`,
		"https://h?k=sk%2F0123%22456":  "https://h?k=[key]",
		"Bearer tok-0123456789":        "[key]",
		"tok-0123456789 01234567890":   "[key] [key]0",
		"quality-assurance of sk/0123": "quality-assurance of sk/0123",
	} {
		reply := &llm.Reply{Text: text, Finish: text, Model: text, Usage: llm.Usage{Input: 1, Output: 2}}
		c := o.redactKeys(llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
			return reply, nil
		}))
		got, err := c.Complete(t.Context(), nil)
		if err != nil || *got != (llm.Reply{Text: want, Finish: want, Model: want, Usage: reply.Usage}) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

// TestEchoedKey: an endpoint that replies with the key puts it neither into what callers get nor into the journal.
func TestEchoedKey(t *testing.T) {
	const key = "team-0123456789abcdef"
	server := llmtest.NewMessagesServer(llmtest.Always(llmtest.Text("The key is " + key)))
	o := twoModels(t, server.Start(t))
	o.Models[1].Endpoint.Key = key
	s, err := New(o)
	if err == nil {
		err = s.Open()
	}
	if err != nil {
		t.Fatal(err)
	}
	model := s.Models()[1]
	for range 2 { // the second time out of the journal
		if reply, err := model.Client.Complete(t.Context(), question(&model, "?")); err != nil ||
			reply.Text != "The key is [key]" {
			t.Errorf("%+v, %v", reply, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.Journal)
	if err != nil || strings.Contains(string(data), key) || !strings.Contains(string(data), "[key]") {
		t.Errorf("the journal holds the key: %v", err)
	}
}

// FuzzRedact: no key stays, wherever it stands and however it is spelt, and what holds none is as it was.
func FuzzRedact(f *testing.F) {
	f.Add("the key is ", `sk/0123"456`, " and more")
	f.Add(`{"why": "`, "0123456701234567", `01234567"}`)
	f.Add("", "ключ-0123", "\xff")
	f.Fuzz(func(t *testing.T, before, key, after string) {
		if len(key) < shortestKey || strings.ContainsAny(key, "[]") {
			return // an ordinary word, or one that the mark could make
		}
		o := Options{Models: []Settings{{Endpoint: vendor.Options{Key: key}}}}
		clean := o.keyReplacer().Replace
		quoted, _ := json.Marshal(key)
		for _, form := range []string{key, strings.Trim(string(quoted), `"`), url.QueryEscape(key), url.PathEscape(key)} {
			got := clean(before + form + after)
			if strings.Contains(got, form) {
				t.Fatalf("%q stays in %q", form, got)
			}
		}
		if got := clean(before); got != before && !strings.Contains(got, "[key]") {
			t.Fatalf("%q became %q", before, got)
		}
	})
}
