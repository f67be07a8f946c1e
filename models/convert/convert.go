// Package convert writes a Hugging Face checkpoint of a sequence classifier as a fast ONNX graph. The graph has fused
// operators, the last layer for the first token alone where the head reads only that, and weights as fp32, fp16 or
// int8. Graphs that exporters made of these classifiers are recognised and rewritten. Restore makes a checkpoint of a
// graph again.
//
// Tensors are read and written one at a time, so memory holds the largest of them, not the checkpoint.
package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/protobuf"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/models/checkpoint"
)

// Precisions of a graph.
const (
	FP32 = "fp32"
	FP16 = "fp16" // for CUDA: weights and sums in half precision, padding at the end of a row
	INT8 = "int8" // for CPUs: weights one scale a row, activations quantised as they come, head in fp32
)

// Options say how a graph is written.
type Options struct {
	Precision     string // FP32, FP16 or INT8
	ExternalAbove int64  // more bytes of weights than this go to model.onnx.data; below 2^31, protobuf's limit
}

// DefaultOptions keep the checkpoint's precision, in one file up to 1.9 GB.
func DefaultOptions() Options { return Options{Precision: FP32, ExternalAbove: 1_900_000_000} }

// Validate reports every fault of o.
func (o Options) Validate() error {
	var f faults
	f.require(slices.Contains([]string{FP32, FP16, INT8}, o.Precision),
		"precision %q is not known; it must be fp32, fp16 or int8", o.Precision)
	f.require(o.ExternalAbove >= 0 && o.ExternalAbove <= 2_000_000_000,
		"weights move to a file of their own above %d bytes; give 0 to 2000000000", o.ExternalAbove)
	return errors.Join(f...)
}

// Result describes a graph that was written, beside what config.json says.
type Result struct {
	Labels      []string // id2label, in the order of the logits; "LABEL_0" … where the checkpoint names none
	Inputs      []string // int64 [batch, sequence]
	Output      string   // float32 [batch, labels]
	Hidden      string   // tensor of the middle layer's output, [batch, sequence, hidden_size]; "" where there is none
	HiddenLayer int      // that layer, from 1 on
	Head        string   // layers of the head, as in "dense+tanh+out_proj"
	Notes       []string // tensors that were left out, and what Convert assumed
}

// Convert reads the checkpoint in the directory from and writes its graph into the directory to, which must be empty or
// absent. After an error there is nothing new on disk. Errors name the tensor, or the key of config.json, that is
// wrong.
func Convert(ctx context.Context, from, to string, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c, err := readConfig(from)
	if err != nil {
		return nil, err
	}
	w, err := checkpoint.Open(from)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	b, result, err := build(c, w, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return result, publish(to, func(dir string) error { return b.saveFiles(ctx, dir, o) })
}

// build makes the graph. For int8 it reads the layers' weights, one at a time; otherwise none yet.
func build(c *config, w weights, o Options) (*builder, *Result, error) {
	divisors, err := newBuilder(c, w, o.Precision).smooth()
	if err != nil {
		return nil, nil, err
	}
	return buildWith(c, w, o, divisors)
}

// buildWith makes the graph without reading weights.
func buildWith(c *config, w weights, o Options, divisors map[string]divisor) (*builder, *Result, error) {
	b := newBuilder(c, w, o.Precision)
	b.divisors = divisors
	h, err := b.findHead()
	if err != nil {
		return nil, nil, err
	}
	n := b.classify(b.encode(), h)
	if b.err != nil {
		return nil, nil, b.err
	}
	labels, err := c.labels(n)
	if err != nil {
		return nil, nil, err
	}
	for _, in := range b.inputs() {
		b.values = protobuf.AppendBytes(b.values, 11, encodeValue(in, elemInt64, "batch", "sequence"))
	}
	b.values = protobuf.AppendBytes(b.values, 12, encodeValue(output, elemFloat, "batch", n))
	return b, &Result{Labels: labels, Inputs: b.inputs(), Output: output, Hidden: b.hidden, HiddenLayer: b.hiddenLayer,
		Head: h.name, Notes: append(b.headNotes(h), b.leftOut()...)}, nil
}

// leftOut names the tensors that the graph does not use.
func (b *builder) leftOut() []string {
	var names []string
	for _, name := range b.weights.Names() {
		if !b.used[name] && !strings.HasSuffix(name, "position_ids") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if len(names) > 8 {
		names = append(names[:8:8], fmt.Sprintf("and %d more", len(names)-8))
	}
	return []string{"not used: " + strings.Join(names, ", ")}
}

// publish lets write fill a new directory beside to, and gives it to's name when it is complete.
func publish(to string, write func(dir string) error) (err error) {
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; give a new directory", to)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder, err := wholefile.NewFolder(to, "."+filepath.Base(to)+".partial-")
	if err != nil {
		return explainFault(err)
	}
	defer func() { err = errors.Join(err, folder.Discard()) }()
	if err := write(folder.Dir); err != nil {
		return err
	}
	return folder.Publish(false)
}

// NotRecognized says why a graph was not rewritten. It names the first node, from the logits back, that is in no
// encoder which Convert writes, or another difference.
type NotRecognized struct{ Reason error }

func (e *NotRecognized) Error() string { return "not optimised: " + e.Reason.Error() }

// Unwrap is the reason.
func (e *NotRecognized) Unwrap() error { return e.Reason }

// Optimize rewrites the graph that torch.onnx or Optimum exported of a BERT, DistilBERT, RoBERTa or XLM-R classifier.
// It finds the weights by their positions in the graph, and writes them as Convert writes those of a checkpoint. The
// graph is the file name in from, beside the checkpoint's config.json. Optimize does not compare the logits of both
// graphs: the caller does. If it does not recognise the graph, it writes nothing, and the error is a *NotRecognized.
func Optimize(ctx context.Context, from fs.FS, name, to string, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g, err := openExport(from, name)
	if err != nil {
		return nil, &NotRecognized{err}
	}
	defer g.Close()
	b, result, err := rebuild(from, g, o)
	if err != nil {
		return nil, &NotRecognized{err}
	}
	return result, publish(to, func(dir string) error { return b.saveFiles(ctx, dir, o) })
}

// rebuild makes a graph with the weights that it finds in g.
func rebuild(from fs.FS, g *export, o Options) (*builder, *Result, error) {
	data, err := regularfile.ReadFS(from, configFile, regularfile.MaxManifest)
	if err != nil {
		return nil, nil, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", configFile, err)
	}
	w, err := recognise(g, c)
	if err != nil {
		return nil, nil, err
	}
	return build(c, w, o)
}
