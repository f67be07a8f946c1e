package chart

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/erreval/erreval/report"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.svg")
	pipe := filepath.Join(filepath.Dir(path), "pipe.svg")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f := File{Option: "--plot", Path: path}
	draw := func(format string) ([]byte, error) { return []byte(format), nil }
	if err := errors.Join(f.CheckPath(), f.Write(draw)); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); string(data) != "svg" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	want := "--plot: " + path + " exists already; replace it with --overwrite, or choose another name"
	if err := f.CheckPath(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	f.Overwrite = true
	if err := errors.Join(f.CheckPath(), File{}.CheckPath(), File{}.Write(nil)); err != nil {
		t.Error(err)
	}
	var option *report.OptionError
	if err := (File{Option: "--plot", Path: "a.gif"}).CheckPath(); !errors.As(err, &option) {
		t.Errorf("got %v", err)
	}
	if err := (File{Option: "--plot", Path: pipe, Overwrite: true}).CheckPath(); err == nil ||
		err.Error() != "--plot: "+pipe+" is no regular file; choose another name" {
		t.Errorf("got %v", err)
	}
	fail := func(string) ([]byte, error) { return nil, errors.New("too many") }
	if err := f.Write(fail); err == nil || err.Error() != "--plot "+path+": too many" {
		t.Errorf("got %v", err)
	}
}
