package tagging

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/taxonomy"
)

// TestSummary counts what an identifier without a model gives: a label for one row, none for another, and one row
// that it cannot look at. It says so on standard error, in the Markdown file, and by its error.
func TestSummary(t *testing.T) {
	task, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in, page := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "summary.md")
	rows := strings.Repeat(`{"question":"Who?","passage":"Ann built it.","answer":"Ann"}`+"\n", 3)
	if err := os.WriteFile(in, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p := &run.Process{Err: &said, IsTerminal: func(any) bool { return false }}
	r, err := run.New(p, run.Options{Inputs: []string{in}, Output: filepath.Join(dir, "out.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	i := &Identify{Run: r, Taxonomy: task, Publish: Publish{Markdown: page}}
	s := i.stage()
	s.Model = &runrecord.Artefact{ID: "by-hand@1"}
	n := 0
	s.Work = run.Each(func(row *dataset.Row) error {
		d := []*dataset.Diagnosis{{Labels: []string{"Vague"}}, {Labels: []string{}},
			{Status: dataset.StatusUntagged, Reason: "too long"}}[n]
		n++
		d.Model, d.Taxonomy = s.Model.ID, task.ID()
		return row.SetDiagnosis(d)
	})
	err = i.all(r.All(t.Context(), s), s, nil)
	if err == nil || !strings.Contains(err.Error(), "1 of 3 rows are untagged: too long 1; erreval show ") {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "3 rows in ") || !strings.Contains(said.String(), "1 untagged") {
		t.Error(said.String())
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "Vague") {
		t.Errorf("%s, %v", text, err)
	}
}
