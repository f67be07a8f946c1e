package convert

import "github.com/erreval/erreval/internal/protobuf"

// Element types of ONNX's TensorProto.DataType.
const (
	elemFloat = 1
	elemInt8  = 3
	elemInt32 = 6
	elemInt64 = 7
	elemBool  = 9
	elemHalf  = 10
)

// elemSize is the width of an element in bytes.
var elemSize = map[int]int64{elemFloat: 4, elemInt8: 1, elemInt32: 4, elemInt64: 8, elemHalf: 2}

// Versions that the written graphs need: opset 17 brought LayerNormalization.
const (
	irVersion = 8
	opset     = 17
	contrib   = "com.microsoft"
)

// The messages of onnx.proto are built by their field numbers; each append adds one field.

// attribute is an encoded AttributeProto: name = 1, f = 2, i = 3, g = 6, ints = 8, type = 20.
type attribute []byte

func newAttribute(name string, kind int64) attribute {
	return protobuf.AppendInt(protobuf.AppendString(nil, 1, name), 20, kind)
}

func floatAttr(name string, v float32) attribute {
	return protobuf.AppendFloat(newAttribute(name, 1), 2, v)
}

func intAttr(name string, v int64) attribute {
	return protobuf.AppendInt(newAttribute(name, 2), 3, v)
}

func graphAttr(name string, graph []byte) attribute {
	return protobuf.AppendBytes(newAttribute(name, 5), 6, graph)
}

func intsAttr(name string, v ...int64) attribute {
	a := newAttribute(name, 7)
	for _, n := range v {
		a = protobuf.AppendInt(a, 8, n)
	}
	return a
}

// contribOps are the operators that stand in Microsoft's domain.
var contribOps = map[string]bool{
	"BiasGelu": true, "DynamicQuantizeMatMul": true, "FastGelu": true, "FusedMatMul": true, "Gelu": true,
	"MatMulIntegerToFloat": true, "MultiHeadAttention": true, "SkipLayerNormalization": true,
}

// encodeNode is a NodeProto: input = 1, output = 2, name = 3, op_type = 4, attribute = 5, domain = 7.
func encodeNode(kind string, inputs, outputs []string, attrs []attribute) []byte {
	var b []byte
	for _, in := range inputs {
		b = protobuf.AppendString(b, 1, in)
	}
	for _, out := range outputs {
		b = protobuf.AppendString(b, 2, out)
	}
	b = protobuf.AppendString(protobuf.AppendString(b, 3, outputs[0]), 4, kind)
	for _, a := range attrs {
		b = protobuf.AppendBytes(b, 5, a)
	}
	if contribOps[kind] {
		b = protobuf.AppendString(b, 7, contrib)
	}
	return b
}

// encodeValue is a ValueInfoProto: name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1}}}. A
// dimension is an int64, or the string that names an open one.
func encodeValue(name string, elem int64, dims ...any) []byte {
	var shape []byte
	for _, d := range dims {
		var dim []byte // dim_value = 1, dim_param = 2
		switch d := d.(type) {
		case int64:
			dim = protobuf.AppendInt(nil, 1, d)
		case string:
			dim = protobuf.AppendString(nil, 2, d)
		}
		shape = protobuf.AppendBytes(shape, 1, dim)
	}
	tensor := protobuf.AppendBytes(protobuf.AppendInt(nil, 1, elem), 2, shape)
	return protobuf.AppendBytes(protobuf.AppendString(nil, 1, name), 2, protobuf.AppendBytes(nil, 1, tensor))
}

// encodeOpset is an OperatorSetIdProto: domain = 1, version = 2.
func encodeOpset(domain string, version int64) []byte {
	return protobuf.AppendInt(protobuf.AppendString(nil, 1, domain), 2, version)
}
