package judging

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/erreval/erreval/llm"
	_ "github.com/erreval/erreval/llm/anthropic"
	_ "github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/llm/vendor"
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

// vendorOf is a vendor that is registered.
func vendorOf(t testing.TB, name string) *vendor.Vendor {
	t.Helper()
	v, err := vendor.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sources are flags of which some are given, and an environment with the usual keys.
func sources(t testing.TB, given ...string) *Sources {
	return &Sources{
		Base: Settings{Vendor: vendorOf(t, ""), Endpoint: vendor.Options{AzureVersion: "2020-01-01",
			Headers: map[string]string{"X-Run": "7"}, Timeout: time.Minute},
			Limits: llm.LimitOptions{InFlight: 16}, Temperature: 1, Seed: 9, ReplyTokens: 1000},
		Given: func(name string) bool { return slices.Contains(given, name) },
		BaseURL: func(*vendor.Vendor) string {
			if slices.Contains(given, "base-url") {
				return "https://base.example/v1/"
			}
			return ""
		},
		Getenv: func(name string) string {
			return map[string]string{"OPENAI_API_KEY": "usual", "ANTHROPIC_API_KEY": "usual-anthropic", "TEAM_KEY": "team"}[name]
		},
		Warn: func(format string, args ...any) { t.Errorf(format, args...) },
	}
}

// TestConfigPrecedence: flags over the file over defaults, and nothing of an entry's endpoint goes to another address.
func TestConfigPrecedence(t *testing.T) {
	read := func(given ...string) Settings {
		src := sources(t, given...)
		judges, err := src.parseConfig([]byte(everyKey), "f")
		if err != nil {
			t.Fatal(err)
		}
		plain, want := judges["plain"], src.base(src.Base.Vendor).Endpoint
		if plain.Endpoint.BaseURL != want.BaseURL || plain.Endpoint.Key != "usual" ||
			plain.Endpoint.AzureVersion != "2020-01-01" || plain.Model != "plain" {
			t.Errorf("%v: an empty entry is %+v", given, plain)
		}
		return judges["mini"]
	}
	s := read()
	if s.Model != "gpt-4o-mini" || s.Temperature != 0.5 || s.Seed != 3 || s.ReplyTokens != 200 || !s.Lines ||
		s.Limits != (llm.LimitOptions{RPM: 60, TPM: 90000, InFlight: 4}) {
		t.Errorf("%+v", s)
	}
	if e := s.Endpoint; e.BaseURL != "https://x.example/v1" || e.AzureVersion != "2024-10-21" ||
		s.KeyEnv != "TEAM_KEY" || e.Key != "" || e.Timeout != 30*time.Second ||
		!maps.Equal(e.Headers, map[string]string{"X-Team": "red", "X-Run": "7"}) {
		t.Errorf("%#v, %v", e.BaseURL, e.Headers)
	}
	s = read("temperature", "seed", "reply-tokens", "lines", "timeout", "rpm", "tpm", "in-flight", "azure-version")
	if s.Temperature != 1 || s.Seed != 9 || s.ReplyTokens != 1000 || s.Lines || s.Endpoint.Timeout != time.Minute ||
		s.Limits != (llm.LimitOptions{InFlight: 16}) || s.Endpoint.AzureVersion != "2020-01-01" ||
		s.Endpoint.BaseURL != "https://x.example/v1" {
		t.Errorf("%+v", s)
	}
	s = read("base-url")
	if e := s.Endpoint; s.address != "https://x.example/v1" || e.BaseURL != "https://base.example/v1" ||
		e.Key != "usual" || s.KeyEnv != "" || e.AzureVersion != "2020-01-01" ||
		!maps.Equal(e.Headers, map[string]string{"X-Run": "7"}) || s.Temperature != 0.5 {
		t.Errorf("%+v", s)
	}
	own := strings.Replace(everyKey, "    azure_version: 2024-10-21\n    key_env: TEAM_KEY\n", "", 1)
	judges, err := sources(t, "azure-version").parseConfig([]byte(own), "f")
	if e := judges["mini"].Endpoint; err != nil || e.Key != "" || e.AzureVersion != "" {
		t.Errorf("the usual key, or Azure's style, at an address of its own: %v", err)
	}
}

// TestConfigInDocs: the example that people copy is read.
func TestConfigInDocs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "scoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	_, example, found := strings.Cut(page, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	judges, err := sources(t).parseConfig([]byte(example), "scoring.md")
	if !found || err != nil || judges["team"].KeyEnv != "TEAM_KEY" ||
		judges["local"].Endpoint.BaseURL != "http://localhost:11434/v1" ||
		judges["claude"].Vendor != vendorOf(t, "anthropic") {
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
		"judges: [a]":                  "f:1: judges must be a mapping of names",
		"judges:\n  a: gpt":            `f:2: judge "a" must be a mapping with the keys model, base_url, azure_version, key_env, headers, temperature, seed, reply_tokens, lines, timeout, rpm, tpm, in_flight, vendor`,
		"judges:\n  'a,b': {}":         `f:2: judge "a,b": --judge cannot name it, for the comma or space in its name`,
		"judges:\n  a: {}\n  a: {}":    `f:3: key "a" is given twice (first on line 2)`,
		"judges:\n  a:\n    key: sk-1": `f:3: unknown key "key" in judge "a"; it may have model, base_url, azure_version, key_env, headers, temperature, seed, reply_tokens, lines, timeout, rpm, tpm, in_flight, vendor`,
		"judges:\n  a:\n    key_env: sk-secret": "f:3: key_env: the name of an " +
			"environment variable is expected, in capital letters such as MY_KEY; a key itself does not belong in the file",
		"judges:\n  a:\n    headers: {api-key: sk-1}": "f:3: header api-key: a key does not " +
			"belong in the file: name the environment variable that holds it with key_env, or give --header",
		"judges:\n  a:\n    headers: {'x y': z}": `f:3: header "x y": its name or value cannot be sent`,
		"judges:\n  a:\n    model: ''":           "f:3: model: the text is missing",
		"judges:\n  a:\n    base_url: x.example": `f:3: base_url: endpoint: base URL "x.example": it has to start with https:// or http:// and a host`,
		"judges:\n  a: {temperature: 3, seed: x}": "f:2: temperature: a number of 0 to 2 " +
			"is expected, not \"3\"\nf:2: seed: a whole number is expected, not \"x\"",
		"judges:\n  a: {reply_tokens: 0, rpm: -1}": "f:2: reply_tokens: 1 or more is " +
			"expected, not 0\nf:2: rpm: 0 or more is expected, not -1",
		"judges:\n  a: {in_flight: 0, timeout: 30}": "f:2: in_flight: 1 or more is " +
			"expected, not 0\nf:2: timeout: a time such as 30s or 2m is expected, not \"30\"",
		"judges:\n  a: {vendor: none}": `f:2: vendor "none" is not known; there are: openai, anthropic`,
		"judges:\n  a: {vendor: [anthropic]}": "f:2: vendor: a text is expected, not " +
			"a list, mapping or alias",
		"judges:\n  a:\n    base_url: https://h/v1/messages\n    vendor: anthropic": `f:3: base_url: endpoint: base URL "https://h/v1/messages": leave out /v1/messages`,
		"judges:\n  a: {azure_version: '1', vendor: anthropic}":                     `f:2: azure_version: endpoint: the Messages API has no azure_version: leave it out`,
		"judges:\n  a: {lines: maybe}":                                              `f:2: lines: true or false is expected, not "maybe"`,
	} {
		for _, given := range [][]string{nil, {"temperature", "seed", "reply-tokens", "rpm", "in-flight", "timeout",
			"lines", "base-url", "vendor"}} {
			if _, err := sources(t, given...).parseConfig([]byte(file), "f"); err == nil || err.Error() != want {
				t.Errorf("%q:\ngot  %v\nwant %s", file, err, want)
			}
		}
	}
}

// TestVendors: a vendor's own address and key, unless flags, environment or the entry say otherwise; and nothing of
// one vendor's endpoint goes to another's.
func TestVendors(t *testing.T) {
	const file = `judges:
  claude: {vendor: anthropic, model: claude-x}
  gateway: {vendor: anthropic, base_url: https://g.example, key_env: TEAM_KEY, headers: {x-team: red}}
  gpt: {}
`
	for _, c := range []struct {
		flag  string // of --vendor; "" is none
		given []string
		name  string
		want  string // vendor, address, key, Azure's version, number of headers
		moved string
	}{
		{"", nil, "claude", "anthropic https://api.anthropic.com usual-anthropic  1", ""},
		{"", nil, "gateway", "anthropic https://g.example   2", ""},
		{"", nil, "gpt", "openai https://api.openai.com/v1 usual 2020-01-01 1", ""},
		{"anthropic", nil, "claude", "anthropic https://api.anthropic.com usual-anthropic 2020-01-01 1", ""},
		{"anthropic", nil, "gpt", "anthropic https://api.anthropic.com usual-anthropic 2020-01-01 1",
			"by the API of --vendor anthropic, not by that of its vendor"},
		{"openai", nil, "gateway", "openai https://api.openai.com/v1 usual 2020-01-01 1",
			"by the API of --vendor openai, not by that of its vendor"},
		{"openai", []string{"base-url"}, "gateway", "openai https://base.example/v1 usual 2020-01-01 1",
			"by the API of --vendor openai, not by that of its vendor"},
		{"", []string{"base-url"}, "gateway", "anthropic https://base.example/v1 usual-anthropic  1",
			"at the address of --base-url or ANTHROPIC_BASE_URL, not at its base_url"},
	} {
		given := c.given
		if c.flag != "" {
			given = append([]string{"vendor"}, given...)
		}
		src := sources(t, given...)
		src.Base.Vendor = vendorOf(t, c.flag)
		judges, err := src.parseConfig([]byte(file), "f")
		if err != nil {
			t.Fatal(err)
		}
		s := judges[c.name]
		got := fmt.Sprintf("%s %s %s %s %d", s.Vendor.Name, s.Endpoint.BaseURL, s.Endpoint.Key, s.Endpoint.AzureVersion,
			len(s.Endpoint.Headers))
		if got != c.want || s.moved != c.moved {
			t.Errorf("%+v: got %q, moved %q", c, got, s.moved)
		}
	}
}

// TestRead: a name without an entry is a model of the flags' vendor, and who is asked elsewhere than the file says is
// told.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "judges.yaml")
	if err := os.WriteFile(file, []byte("judges:\n  team: {base_url: https://t.example/v1, key_env: TEAM_KEY}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	src := sources(t)
	src.File, src.Names = file, " team, gpt"
	models, base, err := Read(*src)
	if err != nil || len(models) != 2 {
		t.Fatalf("%v, %v", models, err)
	}
	if team, gpt := models[0], models[1]; !team.Configured() || team.Endpoint.Key != "team" || gpt.Configured() ||
		gpt.Model != "gpt" || gpt.Endpoint.Key != "usual" ||
		!slices.Equal(gpt.others, []string{"team"}) || base.Endpoint.BaseURL != "https://api.openai.com/v1" {
		t.Errorf("%+v, base %+v", models, base)
	}
	src = sources(t, "base-url")
	var warned string
	src.File, src.Names, src.Warn = file, "team", func(format string, args ...any) {
		warned = fmt.Sprintf(format,
			args...)
	}
	if _, _, err := Read(*src); err != nil ||
		warned != "judge team is asked at the address of --base-url or OPENAI_BASE_URL, not at its base_url in "+file {
		t.Errorf("%v, warned %q", err, warned)
	}
	for names, want := range map[string]string{"a,,b": `--judge "a,,b": a name is missing beside a comma`,
		"": "a name is missing"} {
		src := sources(t)
		src.Names = names
		if _, _, err := Read(*src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", names, err)
		}
	}
}

// FuzzConfig: whatever the file says, either every fault has a place and none repeats a key, or the judges can be
// asked.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(everyKey), true)
	f.Add([]byte("judges:\n  a: &x {timeout: 1h, seed: 0x10}\n  b: *x\n"), false)
	f.Add([]byte("judges: {a: {vendor: anthropic, azure_version: x}}"), false)
	f.Add([]byte("judges: {a: {headers: {Cookie: x}, key_env: A, base_url: 'http://h'}}"), false)
	f.Fuzz(func(t *testing.T, data []byte, given bool) {
		src := sources(t)
		src.Given = func(string) bool { return given }
		judges, err := src.parseConfig(data, "f")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("a fault without a place: %v", err)
			}
			return
		}
		for name, s := range judges {
			if err := s.validate(false); err != nil || s.Name != name || s.Model == "" || !s.Configured() {
				t.Errorf("%q: %v: %+v", name, err, s)
			}
			if s.Endpoint.BaseURL != s.Vendor.BaseURL && s.Endpoint.Key != "" {
				t.Errorf("the usual key goes to %s", s.Endpoint.BaseURL)
			}
		}
	})
}

// TestFolderIsNotTrusted: what lies in the current folder is used only as the user has seen it, the user's own
// configuration and a file given by name always; an entry takes the place of the user's as a whole.
func TestFolderIsNotTrusted(t *testing.T) {
	own := filepath.Join(t.TempDir(), "config.yaml")
	t.Chdir(t.TempDir())
	const theirs = "judges:\n  both: {base_url: https://thief.example}\n  theirs: {key_env: AWS_SECRET_ACCESS_KEY}\n"
	for file, text := range map[string]string{
		own:        "judges:\n  both: {base_url: https://own.example, key_env: TEAM_KEY}\n  own: {model: mine}\n",
		ConfigFile: theirs,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusting := func(file string, data []byte) (bool, error) { return file == ConfigFile && string(data) == theirs, nil }
	for _, c := range []struct {
		file    string
		trusted func(string, []byte) (bool, error)
		want    string
	}{
		{"", nil, "erreval.yaml in this folder says where texts and keys are sent, and is not trusted as it is: read it, " +
			"then type: erreval trust .\nor name a configuration of your own with --config FILE"},
		{"", func(string, []byte) (bool, error) { return false, os.ErrPermission }, os.ErrPermission.Error()},
		{"", trusting, "https://thief.example  mine"},
		{ConfigFile, nil, "https://thief.example  mine"},
		{own, nil, "https://own.example team mine"},
	} {
		src := sources(t)
		src.Names, src.File, src.UserFile, src.Trusted = "both,own", c.file, own, c.trusted
		models, _, err := Read(*src)
		got := fmt.Sprint(err)
		if err == nil {
			got = models[0].Endpoint.BaseURL + " " + models[0].Endpoint.Key + " " + models[1].Model
		}
		if got != c.want {
			t.Errorf("%q: got %s\nwant %s", c.file, got, c.want)
		}
	}
}
