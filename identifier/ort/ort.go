// Package ort runs an ONNX graph with ONNX Runtime. It is the only importer of onnxruntime_go.
//
// All callers of Run share one session, and each computes one row on one thread. On a CPU that is faster than any
// batch, and with dynamic quantisation a row's logits do not depend on other rows.
package ort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
	onnx "github.com/yalue/onnxruntime_go"
)

// MinVersion is the oldest ONNX Runtime whose C API (24) onnxruntime_go v1.27 can use.
const MinVersion = "1.24"

// Options say where and how a graph runs.
type Options struct {
	Library string   // path of libonnxruntime; the first one opened serves the whole process
	Device  string   // "cpu", "cuda" or "cuda:N"; "" is "cpu"
	Threads int      // threads within one Run, at least 1; more than one only pays where rows come one at a time
	Inputs  []string // the graph's inputs, out of input_ids, attention_mask, token_type_ids
	Output  string   // the graph's output of logits, [batch, labels]

	GPUMemory int64 // bytes that ONNX Runtime may hold on a GPU; 0 is no limit
}

// DefaultOptions runs on the CPU, one thread a Run.
func DefaultOptions() Options {
	return Options{Device: "cpu", Threads: 1, Inputs: []string{"input_ids", "attention_mask"}, Output: "logits"}
}

// Validate reports every fault of o.
func (o Options) Validate() error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("ort: "+format, args...))
		}
	}
	require(o.Library != "", "no path of the ONNX Runtime library; run 'erreval setup'")
	_, _, err := parseDevice(o.Device)
	errs = append(errs, err)
	require(o.Threads >= 1, "%d threads; give at least 1", o.Threads)
	require(o.GPUMemory >= 0, "GPU memory of %d bytes; give a positive number, or 0 for no limit", o.GPUMemory)
	require(len(o.Inputs) > 0 && o.Output != "", "the names of the graph's inputs and output are missing")
	for _, name := range o.Inputs {
		_, err := tensorOf(identifier.Input{}, name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Runner is an open graph. Its methods may be called from several goroutines at a time.
type Runner struct {
	session *onnx.DynamicAdvancedSession
	inputs  []string
	runs    sync.RWMutex // locked for reading during a Run, so that Close waits for it
}

// Open opens a model's graph, from memory or from its file. Inputs and Output of o are the manifest's.
func Open(m *models.Model, o Options) (*Runner, error) {
	o.Inputs, o.Output = m.Manifest.Inputs, m.Manifest.Output
	if m.Graph == nil {
		return NewFile(m.Path, o)
	}
	return New(m.Graph, o)
}

// New opens the graph in model, the bytes of a .onnx file. Its errors name what to try next.
func New(model []byte, o Options) (*Runner, error) {
	return openSession(o, func(s *onnx.SessionOptions) (*onnx.DynamicAdvancedSession, error) {
		return onnx.NewDynamicAdvancedSessionWithONNXData(model, o.Inputs, []string{o.Output}, s)
	})
}

// NewFile opens the graph in the .onnx file at path; its weights may be in other files beside it.
func NewFile(path string, o Options) (*Runner, error) {
	return openSession(o, func(s *onnx.SessionOptions) (*onnx.DynamicAdvancedSession, error) {
		return onnx.NewDynamicAdvancedSession(path, o.Inputs, []string{o.Output}, s)
	})
}

func openSession(o Options, session func(*onnx.SessionOptions) (*onnx.DynamicAdvancedSession, error)) (*Runner, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := initialiseLibrary(o.Library); err != nil {
		return nil, err
	}
	options, err := sessionOptions(o)
	if err != nil {
		return nil, err
	}
	defer options.Destroy()
	opened, err := session(options)
	if err != nil {
		return nil, fmt.Errorf("ort: ONNX Runtime refuses the model: %w", err)
	}
	return &Runner{session: opened, inputs: o.Inputs}, nil
}

// exactInt8 lets ONNX Runtime multiply int8 weights with slower instructions where the fast ones overflow: on x86
// processors without VNNI, where logits came out wrong by more than 1.
const exactInt8 = "session.x64quantprecision"

func sessionOptions(o Options) (*onnx.SessionOptions, error) {
	s, err := onnx.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("ort: %w", err)
	}
	// Errors are returned; the library need not print them as well.
	err = errors.Join(s.SetIntraOpNumThreads(o.Threads), s.SetInterOpNumThreads(1),
		s.SetLogSeverityLevel(onnx.LoggingLevelFatal), s.AddSessionConfigEntry(exactInt8, "1"))
	if err == nil {
		err = appendDevice(s, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.Destroy())
	}
	return s, nil
}

func appendDevice(s *onnx.SessionOptions, o Options) error {
	kind, index, err := parseDevice(o.Device)
	if err != nil || kind == "cpu" {
		return err
	}
	if err := appendCUDA(s, index, o.GPUMemory); err != nil {
		return fmt.Errorf("device %s cannot be used: %s; run 'erreval doctor --device cuda', or use --device cpu",
			o.Device, strings.TrimSuffix(err.Error(), "."))
	}
	return nil
}

// appendCUDA asks for the CUDA provider. TF32 is left off, so that fp32 means fp32 there too; fp16 graphs are the fast
// ones.
func appendCUDA(s *onnx.SessionOptions, index int, memory int64) error {
	cuda, err := onnx.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer cuda.Destroy()
	options := map[string]string{"device_id": strconv.Itoa(index), "use_tf32": "0"}
	if memory > 0 {
		options["gpu_mem_limit"] = strconv.FormatInt(memory, 10)
		options["arena_extend_strategy"] = "kSameAsRequested" // doubling would overshoot the limit
	}
	if err := cuda.Update(options); err != nil {
		return err
	}
	return s.AppendExecutionProviderCUDA(cuda)
}

// IsCUDA tells whether device is an NVIDIA GPU: "cuda" or "cuda:N".
func IsCUDA(device string) bool { return device == "cuda" || strings.HasPrefix(device, "cuda:") }

// parseDevice splits "cuda:1" into its kind and index.
func parseDevice(device string) (kind string, index int, err error) {
	kind, number, numbered := strings.Cut(device, ":")
	switch {
	case device == "" || device == "cpu":
		return "cpu", 0, nil
	case kind == "cuda" && !numbered:
		return kind, 0, nil
	case kind == "cuda":
		if index, err = strconv.Atoi(number); err == nil && index >= 0 {
			return kind, index, nil
		}
	}
	return "", 0, fmt.Errorf("ort: unknown device %q; use cpu, cuda or cuda:N", device)
}

// Run computes the logits of in, row by row, into logits: len(logits) is rows × labels. If ctx ends, Run stops the
// native call, waits until it returns, and returns ctx's error.
func (r *Runner) Run(ctx context.Context, in identifier.Input, logits []float32) error {
	return r.compute(ctx, in, func(output onnx.Value) error { return copyLogits(output, in.Rows(), logits) })
}

// RunHidden computes the vectors of in's tokens, one after the other, into hidden: len(hidden) is tokens × size. The
// graph's output is [batch, sequence, size]. The context ends it as it ends Run.
func (r *Runner) RunHidden(ctx context.Context, in identifier.Input, hidden []float32) error {
	return r.compute(ctx, in, func(output onnx.Value) error { return copyHidden(output, in, hidden) })
}

func (r *Runner) compute(ctx context.Context, in identifier.Input, read func(output onnx.Value) error) error {
	r.runs.RLock()
	defer r.runs.RUnlock()
	if r.session == nil {
		return errors.New("ort: the runner is closed")
	}
	if err := ctx.Err(); err != nil { // a short call would end before it is stopped
		return err
	}
	values, err := tensors(r.inputs, in)
	defer destroyValues(values)
	if err != nil {
		return err
	}
	outputs := []onnx.Value{nil}
	err = r.runUntil(ctx, values, outputs)
	defer destroyValues(outputs)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("ort: %w", err)
	}
	return read(outputs[0])
}

// runUntil runs the session, and stops it when ctx ends.
func (r *Runner) runUntil(ctx context.Context, inputs, outputs []onnx.Value) error {
	options, err := onnx.NewRunOptions()
	if err != nil {
		return err
	}
	terminated := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(terminated)
		_ = options.Terminate()
	})
	err = r.session.RunWithOptions(inputs, outputs, options)
	if !stop() {
		<-terminated // options must outlive Terminate
	}
	return errors.Join(err, options.Destroy())
}

// Close frees the session once the current runs have returned.
func (r *Runner) Close() error {
	r.runs.Lock()
	defer r.runs.Unlock()
	if r.session == nil {
		return nil
	}
	err := r.session.Destroy()
	r.session = nil
	return err
}

func tensors(names []string, in identifier.Input) ([]onnx.Value, error) {
	values := make([]onnx.Value, 0, len(names))
	shape := onnx.NewShape(int64(in.Rows()), int64(in.Width))
	for _, name := range names {
		data, err := tensorOf(in, name)
		if err != nil {
			return values, err
		}
		tensor, err := onnx.NewTensor(shape, data)
		if err != nil {
			return values, fmt.Errorf("ort: input %s: %w", name, err)
		}
		values = append(values, tensor)
	}
	return values, nil
}

func tensorOf(in identifier.Input, name string) ([]int64, error) {
	switch name {
	case "input_ids":
		return in.IDs, nil
	case "attention_mask":
		return in.Mask, nil
	case "token_type_ids":
		return in.Types, nil
	}
	return nil, fmt.Errorf("ort: the graph asks for the input %q; known are input_ids, attention_mask and token_type_ids",
		name)
}

func copyLogits(output onnx.Value, rows int, logits []float32) error {
	tensor, ok := output.(*onnx.Tensor[float32])
	if !ok {
		return fmt.Errorf("ort: the graph's output is no float32 tensor but %T; export it with float32 logits", output)
	}
	if shape := tensor.GetShape(); len(shape) != 2 || int(shape[0]) != rows || len(tensor.GetData()) != len(logits) {
		return fmt.Errorf("ort: the graph's output has shape %v; wanted [%d %d], one logit a label", shape, rows,
			len(logits)/rows)
	}
	copy(logits, tensor.GetData())
	return nil
}

func copyHidden(output onnx.Value, in identifier.Input, hidden []float32) error {
	tensor, ok := output.(*onnx.Tensor[float32])
	if !ok {
		return fmt.Errorf("ort: the graph's vectors are no float32 tensor but %T", output)
	}
	shape, size := tensor.GetShape(), len(hidden)/len(in.IDs)
	if len(shape) != 3 || int(shape[0]) != in.Rows() || int(shape[1]) != in.Width || int(shape[2]) != size {
		return fmt.Errorf("ort: the graph's vectors have shape %v; wanted [%d %d %d]", shape, in.Rows(), in.Width, size)
	}
	copy(hidden, tensor.GetData())
	return nil
}

func destroyValues(values []onnx.Value) {
	for _, v := range values {
		if v != nil {
			_ = v.Destroy()
		}
	}
}

// noTelemetry, if set before the library is loaded, stops published builds since 1.29 from writing a device id and
// events into the user's cache, and from sending them to Microsoft.
const noTelemetry = "ORT_DISABLE_TELEMETRY"

// library is the process's ONNX Runtime, which can be loaded only once.
var library struct {
	sync.Mutex
	path string
}

// initialiseLibrary loads the library at path, unless it is loaded.
func initialiseLibrary(path string) error {
	library.Lock()
	defer library.Unlock()
	if library.path != "" {
		if library.path != path {
			return fmt.Errorf("ort: this process already runs %s; it cannot load %s as well", library.path, path)
		}
		return nil
	}
	if err := os.Setenv(noTelemetry, "1"); err != nil {
		return fmt.Errorf("ort: %w", err)
	}
	onnx.SetSharedLibraryPath(path)
	if err := onnx.InitializeEnvironment(onnx.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("ort: cannot load %s (ONNX Runtime %s or newer is needed): %w; run 'erreval setup'", path,
			MinVersion, err)
	}
	library.path = path
	return nil
}

// Version is the version of the library at path, which it loads.
func Version(path string) (string, error) {
	if err := initialiseLibrary(path); err != nil {
		return "", err
	}
	return onnx.GetVersion(), nil
}

// TryDevice is nil if device can be used with the library at path; else the error says why not.
func TryDevice(path, device string) error {
	if err := initialiseLibrary(path); err != nil {
		return err
	}
	options, err := sessionOptions(Options{Device: device, Threads: 1})
	if err != nil {
		return err
	}
	return options.Destroy()
}
