package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/internal/exit"
)

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
	code := execute(ctx, []string{"erreval", "models", "import", filepath.Join("testdata", "checkpoints", "bert"), "-o",
		to, "--precision", "int8"}, e)
	if left, err := os.ReadDir(filepath.Dir(to)); code != exit.Interrupted || err != nil || len(left) > 0 ||
		!strings.HasSuffix(stderr.String(), "error: interrupted before the model was ready\n") {
		t.Errorf("exit code %d, %v left, %v; %s", code, left, err, stderr)
	}
}
