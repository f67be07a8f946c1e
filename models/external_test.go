package models_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
)

// external is a model whose weights stand beside its graph.
func external(t *testing.T) (dir string, m *models.Manifest) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "model")
	from := filepath.Join("..", "cmd", "erreval", "testdata", "checkpoints", "bert")
	r, err := convert.Convert(context.Background(), from, dir, convert.Options{Precision: convert.FP32})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), read(t, from, "tokenizer.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := models.ReadConfig(os.DirFS(from))
	if err != nil {
		t.Fatal(err)
	}
	c.Inputs, c.Output = r.Inputs, r.Output
	m, err = models.Describe(c, questions(t), models.Choices{Name: "apart", Version: "1", Precision: "fp32"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Seal(dir); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir, m
}

// TestExternalWeights: such a model is opened by its path, and its identity covers the weights.
func TestExternalWeights(t *testing.T) {
	dir, manifest := external(t)
	m, err := models.Open(dir, questions(t))
	if err != nil {
		t.Fatal(err)
	}
	if m.Graph != nil || m.Path != filepath.Join(dir, "model.onnx") || m.SHA256 == manifest.Files["model.onnx"].SHA256 {
		t.Errorf("got graph %d bytes, path %q, hash %s", len(m.Graph), m.Path, m.SHA256)
	}
	if _, err := models.OpenFS(os.DirFS(dir), "x", questions(t)); err == nil || !strings.Contains(err.Error(),
		"only be opened in a directory") {
		t.Errorf("without a directory: %v", err)
	}
}

func TestExternalWeightsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string, m *models.Manifest) error
		want  string
	}{
		"changed": {func(dir string, _ *models.Manifest) error {
			path := filepath.Join(dir, "model.onnx.data")
			data, err := os.ReadFile(path)
			if err == nil {
				data[0] ^= 1
				err = os.WriteFile(path, data, 0o666)
			}
			return err
		}, "model.onnx.data has the SHA-256"},
		"cut": {func(dir string, _ *models.Manifest) error {
			return os.Truncate(filepath.Join(dir, "model.onnx.data"), 100)
		}, "has 100 bytes"},
		"missing": {func(dir string, _ *models.Manifest) error { return os.Remove(filepath.Join(dir, "model.onnx.data")) },
			"model.onnx.data"},
		"not listed": {func(dir string, m *models.Manifest) error {
			delete(m.Files, "model.onnx.data")
			return m.Write(dir)
		}, "which manifest.json does not list"},
	} {
		dir, m := external(t)
		if err := c.spoil(dir, m); err != nil {
			t.Fatal(err)
		}
		if _, err := models.Open(dir, questions(t)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}
