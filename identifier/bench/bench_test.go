package bench_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/bench"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

func open(t *testing.T, name string) (*models.Model, *taxonomy.Taxonomy) {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.Open(filepath.Join("..", "testdata", name), tax)
	if err != nil {
		t.Fatal(err)
	}
	return m, tax
}

// TestRowsWithoutTokens: a tokenizer that knows no letter is an error.
func TestRowsWithoutTokens(t *testing.T) {
	m, tax := open(t, "roberta")
	m.FS = fstest.MapFS{"tokenizer.json": {Data: []byte(`{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
		"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "post_processor": null, "decoder": null,
		"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
		"byte_fallback": false, "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2}, "merges": []}}`)}}
	if _, err := bench.Rows(m, tax, 1); err == nil || !strings.Contains(err.Error(), "no tokens for English text") {
		t.Errorf("got %v", err)
	}
}

// TestRows: the lengths of the made-up rows are those of docs/performance.md: 43 to 798 tokens, 198 on average, 906
// bytes.
func TestRows(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.OpenFS(embedded.Default(), "default", tax)
	if err != nil {
		t.Fatal(err)
	}
	m.Manifest.MaxTokens, m.Manifest.Window = 1<<20, nil
	rows, err := bench.Rows(m, tax, 600)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := identifier.NewEncoder(m, tax)
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := bench.Lengths(enc, rows)
	if err != nil {
		t.Fatal(err)
	}
	tokens, size := 0, 0
	for i, row := range rows {
		tokens, size = tokens+lengths[i], size+len(strings.Join(row.Values, ""))
	}
	if mean := tokens / len(rows); mean < 185 || mean > 211 {
		t.Errorf("%d tokens on average, want about 198", mean)
	}
	if mean := size / len(rows); mean < 750 || mean > 1060 {
		t.Errorf("%d bytes on average, want about 906", mean)
	}
	if least, most := slices.Min(lengths), slices.Max(lengths); least < 35 || least > 70 || most < 500 || most > 850 {
		t.Errorf("%d to %d tokens, want about 43 to 798", least, most)
	}
	again, err := bench.Rows(m, tax, 3)
	if err != nil || !slices.Equal(again[2].Values, rows[2].Values) || !slices.Equal(rows[2].Values, rows[514].Values) {
		t.Errorf("rows differ from one call to the next: %v", err)
	}
}

// TestPeersAgree: with fp32 weights all peers compute the same logits, whatever their padding.
func TestPeersAgree(t *testing.T) {
	m, tax := open(t, "bert")
	rows, err := bench.Rows(m, tax, 70)
	if err != nil {
		t.Fatal(err)
	}
	p, err := bench.NewPeers(m, tax, orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output), rows)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := p.Run(t.Context(), bench.Careful)
	if err != nil || len(exact) != 70*11 {
		t.Fatal(len(exact), err)
	}
	for _, name := range []string{bench.Script, bench.Pipeline} {
		logits, err := p.Run(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range exact {
			if diff := math.Abs(float64(logits[i] - exact[i])); !(diff <= 1e-4) {
				t.Errorf("%s: logit %d of row %d differs by %g", name, i%11, i/11, diff)
			}
		}
	}
}

// shapes is a runner that notes the shapes of its batches.
type shapes []string

func (s *shapes) Run(_ context.Context, in identifier.Input, _ []float32) error {
	*s = append(*s, fmt.Sprintf("%d×%d", in.Rows(), in.Width))
	return nil
}

// TestPeersShapes: what each peer gives the runtime.
func TestPeersShapes(t *testing.T) {
	m, tax := open(t, "bert")
	rows, err := bench.Rows(m, tax, 40)
	if err != nil {
		t.Fatal(err)
	}
	rows[35].Values = []string{"Who?", "Oke", "A mason."}
	enc, err := identifier.NewEncoder(m, tax)
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := bench.Lengths(enc, rows)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		bench.Script:   {fmt.Sprintf("32×%d", slices.Max(lengths)), fmt.Sprintf("8×%d", slices.Max(lengths))},
		bench.Pipeline: {fmt.Sprintf("32×%d", slices.Max(lengths[:32])), fmt.Sprintf("8×%d", slices.Max(lengths[32:]))},
	} {
		var got shapes
		p, err := bench.NewPeers(m, tax, &got, rows)
		if err == nil {
			_, err = p.Run(t.Context(), name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s ran %v, want %v, %v", name, got, want, err)
		}
	}
	var got shapes
	p, err := bench.NewPeers(m, tax, &got, rows)
	if err == nil {
		_, err = p.Run(t.Context(), bench.Careful)
	}
	if err != nil || len(got) != 40 || got[35] != fmt.Sprintf("1×%d", lengths[35]) {
		t.Errorf("careful ran %v, %v", got, err)
	}
}

// TestCount compares the operations counted in ONNX Runtime's traces with the arithmetic of the fixtures, BERTs of two
// layers of 32, 64 wide inside, with a pooler and 11 labels: for n tokens each layer multiplies 4·32·32 + 2·32·64
// weights by n, and attention n·n·32 twice; pooler and classifier see one token. Two operations each.
func TestCount(t *testing.T) {
	lengths := []int{5, 5, 20, 33, 61, 128}
	weights, attention := 2.*1024+2*32*11, 0. // pooler and classifier of the first row
	weights *= float64(len(lengths))
	for _, n := range lengths {
		weights += 2 * 2 * (4*32*32 + 2*32*64) * float64(n)
		attention += 2 * 2 * 2 * 32 * float64(n*n)
	}
	for name, want := range map[string]bench.Operations{
		"bert":      {Float: weights + attention},
		"bert-int8": {Int8: weights, Float: attention},
	} {
		m, _ := open(t, name)
		got, products, err := bench.Count(t.Context(), func(profile string) (*ort.Runner, error) {
			return ort.Open(m, ort.Options{Library: orttest.Library(t), Threads: 1, Profile: profile})
		}, 11, lengths, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Int8-want.Int8) > 1 || math.Abs(got.Float-want.Float) > 1 {
			t.Errorf("%s: %+v operations, want %+v", name, got, want)
		}
		if p := (ort.Product{Int8: name == "bert-int8", M: 128, K: 32, N: 64}); !slices.Contains(products, p) {
			t.Errorf("%s: %+v is not among the products %+v", name, p, products)
		}
	}
}

// TestShare: half of the time at either peak is half the share.
func TestShare(t *testing.T) {
	p := bench.Operations{Int8: 800e9, Float: 200e9}
	if got := (bench.Operations{Int8: 80e9, Float: 20e9}).Share(p, 400*time.Millisecond); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("got %v, want 0.5: 0.1 s for each kind, in 0.4 s", got)
	}
	if got := (bench.Operations{Int8: 1}).Share(bench.Operations{Float: 1}, time.Second); got != 0 {
		t.Errorf("got %v without a peak, want 0", got)
	}
}

func TestPeakMeter(t *testing.T) {
	m, err := bench.NewPeakMeter(orttest.Library(t), []ort.Product{{Int8: true, M: 64, K: 32, N: 32}, {M: 1, K: 8, N: 8}},
		2)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Measure(t.Context(), time.Millisecond); err != nil || m.Peak.Int8 == 0 || m.Peak.Float == 0 {
		t.Errorf("peak %+v, %v", m.Peak, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestTurns: all in turn, and the first error ends it.
func TestTurns(t *testing.T) {
	var order []string
	note := func(s string) func(context.Context) error {
		return func(context.Context) error { order = append(order, s); return nil }
	}
	took, err := bench.Turns(t.Context(), 2, note("a"), note("b"))
	if err != nil || len(took) != 2 || strings.Join(order, "") != "abab" {
		t.Errorf("ran %v, %v, %v", order, took, err)
	}
	broken := errors.New("broken")
	if _, err := bench.Turns(t.Context(), 2, func(context.Context) error { return broken }, note("c")); !errors.Is(err,
		broken) || len(order) != 4 {
		t.Errorf("got %v after %v", err, order)
	}
}

// kernel is an event of a trace.
func kernel(op, in, out string) string {
	return fmt.Sprintf(`{"cat":"Node","name":"x_kernel_time","args":{"op_name":%q,"input_type_shape":%s,"output_type_shape":%s}}`, op, in, out)
}

// TestReadTrace: fused operators, with the shapes that ONNX Runtime 1.31 gave them for 2 rows of 10 tokens, 32 wide.
func TestReadTrace(t *testing.T) {
	for _, c := range []struct {
		event string
		want  bench.Operations
	}{
		{kernel("MultiHeadAttention", `[{"float":[2,10,32]},{"float":[2,10,32]},{"float":[2,10,32]}]`,
			`[{"float":[2,10,32]}]`), bench.Operations{Float: 4 * 2 * 10 * 10 * 32}},
		{kernel("MultiHeadAttention", `[{"float":[2,1,32]},{"float":[2,10,32]},{"float":[2,10,32]}]`, `[{"float":[2,1,32]}]`),
			bench.Operations{Float: 4 * 2 * 1 * 10 * 32}},
		{kernel("QAttention", `[{"uint8":[2,10,32]},{"int8":[32,96]}]`, `[{"float":[2,10,32]}]`),
			bench.Operations{Int8: 2 * 2 * 10 * 32 * 96, Float: 4 * 2 * 10 * 10 * 32}},
		{kernel("DynamicQuantizeMatMul", `[{"float":[2,10,32]},{"float":[64]}]`, `[{"float":[2,10,64]}]`),
			bench.Operations{Int8: 2 * 2 * 10 * 32 * 64}},
		{kernel("MatMul", `[{"float16":[2,4,10,8]},{"float16":[2,4,8,10]}]`, `[{"float16":[2,4,10,10]}]`),
			bench.Operations{Float: 2 * 2 * 4 * 10 * 10 * 8}},
		{kernel("Add", `[{"float":[2,10,32]}]`, `[{"float":[2,10,32]}]`), bench.Operations{}},
		{`{"cat":"Node","name":"x_fence_before","args":{}}`, bench.Operations{}},
	} {
		runs, _, err := bench.ReadTrace(strings.NewReader("[" + c.event + `,{"cat":"Session","name":"model_run"}]`))
		if err != nil || len(runs) != 1 || runs[0] != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.event, runs, err, c.want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add("[]")
	f.Add("[" + kernel("MatMul", `[{"float":[1,2]}]`, `[{"float":[1,3]}]`) + `,{"cat":"Session","name":"model_run"}]`)
	f.Add("[" + kernel("MultiHeadAttention", `[{"float":[2]},{}]`, `[{}]`) + "]")
	f.Fuzz(func(t *testing.T, text string) {
		runs, products, err := bench.ReadTrace(strings.NewReader(text))
		if err != nil && (runs != nil || products != nil) {
			t.Errorf("results beside the error %v", err)
		}
	})
}
