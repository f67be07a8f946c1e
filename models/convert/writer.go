package convert

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/erreval/erreval/internal/protobuf"
)

// Names of the files that Convert writes.
const (
	graphFile = "model.onnx"
	dataFile  = "model.onnx.data"
)

const (
	// alignment of tensors in the data file, so that a runtime can map them into memory.
	alignment = 4096
	// smallTensor is the size in bytes up to which a tensor stays in the graph, since the runtime needs shapes there.
	smallTensor = 1024
)

// tensor is an initializer of the graph, whose numbers are made when it is written.
type tensor struct {
	name   string
	elem   int
	dims   []int64
	fill   func(*emitter) error // emits all numbers in row-major order
	offset int64                // in the data file; -1 is in the graph itself
}

// size is the number of bytes of the numbers.
func (t *tensor) size() int64 {
	n := elemSize[t.elem]
	for _, d := range t.dims {
		n *= d
	}
	return n
}

// header is the TensorProto without the numbers of raw_data = 9: dims = 1, data_type = 2, name = 8,
// external_data = 13 {key = 1, value = 2}, data_location = 14 (1 is external).
func (t *tensor) header() []byte {
	var b []byte
	for _, d := range t.dims {
		b = protobuf.AppendInt(b, 1, d)
	}
	b = protobuf.AppendString(protobuf.AppendInt(b, 2, int64(t.elem)), 8, t.name)
	if t.offset < 0 {
		return protobuf.AppendLength(b, 9, t.size())
	}
	for _, e := range [][2]string{{"location", dataFile}, {"offset", strconv.FormatInt(t.offset, 10)},
		{"length", strconv.FormatInt(t.size(), 10)}} {
		b = protobuf.AppendBytes(b, 13, protobuf.AppendString(protobuf.AppendString(nil, 1, e[0]), 2, e[1]))
	}
	return protobuf.AppendInt(b, 14, 1)
}

// length is that of the TensorProto in bytes.
func (t *tensor) length() int64 {
	n := int64(len(t.header()))
	if t.offset < 0 {
		n += t.size()
	}
	return n
}

// graph is an ONNX graph whose weights are not in memory.
type graph struct {
	nodes   []byte // encoded fields of GraphProto
	values  []byte // inputs and outputs, encoded fields of GraphProto
	tensors []*tensor
}

// placeTensors decides which tensors go to the data file, and returns that file's size.
func (g *graph) placeTensors(externalAbove int64) int64 {
	total := int64(0)
	for _, t := range g.tensors {
		t.offset = -1
		total += t.size()
	}
	if total <= externalAbove {
		return 0
	}
	end := int64(0)
	for _, t := range g.tensors {
		if t.size() > smallTensor {
			t.offset = (end + alignment - 1) / alignment * alignment
			end = t.offset + t.size()
		}
	}
	return end
}

// prefix is the model up to its first tensor: ir_version = 1, producer_name = 2, opset_import = 8, then the opened
// graph = 7 with its node = 1, name = 2, input = 11 and output = 12.
func (g *graph) prefix() []byte {
	body := append(protobuf.AppendString(g.nodes[:len(g.nodes):len(g.nodes)], 2, "encoder"), g.values...)
	length := int64(len(body))
	for _, t := range g.tensors {
		length += int64(len(protobuf.AppendLength(nil, 5, t.length()))) + t.length()
	}
	b := protobuf.AppendString(protobuf.AppendInt(nil, 1, irVersion), 2, "erreval")
	b = protobuf.AppendBytes(protobuf.AppendBytes(b, 8, encodeOpset("", opset)), 8, encodeOpset(contrib, 1))
	return append(protobuf.AppendLength(b, 7, length), body...)
}

// writeFiles streams the model; the numbers of tensors that have an offset go to data.
func (g *graph) writeFiles(ctx context.Context, model, data io.Writer) error {
	to, apart := newEmitter(model), newEmitter(data)
	to.bytes(g.prefix())
	for _, t := range g.tensors {
		if err := ctx.Err(); err != nil {
			return err
		}
		to.bytes(protobuf.AppendLength(nil, 5, t.length()))
		to.bytes(t.header())
		e := to
		if t.offset >= 0 {
			e = apart
			e.pad(t.offset)
		}
		if err := e.tensor(t); err != nil {
			return err
		}
	}
	return errors.Join(to.flush(), apart.flush())
}

// emitter writes numbers. It keeps its first errors.
type emitter struct {
	w     *bufio.Writer
	n     int64 // bytes written
	err   error // of the writer beneath
	fault error // about a number that its type cannot hold
	buf   []byte
}

func newEmitter(w io.Writer) *emitter { return &emitter{w: bufio.NewWriterSize(w, 1<<20)} }

func (e *emitter) bytes(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
	e.n += int64(len(b))
}

// pad writes zeros up to offset.
func (e *emitter) pad(offset int64) { e.bytes(make([]byte, offset-e.n)) }

func (e *emitter) flush() error { return errors.Join(e.err, e.w.Flush()) }

func (e *emitter) tensor(t *tensor) error {
	end := e.n + t.size()
	if err := cmp.Or(t.fill(e), e.fault, e.err); err != nil {
		return err
	}
	if e.n != end {
		return fmt.Errorf("tensor %s: %d bytes were written in place of %d; this is a fault of erreval", t.name,
			t.size()+e.n-end, t.size())
	}
	return nil
}

func (e *emitter) floats(v []float32) {
	e.buf = slices.Grow(e.buf[:0], 4*len(v))[:4*len(v)]
	for i, x := range v {
		binary.LittleEndian.PutUint32(e.buf[4*i:], math.Float32bits(x))
	}
	e.bytes(e.buf)
}

func (e *emitter) halves(v []float32) {
	e.buf = e.buf[:0]
	for _, x := range v {
		h, ok := floatToHalf(x)
		if !ok && e.fault == nil {
			e.fault = fmt.Errorf("%v is too large for fp16; convert to fp32", x)
		}
		e.buf = binary.LittleEndian.AppendUint16(e.buf, h)
	}
	e.bytes(e.buf)
}

func (e *emitter) ints(v []int64) {
	for _, x := range v {
		e.bytes(binary.LittleEndian.AppendUint64(nil, uint64(x)))
	}
}

func (e *emitter) int8s(v []int8) {
	e.buf = e.buf[:0]
	for _, x := range v {
		e.buf = append(e.buf, byte(x))
	}
	e.bytes(e.buf)
}

// saveFiles writes g as the files of dir.
func (g *graph) saveFiles(ctx context.Context, dir string, o Options) error {
	apart := g.placeTensors(o.ExternalAbove) > 0
	return explainFault(createFile(dir, graphFile, func(model io.Writer) error {
		if !apart {
			return g.writeFiles(ctx, model, io.Discard)
		}
		return createFile(dir, dataFile, func(data io.Writer) error { return g.writeFiles(ctx, model, data) })
	}))
}

func createFile(dir, name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// explainFault words a full disk for people.
func explainFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("the disk is full: %w; free some space, or convert to int8, which needs a quarter", err)
	}
	return err
}

// floatToHalf rounds x to the nearest IEEE 754 binary16, ties to even. It is false where x lies beyond ±65504.
func floatToHalf(x float32) (uint16, bool) {
	bits := math.Float32bits(x)
	sign, abs := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case abs >= 0x477ff000: // 65520 rounds to infinity
		return sign | 0x7c00, false
	case abs < 0x38800000: // below 2^-14: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(abs))*(1<<24))), true
	}
	abs += 0xfff + abs>>13&1 // round the 13 bits that go
	return sign | uint16((abs-0x38000000)>>13), true
}
