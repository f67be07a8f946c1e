package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// TestFindLicence reads model cards as the hub wants them.
func TestFindLicence(t *testing.T) {
	for name, c := range map[string]struct{ config, card, want string }{
		"a card":           {"{}", "---\nlicense: mit\n---\n# x\n", "mit"},
		"windows":          {"{}", "\ufeff---\r\nlanguage: en\r\nlicense: apache-2.0\r\n---\r\n# x\r\n", "apache-2.0"},
		"several":          {"{}", "---\nlicense:\n- mit\n- apache-2.0\n---\n", "mit or apache-2.0"},
		"one of its own":   {"{}", "---\nlicense: other\nlicense_name: research-only\n---\n", "research-only"},
		"config.json":      {`{"license": "bsd"}`, "---\nlicense: mit\n---\n", "bsd"},
		"nobody says":      {"{}", "---\nlanguage: en\n---\n", "unknown"},
		"in the text":      {"{}", "# x\nlicense: mit\n", "unknown"},
		"not closed":       {"{}", "---\nlicense: mit\n", "unknown"},
		"no YAML":          {"{}", "---\n\tlicense: {{mit\n---\n", "unknown"},
		"a number":         {"{}", "---\nlicense: 3\n---\n", "unknown"},
		"damaged config":   {"{", "", "unknown"},
		"nothing but this": {"", "", "unknown"},
	} {
		fsys := fstest.MapFS{"config.json": {Data: []byte(c.config)}, "README.md": {Data: []byte(c.card)}}
		if got := findLicence(fsys); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := findLicence(fstest.MapFS{}); got != "unknown" {
		t.Errorf("without files: %q", got)
	}
}

func FuzzFrontMatterLicence(f *testing.F) {
	f.Add([]byte("---\nlicense: mit\n---\n"))
	f.Add([]byte("---\nlicense: [mit, {a: b}, 3]\nlicense_name: &x [*x]\n---\n"))
	f.Fuzz(func(t *testing.T, card []byte) {
		if frontMatterLicence(card) == "" {
			t.Error("an empty licence")
		}
	})
}

// TestSamples: every field is filled whatever the task is, and one row is longer than the model can read.
func TestSamples(t *testing.T) {
	for _, name := range taxonomy.Builtins() {
		tax, err := taxonomy.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		rows := samples(tax.FieldNames(), 512)
		for i, row := range rows {
			if len(row) != len(tax.Fields) {
				t.Errorf("%s: row %d is %v", name, i, row)
			}
		}
		last := rows[len(rows)-1][tax.FieldNames()[len(tax.Fields)-1]]
		if words := len(strings.Fields(last)); len(rows) <= probeRows || words < 512 {
			t.Errorf("%s: %d rows, %d words in the longest", name, len(rows), words)
		}
	}
}

func TestCompareVerdicts(t *testing.T) {
	types := []string{"Vague", "Off Topic"}
	got := []verdict{{[]float32{1, -1}, []string{"Vague"}}, {[]float32{-1, -1}, []string{"No Error"}}}
	want := []verdict{{[]float32{1, 0.5}, []string{"Vague", "Off Topic"}}, {[]float32{-1.25, -1}, []string{"No Error"}}}
	if c := compareVerdicts(types, got, want); c.Rows != 2 || *c.FP32 != (precision{Decisions: 4, Flipped: 1, Shift: 1.5}) {
		t.Errorf("got %+v, %+v", c, c.FP32)
	}
	if c := compareVerdicts(types, got, nil); c != (selfCheck{Rows: 2}) {
		t.Errorf("got %+v", c)
	}
}

// TestImportIsInterrupted: exit code 130, and nothing is left but the folder of models.
func TestImportIsInterrupted(t *testing.T) {
	e, _, stderr := testEnv(t, nil, false)
	to := filepath.Join(t.TempDir(), "models", "mine")
	ctx, cancel := context.WithCancel(t.Context())
	inner := e.Err
	e.Err = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "checking it") {
			cancel()
		}
		return inner.Write(p)
	})
	code := execute(ctx, []string{"erreval", "models", "import", filepath.Join("testdata", "checkpoints", "bert"), "-o", to, "--precision", "int8"}, e)
	if left, err := os.ReadDir(filepath.Dir(to)); code != exit.Interrupted || err != nil || len(left) > 0 ||
		!strings.HasSuffix(stderr.String(), "error: interrupted before the model was ready\n") {
		t.Errorf("exit code %d, %v left, %v; %s", code, left, err, stderr)
	}
}

// TestProbesAreComparedOnce: the result is kept by model, library, device and processor; a cache that cannot be written
// costs nothing but time.
func TestProbesAreComparedOnce(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	for _, writable := range []bool{true, false} {
		e, _, _ := testEnv(t, nil, false)
		cache := filepath.Join(t.TempDir(), "cache")
		if !writable {
			cache = filepath.Join(tinyBERT, "manifest.json", "below")
		}
		inner := e.Getenv
		e.Getenv = func(name string) string {
			if name == "ERREVAL_CACHE" {
				return cache
			}
			return inner(name)
		}
		warned := 0
		open := func() {
			m, err := models.Open(tinyBERT, tax)
			if err != nil {
				t.Fatal(err)
			}
			m.Manifest.Probes[0].Logits[3] += 0.5
			_, runner, err := e.openIdentifier(t.Context(), m, tax, "cpu", "", identifier.DefaultOptions(), func(string, ...any) { warned++ })
			if err != nil {
				t.Fatal(err)
			}
			if err := runner.Close(); err != nil {
				t.Fatal(err)
			}
		}
		open()
		open()
		kept, err := filepath.Glob(filepath.Join(cache, "probes", "*.json"))
		if err != nil || (len(kept) == 1) != writable || warned != 2 {
			t.Errorf("writable %v: %d warnings, %q kept, %v", writable, warned, kept, err)
		}
	}
}

func TestPullProgress(t *testing.T) {
	for terminal, want := range map[bool]string{
		true:  "\r\x1b[Kweights: 5.0 MB of 20.0, 25 %\r\x1b[Kerreval: weights, 20.0 MB, is in the cache\nerreval: waiting\n",
		false: "erreval: weights, 20.0 MB, is in the cache\nerreval: waiting\n",
	} {
		e, _, stderr := testEnv(t, nil, terminal)
		p := newPullProgress(e, false)
		p.name, p.at, p.begun = "weights", 5e6, time.Now().Add(time.Hour) // no rate yet
		p.file("weights", 5e6, 20e6)
		p.file("weights", 6e6, 20e6) // too soon
		p.file("weights", 20e6, 20e6)
		p.file("weights", 20e6, 20e6) // said once
		p.notice("waiting")
		if got := stderr.String(); got != want {
			t.Errorf("terminal %v: got %q, want %q", terminal, got, want)
		}
	}
}

func TestHubCache(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"},
		{map[string]string{"HF_HOME": "/b", "HOME": "/c"}, "/b/hub"},
		{map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/c"}, "/x/huggingface/hub"},
		{map[string]string{"HOME": "/c"}, "/c/.cache/huggingface/hub"},
		{nil, ""},
	} {
		e := &env{Process: &run.Process{Getenv: func(name string) string { return c.env[name] }}}
		got, err := e.hubCache()
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: got %q, %v; want %q", c.env, got, err, c.want)
		}
	}
}
