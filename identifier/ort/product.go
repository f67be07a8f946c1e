package ort

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/erreval/erreval/internal/protobuf"
	onnx "github.com/yalue/onnxruntime_go"
	"golang.org/x/sync/errgroup"
)

// Product is one plain matrix product, [M, K] × [K, N], whose second factor is weights. It measures a machine's peak.
type Product struct {
	Int8    bool // bytes to 32-bit integers (MatMulInteger), else float32 (MatMul)
	M, K, N int
}

// Operations is the number of multiplications and additions.
func (p Product) Operations() float64 { return 2 * float64(p.M) * float64(p.K) * float64(p.N) }

// ProductRunner is a graph that is one Product.
type ProductRunner struct {
	product Product
	session *onnx.DynamicAdvancedSession
}

// OpenProduct makes the graph in memory and opens it on the CPU, one thread a Run.
func OpenProduct(library string, p Product) (*ProductRunner, error) {
	if p.M < 1 || p.K < 1 || p.N < 1 {
		return nil, fmt.Errorf("ort: a product of [%d, %d] and [%d, %d]", p.M, p.K, p.K, p.N)
	}
	if err := initialiseLibrary(library); err != nil {
		return nil, err
	}
	options, err := sessionOptions(Options{Threads: 1})
	if err != nil {
		return nil, err
	}
	defer options.Destroy()
	session, err := onnx.NewDynamicAdvancedSessionWithONNXData(p.graph(), []string{"a"}, []string{"y"}, options)
	if err != nil {
		return nil, fmt.Errorf("ort: %w", err)
	}
	return &ProductRunner{p, session}, nil
}

// Product is what the graph computes.
func (r *ProductRunner) Product() Product { return r.product }

// Close frees the graph; no Rate may be under way.
func (r *ProductRunner) Close() error { return r.session.Destroy() }

// Rate computes the product repeatedly for d on atOnce goroutines, and returns their operations a second together.
func (r *ProductRunner) Rate(ctx context.Context, atOnce int, d time.Duration) (float64, error) {
	var g errgroup.Group
	counts := make([]int, atOnce)
	start := time.Now()
	for i := range atOnce {
		g.Go(func() (err error) {
			counts[i], err = r.runUntil(ctx, start.Add(d))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	took, n := time.Since(start), 0
	for _, c := range counts {
		n += c
	}
	return float64(n) * r.product.Operations() / took.Seconds(), nil
}

func (r *ProductRunner) runUntil(ctx context.Context, until time.Time) (n int, err error) {
	a, y, err := r.product.tensors()
	values := []onnx.Value{a, y}
	defer destroyValues(values)
	for err == nil && (n == 0 || time.Now().Before(until)) {
		if err = ctx.Err(); err == nil {
			err = r.session.Run(values[:1], values[1:])
			n++
		}
	}
	return n, err
}

func (p Product) tensors() (a, y onnx.Value, err error) {
	var errA, errY error
	in, out := onnx.NewShape(int64(p.M), int64(p.K)), onnx.NewShape(int64(p.M), int64(p.N))
	if p.Int8 {
		a, errA = onnx.NewEmptyTensor[uint8](in)
		y, errY = onnx.NewEmptyTensor[int32](out)
	} else {
		a, errA = onnx.NewEmptyTensor[float32](in)
		y, errY = onnx.NewEmptyTensor[float32](out)
	}
	return a, y, errors.Join(errA, errY)
}

// Element types of ONNX's TensorProto.DataType.
const (
	elemFloat = 1
	elemUint8 = 2
	elemInt8  = 3
	elemInt32 = 6
)

// graph is a ModelProto, built by onnx.proto's field numbers: ir_version = 1, graph = 7 {node = 1, name = 2,
// initializer = 5, input = 11, output = 12}, opset_import = 8.
func (p Product) graph() []byte {
	kind, in, weights, out := "MatMul", elemFloat, elemFloat, elemFloat
	if p.Int8 {
		kind, in, weights, out = "MatMulInteger", elemUint8, elemInt8, elemInt32
	}
	node := appendStrings(appendStrings(appendStrings(nil, 1, "a", "b"), 2, "y"), 4, kind)
	tensor := appendInts(appendInts(nil, 1, p.K, p.N), 2, weights) // dims = 1, data_type = 2, name = 8, raw_data = 9
	tensor = protobuf.AppendBytes(appendStrings(tensor, 8, "b"), 9, p.weights())
	g := appendStrings(protobuf.AppendBytes(nil, 1, node), 2, "product")
	g = protobuf.AppendBytes(g, 5, tensor)
	g = protobuf.AppendBytes(g, 11, tensorInfo("a", in, p.M, p.K))
	g = protobuf.AppendBytes(g, 12, tensorInfo("y", out, p.M, p.N))
	return protobuf.AppendBytes(protobuf.AppendBytes(appendInts(nil, 1, 8), 7, g), 8, appendInts(nil, 2, 17))
}

func appendInts(b []byte, field int, values ...int) []byte {
	for _, v := range values {
		b = protobuf.AppendInt(b, field, v)
	}
	return b
}

func appendStrings(b []byte, field int, values ...string) []byte {
	for _, v := range values {
		b = protobuf.AppendString(b, field, v)
	}
	return b
}

// weights are numbers without a pattern that a kernel could use.
func (p Product) weights() []byte {
	var b []byte
	x := uint32(1)
	for range p.K * p.N {
		x = x*1664525 + 1013904223 // Numerical Recipes' generator
		if p.Int8 {
			b = append(b, byte(x>>24))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(int32(x))/(1<<31)))
		}
	}
	return b
}

// tensorInfo is a ValueInfoProto: name = 1, type = 2 {tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1 {dim_value =
// 1}}}}.
func tensorInfo(name string, elem, rows, columns int) []byte {
	shape := protobuf.AppendBytes(nil, 1, appendInts(nil, 1, rows))
	shape = protobuf.AppendBytes(shape, 1, appendInts(nil, 1, columns))
	kind := protobuf.AppendBytes(nil, 1, protobuf.AppendBytes(appendInts(nil, 1, elem), 2, shape))
	return protobuf.AppendBytes(appendStrings(nil, 1, name), 2, kind)
}
