package convert

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort/orttest"
)

// reference is a batch with the logits that torch gave for it (testdata/make_fixtures.py).
type reference struct {
	IDs    [][]int64   `json:"input_ids"`
	Mask   [][]int64   `json:"attention_mask"`
	Types  [][]int64   `json:"token_type_ids"`
	Logits [][]float32 `json:"logits"`
}

var fixtures = []string{"bert", "bert-tanh", "bert-linear", "roberta", "roberta-mean", "xlm-roberta", "distilbert",
	"deberta-v2", "deberta-v3"}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// converted converts a fixture and returns the directory with what was written.
func converted(t testing.TB, name string, o Options) (string, *Result) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "out")
	r, err := Convert(context.Background(), filepath.Join("testdata", name), to, o)
	if err != nil {
		t.Fatal(err)
	}
	return to, r
}

func withPrecision(p string) Options {
	o := DefaultOptions()
	o.Precision = p
	return o
}

// worst runs every batch of a fixture, and returns the largest difference to torch's logits.
func worst(t *testing.T, name, precision string) float64 {
	t.Helper()
	dir, result := converted(t, name, withPrecision(precision))
	return offTorch(t, read(t, dir, graphFile), result, filepath.Join("testdata", name, "reference.json"))
}

// offTorch runs every batch of a reference, and returns the largest difference to torch's logits.
func offTorch(t *testing.T, graph []byte, result *Result, file string) float64 {
	t.Helper()
	run := orttest.Runner(t, graph, result.Inputs, result.Output)
	var refs []reference
	readJSON(t, file, &refs)
	largest := 0.0
	for _, ref := range refs {
		in := identifier.Input{IDs: slices.Concat(ref.IDs...), Mask: slices.Concat(ref.Mask...),
			Types: slices.Concat(ref.Types...), Width: len(ref.IDs[0])}
		want := slices.Concat(ref.Logits...)
		got := make([]float32, len(want))
		if err := run.Run(context.Background(), in, got); err != nil {
			t.Fatal(err)
		}
		shift := 0.0
		for i := range want {
			shift = max(shift, math.Abs(float64(got[i]-want[i])))
		}
		t.Logf("%d rows of %d tokens: %.2g", len(ref.IDs), in.Width, shift)
		largest = max(largest, shift)
	}
	return largest
}

// Issue 5 asks for 1e-4 in fp32 and 2e-2 in fp16. The fixtures' logits spread over about ±3; int8 is held to what was
// measured.
func TestLogitsAgainstTorch(t *testing.T) {
	for _, name := range fixtures {
		for precision, limit := range map[string]float64{FP32: 1e-4, FP16: 2e-2, INT8: 0.1} {
			t.Run(name+"/"+precision, func(t *testing.T) {
				if got := worst(t, name, precision); !(got <= limit) {
					t.Errorf("logits are %.3g off torch's; wanted at most %g", got, limit)
				}
			})
		}
	}
}
