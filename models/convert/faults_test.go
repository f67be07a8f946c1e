package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/models/checkpoint"
)

// copied is a copy of a fixture that a test may damage. Values of change replace those of config.json; nil removes a
// key.
func copied(t *testing.T, name string, change map[string]any) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, configFile)
	var c map[string]any
	readJSON(t, path, &c)
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	data, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// refused converts and wants an error with the text, and nothing left in the directory.
func refused(t *testing.T, from string, o Options, want string) {
	t.Helper()
	parent := t.TempDir()
	_, err := Convert(context.Background(), from, filepath.Join(parent, "new", "out"), o)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v; wanted %q in it", err, want)
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "new", "*")); len(left) > 0 {
		t.Errorf("%v were left", left)
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "new", ".*partial*")); len(left) > 0 {
		t.Errorf("%v were left", left)
	}
}

func TestConfigFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		fixture string
		change  map[string]any
		want    string
	}{
		{"family", "bert", map[string]any{"model_type": "gpt2"},
			`model_type "gpt2" is not supported; supported are bert, deberta-v2,`},
		{"no family", "bert", map[string]any{"model_type": nil}, `model_type "" is not supported`},
		{"activation", "bert", map[string]any{"hidden_act": "swiglu"},
			`hidden_act "swiglu" is not supported; supported are gelu,`},
		{"pooler activation", "deberta-v3", map[string]any{"pooler_hidden_act": "mish"},
			`pooler_hidden_act "mish" is not supported`},
		{"gap", "bert", map[string]any{"id2label": map[string]string{"0": "a", "2": "b"}},
			"id2label has 2 labels but none for 1"},
		{"too few labels", "bert", map[string]any{"id2label": map[string]string{"0": "a", "1": "b"}},
			"id2label has 2 labels, but the head gives 5 logits"},
		{"shape", "roberta", map[string]any{"intermediate_size": 50},
			"tensor roberta.encoder.layer.0.intermediate.dense.bias has shape [48], but config.json asks for [50]"},
		{"layers", "roberta", map[string]any{"num_hidden_layers": 3},
			"the checkpoint lacks the tensor roberta.encoder.layer.2.attention.self."},
		{"no size", "distilbert", map[string]any{"dim": nil}, "hidden_size is 0"},
		{"heads", "bert", map[string]any{"num_attention_heads": 5}, "hidden_size 32 is no multiple of num_attention_heads 5"},
		{"positions", "xlm-roberta", map[string]any{"pad_token_id": 50}, "leaves no position above pad_token_id 50"},
		{"relative bert", "bert", map[string]any{"position_embedding_type": "relative_key"},
			`position_embedding_type "relative_key" is not supported`},
		{"decoder", "bert", map[string]any{"is_decoder": true}, "this is a decoder"},
		{"task", "bert", map[string]any{"architectures": []string{"BertForTokenClassification"}},
			"architecture BertForTokenClassification is no sequence classifier"},
		{"convolution", "deberta-v2", map[string]any{"conv_kernel_size": 3},
			"conv_kernel_size 3: the convolution of DeBERTa-v2 is not supported"},
		{"pooling", "roberta", map[string]any{"classifier_pooling": "max"}, `classifier_pooling "max" is not supported`},
		{"type", "bert", map[string]any{"hidden_size": "wide"}, "this is no JSON description of a checkpoint"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, copied(t, c.fixture, c.change), DefaultOptions(), c.want) })
	}
}

func TestFileFaults(t *testing.T) {
	refused(t, t.TempDir(), DefaultOptions(), "a checkpoint needs its config.json")
	dir := copied(t, "bert", nil)
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, DefaultOptions(), dir)
	refused(t, "testdata/bert", withPrecision("fp8"), `precision "fp8" is not known`)
}

// The last number of the file becomes a NaN: it is met when most of the graph is written.
func TestNaN(t *testing.T) {
	dir := copied(t, "bert", nil)
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1], data[len(data)-2] = 0x7f, 0xc0
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{FP32, FP16, INT8} {
		refused(t, dir, withPrecision(p), "classifier.weight")
	}
}

func TestHalfOverflow(t *testing.T) {
	w := changed{"classifier.bias", func(v []float32) { v[1] = 7e4 }, opened(t, "bert")}
	err := written(t, w, withPrecision(FP16), filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(),
		"tensor classifier.bias: 70000 is too large for fp16; convert to fp32") {
		t.Error(err)
	}
}

func TestNotEmpty(t *testing.T) {
	to := t.TempDir()
	if _, err := Convert(context.Background(), "testdata/bert", to, DefaultOptions()); err != nil {
		t.Error("an empty directory is refused:", err)
	}
	if _, err := Convert(context.Background(), "testdata/bert", to, DefaultOptions()); err == nil ||
		!strings.Contains(err.Error(), "is not empty") {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	to := filepath.Join(t.TempDir(), "out")
	if _, err := Convert(ctx, "testdata/bert", to, DefaultOptions()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(to)); len(left) > 0 {
		t.Errorf("%v were left", left)
	}
}

// /dev/full is a disk without room.
func TestDiskFull(t *testing.T) {
	for _, full := range []string{graphFile, dataFile} {
		b, _, err := build(configOf(t, "bert"), opened(t, "bert"), DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "out")
		err = publish(to, func(dir string) error {
			if err := os.Symlink("/dev/full", filepath.Join(dir, full)); err != nil {
				return err
			}
			return b.saveFiles(context.Background(), dir, Options{Precision: FP32}) // ExternalAbove 0: two files
		})
		if err == nil || !strings.Contains(err.Error(), "the disk is full: ") {
			t.Errorf("%s: %v", full, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(to)); len(left) > 0 {
			t.Errorf("%v were left", left)
		}
	}
}

// changed are weights of which one tensor is altered.
type changed struct {
	name  string
	alter func([]float32)
	weights
}

func (c changed) Floats(name string, to []float32) ([]float32, error) {
	v, err := c.weights.Floats(name, to)
	if err == nil && name == c.name {
		c.alter(v)
	}
	return v, err
}

// renamed are weights under other names.
type renamed struct {
	old map[string]string // by new name
	weights
}

func rename(w weights, to func(string) string) weights {
	r := renamed{map[string]string{}, w}
	for _, name := range w.Names() {
		r.old[to(name)] = name
	}
	return r
}

func (r renamed) Names() []string {
	var names []string
	for name := range r.old {
		names = append(names, name)
	}
	return names
}

func (r renamed) Info(name string) (checkpoint.Info, bool) {
	old, ok := r.old[name]
	if !ok {
		return checkpoint.Info{}, false
	}
	return r.weights.Info(old)
}

func (r renamed) Floats(name string, to []float32) ([]float32, error) {
	return r.weights.Floats(r.old[name], to)
}

func opened(t testing.TB, name string) *checkpoint.Weights {
	t.Helper()
	w, err := checkpoint.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func configOf(t testing.TB, name string) *config {
	t.Helper()
	c, err := readConfig(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// written converts weights with the config of the fixture bert.
func written(t *testing.T, w weights, o Options, to string) error {
	t.Helper()
	b, _, err := build(configOf(t, "bert"), w, o)
	if err != nil {
		return err
	}
	return publish(to, func(dir string) error { return b.saveFiles(context.Background(), dir, o) })
}

// size is that of the graph which the weights give.
func size(t *testing.T, w weights) int64 {
	t.Helper()
	to := filepath.Join(t.TempDir(), "out")
	if err := written(t, w, DefaultOptions(), to); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(to, graphFile))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestOldNames(t *testing.T) {
	w := opened(t, "bert")
	old := strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta")
	norms := int64(strings.Count(strings.Join(w.Names(), " "), "LayerNorm."))
	// gamma is a letter shorter than weight, and beta is as long as bias.
	if got, want := size(t, rename(w, old.Replace)), size(t, w); got >= want || got < want-2*norms {
		t.Errorf("the graph has %d bytes, with new names %d", got, want)
	}
	bare := func(name string) string { return strings.TrimPrefix(name, "bert.") }
	if got, want := size(t, rename(w, bare)), size(t, w); got >= want {
		t.Errorf("the graph has %d bytes, with prefixes %d", got, want)
	}
}

func TestNoHead(t *testing.T) {
	w := rename(opened(t, "bert"), func(name string) string { return strings.Replace(name, "classifier", "cls", 1) })
	if _, _, err := build(configOf(t, "bert"), w, DefaultOptions()); err == nil || !strings.Contains(err.Error(),
		"has no classification head") {
		t.Error(err)
	}
}

// FuzzConfig reads any config.json, and builds a graph from it with the weights of a fixture.
func FuzzConfig(f *testing.F) {
	for _, name := range fixtures {
		data, err := os.ReadFile(filepath.Join("testdata", name, configFile))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"model_type":"deberta-v2","pos_att_type":3}`))
	w := opened(f, "deberta-v3")
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data)
		if err != nil {
			return
		}
		b, r, err := build(c, w, withPrecision(INT8))
		if err != nil {
			return
		}
		if len(r.Labels) != 5 {
			t.Errorf("%d labels", len(r.Labels))
		}
		b.placeTensors(math.MaxInt64)
		var out bytes.Buffer
		if err := b.writeFiles(context.Background(), &out, &out); err != nil {
			t.Error(err)
		}
	})
}
