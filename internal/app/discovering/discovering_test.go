package discovering

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/clear"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/app/verifying"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/taxonomy"
)

// TestThereAndBack finds issues by labels, writes them for CLEAR and reads them back: issues and their counts stay.
func TestThereAndBack(t *testing.T) {
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	files, err := run.FileOptions{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	found, back := filepath.Join(dir, "found.jsonl"), filepath.Join(dir, "back.jsonl")
	zip := filepath.Join(dir, "clear.zip")
	var said bytes.Buffer
	p := &run.Process{Out: io.Discard, Err: &said, Quiet: true, IsTerminal: func(any) bool { return false }}
	rows := run.Rows{Files: files, Taxonomy: task}
	d := &Discover{Process: p, Rows: rows, Input: "../../../testdata/samples/outputs.jsonl", Output: found,
		By: discover.ByLabels, Group: discover.DefaultOptions(), Chosen: Chosen{Sample: 50, Seed: 3}}
	if err := d.Run(t.Context(), nil); err != nil {
		t.Fatal(err, said.String())
	}
	if record, err := verifying.Output(found); err != nil || record.Counts[run.CountRows] != 50 {
		t.Errorf("%+v, %v", record, err)
	}
	x := &ExportIssues{Process: p, Rows: rows, Input: found, To: clear.Program, Output: zip}
	if err := x.Run(t.Context()); err != nil {
		t.Fatal(err, said.String())
	}
	i := &ImportIssues{Process: p, Rows: rows, File: zip, Output: back}
	if err := i.Run(t.Context()); err != nil {
		t.Fatal(err, said.String())
	}
	a, errA := issues.Read(issues.Path(found))
	b, errB := issues.Read(issues.Path(back))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if len(a.Issues) == 0 || len(a.Issues) != len(b.Issues) || a.Rows != b.Rows || a.Assigned != b.Assigned {
		t.Errorf("%d issues in %d of %d rows, back %d in %d of %d", len(a.Issues), a.Assigned, a.Rows, len(b.Issues),
			b.Assigned, b.Rows)
	}
}
