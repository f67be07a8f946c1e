package ort_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
)

func TestPreload(t *testing.T) {
	if err := ort.Preload([]string{"libc.so.6", orttest.Library(t)}); err != nil {
		t.Error(err)
	}
	text := filepath.Join(t.TempDir(), "libtext.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"libnone.so.99": "cannot open shared object file", text: "libtext.so"} {
		err := ort.Preload([]string{"libc.so.6", path})
		var failed *ort.LoadError
		if !errors.As(err, &failed) || failed.Path != path || !strings.Contains(failed.Reason, want) {
			t.Errorf("%s: got %v, want a LoadError with %q", path, err, want)
		}
	}
}

// TestGPUMemory: a limit that is none is refused before anything is opened.
func TestGPUMemory(t *testing.T) {
	o := ort.DefaultOptions()
	o.Library, o.GPUMemory = orttest.Library(t), -1
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "GPU memory") {
		t.Errorf("got %v", err)
	}
}
