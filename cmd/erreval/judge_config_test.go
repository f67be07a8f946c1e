package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/openai"
)

const everyKey = `judges:
  mini:
    model: gpt-4o-mini
    base_url: https://x.example/v1
    azure_version: 2024-10-21
    key_env: TEAM_KEY
    headers: {x-team: red, x-run: 1}
    temperature: 0.5
    seed: 3
    reply_tokens: 200
    lines: true
    timeout: 30s
    rpm: 60
    tpm: 90000
    in_flight: 4
  plain: {}
`

// baseOf is what flags and environment say.
func baseOf() judgeSettings {
	return judgeSettings{Endpoint: openai.Options{BaseURL: "https://base.example/v1", Key: "usual", AzureVersion: "2020-01-01",
		Headers: map[string]string{"X-Run": "7"}, Timeout: time.Minute}, Limits: llm.LimitOptions{InFlight: 16}, Temperature: 1, Seed: 9, ReplyTokens: 1000}
}

func flags(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// TestConfigPrecedence: flags over the file over defaults, and nothing of an entry's endpoint goes to another address.
func TestConfigPrecedence(t *testing.T) {
	read := func(given ...string) judgeSettings {
		judges, err := parseConfig([]byte(everyKey), "f", baseOf(), flags(given...))
		if err != nil {
			t.Fatal(err)
		}
		plain := judges["plain"]
		if want := baseOf().Endpoint; plain.Endpoint.String() != want.String() || plain.Endpoint.Key != want.Key || plain.Endpoint.AzureVersion != want.AzureVersion || plain.Model != "plain" {
			t.Errorf("%v: an empty entry is %+v", given, plain)
		}
		return judges["mini"]
	}
	s := read()
	if s.Model != "gpt-4o-mini" || s.Temperature != 0.5 || s.Seed != 3 || s.ReplyTokens != 200 || !s.Lines ||
		s.Limits != (llm.LimitOptions{RPM: 60, TPM: 90000, InFlight: 4}) {
		t.Errorf("%+v", s)
	}
	if e := s.Endpoint; e.BaseURL != "https://x.example/v1" || e.AzureVersion != "2024-10-21" || s.KeyEnv != "TEAM_KEY" || e.Key != "" || e.Timeout != 30*time.Second ||
		!maps.Equal(e.Headers, map[string]string{"X-Team": "red", "X-Run": "7"}) {
		t.Errorf("%#v, %v", e.BaseURL, e.Headers)
	}
	s = read("temperature", "seed", "reply-tokens", "lines", "timeout", "rpm", "tpm", "in-flight", "azure-version")
	if s.Temperature != 1 || s.Seed != 9 || s.ReplyTokens != 1000 || s.Lines || s.Endpoint.Timeout != time.Minute ||
		s.Limits != baseOf().Limits || s.Endpoint.AzureVersion != "2020-01-01" || s.Endpoint.BaseURL != "https://x.example/v1" {
		t.Errorf("%+v", s)
	}
	s = read("base-url")
	if e := s.Endpoint; s.Address != "https://x.example/v1" || e.BaseURL != "https://base.example/v1" || e.Key != "usual" || s.KeyEnv != "" || e.AzureVersion != "2020-01-01" ||
		!maps.Equal(e.Headers, map[string]string{"X-Run": "7"}) || s.Temperature != 0.5 {
		t.Errorf("%+v", s)
	}
	own := strings.Replace(everyKey, "    azure_version: 2024-10-21\n    key_env: TEAM_KEY\n", "", 1)
	judges, err := parseConfig([]byte(own), "f", baseOf(), flags("azure-version"))
	if e := judges["mini"].Endpoint; err != nil || e.Key != "" || e.AzureVersion != "" {
		t.Errorf("the usual key, or Azure's style, at an address of its own: %v", err)
	}
}

// TestConfigInDocs: the example that people copy is read.
func TestConfigInDocs(t *testing.T) {
	page := contentOf(t, filepath.Join("..", "..", "docs", "scoring.md"))
	_, example, found := strings.Cut(page, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	judges, err := parseConfig([]byte(example), "scoring.md", baseOf(), flags())
	if !found || err != nil || judges["team"].KeyEnv != "TEAM_KEY" || judges["local"].Endpoint.BaseURL != "http://localhost:11434/v1" {
		t.Errorf("%v, %+v", err, judges)
	}
}

func TestConfigFaults(t *testing.T) {
	for file, want := range map[string]string{
		"":                      "f:1: the file is empty",
		"judges: [":             "f:1: not YAML: did not find expected node content",
		"judges: {}\n---\na: 1": "f:2: a second document; a file holds one configuration",
		"judge: {}": `f:1: unknown key "judge" in a configuration; it may have judges` + "\n" +
			`f:1: a configuration needs the key "judges"`,
		"judges: [a]":                                 "f:1: judges must be a mapping of names",
		"judges:\n  a: gpt":                           `f:2: judge "a" must be a mapping with the keys model, base_url, azure_version, key_env, headers, temperature, seed, reply_tokens, lines, timeout, rpm, tpm, in_flight`,
		"judges:\n  'a,b': {}":                        `f:2: judge "a,b": --judge cannot name it, for the comma or space in its name`,
		"judges:\n  a: {}\n  a: {}":                   `f:3: key "a" is given twice (first on line 2)`,
		"judges:\n  a:\n    key: sk-1":                `f:3: unknown key "key" in judge "a"; it may have model, base_url, azure_version, key_env, headers, temperature, seed, reply_tokens, lines, timeout, rpm, tpm, in_flight`,
		"judges:\n  a:\n    key_env: sk-secret":       "f:3: key_env: the name of an environment variable is expected, in capital letters such as MY_KEY; a key itself does not belong in the file",
		"judges:\n  a:\n    headers: {api-key: sk-1}": "f:3: header api-key: a key does not belong in the file: name the environment variable that holds it with key_env, or give --header",
		"judges:\n  a:\n    headers: {'x y': z}":      `f:3: header "x y": its name or value cannot be sent`,
		"judges:\n  a:\n    model: ''":                "f:3: model: the text is missing",
		"judges:\n  a:\n    base_url: x.example":      `f:3: base_url: endpoint: base URL "x.example": it has to start with https:// or http:// and a host`,
		"judges:\n  a: {temperature: 3, seed: x}":     "f:2: temperature: a number of 0 to 2 is expected, not \"3\"\nf:2: seed: a whole number is expected, not \"x\"",
		"judges:\n  a: {reply_tokens: 0, rpm: -1}":    "f:2: reply_tokens: 1 or more is expected, not 0\nf:2: rpm: 0 or more is expected, not -1",
		"judges:\n  a: {in_flight: 0, timeout: 30}":   "f:2: in_flight: 1 or more is expected, not 0\nf:2: timeout: a time such as 30s or 2m is expected, not \"30\"",
		"judges:\n  a: {lines: maybe}":                `f:2: lines: true or false is expected, not "maybe"`,
	} {
		for _, given := range []func(string) bool{flags(), flags("temperature", "seed", "reply-tokens", "rpm", "in-flight", "timeout", "lines", "base-url")} {
			if _, err := parseConfig([]byte(file), "f", baseOf(), given); err == nil || err.Error() != want {
				t.Errorf("%q:\ngot  %v\nwant %s", file, err, want)
			}
		}
	}
}

// FuzzConfig: whatever the file says, either every fault has a place and none repeats a key, or the judges can be seated.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(everyKey), true)
	f.Add([]byte("judges:\n  a: &x {timeout: 1h, seed: 0x10}\n  b: *x\n"), false)
	f.Add([]byte("judges: {a: {headers: {Cookie: x}, key_env: A, base_url: 'http://h'}}"), false)
	f.Fuzz(func(t *testing.T, data []byte, given bool) {
		judges, err := parseConfig(data, "f", baseOf(), func(string) bool { return given })
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("a fault without a place: %v", err)
			}
			return
		}
		for name, s := range judges {
			if err := s.validate(false); err != nil || s.Name != name || s.Model == "" || !s.own() {
				t.Errorf("%q: %v: %+v", name, err, s)
			}
			if s.Endpoint.BaseURL != baseOf().Endpoint.BaseURL && s.Endpoint.Key != "" {
				t.Errorf("the usual key goes to %s", s.Endpoint.BaseURL)
			}
		}
	})
}
