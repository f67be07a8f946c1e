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
	return b.addWeight(name, "", b.elem(), []int64{b.EmbeddingSize}, func(e *emitter, v []float32) error {
		return b.emitFloats(e, v[:b.EmbeddingSize])
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
