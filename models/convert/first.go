package convert

import "math"

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
	return b.addTensor(name, b.elem(), dims, func(e *emitter) error {
		v, err := b.readFloats(name)
		if err != nil {
			return err
		}
		return named(name, b.inBlocks(e, v))
	})
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
