package convert

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/models/checkpoint"
)

// A row of one token has the logits that torch gave for it: the tracer's arithmetic is the encoder's. The token's word
// is added to the first position, as the tracer knows of no words.
func TestTracerAgainstTorch(t *testing.T) {
	for _, name := range []string{"bert", "bert-tanh", "roberta", "distilbert"} {
		t.Run(name, func(t *testing.T) {
			var refs []reference
			readJSON(t, filepath.Join("testdata", name, "reference.json"), &refs)
			b := newBuilder(configOf(t, name), opened(t, name), INT8)
			words, err := b.weights.Floats(b.name("embeddings.word_embeddings.weight"), nil)
			if err != nil || len(refs[0].IDs[0]) != 1 {
				t.Fatal(err, refs[0].IDs)
			}
			h, at := b.HiddenSize, int64(0)
			if b.offset {
				at = *b.Pad + 1
			}
			word := words[refs[0].IDs[0][0]*h:][:h]
			b.weights = changed{b.name("embeddings.position_embeddings.weight"),
				func(v []float32) { plus(v[at*h:(at+1)*h], word) }, b.weights}
			tr := tracer{builder: b, divisors: map[string]divisor{}}
			x, reached := tr.start()
			for i := range b.Layers {
				x, reached = tr.layer(x, reached, fmt.Sprintf(b.family.layer, i))
			}
			if b.err != nil {
				t.Fatal(b.err)
			}
			got := headOf(t, b, x)
			for i, want := range refs[0].Logits[0] {
				if math.Abs(float64(got[i]-want)) > 1e-4 {
					t.Errorf("logit %d is %v; torch says %v", i, got[i], want)
				}
			}
		})
	}
}

// headOf applies the classification head to the first token's x.
func headOf(t *testing.T, b *builder, x []float32) []float32 {
	t.Helper()
	h, err := b.findHead()
	if err != nil {
		t.Fatal(err)
	}
	apply := func(name string, x []float32) []float32 {
		w, err := b.weights.Floats(name+".weight", nil)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.weights.Floats(name+".bias", nil)
		if err != nil {
			t.Fatal(err)
		}
		for o := range y {
			y[o] += dot(w[o*len(x):(o+1)*len(x)], x)
		}
		return y
	}
	if h.dense != "" {
		x = apply(h.dense, x)
		for i, v := range x {
			x[i] = activated(h.activation, v)
		}
	}
	return apply(h.logits, x)
}

// drawn are random weights of a wide BERT whose first position is massive in one channel from the first layer on.
type drawn struct {
	shapes map[string][]int64
	still  bool // the first position is like the others
}

// Sizes of drawn: width and width inside the feed-forward part.
const drawnWidth, drawnInner = 768, 64

func newDrawn() drawn {
	d := drawn{shapes: map[string][]int64{
		"bert.embeddings.word_embeddings.weight": {120, drawnWidth}, "bert.embeddings.position_embeddings.weight": {40,
			drawnWidth},
		"bert.embeddings.token_type_embeddings.weight": {2, drawnWidth}, "classifier.weight": {5,
			drawnWidth}, "classifier.bias": {5},
	}}
	linear := func(name string, out, in int64) {
		d.shapes[name+".weight"], d.shapes[name+".bias"] = []int64{out, in}, []int64{out}
	}
	norm := func(name string) {
		d.shapes[name+".weight"], d.shapes[name+".bias"] = []int64{drawnWidth}, []int64{drawnWidth}
	}
	norm("bert.embeddings.LayerNorm")
	linear("bert.pooler.dense", drawnWidth, drawnWidth)
	for i := range 2 {
		l := fmt.Sprintf("bert.encoder.layer.%d.", i)
		for _, name := range []string{"attention.self.query", "attention.self.key", "attention.self.value",
			"attention.output.dense"} {
			linear(l+name, drawnWidth, drawnWidth)
		}
		linear(l+"intermediate.dense", drawnInner, drawnWidth)
		linear(l+"output.dense", drawnWidth, drawnInner)
		norm(l + "attention.output.LayerNorm")
		norm(l + "output.LayerNorm")
	}
	return d
}

func (d drawn) Names() []string { return slices.Sorted(maps.Keys(d.shapes)) }

func (d drawn) Info(name string) (checkpoint.Info, bool) {
	shape, ok := d.shapes[name]
	return checkpoint.Info{Name: name, DType: checkpoint.F32, Shape: shape}, ok
}

const massiveChannel = 7

func (d drawn) Floats(name string, _ []float32) ([]float32, error) {
	n, seed := int64(1), uint64(0)
	for _, s := range d.shapes[name] {
		n *= s
	}
	for _, c := range name {
		seed = seed*31 + uint64(c)
	}
	g := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(g.NormFloat64()) * 0.05
		if strings.Contains(name, "embeddings.") {
			v[i] *= 10
		}
		if len(d.shapes[name]) == 1 && filepath.Ext(name) == ".weight" {
			v[i]++
		}
	}
	if name == "bert.embeddings.position_embeddings.weight" && !d.still {
		v[massiveChannel] = 60
	}
	return v, nil
}

func wideConfig(t *testing.T) *config {
	c := configOf(t, "bert")
	c.HiddenSize, c.EmbeddingSize, c.Intermediate = drawnWidth, drawnWidth, drawnInner
	return c
}

// massiveOf are the divisors of w.
func massiveOf(t *testing.T, w weights) map[string]divisor {
	t.Helper()
	d, err := newBuilder(wideConfig(t), w, INT8).smooth()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// logitsOf writes w at a precision and runs rows of 30 tokens.
func logitsOf(t *testing.T, w weights, precision string, divisors map[string]divisor) []float32 {
	t.Helper()
	b, r, err := buildWith(wideConfig(t), w, withPrecision(precision), divisors)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := b.saveFiles(context.Background(), dir, withPrecision(precision)); err != nil {
		t.Fatal(err)
	}
	graph, err := os.ReadFile(filepath.Join(dir, graphFile))
	if err != nil {
		t.Fatal(err)
	}
	run, all := orttest.Runner(t, graph, r.Inputs, r.Output), []float32(nil)
	for row := range int64(16) {
		in := identifier.Input{Width: 30}
		for i := range int64(30) {
			in.IDs, in.Mask, in.Types = append(in.IDs, (i*7+row*row)%120), append(in.Mask, 1), append(in.Types, i/20)
		}
		out := make([]float32, 5)
		if err := run.Run(context.Background(), in, out); err != nil {
			t.Fatal(err)
		}
		all = append(all, out...)
	}
	return all
}

// shift is the root of the mean squared difference.
func shift(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Pow(float64(a[i]-b[i]), 2) / float64(len(a))
	}
	return math.Sqrt(sum)
}

// Dividing the massive channel leaves more of the scale to the others: int8 comes closer to fp32.
func TestSmoothedIsCloser(t *testing.T) {
	w := newDrawn()
	want := logitsOf(t, w, FP32, nil)
	plain, smoothed := shift(want, logitsOf(t, w, INT8, nil)), shift(want, logitsOf(t, w, INT8, massiveOf(t, w)))
	t.Logf("shift of a logit: %.3g, smoothed %.3g", plain, smoothed)
	if smoothed > plain*0.8 {
		t.Errorf("int8 is %.3g off fp32, and %.3g where a massive channel is divided", plain, smoothed)
	}
}

// Channels that are computed apart, or divided, are neither lost nor counted twice: with a third of them int8 is as
// close to fp32.
func TestApart(t *testing.T) {
	w := newDrawn()
	w.still = true
	want := logitsOf(t, w, FP32, nil)
	plain, got := shift(want, logitsOf(t, w, INT8, nil)), shift(want, logitsOf(t, w, INT8, thirds()))
	t.Logf("shift of a logit: %.3g, with channels apart %.3g", plain, got)
	if got > 1.5*plain {
		t.Errorf("int8 is %.3g off fp32, and %.3g with channels apart", plain, got)
	}
}

// thirds divide every third channel of the layers of drawn, and compute another third apart where that is done.
func thirds() map[string]divisor {
	d := map[string]divisor{}
	for i := range 2 {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for name, width := range map[string]int{"attention.self.query": drawnWidth, "intermediate.dense": drawnWidth,
			"output.dense": drawnInner} {
			v := make(divisor, width)
			for c := range v {
				if v[c] = 1; c%3 == 0 {
					v[c] = 1.5
				}
				if name == "output.dense" && c%3 == 1 {
					v[c] = 0
				}
			}
			d[layer+name] = v
		}
	}
	return d
}

// Only the massive channel is divided, and nothing where there is none.
func TestMassiveChannels(t *testing.T) {
	w := newDrawn()
	b, _, err := build(wideConfig(t), w, withPrecision(INT8))
	if err != nil {
		t.Fatal(err)
	}
	d := b.divisors["encoder.layer.0.intermediate.dense"]
	for i, v := range d {
		if (v > 1) != (i == massiveChannel) || v < 1 || v > drawnWidth {
			t.Errorf("channel %d is divided by %v", i, v)
		}
	}
	if len(d) != drawnWidth {
		t.Errorf("%d divisors", len(d))
	}
	w.still = true
	if b, _, err = build(wideConfig(t), w, withPrecision(INT8)); err != nil || len(b.divisors) > 0 {
		t.Error(b.divisors, err)
	}
	if b, _, err = build(wideConfig(t), newDrawn(), withPrecision(FP32)); err != nil || len(b.divisors) > 0 {
		t.Error("fp32 is divided", err)
	}
}

// What the divided weights and the divided input stand for is the product as it was, but for rounding to the nearest
// code.
func TestDivisorCancels(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 1 + g.IntN(40)
		row, x, d := make([]float32, n), make([]float32, n), make(divisor, n)
		for i := range row {
			row[i], x[i], d[i] = float32(g.NormFloat64()), float32(g.NormFloat64()), 1+float32(g.ExpFloat64())*5
		}
		want := dot(row, x)
		times := slices.Clone(row)
		d.multiply(times)
		for i := range x {
			x[i] *= 1 / d[i]
		}
		if got := dot(times, x); math.Abs(float64(got-want)) > 1e-5*math.Sqrt(float64(n))*10 {
			t.Fatalf("%v; wanted %v", got, want)
		}
	}
	row := []float32{1, 2, 3}
	if divisor(nil).multiply(row); !slices.Equal(row, []float32{1, 2, 3}) {
		t.Error(row)
	}
}
