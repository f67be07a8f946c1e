package convert

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/models/checkpoint"
)

// savedModel writes a model directory of weights, with some of the channels divided, or computed apart.
func savedModel(t *testing.T, w weights, precision string, divisors map[string]divisor) string {
	t.Helper()
	b, _, err := buildWith(wideConfig(t), w, withPrecision(precision), divisors)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := b.saveFiles(context.Background(), dir, withPrecision(precision)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, vocabularyFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every weight of the encoder comes back within half a step of int8, and what is kept in fp32 as it was, divided
// channels and those apart included. The bias of the last key is no part of the graph; the head stays away.
func TestRestore(t *testing.T) {
	w, to := newDrawn(), filepath.Join(t.TempDir(), "encoder")
	if err := Restore(os.DirFS(savedModel(t, w, INT8, thirds())), to); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	for _, name := range w.Names() {
		info, ok := got.Info(name)
		if strings.HasPrefix(name, "classifier.") {
			if ok {
				t.Errorf("%s is there", name)
			}
			continue
		}
		if name == "bert.encoder.layer.1.attention.self.key.bias" {
			continue
		}
		want, _ := w.Floats(name, nil)
		v, err := got.Floats(name, nil)
		if err != nil || len(v) != len(want) {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		width := int(info.Shape[len(info.Shape)-1])
		for at := 0; at < len(v); at += width {
			step := float32(0)
			if len(info.Shape) == 2 && !strings.Contains(name, "pooler") && !strings.Contains(name, "token_type") {
				step = 1.5 * scaleOf(want[at:at+width]) // divisors of 1.5 make a row's step that much larger
			}
			for i := range width {
				if d := math.Abs(float64(v[at+i] - want[at+i])); d > 0.501*float64(step) {
					t.Fatalf("%s: number %d is %v, not %v; a step is %v", name, at+i, v[at+i], want[at+i], step)
				}
			}
		}
	}
	c, err := readConfig(to)
	if err != nil {
		t.Fatal(err)
	}
	was := wideConfig(t)
	if c.HiddenSize != was.HiddenSize || c.Layers != was.Layers || c.Heads != was.Heads || c.Epsilon-was.Epsilon > 1e-18 ||
		c.Intermediate != was.Intermediate || c.Vocabulary != was.Vocabulary || c.Activation != was.Activation ||
		c.Positions != was.Positions || *c.Types != *was.Types {
		t.Errorf("%+v; it was %+v", c, was)
	}
}

// A graph in fp32 has its weights in another form, and a damaged one lacks some.
func TestRestoreFaults(t *testing.T) {
	plain := savedModel(t, newDrawn(), FP32, nil)
	to := filepath.Join(t.TempDir(), "encoder")
	if err := Restore(os.DirFS(plain), to); err == nil || !strings.Contains(err.Error(), "cannot be trained on") {
		t.Error(err)
	}
	dir := savedModel(t, newDrawn(), INT8, thirds())
	graph := contentsOf(t, filepath.Join(dir, graphFile))
	for _, lost := range []string{"bert.encoder.layer.0.output.dense.weight.apart",
		"bert.embeddings.word_embeddings.weight.scale", "bert.encoder.layer.1.attention.self.query.weight.scale"} {
		other := strings.ReplaceAll(graph, lost, strings.Repeat("x", len(lost)))
		if err := os.WriteFile(filepath.Join(dir, graphFile), []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Restore(os.DirFS(dir), to); err == nil {
			t.Errorf("without %s there is no error", lost)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("without %s something was written", lost)
		}
	}
}

func contentsOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
