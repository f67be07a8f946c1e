package convert

import "math"

// relative is what DeBERTa's layers share: the table of relative positions and which of its rows a pair of tokens
// reads.
type relative struct {
	bias  string // of padding, [batch, 1, 1, sequence]
	table string // [2 span, hidden]
	// Rows of the table by the distance between query i and key j, for i - j = n … 1-n, n-1 … -n and 0 … 1-n.
	down, up, first string
	width           string // 2n - 1, a vector of one
}

func (b *builder) newRelative() *relative {
	r := &relative{bias: b.maskBias(2)}
	if !b.Relative || len(b.RelativeTypes) == 0 {
		return r
	}
	r.table = b.plain(b.name("encoder.rel_embeddings.weight"), 2*b.span(), b.HiddenSize)
	if b.NormRelative.has("layer_norm") {
		r.table = b.norm(r.table, "encoder.LayerNorm")
	}
	n, middle := b.length(), b.vector(b.Positions)
	from, to := b.op("Sub", []string{middle, n}), b.op("Add", []string{middle, n})
	down := b.vector(b.rows(-1)...)
	r.down = b.op("Slice", []string{down, from, to})
	r.up = b.op("Slice", []string{b.vector(b.rows(1)...), from, to})
	r.first = b.op("Slice", []string{down, middle, to})
	r.width = b.op("Sub", []string{b.op("Add", []string{n, n}), b.vector(1)})
	return r
}

// span is the number of rows for distances of one sign.
func (b *builder) span() int64 {
	if b.Buckets > 0 {
		return b.Buckets
	}
	return b.MaxRelative
}

// rows are the table's rows for the distances sign × -positions … sign × (positions-1).
func (b *builder) rows(sign int64) []int64 {
	rows := make([]int64, 2*b.Positions)
	for i := range rows {
		d := sign * (int64(i) - b.Positions)
		if b.Buckets > 0 {
			d = bucket(d, b.Buckets, b.MaxRelative)
		}
		rows[i] = min(max(d+b.span(), 0), 2*b.span()-1)
	}
	return rows
}

// bucket numbers far distances by their logarithm (make_log_bucket_position in transformers, in its float32).
func bucket(d, buckets, positions int64) int64 {
	middle := buckets / 2
	away := max(d, -d)
	if away <= middle {
		return d
	}
	log := func(x float32) float32 { return float32(math.Log(float64(x))) }
	share := log(float32(away)/float32(middle)) / log(float32(float64(positions-1)/float64(middle)))
	far := int64(math.Ceil(float64(share*float32(middle-1)))) + middle
	if d < 0 {
		return -far
	}
	return far
}

// disentangled is DeBERTa's attention: content to content, content to position and position to content.
func (b *builder) disentangled(read, x, layer string) string {
	q, k, v := b.contents(read, x, layer)
	scale := b.number(float32(1 / math.Sqrt(float64(b.HiddenSize/b.Heads*int64(1+len(b.RelativeTypes))))))
	q = b.op("Mul", []string{q, scale})
	terms := []string{b.dot(q, k), b.rel.bias}
	if b.rel.table != "" && b.RelativeTypes.has("c2p") {
		terms = append(terms, b.toPosition(q, layer, read != x))
	}
	if b.rel.table != "" && b.RelativeTypes.has("p2c") {
		terms = append(terms, b.fromPosition(k, layer, scale, read != x))
	}
	p := b.op("Softmax", []string{b.op("Sum", terms)}, intAttr("axis", -1))
	context := b.op("Transpose", []string{b.op("MatMul", []string{p, v})}, intsAttr("perm", 0, 2, 1, 3))
	return b.op("Reshape", []string{context, b.vector(0, -1, b.HiddenSize)})
}

func (b *builder) dot(x, y string) string {
	return b.op("FusedMatMul", []string{x, y}, intAttr("transB", 1))
}

// contents are query, key and value, [batch, heads, sequence, size].
func (b *builder) contents(read, x, layer string) (q, k, v string) {
	var out []string
	if b.precision == INT8 && read == x {
		out = b.quantizedProjections(x, layer)
	} else {
		h := b.HiddenSize
		for _, p := range []struct{ from, name string }{{read, b.query}, {x, b.key}, {x, b.value}} {
			out = append(out, b.withBias(b.linear(p.from, layer+p.name, h, h)))
		}
	}
	for i := range out {
		out[i] = b.op("Reshape", []string{out[i], b.vector(0, -1, b.Heads, b.HiddenSize/b.Heads)})
		out[i] = b.op("Transpose", []string{out[i]}, intsAttr("perm", 0, 2, 1, 3))
	}
	return out[0], out[1], out[2]
}

// placed is a linear layer of the table of relative positions, [heads, 2 span, size]. It depends on weights alone: the
// runtime computes it once.
func (b *builder) placed(layer, projection, shared string) string {
	name := layer + projection
	if b.ShareKey {
		name = layer + shared
	}
	h := b.HiddenSize
	weight := b.name(name + ".weight")
	matrix := ""
	if b.precision == INT8 {
		matrix = b.restored(b.quantizeLinear(weight, h, h, nil))
	} else {
		matrix = b.transposed(weight, h, h)
	}
	y := b.op("Add", []string{b.op("MatMul", []string{b.rel.table, matrix}), b.vectorOf(name+".bias", h)})
	y = b.op("Reshape", []string{y, b.vector(-1, b.Heads, h/b.Heads)})
	return b.op("Transpose", []string{y}, intsAttr("perm", 1, 0, 2))
}

// toPosition is the score of each query's content with the distance to each key.
func (b *builder) toPosition(q, layer string, first bool) string {
	table := b.placed(layer, "attention.self.pos_key_proj", b.key)
	if first {
		return b.dot(q, b.pick(table, b.rel.first))
	}
	return b.shift(b.dot(q, b.pick(table, b.rel.down)))
}

// fromPosition is the score of each key's content with the distance to each query.
func (b *builder) fromPosition(k, layer, scale string, first bool) string {
	table := b.op("Mul", []string{b.placed(layer, "attention.self.pos_query_proj", b.query), scale})
	if first {
		pairs := b.op("Mul", []string{k, b.pick(table, b.rel.first)})
		return b.op("Unsqueeze", []string{b.op("ReduceSum", []string{pairs, b.vector(3)}, intAttr("keepdims", 0)),
			b.vector(2)})
	}
	return b.op("Transpose", []string{b.shift(b.dot(k, b.pick(table, b.rel.up)))}, intsAttr("perm", 0, 1, 3, 2))
}

// pick takes rows of a table, [heads, rows, size].
func (b *builder) pick(table, rows string) string {
	return b.op("Gather", []string{table, rows}, intAttr("axis", 1))
}

// shift turns scores by distance into scores by token: row i of x, [batch, heads, n, 2n], keeps columns n-i … 2n-i-1.
// If x is read as one line without its first n numbers, these columns begin every 2n-1 numbers.
func (b *builder) shift(x string) string {
	n := b.length()
	line := b.op("Reshape", []string{x, b.vector(0, 0, -1)})
	line = b.op("Slice", []string{line, n, b.vector(math.MaxInt64), b.vector(2)})
	shape := b.op("Concat", []string{b.vector(0, 0, -1), b.rel.width}, intAttr("axis", 0))
	return b.op("Slice", []string{b.op("Reshape", []string{line, shape}), b.vector(0), n, b.vector(3)})
}
