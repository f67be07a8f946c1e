// Package orttest finds ONNX Runtime for tests.
package orttest

import (
	"os"
	"testing"

	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/nativelib"
)

// Library is the path of ONNX Runtime, found as the program finds it. A test without it fails: 'make setup' fetches it.
func Library(tb testing.TB) string {
	tb.Helper()
	path, err := Find()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Find is Library for examples, which have no testing.TB.
func Find() (string, error) {
	getenv := os.Getenv //nolint:forbidigo // tests have no command line
	cache, err := nativelib.CacheDir(getenv)
	if err != nil {
		return "", err
	}
	f, err := nativelib.Locate(nativelib.Options{Env: getenv(nativelib.EnvVar), CacheDir: cache})
	return f.Path, err
}

// Runner opens a graph with the inputs given, and closes it when the test ends.
func Runner(tb testing.TB, graph []byte, inputs []string, output string) *ort.Runner {
	tb.Helper()
	o := ort.DefaultOptions()
	o.Library, o.Inputs, o.Output = Library(tb), inputs, output
	r, err := ort.New(graph, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}
