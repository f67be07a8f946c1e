package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/llm/llmtest"
)

// hostile is what a terminal would execute: it resets the terminal, clears the screen, and turns what follows around.
// It holds nothing that a taxonomy refuses in names.
const hostile = "x\x1bc\x1b[2J\u202e\u2066\u009b2J\b\x07\x7fy"

// ownControls are what erreval itself writes to a terminal: colours in show, and the line of progress.
var ownControls = regexp.MustCompile(`\x1b\[(1|2|1;31|32|33|30;43|0)m|\r\x1b\[K`)

// writeHostile makes files of a stranger, whose name, ids, columns, labels and names are hostile, and gives their
// paths.
func writeHostile(t *testing.T) (rows, model string) {
	t.Helper()
	dir := t.TempDir()
	write := func(path string, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	row := func(id string) string {
		line, err := json.Marshal(map[string]any{"id": id, "passage": hostile, "answer": hostile, "question": hostile,
			"system": hostile, hostile: hostile, "labels": []string{"Vague"}, "diagnosis": map[string]any{
				"labels": []string{"Vague"}, "model": hostile, "taxonomy": "question-generation@1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		return string(line) + "\n"
	}
	rows = filepath.Join(dir, hostile+".jsonl")
	write(rows, []byte(row(hostile)+row(hostile)+"{\""+hostile+"\n")) // an id twice, and a line that is no row
	tiny := filepath.Join("..", "..", "identifier", "testdata", "bert")
	model = filepath.Join(dir, hostile)
	if err := os.CopyFS(model, os.DirFS(tiny)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(model, "manifest.json")
	var fields map[string]any
	data, err := os.ReadFile(manifest)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	fields["name"], fields["licence"] = hostile, hostile
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	write(manifest, data)
	write(filepath.Join(model, "erreval.yaml"), []byte("judges: {\"x\\e[2Jy\": {model: \"x\\e[2Jy\"}}\n"))
	mark, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(model, "task.jsonl"), []byte(`{"passage": "p", `+string(mark)+`: "q"}`))
	write(filepath.Join(model, "task.yaml"), []byte(strings.ReplaceAll(hostileTask, "NAME",
		strconv.QuoteToASCII(hostile))))
	return rows, model
}

const hostileTask = `name: NAME
version: "1.0"
title: NAME
fields: [{name: NAME, definition: NAME}, {name: passage, definition: NAME, group: true}]
types:
  - {name: NAME, code: V, category: NAME, definition: NAME}
  - {name: No Error, code: OK, category: None, definition: NAME, no_error: true}
`

// TestHostileTexts: nothing of others' texts reaches a terminal raw: names of files, ids, columns, labels, names in a
// manifest, what an endpoint says, and what the command line says itself.
func TestHostileTexts(t *testing.T) {
	rows, model := writeHostile(t)
	task, untagged := filepath.Join(model, "task.yaml"), filepath.Join(model, "task.jsonl")
	out := filepath.Join(t.TempDir(), hostile+".out.jsonl")
	judge := llmtest.NewServer(llmtest.Always(llmtest.Fail(http.StatusUnauthorized, hostile, "no: "+hostile))).Start(t)
	environment := map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "ERREVAL_CACHE": t.TempDir(),
		nativelib.EnvVar: orttest.Library(t)}
	for _, line := range [][]string{
		{"show", rows}, {"show", rows, "--color", "always"}, {"show", rows, "--json"},
		{"show", rows, "--where", hostile + "=" + hostile}, {"show", rows, "--label", hostile}, {"show", rows + "no"},
		{"stats", rows}, {"stats", rows, "--by", hostile}, {"stats", rows, "--json"},
		{"diff", rows, rows}, {"meta", "labels", rows, "--gold", rows},
		{"identify", rows, "-o", out + "1", "--map", "question=" + hostile},
		{"identify", rows, "-o", "-", "--map", hostile + "=id"},
		{"score", rows, "-o", "-"}, {"score", rows, "-o", out}, {"score", rows, "-o", out},
		{"score", rows, "-o", out + "2", "--judge", hostile, "--base-url", judge},
		{"score", rows, "--judge", "m", "--base-url", judge, "--show-prompt", "*"},
		{"score", rows, "--judge", "m", "--base-url", judge, "--show-prompt", hostile + "no"},
		{"models", "info", model}, {"models", "info", model + "no"},
		{"models", "tokenize", rows, "--model", model}, {"models", "tokenize", rows, "--model", model, "--json"},
		{"taxonomy", "check", rows}, {"taxonomy", "check", task}, {"taxonomy", "show", task},
		{"show", untagged, "--taxonomy", task, "--color", "always"}, {"stats", rows, "--taxonomy", task}, {"taxonomy", "show",
			hostile}, {"refine", "status", model},
		{"trust", model}, {"trust", "--list"}, {"trust", "--remove", model}, {"trust", rows},
		{hostile}, {"show", "--" + hostile}, {"show", "--limit", hostile, rows}, {"merge", rows, rows, "-o", out + "3"},
	} {
		for _, terminal := range []bool{true, false} { // elsewhere rows and JSON are as they are
			var said, data bytes.Buffer
			p := &run.Process{In: strings.NewReader(""), Out: &data, Err: &said,
				IsTerminal: func(any) bool { return terminal },
				Getenv:     func(name string) string { return environment[name] }}
			p.GuardStreams()
			execute(t.Context(), append([]string{"erreval"}, line...), &env{Process: p})
			shown := said.String()
			if terminal || !slices.Contains(line, "--json") && !slices.Contains(line, "-") {
				shown += data.String()
			}
			if i := strings.IndexFunc(ownControls.ReplaceAllString(shown, ""), isRaw); i >= 0 {
				t.Errorf("%q, terminal %v: a control reaches it: %q", line, terminal, shown)
			}
			if asked := slices.Contains(line, "*"); terminal && !asked && !strings.Contains(shown, "x1b") &&
				!strings.Contains(shown, "u001b") { // prompts have a spelling of their own
				t.Errorf("%q says nothing hostile, and tests nothing: %q", line, shown)
			}
		}
	}
}

func isRaw(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }
