package convert

import (
	"fmt"
	"math"
	"slices"
)

// The first token of such encoders carries a few massive numbers, in the same channels of a layer and almost alike in
// every text (arXiv:2402.17762). All activations of a product share one scale, and those set it; little is left for the
// others. They show when the first position stands alone without a word. Before attention and feed-forward a massive
// channel is divided, and the weights that read it are multiplied (SmoothQuant, arXiv:2211.10438): the scale apart,
// nothing changes. Inside the feed-forward part its weights are massive too, so there it is left out and computed in
// fp32 (LLM.int8(), arXiv:2208.07339).

// deviations is the assumed largest distance of an ordinary activation from its mean, in standard deviations.
const deviations = 4

// divisor is what each channel that a linear layer reads is divided by before it is quantised, at least 1; 0 is a
// channel that is computed apart.
type divisor []float32

// smooth finds the channels to divide, by the linear layer that reads them; query stands for key and value too.
func (b *builder) smooth() (map[string]divisor, error) {
	if b.precision != INT8 || b.relative {
		return nil, nil
	}
	t := tracer{builder: b, divisors: map[string]divisor{}}
	x, reached := t.start()
	for i := int64(0); i < b.Layers && b.err == nil; i++ {
		x, reached = t.layer(x, reached, fmt.Sprintf(b.family.layer, i))
	}
	return t.divisors, b.err
}

// tracer runs the first position alone through the encoder. The builder keeps its first error.
type tracer struct {
	*builder
	divisors map[string]divisor
}

// floats reads a tensor; it is nil after an error.
func (t tracer) floats(name string, dims ...int64) []float32 {
	name, _ = t.findWeight(t.name(name), dims...)
	if t.err != nil {
		return nil
	}
	v, err := t.builder.readFloats(name)
	if err != nil {
		t.fail(err)
		return nil
	}
	return v
}

// start gives the input of the first layer, and the largest magnitude of each channel of an ordinary token there.
func (t tracer) start() (x, reached []float32) {
	h, at := t.HiddenSize, int64(0)
	if t.offset {
		at = *t.Pad + 1
	}
	x = make([]float32, h)
	if v := t.floats("embeddings.position_embeddings.weight", t.Positions, h); v != nil {
		plus(x, v[at*h:(at+1)*h])
	}
	if *t.Types > 0 {
		plus(x, t.floats("embeddings.token_type_embeddings.weight", *t.Types, h))
	}
	return t.norm(x, "embeddings.LayerNorm")
}

// layer gives the same for the next layer. A single token attends to itself, so its value is its context.
func (t tracer) layer(x, reached []float32, layer string) (out, reach []float32) {
	h := int64(len(x))
	t.compare(x, slices.Max(reached), layer+t.query, false)
	value, _ := t.linear(x, nil, layer+t.value, h)
	context, _ := t.linear(value, nil, layer+t.out, h)
	x, reached = t.norm(plus(context, x), layer+t.attentionNorm)
	t.compare(x, slices.Max(reached), layer+t.up, false)
	up, ordinary := t.linear(x, t.spread(layer+t.attentionNorm, h), layer+t.up, t.Intermediate)
	for i := range up {
		up[i], ordinary[i] = activated(t.Activation, up[i]), activated(t.Activation, ordinary[i])
	}
	t.compare(up, slices.Max(ordinary), layer+t.down, true)
	down, _ := t.linear(up, nil, layer+t.down, h)
	return t.norm(plus(down, x), layer+t.outputNorm)
}

// compare records the divisors for the input of the linear layer called name: those that reduce x to reach, or 0.
func (t tracer) compare(x []float32, reach float32, name string, apart bool) {
	reach = max(reach, 1e-6)
	d, massive := make(divisor, len(x)), false
	for i, v := range x {
		d[i] = max(1, absolute(v)/reach)
		massive = massive || d[i] > 1
		if apart && d[i] > 1 {
			d[i] = 0
		}
	}
	if massive {
		t.divisors[name] = d
	}
}

// normal are independent numbers, each with its mean and standard deviation.
type normal struct{ mean, deviation []float32 }

// spread is the assumed distribution of the outputs of a layer normalisation.
func (t tracer) spread(name string, h int64) *normal {
	mean := slices.Clone(t.floats(name+".bias", h))
	return &normal{mean, slices.Clone(t.floats(name+".weight", h))}
}

// norm is layer normalisation, and the largest magnitude of each channel of an ordinary token.
func (t tracer) norm(x []float32, name string) (out, reach []float32) {
	s := t.spread(name, int64(len(x)))
	if t.err != nil {
		return x, x
	}
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		square += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	out, reach = make([]float32, len(x)), make([]float32, len(x))
	for i, v := range x {
		out[i] = float32((float64(v)-mean)/math.Sqrt(square+t.Epsilon))*s.deviation[i] + s.mean[i]
		reach[i] = absolute(s.mean[i]) + deviations*absolute(s.deviation[i])
	}
	return out, reach
}

// linear is a linear layer of x, and the largest magnitude of each output if its inputs have the distribution in.
func (t tracer) linear(x []float32, in *normal, name string, out int64) (y, reach []float32) {
	y = plus(make([]float32, out), t.floats(name+".bias", out))
	reach = slices.Clone(y)
	w := t.floats(name+".weight", out, int64(len(x)))
	if t.err != nil {
		return y, reach
	}
	for o := range y {
		row := w[o*len(x) : (o+1)*len(x)]
		y[o] += dot(row, x)
		if in == nil {
			continue
		}
		variance := float32(0)
		for i, v := range row {
			variance += v * v * in.deviation[i] * in.deviation[i]
		}
		reach[o] += dot(row, in.mean) + deviations*float32(math.Sqrt(float64(variance)))
	}
	return y, reach
}

func dot(a, b []float32) float32 {
	sum := float32(0)
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// plus adds as many numbers as both have.
func plus(to, v []float32) []float32 {
	for i := range min(len(to), len(v)) {
		to[i] += v[i]
	}
	return to
}

func absolute(v float32) float32 { return max(v, -v) }

// activated applies an activation function by its name in transformers.
func activated(name string, v float32) float32 {
	x := float64(v)
	switch activationOps[name] {
	case "Relu":
		return max(v, 0)
	case "Tanh":
		return float32(math.Tanh(x))
	case "FastGelu":
		return float32(x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))))
	}
	return float32(x / 2 * (1 + math.Erf(x/math.Sqrt2)))
}

// multiply scales the weights that read the divided channels.
func (d divisor) multiply(row []float32) {
	for i, v := range d {
		row[i] *= v
	}
}

// divided adds the division of x, which the linear layer called name reads.
func (b *builder) divided(x, name string, d divisor) string {
	if d == nil {
		return x
	}
	inverse := make([]float32, len(d))
	for i := range d {
		if d[i] > 0 {
			inverse[i] = 1 / d[i]
		}
	}
	factor := b.addFloats(b.name(name+inverseEnding), []int64{int64(len(d))}, inverse)
	return b.op("Mul", []string{x, factor})
}

// apart adds the part of a linear layer's product that comes from the channels left out; "" is none.
func (b *builder) apart(x, name string, d divisor, out, in int64) string {
	var left []int64
	for i, v := range d {
		if v == 0 {
			left = append(left, int64(i))
		}
	}
	if left == nil {
		return ""
	}
	weight, _ := b.findWeight(b.name(name+".weight"), out, in)
	shape := []int64{int64(len(left)), out}
	rows := b.addWeight(weight, apartEnding, elemFloat, shape, func(e *emitter, v []float32) {
		row := make([]float32, out)
		for _, i := range left {
			for o := range out {
				row[o] = v[o*in+i]
			}
			e.floats(row)
		}
	})
	return b.op("MatMul", []string{b.op("Gather", []string{x, b.vector(left...)}, intAttr("axis", 2)), rows})
}
