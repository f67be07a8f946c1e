package models

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/protobuf"
)

// knownInputs are the graph inputs that the identifier can fill.
var knownInputs = []string{"input_ids", "attention_mask", "token_type_ids"}

// Element types of ONNX's TensorProto.DataType.
const (
	onnxFloat = 1
	onnxInt64 = 7
)

type value struct {
	name string
	elem uint64 // element type
	dims []int  // 0 is a dimension that the graph leaves open
}

// graph holds the parts of a .onnx file that a manifest is checked against.
type graph struct {
	inputs, outputs []value
	external        []string // files of weights beside the graph, sorted
}

// parseGraph reads inputs and outputs of a .onnx file (a protobuf message, onnx.proto's ModelProto). Weights are
// skipped, so it takes milliseconds and little memory whatever the file's size, and needs no native library.
func parseGraph(file protobuf.Message) (*graph, error) {
	g := &graph{}
	weights, files := map[string]bool{}, map[string]bool{}
	err := file.Inside(7, func(f protobuf.Field) error { // ModelProto.graph
		switch f.Number {
		case 5: // GraphProto.initializer
			return readWeight(f.Body, weights, files)
		case 11: // GraphProto.input
			return appendValue(&g.inputs, f.Body)
		case 12: // GraphProto.output
			return appendValue(&g.outputs, f.Body)
		}
		return nil
	})
	if err != nil || len(g.outputs) == 0 {
		return nil, errors.Join(errors.New("this is no ONNX graph"), err)
	}
	// Old exports list weights as inputs too.
	g.inputs = slices.DeleteFunc(g.inputs, func(v value) bool { return weights[v.name] })
	g.external = slices.Sorted(maps.Keys(files))
	return g, nil
}

// readWeight notes a TensorProto's name = 8 and the file that its external_data = 13 {key = 1, value = 2} names.
func readWeight(tensor protobuf.Message, weights, files map[string]bool) error {
	return tensor.Visit(func(f protobuf.Field) error {
		switch f.Number {
		case 8:
			name, err := f.Body.Text()
			weights[name] = true
			return err
		case 13:
			var entry [3]string
			err := f.Body.Visit(func(f protobuf.Field) (err error) {
				if f.Number == 1 || f.Number == 2 {
					entry[f.Number], err = f.Body.Text()
				}
				return err
			})
			if entry[1] == "location" {
				files[entry[2]] = true
			}
			return err
		}
		return nil
	})
}

// appendValue reads a ValueInfoProto: name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1 {dim_value
// = 1}}}}.
func appendValue(to *[]value, info protobuf.Message) error {
	v := value{}
	err := info.Visit(func(f protobuf.Field) (err error) {
		switch f.Number {
		case 1:
			v.name, err = f.Body.Text()
		case 2:
			err = f.Body.Inside(1, func(f protobuf.Field) error {
				switch f.Number {
				case 1:
					v.elem = f.N
				case 2:
					return f.Body.Visit(func(f protobuf.Field) error { return appendDim(&v.dims, f.Body) })
				}
				return nil
			})
		}
		return err
	})
	*to = append(*to, v)
	return err
}

func appendDim(to *[]int, dim protobuf.Message) error {
	size := 0
	err := dim.Visit(func(f protobuf.Field) error {
		if f.Number == 1 && f.N < 1<<31 {
			size = int(f.N)
		}
		return nil
	})
	*to = append(*to, size)
	return err
}

func valueNames(values []value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.name
	}
	return out
}

// checkManifest checks a manifest's inputs, output and labels against the graph.
func (g *graph) checkManifest(m *Manifest) error {
	var f faults
	have, want := slices.Sorted(slices.Values(valueNames(g.inputs))), slices.Sorted(slices.Values(m.Inputs))
	f.require(slices.Equal(have, want), "inputs are %s, but the graph's are %s; list those", strings.Join(want, ", "),
		strings.Join(have, ", "))
	for _, in := range g.inputs {
		f.require(in.elem == onnxInt64, "the graph's input %s is not int64; export it with int64 inputs", in.name)
	}
	i := slices.Index(valueNames(g.outputs), m.Output)
	f.require(i >= 0, "output is %q, but the graph's are %s", m.Output, strings.Join(valueNames(g.outputs), ", "))
	if i >= 0 {
		out := g.outputs[i]
		f.require(out.elem == onnxFloat, "the graph's output %s is not float32; export it with float32 logits", out.name)
		width := m.countLogits(out)
		f.require(width == len(m.Labels),
			"%d labels are listed, but the graph gives %d logits; list one label a logit, in their order", len(m.Labels), width)
	}
	return errors.Join(f...)
}

// countLogits gives the number of logits in out, or the number of labels where the graph leaves it open.
func (m *Manifest) countLogits(out value) int {
	if n := len(out.dims); n > 0 && out.dims[n-1] > 0 {
		return out.dims[n-1]
	}
	return len(m.Labels)
}
