package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/protobuf"
	"github.com/erreval/erreval/models/checkpoint"
)

// weights are the tensors of a checkpoint; *checkpoint.Weights are such.
type weights interface {
	Names() []string
	Info(name string) (checkpoint.Info, bool)
	Floats(name string, to []float32) ([]float32, error)
}

// builder makes a graph. It keeps its first error; after that, no method has an effect.
type builder struct {
	*config
	family
	graph

	precision string
	weights   weights
	bare      bool // names lack the family's prefix: the encoder was saved alone
	used      map[string]bool
	made      map[string]string // constants by their content
	count     int
	rel       *relative          // only for DeBERTa
	divisors  map[string]divisor // by linear layer, without the prefix; only for int8
	buf       []float32          // the tensor read last

	hidden      string // as in Result
	hiddenLayer int

	err error
}

func newBuilder(c *config, w weights, precision string) *builder {
	b := &builder{config: c, family: families[c.ModelType], weights: w, precision: precision, used: map[string]bool{},
		made: map[string]string{}}
	b.bare = !slices.ContainsFunc(w.Names(), func(n string) bool { return strings.HasPrefix(n, b.family.prefix) })
	return b
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// name completes the name of one of the encoder's tensors.
func (b *builder) name(name string) string {
	if b.bare {
		return name
	}
	return b.family.prefix + name
}

// elem is the type that the graph computes in.
func (b *builder) elem() int {
	if b.precision == FP16 {
		return elemHalf
	}
	return elemFloat
}

// op adds a node with one output and returns that.
func (b *builder) op(kind string, inputs []string, attrs ...attribute) string {
	return b.ops(kind, 1, inputs, attrs...)[0]
}

func (b *builder) ops(kind string, n int, inputs []string, attrs ...attribute) []string {
	b.count++
	out := make([]string, n)
	for i := range out {
		out[i] = kind + "_" + strconv.Itoa(b.count)
		if i > 0 {
			out[i] += "_" + strconv.Itoa(i)
		}
	}
	b.nodes = protobuf.AppendBytes(b.nodes, 1, encodeNode(kind, inputs, out, attrs))
	return out
}

// constant adds int64 numbers: a vector, or a scalar where dims is empty.
func (b *builder) constant(dims []int64, v ...int64) string {
	return b.addOnce(fmt.Sprint("ints", dims, v), &tensor{elem: elemInt64, dims: dims, fill: func(e *emitter) error {
		e.ints(v)
		return nil
	}})
}

func (b *builder) scalar(v int64) string    { return b.constant(nil, v) }
func (b *builder) vector(v ...int64) string { return b.constant([]int64{int64(len(v))}, v...) }

// number adds a scalar in the type that the graph computes in.
func (b *builder) number(v float32) string {
	return b.addOnce(fmt.Sprint("number", v), &tensor{elem: b.elem(), fill: func(e *emitter) error {
		b.emitFloats(e, []float32{v})
		return nil
	}})
}

// addOnce adds t unless it has added a tensor with that key.
func (b *builder) addOnce(key string, t *tensor) string {
	if b.made[key] == "" {
		t.name = "constant_" + strconv.Itoa(len(b.made))
		b.made[key] = t.name
		b.tensors = append(b.tensors, t)
	}
	return b.made[key]
}

// emitFloats writes numbers in the type that the graph computes in.
func (b *builder) emitFloats(e *emitter, v []float32) {
	if b.elem() == elemHalf {
		e.halves(v)
	} else {
		e.floats(v)
	}
}

// addTensor adds an initializer, unless there is one of that name. fill makes its numbers when the graph is written.
func (b *builder) addTensor(name string, elem int, dims []int64, fill func(*emitter) error) string {
	if b.made[name] != "" {
		return name
	}
	b.made[name] = name
	b.tensors = append(b.tensors, &tensor{name: name, elem: elem, dims: dims, fill: fill})
	return name
}

// addFloats adds numbers in fp32, as they are when the graph is written.
func (b *builder) addFloats(name string, dims []int64, v []float32) string {
	return b.addTensor(name, elemFloat, dims, func(e *emitter) error {
		e.floats(v)
		return nil
	})
}

// oldNames are the endings that early BERT checkpoints have.
var oldNames = map[string]string{"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

// findWeight resolves a tensor's name and checks its shape; -1 in dims is any length. It returns the name in the
// checkpoint and the shape.
func (b *builder) findWeight(name string, dims ...int64) (string, []int64) {
	if b.err != nil {
		return name, dims
	}
	info, ok := b.weights.Info(name)
	for ending, old := range oldNames {
		if base, cut := strings.CutSuffix(name, ending); !ok && cut {
			name = base + old
			info, ok = b.weights.Info(name)
		}
	}
	if !ok {
		b.fail(fmt.Errorf("the checkpoint lacks the tensor %s, which a %s of %d layers has; download it again, or correct %s",
			name, b.ModelType, b.Layers, configFile))
		return name, dims
	}
	fits := len(info.Shape) == len(dims)
	for i := range dims {
		fits = fits && (dims[i] == -1 && info.Shape[i] > 0 || dims[i] == info.Shape[i])
	}
	if !fits {
		b.fail(fmt.Errorf("tensor %s has shape %v, but %s asks for %s", name, info.Shape, configFile, shapeText(dims)))
		return name, dims
	}
	b.used[name] = true
	return name, info.Shape
}

func shapeText(dims []int64) string {
	return strings.ReplaceAll(fmt.Sprint(dims), "-1", "*")
}

func (b *builder) hasWeight(name string) bool {
	_, ok := b.weights.Info(name)
	return ok
}

// readFloats reads a tensor into the builder's buffer, where the next one overwrites it.
func (b *builder) readFloats(name string) ([]float32, error) {
	v, err := b.weights.Floats(name, b.buf)
	if err == nil {
		b.buf = v
	}
	return v, err
}

// plain adds a tensor of the checkpoint unchanged, in the type that the graph computes in.
func (b *builder) plain(name string, dims ...int64) string {
	name, dims = b.findWeight(name, dims...)
	return b.addWeight(name, "", b.elem(), dims, b.inBlocks)
}

// addWeight adds an initializer whose numbers write makes of a tensor of the checkpoint. Its name is the tensor's, with
// suffix behind it.
func (b *builder) addWeight(tensor, suffix string, elem int, dims []int64,
	write func(*emitter, []float32)) string {
	return b.addTensor(tensor+suffix, elem, dims, func(e *emitter) error {
		v, err := b.readFloats(tensor)
		if err == nil {
			write(e, v)
			err = named(tensor, e.fault)
		}
		return err
	})
}

// inBlocks emits numbers piece by piece, so that a large table is not copied whole.
func (b *builder) inBlocks(e *emitter, v []float32) {
	for part := range slices.Chunk(v, 1<<16) {
		b.emitFloats(e, part)
	}
}

func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("tensor %s: %w", name, err)
	}
	return nil
}

// joined adds several vectors as one.
func (b *builder) joined(length int64, names ...string) string {
	for i, name := range names {
		names[i], _ = b.findWeight(name, length)
	}
	return b.addTensor(strings.Join(names, "+"), b.elem(), []int64{length * int64(len(names))}, func(e *emitter) error {
		for _, name := range names {
			v, err := b.readFloats(name)
			b.emitFloats(e, v)
			if err = cmp.Or(err, e.fault); err != nil {
				return named(name, err)
			}
		}
		return nil
	})
}

// transposed adds the weights of torch's Linear, [out, in], in the shape that MatMul takes: [in, out].
func (b *builder) transposed(name string, out, in int64) string {
	name, _ = b.findWeight(name, out, in)
	return b.addWeight(name, "", b.elem(), []int64{in, out}, func(e *emitter, v []float32) {
		column := make([]float32, out)
		for i := range in {
			for o := range out {
				column[o] = v[o*in+i]
			}
			b.emitFloats(e, column)
		}
	})
}
