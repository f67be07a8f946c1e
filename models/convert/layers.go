package convert

// Activations by their names in transformers. gelu_new and its kin are the tanh approximation, which FastGelu computes.
var (
	knownActivations = []string{"gelu", "gelu_fast", "gelu_new", "gelu_python", "gelu_pytorch_tanh", "relu", "tanh"}
	activationOps    = map[string]string{
		"gelu": "Gelu", "gelu_python": "Gelu", "gelu_new": "FastGelu", "gelu_fast": "FastGelu",
		"gelu_pytorch_tanh": "FastGelu",
		"relu":              "Relu", "tanh": "Tanh",
	}
)

// product is the result of a linear layer. If bias is not "", it must still be added: it is the bias, or the part of
// the product that was computed separately.
type product struct{ value, bias string }

// linear applies the linear layer called name to x, [..., in]. The int8 operator adds the bias itself.
func (b *builder) linear(x, name string, out, in int64) product {
	bias := b.vectorOf(name+".bias", out)
	if b.precision == INT8 {
		d := b.divisors[name]
		apart := b.apart(x, name, d, out, in)
		x = b.divided(x, name, d)
		q := b.quantizeLinear(b.name(name+".weight"), out, in, d)
		return product{b.op("DynamicQuantizeMatMul", []string{x, q.codes, q.scales, "", bias}), apart}
	}
	return product{b.op("MatMul", []string{x, b.transposed(b.name(name+".weight"), out, in)}), bias}
}

func (b *builder) vectorOf(name string, length int64) string { return b.plain(b.name(name), length) }

// withBias adds the bias if p does not include it yet.
func (b *builder) withBias(p product) string {
	if p.bias == "" {
		return p.value
	}
	return b.op("Add", []string{p.value, p.bias})
}

func (b *builder) activate(p product, name string) string {
	kind := activationOps[name]
	if kind == "Gelu" && p.bias != "" {
		return b.op("BiasGelu", []string{p.value, p.bias})
	}
	return b.op(kind, []string{b.withBias(p)})
}

func (b *builder) norm(x, name string) string {
	return b.op("LayerNormalization", []string{x, b.vectorOf(name+".weight", b.HiddenSize),
		b.vectorOf(name+".bias", b.HiddenSize)},
		intAttr("axis", -1), floatAttr("epsilon", float32(b.Epsilon)))
}

// residual adds a linear layer's result to skip and normalises. On a CPU, SkipLayerNormalization is seven times as slow
// as LayerNormalization, and the runtime fuses Add with it; it leaves Sum alone.
func (b *builder) residual(p product, skip, name string) string {
	if b.precision != FP16 {
		terms := []string{p.value, skip}
		if p.bias != "" {
			terms = append(terms, p.bias)
		}
		return b.norm(b.op("Sum", terms), name)
	}
	return b.op("SkipLayerNormalization", []string{p.value, skip, b.vectorOf(name+".weight", b.HiddenSize),
		b.vectorOf(name+".bias", b.HiddenSize), p.bias},
		floatAttr("epsilon", float32(b.Epsilon)))
}

// feedForward is the second half of a layer.
func (b *builder) feedForward(x, layer string) string {
	h := b.activate(b.linear(x, layer+b.up, b.Intermediate, b.HiddenSize), b.Activation)
	return b.residual(b.linear(h, layer+b.down, b.HiddenSize, b.Intermediate), x, layer+b.outputNorm)
}

// first is [batch, 1, hidden] of x, [batch, sequence, hidden].
func (b *builder) first(x string) string {
	return b.op("Slice", []string{x, b.vector(0), b.vector(1), b.vector(1)})
}

// lookup gathers rows of a table. In int8 it is stored with one scale a row.
func (b *builder) lookup(name string, rows, width int64, ids string) string {
	if b.precision != INT8 {
		return b.op("Gather", []string{b.plain(b.name(name), rows, width), ids})
	}
	q := b.quantizeRows(b.name(name), rows, width, []int64{rows, width}, []int64{rows, 1})
	codes := b.op("Cast", []string{b.op("Gather", []string{q.codes, ids})}, intAttr("to", elemFloat))
	return b.op("Mul", []string{codes, b.op("Gather", []string{q.scales, ids})})
}
