package convert

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

var exports = []string{"bert", "bert-14", "bert-untyped", "bert-dynamo", "roberta", "roberta-dynamo", "distilbert",
	"distilbert-dynamo"}

// exported is a fixture as an exporter leaves it (testdata/exports/make_fixtures.py).
func exported(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	dir := filepath.Join("testdata", "exports", name)
	config, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open(filepath.Join(dir, graphFile+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{configFile: {Data: config}, graphFile: {Data: graph}}
}

// optimized rewrites the graph of an export and reads what was written.
func optimized(t *testing.T, from fstest.MapFS, precision string) ([]byte, *Result) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "out")
	r, err := Optimize(context.Background(), from, graphFile, to, withPrecision(precision))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, to, graphFile), r
}

func TestOptimizedAgainstTorch(t *testing.T) {
	for _, name := range exports {
		for precision, limit := range map[string]float64{FP32: 1e-4, FP16: 2e-2, INT8: 0.1} {
			t.Run(name+"/"+precision, func(t *testing.T) {
				graph, r := optimized(t, exported(t, name), precision)
				if got := offTorch(t, graph, r, filepath.Join("testdata", "exports", name, "reference.json")); !(got <= limit) {
					t.Errorf("logits are %.3g off torch's; wanted at most %g", got, limit)
				}
			})
		}
	}
}

// The exporters' attention is gone, and the last layer is computed for the first token.
func TestOptimizedIsFused(t *testing.T) {
	graph, r := optimized(t, exported(t, "roberta"), FP32)
	for op, want := range map[string]bool{"MultiHeadAttention": true, "FusedMatMul": true, "IsNaN": false,
		"GatherElements": false} {
		if bytes.Contains(graph, []byte(op)) != want {
			t.Errorf("the graph has %s: %v", op, !want)
		}
	}
	if r.Head != "dense+tanh+out_proj" || len(r.Notes) != 0 || len(r.Labels) != 3 {
		t.Errorf("%+v", r)
	}
	if _, r := optimized(t, exported(t, "bert-untyped"), FP32); strings.Join(r.Inputs, " ") != "input_ids attention_mask" {
		t.Error(r.Inputs)
	}
}

// swap replaces text in the graph by as many bytes, in the last place or everywhere.
func swap(t *testing.T, f fstest.MapFS, old, new string, everywhere bool) fstest.MapFS {
	t.Helper()
	data := f[graphFile].Data
	at := bytes.LastIndex(data, []byte(old))
	if at < 0 || len(old) != len(new) {
		t.Fatalf("%q cannot take the place of %q", new, old)
	}
	if everywhere {
		data = bytes.ReplaceAll(data, []byte(old), []byte(new))
	} else {
		data = bytes.Clone(data)
		copy(data[at:], new)
	}
	f[graphFile] = &fstest.MapFile{Data: data}
	return f
}

func opType(op string) string { return "\x22" + string(rune(len(op))) + op } // field 4 of NodeProto

func TestNotRecognized(t *testing.T) {
	config := func(name, old, new string) fstest.MapFS {
		f := exported(t, name)
		data := bytes.ReplaceAll(f[configFile].Data, []byte(old), []byte(new))
		if bytes.Equal(data, f[configFile].Data) {
			t.Fatalf("%s has no %s", configFile, old)
		}
		f[configFile] = &fstest.MapFile{Data: data}
		return f
	}
	op := func(name, old, new string) fstest.MapFS {
		return swap(t, exported(t, name), opType(old), opType(new), false)
	}
	for _, c := range []struct {
		name string
		from fstest.MapFS
		want string
	}{
		{"activation", op("bert", "Erf", "Sin"),
			`act_fn/Mul_1 (Mul) stands where bert.encoder.layer.1.intermediate.dense should be followed by gelu (hidden_act in config.json)`},
		{"other activation", config("bert-dynamo", `"hidden_act": "gelu"`, `"hidden_act": "relu"`),
			`(Gelu) stands where bert.encoder.layer.1.intermediate.dense should be followed by relu`},
		{"softmax", op("roberta", "Softmax", "Hardmax"),
			`(Hardmax) stands where the attention of roberta.encoder.layer.1 should have Softmax`},
		{"head", op("distilbert", "Relu", "Selu"), `(Selu) stands where the head should have Relu`},
		{"last operator", op("bert", "Gemm", "Gumm"), `(Gumm) stands where classifier should have Add or Gemm`},
		{"extra node", swap(t, exported(t, "bert"), opType("Add"), opType("Sub"), false),
			`(Sub) stands where the sum before bert.encoder.layer.1.output.LayerNorm should have Add`},
		{"parts", op("bert-14", "Sqrt", "Sqr_"),
			`(Sqr_) stands where bert.encoder.layer.1.output.LayerNorm should have Sqrt`},
		{"heads", config("bert", `"num_attention_heads": 2`, `"num_attention_heads": 4`),
			`has heads of 8 numbers, but config.json says 4`},
		{"epsilon", config("bert", `"layer_norm_eps": 1e-12`, `"layer_norm_eps": 1e-05`),
			`has epsilon 1e-12, but config.json says 1e-05`},
		{"layers", config("bert", `"num_hidden_layers": 2`, `"num_hidden_layers": 3`),
			`stands where bert.encoder.layer.0.output.dense should have Add or Gemm`},
		{"fewer layers", config("bert", `"num_hidden_layers": 2`, `"num_hidden_layers": 1`), `should have Add or Gather`},
		{"padding", config("roberta", `"pad_token_id": 1`, `"pad_token_id": 2`),
			`reads rows of a table by something else than tokens, types or positions`},
		{"family", config("bert", `"model_type": "bert"`, `"model_type": "roberta"`),
			`reads rows of a table by something else`},
		{"mask", swap(t, exported(t, "bert"), "attention_mask", "attention_musk", true),
			`masks by attention_musk, constants, not by attention_mask alone`},
		{"DeBERTa", fstest.MapFS{configFile: {Data: read(t, "testdata/deberta-v3", configFile)},
			graphFile: {Data: exported(t, "bert")[graphFile].Data}}, "graphs of deberta-v2 are not recognised"},
		{"mean", fstest.MapFS{configFile: {Data: read(t, "testdata/roberta-mean", configFile)},
			graphFile: {Data: exported(t, "roberta")[graphFile].Data}}, "classifier_pooling"},
		{"no config", fstest.MapFS{graphFile: {Data: exported(t, "bert")[graphFile].Data}}, "config.json"},
		{"no graph", fstest.MapFS{configFile: {Data: exported(t, "bert")[configFile].Data}}, "model.onnx"},
		{"cut", fstest.MapFS{configFile: {Data: exported(t, "bert")[configFile].Data},
			graphFile: {Data: exported(t, "bert")[graphFile].Data[:30000]}}, "ends too early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "out")
			_, err := Optimize(context.Background(), c.from, graphFile, to, DefaultOptions())
			var not *NotRecognized
			if !errors.As(err, &not) || !strings.HasPrefix(err.Error(), "not optimised: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v; wanted %q", err, c.want)
			}
			if left, _ := os.ReadDir(filepath.Dir(to)); len(left) > 0 {
				t.Errorf("%v were left", left)
			}
		})
	}
}

// Weights beside the graph are read where it says; a name that leads outside, or an offset past the end, is refused.
func TestExternalWeights(t *testing.T) {
	data := make([]byte, 24)
	data[11], data[12] = 0x3f, 0 // the third number is 0.5
	g := &export{fsys: fstest.MapFS{"onnx/w": {Data: data}, "w": {Data: data}}, dir: "onnx", files: map[string]*dataIn{}}
	tensor := func(place map[string]string) *initializer {
		return &initializer{name: "x", elem: elemFloat, dims: []int64{2}, external: place}
	}
	v, err := g.floats(tensor(map[string]string{"location": "w", "offset": "8", "length": "8"}), nil)
	if err != nil || len(v) != 2 || v[0] != 0.5 {
		t.Error(v, err)
	}
	for want, place := range map[string]map[string]string{
		`in "../w", which`:             {"location": "../w", "offset": "8", "length": "8"},
		`stands at offset "25"`:        {"location": "w", "offset": "25", "length": "8"},
		`has "17" bytes`:               {"location": "w", "offset": "8", "length": "17"},
		`offset "x"`:                   {"location": "w", "offset": "x"},
		"has 16 bytes of numbers":      {"location": "w", "offset": "8"},
		"file does not exist":          {"location": "v"},
		"type 1 has 0 bytes":           {"location": "w", "offset": "24"},
		`tensor x has "-1" bytes in w`: {"location": "w", "length": "-1"},
	} {
		if _, err := g.floats(tensor(place), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; wanted %q", place, err, want)
		}
	}
	data[11] = 0xff
	data[10] = 0x80
	if _, err := g.floats(tensor(map[string]string{"location": "w", "offset": "8", "length": "8"}), nil); err == nil ||
		!strings.Contains(err.Error(), "number 0 is -Inf") {
		t.Error(err)
	}
}

// One byte or two of a graph are spoiled, 300 times over: no graph comes of it that lacks a part, and nothing panics.
func TestDamagedGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 11))
	refused := 0
	for _, name := range []string{"bert-14", "bert-dynamo", "roberta"} {
		from := exported(t, name)
		whole := from[graphFile].Data
		for range 100 {
			data := bytes.Clone(whole)
			for range 1 + r.IntN(2) {
				data[r.IntN(len(data))] = byte(r.Uint32())
			}
			from[graphFile] = &fstest.MapFile{Data: data}
			if !rebuilt(t, from) {
				refused++
			}
		}
	}
	if refused < 30 {
		t.Errorf("%d graphs were refused", refused)
	}
}

// rebuilt says whether a graph was recognised; what came of it has the right sizes.
func rebuilt(t *testing.T, from fstest.MapFS) bool {
	t.Helper()
	g, err := openExport(from, graphFile)
	if err != nil {
		return false
	}
	defer g.Close()
	b, r, err := rebuild(from, g, withPrecision(INT8))
	if err != nil {
		return false
	}
	b.placeTensors(math.MaxInt64)
	if err := b.writeFiles(context.Background(), io.Discard, io.Discard); err == nil && len(r.Labels) == 0 {
		t.Error("a graph without labels")
	}
	return true
}

// FuzzOptimize reads damaged graphs: each is refused, or rewritten whole.
func FuzzOptimize(f *testing.F) {
	for _, name := range []string{"bert", "bert-14", "roberta-dynamo", "distilbert"} {
		f.Add(exported(f, name)[graphFile].Data, exported(f, name)[configFile].Data)
	}
	f.Fuzz(func(t *testing.T, graph, config []byte) {
		rebuilt(t, fstest.MapFS{graphFile: {Data: graph}, configFile: {Data: config}})
	})
}
