package convert

import (
	"fmt"
	"math"

	"github.com/erreval/erreval/internal/protobuf"
)

// Names of the graph's inputs and its output.
const (
	inputIDs  = "input_ids"
	inputMask = "attention_mask"
	inputType = "token_type_ids"
	output    = "logits"
)

func (b *builder) inputs() []string {
	if b.hasTypes() {
		return []string{inputIDs, inputMask, inputType}
	}
	return []string{inputIDs, inputMask}
}

// hasTypes says whether token types make a difference. RoBERTa's tokenizers give none, so the first type always holds.
func (b *builder) hasTypes() bool { return !b.offset && !b.oneType && *b.Types > 1 }

// embeddings sums the tables of tokens, positions and types, and normalises.
func (b *builder) embeddings() string {
	terms := []string{b.lookup("embeddings.word_embeddings.weight", b.Vocabulary, b.EmbeddingSize, inputIDs)}
	if !b.relative || *b.PositionInput {
		terms = append(terms, b.positions())
	}
	if b.hasTypes() {
		types := b.plain(b.name("embeddings.token_type_embeddings.weight"), *b.Types, b.EmbeddingSize)
		terms = append(terms, b.op("Gather", []string{types, inputType}))
	} else if *b.Types > 0 {
		name, _ := b.findWeight(b.name("embeddings.token_type_embeddings.weight"), *b.Types, b.EmbeddingSize)
		terms = append(terms, b.firstRow(name))
	}
	x := terms[0]
	if len(terms) > 1 {
		x = b.op("Sum", terms)
	}
	if b.relative && b.EmbeddingSize != b.HiddenSize {
		x = b.op("MatMul", []string{x, b.transposed(b.name("embeddings.embed_proj.weight"), b.HiddenSize, b.EmbeddingSize)})
	}
	return b.norm(x, "embeddings.LayerNorm")
}

func (b *builder) firstRow(name string) string {
	return b.addWeight(name, "", b.elem(), []int64{b.EmbeddingSize}, func(e *emitter, v []float32) {
		b.emitFloats(e, v[:b.EmbeddingSize])
	})
}

// positions are the rows of the table of positions: 0, 1, … or, with an offset, counted from pad_token_id + 1 over the
// tokens that are no padding, padding itself having pad_token_id (create_position_ids_from_input_ids in transformers).
func (b *builder) positions() string {
	table := b.positionTable("embeddings.position_embeddings.weight")
	if !b.offset {
		return b.op("Slice", []string{table, b.vector(0), b.length(), b.vector(0)})
	}
	padding := b.op("Equal", []string{inputIDs, b.scalar(*b.Pad)})
	token := b.op("Cast", []string{b.op("Not", []string{padding})}, intAttr("to", elemInt64))
	counted := b.op("Mul", []string{b.op("CumSum", []string{token, b.scalar(1)}), token})
	return b.op("Gather", []string{table, b.op("Add", []string{counted, b.scalar(*b.Pad)})})
}

// positionTable adds the table of positions. For int8 it is stored as int8, and the runtime restores it.
func (b *builder) positionTable(name string) string {
	if b.precision != INT8 {
		return b.plain(b.name(name), b.Positions, b.EmbeddingSize)
	}
	return b.restored(b.quantizeRows(b.name(name), b.Positions, b.EmbeddingSize, []int64{b.Positions, b.EmbeddingSize},
		[]int64{b.Positions, 1}))
}

// length is the number of tokens in a row, a vector of one.
func (b *builder) length() string {
	return b.op("Slice", []string{b.op("Shape", []string{inputIDs}), b.vector(1), b.vector(2), b.vector(0)})
}

// mask is the attention mask in the forms that the layers need.
type mask struct {
	keys string // for MultiHeadAttention: [batch, sequence], or [batch] lengths for fp16
	full string // a bool: no row has padding
}

// newMask prepares the mask. CUDA's fast kernels want lengths, which is the same as long as padding stands at the end.
// On a CPU attention without a mask is faster, and rows of exact length need none.
func (b *builder) newMask() mask {
	m := b.op("Cast", []string{inputMask}, intAttr("to", elemInt32))
	if b.precision == FP16 {
		return mask{keys: b.op("ReduceSum", []string{m, b.vector(1)}, intAttr("keepdims", 0))}
	}
	return mask{m, b.op("Cast", []string{b.op("ReduceMin", []string{m}, intAttr("keepdims", 0))}, intAttr("to", elemBool))}
}

// encode runs all layers: [batch, sequence, hidden], or [batch, 1, hidden] where the head reads only the first token.
func (b *builder) encode() string {
	x := b.embeddings()
	m := mask{}
	if b.relative {
		b.rel = b.newRelative()
	} else {
		m = b.newMask()
	}
	for i := range b.Layers {
		if b.err != nil {
			return ""
		}
		last := i == b.Layers-1 && !b.isPooled()
		x = b.layer(x, fmt.Sprintf(b.family.layer, i), m, last)
		if i+1 == (b.Layers+1)/2 && !last { // later layers know the labels, and less else: discover/cluster has figures
			b.hidden, b.hiddenLayer = x, int(i+1)
		}
	}
	return x
}

func (b *builder) layer(x, layer string, m mask, last bool) string {
	read := x
	if last {
		read = b.first(x)
	}
	context := b.attention(read, x, layer, m)
	x = b.residual(b.linear(context, layer+b.out, b.HiddenSize, b.HiddenSize), read, layer+b.attentionNorm)
	return b.feedForward(x, layer)
}

// attention lets the tokens of read attend to all of x.
func (b *builder) attention(read, x, layer string, m mask) string {
	if b.relative {
		return b.disentangled(read, x, layer)
	}
	if read != x && b.precision != FP16 {
		return b.firstAttention(read, x, layer)
	}
	h := b.HiddenSize
	heads, scale := intAttr("num_heads", b.Heads), floatAttr("scale", float32(1/math.Sqrt(float64(h/b.Heads))))
	var in []string
	if b.precision == INT8 {
		in = append(b.quantizedProjections(x, layer), "")
	} else {
		for _, p := range []struct{ from, name string }{{read, b.query}, {x, b.key}, {x, b.value}} {
			in = append(in, b.op("MatMul", []string{p.from, b.transposed(b.name(layer+p.name+".weight"), h, h)}))
		}
		in = append(in, b.joined(h, b.name(layer+b.query+".bias"), b.name(layer+b.key+".bias"),
			b.name(layer+b.value+".bias")))
	}
	if m.full == "" {
		return b.op("MultiHeadAttention", append(in, m.keys), heads, scale)
	}
	branch := func(out string, inputs []string) []byte {
		node := encodeNode("MultiHeadAttention", inputs, []string{out}, []attribute{heads, scale})
		return protobuf.AppendBytes(protobuf.AppendString(protobuf.AppendBytes(nil, 1, node), 2, out), 12,
			encodeValue(out, elemFloat, "batch", "sequence", h))
	}
	return b.op("If", []string{m.full},
		graphAttr("then_branch", branch(layer+"context", in)),
		graphAttr("else_branch", branch(layer+"masked_context", append(in, m.keys))))
}

// quantizedProjections are query, key and value of x. All three read the same quantised x.
func (b *builder) quantizedProjections(x, layer string) []string {
	d := b.divisors[layer+b.query]
	codes := b.ops("DynamicQuantizeLinear", 3, []string{b.divided(x, layer+b.query, d)})
	var out []string
	for _, name := range []string{b.query, b.key, b.value} {
		q := b.quantizeLinear(b.name(layer+name+".weight"), b.HiddenSize, b.HiddenSize, d)
		bias := b.vectorOf(layer+name+".bias", b.HiddenSize)
		out = append(out, b.op("MatMulIntegerToFloat", []string{codes[0], q.codes, codes[1], q.scales, codes[2], "", bias}))
	}
	return out
}

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

// firstAttention is the attention of the first token alone, without keys and values of the others: with q the query and
// W the weights of a head, q·(W x) = (Wᵀ q)·x and Σ p (W x) = W Σ p x. The key's bias adds the same to every score and
// drops out in the softmax; the value's is added at the end, as the probabilities sum to 1.
func (b *builder) firstAttention(read, x, layer string) string {
	h, size := b.HiddenSize, b.HiddenSize/b.Heads
	query := b.withBias(b.linear(read, layer+b.query, h, h))
	query = b.op("Mul", []string{query, b.number(float32(1 / math.Sqrt(float64(size))))})
	query = b.op("Reshape", []string{query, b.vector(0, b.Heads, 1, size)})
	asked := b.op("MatMul", []string{query, b.perHead(layer + b.key)}) // [batch, heads, 1, hidden]
	asked = b.op("Squeeze", []string{asked, b.vector(2)})
	scores := b.op("FusedMatMul", []string{asked, x}, intAttr("transB", 1)) // [batch, heads, sequence]
	scores = b.op("Add", []string{scores, b.maskBias(1)})
	mixed := b.op("MatMul", []string{b.op("Softmax", []string{scores}, intAttr("axis", -1)), x}) // [batch, heads, hidden]
	mixed = b.op("Unsqueeze", []string{mixed, b.vector(2)})
	context := b.op("FusedMatMul", []string{mixed, b.perHead(layer + b.value)}, intAttr("transB", 1))
	context = b.op("Reshape", []string{context, b.vector(0, 1, h)})
	b.findWeight(b.name(layer+b.key+".bias"), h)
	return b.op("Add", []string{context, b.vectorOf(layer+b.value+".bias", h)})
}

// perHead is the weights of a linear layer, [heads, size, hidden].
func (b *builder) perHead(name string) string {
	h, size := b.HiddenSize, b.HiddenSize/b.Heads
	name = b.name(name + ".weight")
	dims := []int64{b.Heads, size, h}
	if b.precision == INT8 {
		return b.restored(b.quantizeRows(name, h, h, dims, []int64{b.Heads, size, 1}))
	}
	name, _ = b.findWeight(name, h, h)
	return b.addWeight(name, "", b.elem(), dims, b.inBlocks)
}

// maskBias is what padding adds to a score, [batch, 1 …, sequence] with n ones: enough to vanish in the softmax.
func (b *builder) maskBias(n int) string {
	m := b.op("Cast", []string{inputMask}, intAttr("to", int64(b.elem())))
	lowest := float32(-1e30)
	if b.precision == FP16 {
		lowest = -6e4
	}
	bias := b.op("Mul", []string{b.op("Sub", []string{b.number(1), m}), b.number(lowest)})
	axes := []int64{1, 2}
	return b.op("Unsqueeze", []string{bias, b.vector(axes[:n]...)})
}
