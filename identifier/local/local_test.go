package local_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

const tinyBERT = "../testdata/bert"

// TestProbesAreComparedOnce: the result is kept by model, library, device and processor; a cache that cannot be written
// costs nothing but time.
func TestProbesAreComparedOnce(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	library := orttest.Library(t)
	for _, writable := range []bool{true, false} {
		cache := filepath.Join(t.TempDir(), "cache")
		if !writable {
			cache = filepath.Join(tinyBERT, "manifest.json", "below")
		}
		machine := &local.Machine{Getenv: func(name string) string {
			return map[string]string{"ERREVAL_CACHE": cache, nativelib.EnvVar: library}[name]
		}}
		warned := 0
		open := func() {
			m, err := models.Open(tinyBERT, tax)
			if err != nil {
				t.Fatal(err)
			}
			m.Manifest.Probes[0].Logits[3] += 0.5
			_, runner, err := machine.OpenIdentifier(t.Context(), m, tax, ort.Options{}, identifier.DefaultOptions(),
				func(string, ...any) { warned++ })
			if err != nil {
				t.Fatal(err)
			}
			if err := runner.Close(); err != nil {
				t.Fatal(err)
			}
		}
		open()
		open()
		kept, err := filepath.Glob(filepath.Join(cache, "probes", "*.json"))
		if err != nil || (len(kept) == 1) != writable || warned != 2 {
			t.Errorf("writable %v: %d warnings, %q kept, %v", writable, warned, kept, err)
		}
	}
}

// TestBrokenKernelsAreRefused: a model whose probes are far off would label every row wrongly.
func TestBrokenKernelsAreRefused(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	cache, library := t.TempDir(), orttest.Library(t)
	machine := &local.Machine{Getenv: func(name string) string {
		return map[string]string{"ERREVAL_CACHE": cache, nativelib.EnvVar: library}[name]
	}}
	for _, from := range []string{"the library", "the cache"} {
		m, err := models.Open(tinyBERT, tax)
		if err != nil {
			t.Fatal(err)
		}
		m.Manifest.Probes[0].Logits[3] += 13
		_, _, err = machine.OpenIdentifier(t.Context(), m, tax, ort.Options{}, identifier.DefaultOptions(),
			func(format string, args ...any) { t.Errorf(format, args...) })
		if _, ok := errors.AsType[*models.UnfitError](err); !ok || !strings.Contains(err.Error(),
			"probe 1: a logit differs by 13 ") {
			t.Errorf("from %s: %v", from, err)
		}
	}
}

// TestUnlessInterrupted: what was made before the interrupt is given, and a call that does not return is left behind.
func TestUnlessInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, err := local.UnlessInterrupted(ctx, func() (int, error) { return 7, io.EOF })
	if got != 7 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d, %v", got, err)
	}
	_, err = local.UnlessInterrupted(ctx, func() (int, error) {
		cancel()
		<-t.Context().Done() // when this test has ended
		return 7, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
