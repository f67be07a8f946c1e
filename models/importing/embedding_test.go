package importing_test

import (
	"path/filepath"
	"testing"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/models/importing"
	"github.com/erreval/erreval/taxonomy"
)

// TestEmbedding: an imported model gives vectors of texts, whatever the family and the precision of its graph.
func TestEmbedding(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	library := orttest.Library(t)
	machine := &local.Machine{Getenv: func(name string) string {
		return map[string]string{nativelib.EnvVar: library}[name]
	}}
	checkpoints := filepath.Join("..", "..", "cmd", "erreval", "testdata", "checkpoints")
	for _, family := range []string{"bert", "deberta"} {
		for _, precision := range []string{convert.FP32, convert.INT8} {
			dir := filepath.Join(t.TempDir(), "model")
			_, err := importing.Import(t.Context(), importing.Options{Machine: machine, Taxonomy: tax, Output: dir,
				Source: filepath.Join(checkpoints, family), Precision: precision,
				External: convert.DefaultOptions().ExternalAbove})
			if err != nil {
				t.Fatal(err)
			}
			m, err := models.Open(dir, tax)
			if err != nil {
				t.Fatal(err)
			}
			e, runner, err := machine.OpenEmbedder(t.Context(), m, ort.Options{})
			if err != nil {
				t.Fatal(err)
			}
			v, err := e.Embed(t.Context(), []string{"Who built the wall?", "a"})
			if err != nil || len(v) != 2 || len(v[0]) != m.Manifest.HiddenSize || m.Manifest.Embedding.Layer != 1 {
				t.Errorf("%s, %s: %d vectors, %v", family, precision, len(v), err)
			}
			if err := runner.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
