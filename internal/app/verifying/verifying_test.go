package verifying

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
)

// TestVerify finds the outputs of a folder, and the one that was changed since; a folder with nothing to compare is an
// error.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	if _, err := Verify([]string{dir}); err == nil || !strings.Contains(err.Error(), "there is no run record") {
		t.Error(err)
	}
	for _, name := range []string{"kept.jsonl", "changed.jsonl"} {
		record := runrecord.New("identify", nil)
		record.Inputs = []runrecord.Input{{File: "in.jsonl", SHA256: "0"}}
		out, err := run.Create(filepath.Join(dir, name), false, record)
		if err != nil {
			t.Fatal(err)
		}
		row, err := dataset.RowOf(map[string]string{"id": name})
		if err != nil {
			t.Fatal(err)
		}
		record.Counts[run.CountRows] = 1
		if err := out.End(out.Write(row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "changed.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Verify([]string{dir})
	if err != nil || len(all) != 2 || all.Faults() != 1 || all[0].Fault == "" || all[1].What != "identify, 1 row" {
		t.Errorf("%+v, %v", all, err)
	}
}
