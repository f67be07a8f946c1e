package models

import (
	"bytes"
	"testing"

	"github.com/erreval/erreval/internal/protobuf"
)

// FuzzCutGraph: a damaged graph gives an error, or a graph whose only output is the embedding.
func FuzzCutGraph(f *testing.F) {
	node := protobuf.AppendString(protobuf.AppendString(nil, 1, "in"), 2, "hidden")
	output := protobuf.AppendBytes(nil, graphOutput, protobuf.AppendString(nil, 1, "logits"))
	graph := append(protobuf.AppendBytes(nil, graphNode, node), output...)
	f.Add(protobuf.AppendBytes(protobuf.AppendInt(nil, 1, 8), modelGraph, graph))
	f.Fuzz(func(t *testing.T, data []byte) {
		cut, err := cutGraph(data, "hidden")
		if err != nil {
			return
		}
		g, err := parseGraph(protobuf.Message{File: bytes.NewReader(cut), End: int64(len(cut))})
		if err != nil {
			return // there was no graph, or something in it that is not looked at here
		}
		for _, out := range g.outputs {
			if out.name != EmbeddingOutput {
				t.Errorf("output %q", out.name)
			}
		}
	})
}
