package models

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// knownInputs are the graph inputs that the identifier can fill.
var knownInputs = []string{"input_ids", "attention_mask", "token_type_ids"}

// Element types of ONNX's TensorProto.DataType.
const (
	onnxFloat = 1
	onnxInt64 = 7
)

// value is an input or output of a graph.
type value struct {
	name string
	elem uint64 // element type
	dims []int  // 0 is a dimension that the graph leaves open
}

// graph is what of a .onnx file a manifest can be checked against.
type graph struct{ inputs, outputs []value }

// parseGraph reads inputs and outputs of a .onnx file (a protobuf message, onnx.proto's ModelProto). Weights are
// skipped, so it takes microseconds and needs no native library.
func parseGraph(data []byte) (*graph, error) {
	g := &graph{}
	weights := map[string]bool{}
	err := message(data, func(field int, body []byte, _ uint64) error {
		if field != 7 { // ModelProto.graph
			return nil
		}
		return message(body, func(field int, body []byte, _ uint64) (err error) {
			switch field {
			case 5: // GraphProto.initializer
				err = message(body, func(field int, body []byte, _ uint64) error {
					if field == 8 { // TensorProto.name
						weights[string(body)] = true
					}
					return nil
				})
			case 11: // GraphProto.input
				err = appendValue(&g.inputs, body)
			case 12: // GraphProto.output
				err = appendValue(&g.outputs, body)
			}
			return err
		})
	})
	if err != nil || len(g.outputs) == 0 {
		return nil, errors.Join(errors.New("this is no ONNX graph"), err)
	}
	// Old exports list weights as inputs too.
	g.inputs = slices.DeleteFunc(g.inputs, func(v value) bool { return weights[v.name] })
	return g, nil
}

// appendValue reads a ValueInfoProto: name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1 {dim_value = 1}}}}.
func appendValue(to *[]value, data []byte) error {
	v := value{}
	err := message(data, func(field int, body []byte, _ uint64) error {
		switch field {
		case 1:
			v.name = string(body)
		case 2:
			return inside(body, 1, func(field int, body []byte, n uint64) error {
				switch field {
				case 1:
					v.elem = n
				case 2:
					return message(body, func(_ int, dim []byte, _ uint64) error { return appendDim(&v.dims, dim) })
				}
				return nil
			})
		}
		return nil
	})
	*to = append(*to, v)
	return err
}

func appendDim(to *[]int, data []byte) error {
	size := 0
	err := message(data, func(field int, _ []byte, n uint64) error {
		if field == 1 && n < 1<<31 {
			size = int(n)
		}
		return nil
	})
	*to = append(*to, size)
	return err
}

// inside visits the fields of the messages that stand in field want of data.
func inside(data []byte, want int, visit func(field int, body []byte, n uint64) error) error {
	return message(data, func(field int, body []byte, _ uint64) error {
		if field != want {
			return nil
		}
		return message(body, visit)
	})
}

var errTruncated = errors.New("the protobuf message ends too early")

// message visits the fields of a protobuf message: body for strings and messages, n for integers.
func message(data []byte, visit func(field int, body []byte, n uint64) error) error {
	for len(data) > 0 {
		tag, size := binary.Uvarint(data)
		if size <= 0 {
			return errTruncated
		}
		body, n, rest, err := payload(data[size:], tag&7)
		if err != nil {
			return err
		}
		if err := visit(int(tag>>3), body, n); err != nil {
			return err
		}
		data = rest
	}
	return nil
}

// payload takes one value of a wire type off data.
func payload(data []byte, wire uint64) (body []byte, n uint64, rest []byte, err error) {
	skip := uint64(0)
	switch wire {
	case 0, 2:
		v, size := binary.Uvarint(data)
		if size <= 0 {
			return nil, 0, nil, errTruncated
		}
		data = data[size:]
		if wire == 0 {
			return nil, v, data, nil
		}
		skip = v
	case 1:
		skip = 8
	case 5:
		skip = 4
	default:
		return nil, 0, nil, fmt.Errorf("protobuf wire type %d is not known", wire)
	}
	if skip > uint64(len(data)) {
		return nil, 0, nil, errTruncated
	}
	return data[:skip], 0, data[skip:], nil
}

func names(values []value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.name
	}
	return out
}

// fits checks a manifest's inputs, output and labels against the graph.
func (g *graph) fits(m *Manifest) error {
	var f faults
	have, want := slices.Sorted(slices.Values(names(g.inputs))), slices.Sorted(slices.Values(m.Inputs))
	f.check(slices.Equal(have, want), "inputs are %s, but the graph's are %s; list those", strings.Join(want, ", "), strings.Join(have, ", "))
	for _, in := range g.inputs {
		f.check(in.elem == onnxInt64, "the graph's input %s is not int64; export it with int64 inputs", in.name)
	}
	i := slices.Index(names(g.outputs), m.Output)
	f.check(i >= 0, "output is %q, but the graph's are %s", m.Output, strings.Join(names(g.outputs), ", "))
	if i >= 0 {
		out := g.outputs[i]
		f.check(out.elem == onnxFloat, "the graph's output %s is not float32; export it with float32 logits", out.name)
		width := m.width(out)
		f.check(width == len(m.Labels), "%d labels are listed, but the graph gives %d logits; list one label a logit, in their order", len(m.Labels), width)
	}
	return errors.Join(f...)
}

// width is the number of logits that out gives; where the graph leaves it open, that of the labels.
func (m *Manifest) width(out value) int {
	if n := len(out.dims); n > 0 && out.dims[n-1] > 0 {
		return out.dims[n-1]
	}
	return len(m.Labels)
}
