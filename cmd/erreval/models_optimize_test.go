package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOptimizeFallsBack: what the recogniser takes for the encoder that it knows, but computes something else, is found
// by its logits, and the export's own graph is imported.
func TestOptimizeFallsBack(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"positions in another order", "\x05\x00\x00\x00\x00\x00\x00\x00\x06", "\x06\x00\x00\x00\x00\x00\x00\x00\x05"},
		// the lowest float32 becomes -0: only a padded row shows it
		{"a mask without effect", "\xff\xff\x7f\xff", "\x00\x00\x00\x80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := t.TempDir(), filepath.Join(t.TempDir(), "out")
			for _, name := range []string{"config.json", "tokenizer.json", "model.onnx"} {
				data, err := os.ReadFile(filepath.Join(tinyBERT, name))
				if name == "model.onnx" {
					if !bytes.Contains(data, []byte(c.old)) {
						t.Fatal("the graph has none")
					}
					data = bytes.ReplaceAll(data, []byte(c.old), []byte(c.new))
				}
				if err == nil {
					err = os.WriteFile(filepath.Join(from, name), data, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			e, stdout, stderr := testEnv(t, nil, false)
			if code := execute(context.Background(), []string{"erreval", "models", "import", from, "-o", to, "--optimize",
				"--precision", "fp16"}, e); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if want := "not optimised: a logit of the rewritten graph in fp32 differs by "; !strings.Contains(stdout.String(),
				want) ||
				!strings.Contains(stdout.String(), "(at most 0.0001 is allowed); the graph is used as it is") {
				t.Errorf("%s\nlacks %q", stdout, want)
			}
			left, err := os.ReadDir(filepath.Dir(to))
			if err != nil || len(left) != 1 {
				t.Errorf("%v left, %v", left, err)
			}
			taken, err := os.ReadFile(filepath.Join(to, "model.onnx"))
			own, err2 := os.ReadFile(filepath.Join(from, "model.onnx"))
			if err != nil || err2 != nil || !bytes.Equal(taken, own) {
				t.Error("the graph is not the export's", err, err2)
			}
		})
	}
}
