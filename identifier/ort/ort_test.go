package ort_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
)

// fixture is a tiny random model with logits from torch and onnxruntime-Python; see ../testdata/make_fixtures.py.
type fixture struct {
	graph  []byte
	inputs []string
	cases  []fixtureCase
}

type fixtureCase struct {
	ID, Join   string
	IDs, Types []int64
	Torch, ORT []float64
}

func (c *fixtureCase) input() identifier.Input {
	mask := make([]int64, len(c.IDs))
	for i := range mask {
		mask[i] = 1
	}
	return identifier.Input{IDs: c.IDs, Mask: mask, Types: c.Types, Width: len(c.IDs)}
}

func load(t testing.TB, name string) fixture {
	t.Helper()
	read := func(file string) []byte {
		data, err := os.ReadFile(filepath.Join("..", "testdata", name, file))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var recorded struct{ Cases []fixtureCase }
	var manifest struct{ Inputs []string }
	if err := errors.Join(json.Unmarshal(read("cases.json"), &recorded), json.Unmarshal(read("manifest.json"),
		&manifest)); err != nil {
		t.Fatal(err)
	}
	return fixture{read("model.onnx"), manifest.Inputs, recorded.Cases}
}

// exact is how far a logit in fp32 may lie from the recorded one. Those of int8 were recorded on one processor: others
// round otherwise. Quantising itself moved the fixture's logits by up to 0.06.
const exact, quantised = 1e-4, 0.1

// compare fails where a logit lies too far from the recorded one.
func compare(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if diff := math.Abs(float64(got[i]) - want[i]); !(diff <= tolerance) {
			t.Errorf("%s: logit %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestLogitsEqualTorch compares every recorded row, eight at a time, as the identifier runs them.
func TestLogitsEqualTorch(t *testing.T) {
	for name, tolerance := range map[string]float64{"roberta": exact, "bert": exact, "bert-int8": quantised} {
		f := load(t, name)
		r := orttest.Runner(t, f.graph, f.inputs, "logits")
		var wg sync.WaitGroup
		for _, c := range f.cases {
			wg.Go(func() {
				logits := make([]float32, len(c.ORT))
				if err := r.Run(t.Context(), c.input(), logits); err != nil {
					t.Error(err)
					return
				}
				compare(t, name+" "+c.ID+" "+c.Join+" onnxruntime", logits, c.ORT, tolerance)
				compare(t, name+" "+c.ID+" "+c.Join+" torch", logits, c.Torch, tolerance)
			})
		}
		wg.Wait()
		if len(f.cases) < 40 {
			t.Errorf("%s: only %d cases", name, len(f.cases))
		}
	}
}

// TestBatchEqualsRows runs two padded rows at a time, as peers do: with fp32 weights padding changes nothing.
func TestBatchEqualsRows(t *testing.T) {
	f := load(t, "bert")
	r := orttest.Runner(t, f.graph, f.inputs, "logits")
	a, b := f.cases[0], f.cases[2]
	width := max(len(a.IDs), len(b.IDs))
	in := identifier.Input{Width: width}
	for _, c := range []fixtureCase{a, b} {
		pad := make([]int64, width-len(c.IDs))
		in.IDs = append(append(in.IDs, c.IDs...), pad...)
		in.Types = append(append(in.Types, c.Types...), pad...)
		in.Mask = append(append(in.Mask, c.input().Mask...), pad...)
	}
	logits := make([]float32, 2*len(a.ORT))
	if err := r.Run(t.Context(), in, logits); err != nil {
		t.Fatal(err)
	}
	compare(t, "first", logits[:len(a.ORT)], a.Torch, exact)
	compare(t, "second", logits[len(a.ORT):], b.Torch, exact)
}

func TestRunRefuses(t *testing.T) {
	f := load(t, "bert")
	r := orttest.Runner(t, f.graph, f.inputs, "logits")
	in := f.cases[0].input()
	outside := in
	outside.IDs = append([]int64(nil), in.IDs...)
	outside.IDs[1] = 1 << 40
	for name, c := range map[string]struct {
		in    identifier.Input
		width int
		want  string
	}{
		"width of the logits": {in, 7, "one logit a label"},
		"id out of range":     {outside, 11, "indices element out of data bounds"},
		"no tokens":           {identifier.Input{}, 11, "ort"},
	} {
		err := r.Run(t.Context(), c.in, make([]float32, c.width))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	if err := r.Run(t.Context(), in, make([]float32, 11)); err != nil {
		t.Errorf("a good row after bad ones: %v", err)
	}
}

// TestRunIsCancelled checks that a long native call returns when its context ends, and that the runner lives on.
func TestRunIsCancelled(t *testing.T) {
	f := load(t, "roberta")
	r := orttest.Runner(t, f.graph, f.inputs, "logits")
	const rows, width = 256, 512 // some seconds of work
	in := identifier.Input{Width: width, IDs: make([]int64, rows*width), Mask: make([]int64, rows*width)}
	for i := range in.IDs {
		in.IDs[i], in.Mask[i] = 5, 1
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.Run(ctx, in, make([]float32, rows*11)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	logits := make([]float32, 11)
	if err := r.Run(t.Context(), f.cases[0].input(), logits); err != nil {
		t.Fatal(err)
	}
	compare(t, "after a cancelled run", logits, f.cases[0].Torch, exact)
}

// TestEndlessGraph runs a graph that does not end (testdata/make_loop.py): the Run ends with its context.
func TestEndlessGraph(t *testing.T) {
	graph, err := os.ReadFile("testdata/loop.onnx")
	if err != nil {
		t.Fatal(err)
	}
	r := orttest.Runner(t, graph, []string{"input_ids"}, "logits")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = r.Run(ctx, identifier.Input{IDs: []int64{1, 2}, Mask: []int64{1, 1}, Width: 2}, make([]float32, 1))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestClose(t *testing.T) {
	f := load(t, "bert")
	o := ort.DefaultOptions()
	o.Library, o.Inputs = orttest.Library(t), f.inputs
	r, err := ort.New(f.graph, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if err := r.Run(t.Context(), f.cases[0].input(), make([]float32, 11)); err == nil {
		t.Error("a closed runner ran")
	}
}

// TestMemoryIsFreed checks that what a Run allocates natively goes with it: 3,000 rows may not hold 64 MB more.
func TestMemoryIsFreed(t *testing.T) {
	f := load(t, "bert")
	r := orttest.Runner(t, f.graph, f.inputs, "logits")
	logits := make([]float32, 11)
	run := func(n int) {
		for i := range n {
			if err := r.Run(t.Context(), f.cases[i%len(f.cases)].input(), logits); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
	}
	run(500)
	before := resident(t)
	run(3000)
	if grown := resident(t) - before; grown > 64<<20 {
		t.Errorf("%d MB more after 3,000 rows", grown>>20)
	}
}

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, c := range strings.Fields(string(data))[1] {
		pages = pages*10 + int(c-'0')
	}
	return pages * os.Getpagesize()
}

func TestNewRefuses(t *testing.T) {
	f := load(t, "bert")
	for name, c := range map[string]struct {
		change func(*ort.Options)
		graph  []byte
		want   []string
	}{
		"everything at once": {func(o *ort.Options) { *o = ort.Options{Device: "tpu"} }, f.graph,
			[]string{"erreval setup", `unknown device "tpu"`, "0 threads", "inputs and output"}},
		"unknown input": {func(o *ort.Options) { o.Inputs = []string{"position_ids"} }, f.graph,
			[]string{`"position_ids"`}},
		"bad index":   {func(o *ort.Options) { o.Device = "cuda:x" }, f.graph, []string{`"cuda:x"`}},
		"no graph":    {func(*ort.Options) {}, []byte("hello"), []string{"refuses the model"}},
		"empty graph": {func(*ort.Options) {}, nil, []string{"refuses the model"}},
		"another library": {func(o *ort.Options) { o.Library = "/nowhere/libonnxruntime.so" }, f.graph,
			[]string{"/nowhere/libonnxruntime.so"}},
	} {
		o := ort.DefaultOptions()
		o.Library, o.Inputs = orttest.Library(t), f.inputs
		if _, err := ort.Version(o.Library); err != nil {
			t.Fatal(err)
		}
		c.change(&o)
		_, err := ort.New(c.graph, o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", name, err, want)
			}
		}
	}
}

// TestCUDA: a build without the provider must say so; one with it must give the CPU's logits.
func TestCUDA(t *testing.T) {
	f := load(t, "bert")
	o := ort.DefaultOptions()
	o.Library, o.Inputs, o.Device = orttest.Library(t), f.inputs, "cuda:0"
	if err := ort.TryDevice(o.Library, "cpu"); err != nil {
		t.Error(err)
	}
	if err := ort.TryDevice(o.Library, o.Device); err != nil {
		for _, want := range []string{"device cuda:0 cannot be used", "use --device cpu"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		}
		return
	}
	r, err := ort.New(f.graph, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	logits := make([]float32, 11)
	if err := r.Run(t.Context(), f.cases[0].input(), logits); err != nil {
		t.Fatal(err)
	}
	compare(t, "cuda", logits, f.cases[0].Torch, exact)
}
