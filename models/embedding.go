package models

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/erreval/erreval/internal/protobuf"
)

// EmbeddingOutput is the output of an EmbeddingGraph: [batch, sequence, size] float32.
const EmbeddingOutput = "embedding"

// Fields of onnx.proto: ModelProto.graph, and those of GraphProto.
const (
	modelGraph  = 7
	graphNode   = 1
	graphWeight = 5
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
