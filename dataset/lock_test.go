package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwoRunsOnOneOutput: the second is refused and touches nothing; when the first has ended, there is room again.
func TestTwoRunsOnOneOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	first, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Reject(&LineError{File: "in", Line: 1, Raw: []byte("x"), Err: os.ErrInvalid}); err != nil {
		t.Fatal(err)
	}
	const want = "out.jsonl.partial is being written by another run; wait for it, or choose another name with -o"
	if _, err := Create(path, true); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second Create: %v, want %q", err, want)
	}
	if _, err := Resume(path, true); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Resume beside it: %v, want %q", err, want)
	}
	if err := RemovePartial(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("RemovePartial beside it: %v, want %q", err, want)
	}
	if err := first.Commit(); err != nil {
		t.Errorf("the first run after the second was refused: %v", err)
	}
	if err := RemovePartial(path); err != nil {
		t.Error(err)
	}
	again, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Abort(); err != nil {
		t.Fatal(err)
	}
}
