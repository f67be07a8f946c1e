package models

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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
	err := file.Inside(modelGraph, func(f protobuf.Field) error {
		switch f.Number {
		case graphWeight:
			return readWeight(f.Body, weights, files)
		case graphInput:
			return appendValue(&g.inputs, f.Body)
		case graphOutput:
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
			entry := map[string]string{}
			err := f.Body.Entry(entry)
			if file, ok := entry["location"]; ok {
				files[file] = true
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

// EmbeddingOutput is the output of an EmbeddingGraph: [batch, sequence, size] float32.
const EmbeddingOutput = "embedding"

// Fields of onnx.proto: ModelProto.graph, and those of GraphProto.
const (
	modelGraph  = 7
	graphNode   = 1
	graphWeight = 5
	graphInput  = 11
	graphOutput = 12
)

// ErrNoEmbedding says that a model gives no vectors of texts.
var ErrNoEmbedding = errors.New("its manifest names no embedding; import its checkpoint again, or use the default " +
	"model")

// EmbeddingGraph is the model's graph up to the layer that Manifest.Embedding names, as the bytes of a .onnx file whose
// only output is EmbeddingOutput. What comes behind that layer is left out, so that it costs no time. The graph must
// hold its weights itself. Every error is an *UnfitError.
func (m *Model) EmbeddingGraph() ([]byte, error) {
	if m.Manifest.Embedding == nil {
		return nil, UnfitErrorf("model %s gives no vectors of texts: %w", m.Source, ErrNoEmbedding)
	}
	data, err := fs.ReadFile(m.FS, GraphFile)
	if err == nil {
		data, err = cutGraph(data, m.Manifest.Embedding.Tensor)
	}
	if err != nil {
		return nil, UnfitErrorf("model %s gives no vectors of texts: %s: %w", m.Source, GraphFile, err)
	}
	return data, nil
}

// cutGraph keeps the nodes up to the one that makes tensor, and gives that as the only output. ONNX lists each node
// behind those that it reads.
func cutGraph(data []byte, tensor string) ([]byte, error) {
	out := make([]byte, 0, len(data))
	err := whole(data).Visit(func(f protobuf.Field) error {
		if f.Number != modelGraph {
			out = appendField(out, data, f)
			return nil
		}
		graph, err := cutNodes(data, f.Body, tensor)
		out = protobuf.AppendBytes(out, modelGraph, graph)
		return err
	})
	return out, err
}

func whole(data []byte) protobuf.Message {
	return protobuf.Message{File: bytes.NewReader(data), End: int64(len(data))}
}

func cutNodes(data []byte, graph protobuf.Message, tensor string) ([]byte, error) {
	out, found := make([]byte, 0, graph.Size()), false
	files := map[string]bool{}
	err := graph.Visit(func(f protobuf.Field) error {
		switch f.Number {
		case graphNode:
			if found {
				return nil
			}
			made, err := f.Body.Texts(2) // NodeProto.output
			if err != nil {
				return err
			}
			found = slices.Contains(made, tensor)
		case graphWeight:
			if err := readWeight(f.Body, map[string]bool{}, files); err != nil {
				return err
			}
		case graphOutput:
			return nil
		}
		out = appendField(out, data, f)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("it has no tensor %q, which the manifest names as embedding", tensor)
	case len(files) > 0:
		return nil, errors.New("its weights stand in a file of their own; vectors need a graph that holds them itself")
	}
	return append(out, castToOutput(tensor)...), nil
}

// castToOutput is the end of a graph: a node that gives tensor, whatever its precision, as float32 (NodeProto: input =
// 1, output = 2, op_type = 4, attribute = 5 {name = 1, i = 3, type = 20}), and the output.
func castToOutput(tensor string) []byte {
	to := protobuf.AppendInt(protobuf.AppendInt(protobuf.AppendString(nil, 1, "to"), 3, onnxFloat), 20, 2)
	node := protobuf.AppendString(protobuf.AppendString(nil, 1, tensor), 2, EmbeddingOutput)
	node = protobuf.AppendBytes(protobuf.AppendString(node, 4, "Cast"), 5, to)
	kind := protobuf.AppendBytes(nil, 1, protobuf.AppendInt(nil, 1, onnxFloat))
	value := protobuf.AppendBytes(protobuf.AppendString(nil, 1, EmbeddingOutput), 2, kind)
	return protobuf.AppendBytes(protobuf.AppendBytes(nil, graphNode, node), graphOutput, value)
}

// appendField copies a field of a ModelProto or a GraphProto as it stands. These have none of fixed width.
func appendField(to, data []byte, f protobuf.Field) []byte {
	if f.Body.File == nil {
		return protobuf.AppendInt(to, f.Number, int64(f.N)) // #nosec G115 -- the same 64 bits
	}
	return protobuf.AppendBytes(to, f.Number, data[f.Body.At:f.Body.End])
}
