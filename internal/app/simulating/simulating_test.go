package simulating

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/simulate"
)

// TestByRules: the same seed gives the same rows, another one others, and the record counts them.
func TestByRules(t *testing.T) {
	task, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	files, err := run.FileOptions{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	made := map[string][]byte{}
	for name, seed := range map[string]uint64{"a.jsonl": 1, "again.jsonl": 1, "b.jsonl": 2} {
		s := &Simulate{Process: &run.Process{Out: io.Discard, Err: io.Discard}, Output: filepath.Join(dir, name),
			Rows: run.Rows{Files: files, Taxonomy: task}, Input: "../../../testdata/samples/questions.jsonl"}
		o := simulate.DefaultOptions()
		o.Seed = seed
		if err := s.ByRules(t.Context(), o, MixOptions{}); err != nil {
			t.Fatal(err)
		}
		if made[name], err = os.ReadFile(s.Output); err != nil {
			t.Fatal(err)
		}
		record, err := runrecord.Read(s.Output)
		if lines := bytes.Count(made[name], []byte("\n")); err != nil || lines == 0 || record.Counts[run.CountRows] != lines {
			t.Errorf("%s: %d lines, %+v, %v", name, lines, record, err)
		}
	}
	if !bytes.Equal(made["a.jsonl"], made["again.jsonl"]) || bytes.Equal(made["a.jsonl"], made["b.jsonl"]) {
		t.Error("rows do not follow from the seed")
	}
}
