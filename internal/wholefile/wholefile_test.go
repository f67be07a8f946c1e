package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, want := range []string{"first, and longer", "second"} {
		if err := Write(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v %v, want a file that all can read", info.Mode(), err)
	}
	// A folder is in the way: it stays, the error names it, and nothing is left beside it.
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(taken, []byte("x")); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("got %v", err)
	}
	// A pipe stays one, whoever reads from it.
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(pipe, nil); err == nil || err.Error() != pipe+" is no regular file; choose another name" {
		t.Errorf("got %v", err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("%v, %v, want the pipe", info, err)
	}
	nowhere := filepath.Join(dir, "none", "a.json")
	failing := func(w io.Writer) error { fmt.Fprint(w, "half"); return errors.New("broken") }
	if err := Fill(path, failing); err == nil || err.Error() != "broken" {
		t.Errorf("got %v, want the error of the function", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "second" {
		t.Errorf("%q %v, want the file as it was", got, err)
	}
	if err := Write(nowhere, nil); err == nil || !strings.Contains(err.Error(), nowhere) {
		t.Errorf("got %v, want the name that was asked for", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("%v %v, want the file, the folder and the pipe alone", entries, err)
	}
}
