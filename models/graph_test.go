package models

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/erreval/erreval/internal/protobuf"
)

func readFixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "identifier", "testdata", name, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parseBytes(data []byte) (*graph, error) {
	return parseGraph(protobuf.Message{File: bytes.NewReader(data), End: int64(len(data))})
}

// TestParseGraph reads graphs that torch and onnxruntime wrote; names and shapes stand in make_fixtures.py.
func TestParseGraph(t *testing.T) {
	for name, inputs := range map[string][]string{
		"roberta":   knownInputs[:2],
		"bert":      knownInputs,
		"bert-int8": knownInputs,
	} {
		g, err := parseBytes(readFixture(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(valueNames(g.inputs), inputs) {
			t.Errorf("%s: inputs are %q", name, valueNames(g.inputs))
		}
		if in := g.inputs[0]; in.elem != onnxInt64 || !slices.Equal(in.dims, []int{0, 0}) {
			t.Errorf("%s: input is %+v, want int64 with two open dimensions", name, in)
		}
		if out := g.outputs[0]; len(g.outputs) != 1 || out.name != "logits" || out.elem != onnxFloat ||
			!slices.Equal(out.dims, []int{0, 11}) {
			t.Errorf("%s: outputs are %+v, want logits, float32, 11 wide", name, g.outputs)
		}
	}
}

func TestParseGraphRefuses(t *testing.T) {
	whole := readFixture(t, "bert")
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("version https://git-lfs"),
		"half": whole[:len(whole)/2]} {
		if g, err := parseBytes(data); err == nil {
			t.Errorf("%s: got %+v, want an error", name, g)
		}
	}
}

func FuzzParseGraph(f *testing.F) {
	f.Add([]byte("\x3a\x05\x62\x03\x0a\x01x"))
	f.Add(readFixture(f, "bert-int8")[:2000])
	f.Fuzz(func(t *testing.T, data []byte) {
		if g, err := parseBytes(data); err == nil && len(g.outputs) == 0 {
			t.Error("a graph without outputs was taken")
		}
	})
}
