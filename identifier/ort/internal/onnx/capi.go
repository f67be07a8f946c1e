//go:build ort_capi

package onnx

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "capi.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// statusError is the error of a message of the C side, which it frees.
func statusError(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return errors.New(C.GoString(message))
}

// LoggingLevel is a severity of the library's log.
type LoggingLevel int

// LoggingLevelFatal keeps the library from printing the errors that it returns.
const LoggingLevelFatal LoggingLevel = 4

var library struct {
	path   string
	loaded bool
}

// SetSharedLibraryPath says which library InitializeEnvironment loads.
func SetSharedLibraryPath(path string) { library.path = path }

// WithLogLevelFatal is the log of an environment.
func WithLogLevelFatal() LoggingLevel { return LoggingLevelFatal }

// InitializeEnvironment loads the library, once a process.
func InitializeEnvironment(level LoggingLevel) error {
	path := C.CString(library.path)
	defer C.free(unsafe.Pointer(path))
	err := statusError(C.ort_load(path, C.int(level)))
	library.loaded = err == nil
	return err
}

// GetVersion is the library's version.
func GetVersion() string { return C.GoString(C.ort_version()) }

// Value is a tensor of any element type.
type Value interface{ Destroy() error }

// Shape is the length of each dimension.
type Shape []int64

// NewShape is a shape.
func NewShape(dimensions ...int64) Shape { return dimensions }

func (s Shape) size() (int64, error) {
	n := int64(1)
	for _, d := range s {
		if d < 1 {
			return 0, fmt.Errorf("a tensor of shape %v has no elements", s)
		}
		n *= d
	}
	return n, nil
}

// Element is a Go type of a tensor's elements.
type Element interface {
	float32 | uint8 | int32 | int64
}

// ONNXTensorElementDataType.
const (
	typeFloat32 = 1
	typeUint8   = 2
	typeInt32   = 6
	typeInt64   = 7
)

func elementType[T Element]() C.int {
	switch any(*new(T)).(type) {
	case float32:
		return typeFloat32
	case uint8:
		return typeUint8
	case int32:
		return typeInt32
	}
	return typeInt64
}

// Tensor is a tensor whose elements Go reads.
type Tensor[T Element] struct {
	data  []T
	shape Shape
	value unsafe.Pointer
	pin   runtime.Pinner // of data, if it is Go's
}

// NewTensor is a tensor over data, which it keeps.
func NewTensor[T Element](s Shape, data []T) (*Tensor[T], error) {
	n, err := s.size()
	if err != nil {
		return nil, err
	}
	if int64(len(data)) < n {
		return nil, fmt.Errorf("a tensor of shape %v has %d elements, not %d", s, n, len(data))
	}
	t := &Tensor[T]{data: data[:n], shape: s}
	t.pin.Pin(&data[0])
	bytes := C.size_t(n) * C.size_t(unsafe.Sizeof(data[0]))
	err = statusError(C.ort_new_tensor(unsafe.Pointer(&data[0]), bytes, (*C.int64_t)(&s[0]), C.size_t(len(s)),
		elementType[T](), &t.value))
	if err != nil {
		t.pin.Unpin()
		return nil, err
	}
	return t, nil
}

// NewEmptyTensor is a tensor of zeros.
func NewEmptyTensor[T Element](s Shape) (*Tensor[T], error) {
	n, err := s.size()
	if err != nil {
		return nil, err
	}
	return NewTensor(s, make([]T, n))
}

// Destroy frees the tensor; nil is nothing to free.
func (t *Tensor[T]) Destroy() error {
	if t == nil || t.value == nil {
		return nil
	}
	C.ort_release_tensor(t.value)
	t.pin.Unpin()
	t.value = nil
	return nil
}

// GetData are the elements, valid until Destroy.
func (t *Tensor[T]) GetData() []T { return t.data }

// GetShape is the shape.
func (t *Tensor[T]) GetShape() Shape { return t.shape }

func (t *Tensor[T]) pointer() unsafe.Pointer { return t.value }

// otherTensor is a tensor of an element type that Go does not read here.
type otherTensor struct{ Tensor[uint8] }

// tensorOf makes a Value of a tensor that the library made.
func tensorOf(value unsafe.Pointer) (Value, error) {
	var c C.ort_contents
	if err := statusError(C.ort_read_tensor(value, &c)); err != nil {
		C.ort_release_tensor(value)
		return nil, err
	}
	shape := make(Shape, c.rank)
	for i := range shape {
		shape[i] = int64(c.shape[i])
	}
	switch c._type {
	case typeFloat32:
		return newTensorOver[float32](value, shape, c), nil
	case typeUint8:
		return newTensorOver[uint8](value, shape, c), nil
	case typeInt32:
		return newTensorOver[int32](value, shape, c), nil
	case typeInt64:
		return newTensorOver[int64](value, shape, c), nil
	}
	return &otherTensor{Tensor[uint8]{shape: shape, value: value}}, nil
}

func newTensorOver[T Element](value unsafe.Pointer, s Shape, c C.ort_contents) *Tensor[T] {
	return &Tensor[T]{data: unsafe.Slice((*T)(c.data), int(c.count)), shape: s, value: value}
}

// SessionOptions say how a graph runs.
type SessionOptions struct{ pointer unsafe.Pointer }

// NewSessionOptions are the library's defaults.
func NewSessionOptions() (*SessionOptions, error) {
	if !library.loaded {
		return nil, errors.New("the ONNX Runtime library is not loaded")
	}
	o := &SessionOptions{}
	return o, statusError(C.ort_new_session_options(&o.pointer))
}

// SetIntraOpNumThreads is how many threads one operator uses.
func (o *SessionOptions) SetIntraOpNumThreads(n int) error {
	return statusError(C.ort_set_intra_op_threads(o.pointer, C.int(n)))
}

// SetInterOpNumThreads is how many operators run at once.
func (o *SessionOptions) SetInterOpNumThreads(n int) error {
	return statusError(C.ort_set_inter_op_threads(o.pointer, C.int(n)))
}

// SetLogSeverityLevel is what the session prints.
func (o *SessionOptions) SetLogSeverityLevel(level LoggingLevel) error {
	return statusError(C.ort_set_log_severity(o.pointer, C.int(level)))
}

// EnableProfiling writes a trace of the nodes run to a file whose name begins with prefix.
func (o *SessionOptions) EnableProfiling(prefix string) error {
	p := C.CString(prefix)
	defer C.free(unsafe.Pointer(p))
	return statusError(C.ort_enable_profiling(o.pointer, p))
}

// AppendExecutionProviderCUDA runs on a GPU what runs there.
func (o *SessionOptions) AppendExecutionProviderCUDA(cuda *CUDAProviderOptions) error {
	return statusError(C.ort_append_cuda(o.pointer, cuda.pointer))
}

// Destroy frees the options.
func (o *SessionOptions) Destroy() error {
	C.ort_release_session_options(o.pointer)
	return nil
}

// CUDAProviderOptions say which GPU, and how.
type CUDAProviderOptions struct{ pointer unsafe.Pointer }

// NewCUDAProviderOptions fails where the library has no CUDA.
func NewCUDAProviderOptions() (*CUDAProviderOptions, error) {
	o := &CUDAProviderOptions{}
	return o, statusError(C.ort_new_cuda_options(&o.pointer))
}

// Update sets options by their names.
func (o *CUDAProviderOptions) Update(options map[string]string) error {
	var keys, values []*C.char
	for k, v := range options {
		keys, values = append(keys, C.CString(k)), append(values, C.CString(v))
	}
	defer freeStrings(append(keys, values...))
	if len(keys) == 0 {
		return nil
	}
	return statusError(C.ort_update_cuda_options(o.pointer, &keys[0], &values[0], C.size_t(len(keys))))
}

// Destroy frees the options.
func (o *CUDAProviderOptions) Destroy() error {
	C.ort_release_cuda_options(o.pointer)
	return nil
}

// RunOptions belong to one Run.
type RunOptions struct{ pointer unsafe.Pointer }

// NewRunOptions are those of a Run that may be told to stop.
func NewRunOptions() (*RunOptions, error) {
	o := &RunOptions{}
	return o, statusError(C.ort_new_run_options(&o.pointer))
}

// Terminate tells the Run to stop.
func (o *RunOptions) Terminate() error { return statusError(C.ort_terminate(o.pointer)) }

// Destroy frees the options.
func (o *RunOptions) Destroy() error {
	C.ort_release_run_options(o.pointer)
	return nil
}

// DynamicAdvancedSession is an open graph. Its Runs may overlap.
type DynamicAdvancedSession struct {
	pointer         unsafe.Pointer
	inputs, outputs []*C.char
}

// NewDynamicAdvancedSession opens the graph of a file.
func NewDynamicAdvancedSession(path string, inputs, outputs []string, o *SessionOptions) (*DynamicAdvancedSession,
	error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	return openSession(inputs, outputs, func(out *unsafe.Pointer) *C.char { return C.ort_open_file(p, o.pointer, out) })
}

// NewDynamicAdvancedSessionWithONNXData opens a graph in memory.
func NewDynamicAdvancedSessionWithONNXData(data []byte, inputs, outputs []string,
	o *SessionOptions) (*DynamicAdvancedSession, error) {
	if len(data) == 0 {
		return nil, errors.New("the graph has no bytes")
	}
	return openSession(inputs, outputs, func(out *unsafe.Pointer) *C.char {
		return C.ort_open_bytes(unsafe.Pointer(&data[0]), C.size_t(len(data)), o.pointer, out)
	})
}

func openSession(inputs, outputs []string, newSession func(*unsafe.Pointer) *C.char) (*DynamicAdvancedSession, error) {
	s := &DynamicAdvancedSession{}
	if err := statusError(newSession(&s.pointer)); err != nil {
		return nil, err
	}
	s.inputs, s.outputs = newStrings(inputs), newStrings(outputs)
	return s, nil
}

// Run computes outputs of inputs, in the order of their names.
func (s *DynamicAdvancedSession) Run(inputs, outputs []Value) error {
	return s.RunWithOptions(inputs, outputs, &RunOptions{})
}

// RunWithOptions is Run, which o may stop. A nil output is made, and is the caller's to destroy.
func (s *DynamicAdvancedSession) RunWithOptions(inputs, outputs []Value, o *RunOptions) error {
	if len(inputs) != len(s.inputs) || len(outputs) != len(s.outputs) {
		return fmt.Errorf("the session takes %d inputs and %d outputs, not %d and %d", len(s.inputs), len(s.outputs),
			len(inputs), len(outputs))
	}
	in, out := pointers(inputs), pointers(outputs)
	err := statusError(C.ort_run(s.pointer, o.pointer, &s.inputs[0], &in[0], C.size_t(len(in)), &s.outputs[0],
		C.size_t(len(out)), &out[0]))
	for i := 0; err == nil && i < len(outputs); i++ {
		if outputs[i] == nil {
			outputs[i], err = tensorOf(out[i])
		}
	}
	return err
}

// Destroy frees the graph; no Run may be under way.
func (s *DynamicAdvancedSession) Destroy() error {
	C.ort_release_session(s.pointer)
	freeStrings(append(s.inputs, s.outputs...))
	return nil
}

func pointers(values []Value) []unsafe.Pointer {
	p := make([]unsafe.Pointer, len(values))
	for i, v := range values {
		if v != nil {
			p[i] = v.(interface{ pointer() unsafe.Pointer }).pointer()
		}
	}
	return p
}

func newStrings(s []string) []*C.char {
	out := make([]*C.char, len(s))
	for i := range s {
		out[i] = C.CString(s[i])
	}
	return out
}

func freeStrings(s []*C.char) {
	for i := range s {
		C.free(unsafe.Pointer(s[i]))
	}
}
