package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/models/checkpoint"
)

// recogniser walks an exported classifier from its logits back to its inputs, and gives each weight the name that it
// has in a checkpoint. It keeps its first error, which names the node that did not fit.
type recogniser struct {
	*export
	*config
	family
	lifted lifted
	err    error
}

// recognise finds the weights of the classifier that c describes in g.
func recognise(g *export, c *config) (*lifted, error) {
	r := &recogniser{export: g, config: c, family: families[c.ModelType], lifted: lifted{export: g,
		weights: map[string]matrix{}}}
	switch {
	case r.relative:
		return nil, fmt.Errorf("graphs of %s are not recognised, only those of bert, distilbert, roberta and xlm-roberta",
			c.ModelType)
	case c.Pooling == "mean":
		return nil, fmt.Errorf("a head over the mean of all tokens (classifier_pooling in %s) is not recognised", configFile)
	}
	x := r.head()
	for i := r.Layers - 1; i >= 0 && r.err == nil; i-- {
		x = r.layer(x, r.prefix+fmt.Sprintf(r.family.layer, i))
	}
	r.embeddings(x)
	return &r.lifted, r.err
}

func (r *recogniser) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// root follows v back through nodes that do not change it.
func (r *recogniser) root(v string) string {
	for n := r.from[v]; n != nil && n.op == "Identity" && len(n.in) == 1; n = r.from[v] {
		v = n.in[0]
	}
	return v
}

// node is the node that gives v; inputs and weights are nodes without inputs.
func (r *recogniser) node(v string) *node {
	v = r.root(v)
	if n := r.from[v]; n != nil {
		return n
	}
	kind := "input"
	if r.tensors[v] != nil {
		kind = "weight"
	}
	return &node{name: v, op: kind, at: -1}
}

// wantNode is the node that gives v, which must be one of ops with at least n inputs.
func (r *recogniser) wantNode(v, part string, n int, ops ...string) *node {
	found := r.node(v)
	if r.err == nil && slices.Contains(ops, found.op) && len(found.in) >= n {
		return found
	}
	r.fail("%s stands where %s should have %s", found, part, strings.Join(ops, " or "))
	return &node{in: make([]string, n), attrs: map[string]value{}}
}

// constant is a weight of the graph, "" for anything else.
func (r *recogniser) constant(v string) string {
	if v = r.root(v); r.tensors[v] != nil {
		return v
	}
	return ""
}

// splitInputs tells which of the two inputs of n is computed and which is constant.
func (r *recogniser) splitInputs(n *node) (computed, constant string) {
	a, b := n.in[0], n.in[1]
	if r.constant(a) != "" {
		a, b = b, a
	}
	return a, r.constant(b)
}

// scalar is the number that v is, everywhere the same; it is NaN for anything else.
func (r *recogniser) scalar(v string) float64 {
	if x, ok := r.numbers(r.root(v)); ok && len(x) == 1 {
		return x[0]
	}
	return math.NaN()
}

// isClose says whether two numbers are equal apart from float32's rounding.
func isClose(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) }

// linear recognises a linear layer that gives v, and returns what it is applied to.
func (r *recogniser) linear(v, name string) string {
	n := r.wantNode(v, name, 2, "Add", "Gemm")
	if n.op == "Gemm" {
		plain := n.attrs["transA"].i == 0
		for _, key := range []string{"alpha", "beta"} {
			if a, ok := n.attrs[key]; ok {
				plain = plain && a.f == 1
			}
		}
		if !plain || len(n.in) != 3 {
			r.fail("%s is no linear layer, where %s should be", n, name)
			return ""
		}
		r.liftWeight(n.in[1], name+".weight", n.attrs["transB"].i == 0)
		r.liftWeight(n.in[2], name+".bias", false)
		return n.in[0]
	}
	x, bias := r.splitInputs(n)
	r.liftWeight(bias, name+".bias", false)
	product := r.wantNode(x, name, 2, "MatMul")
	r.liftWeight(product.in[1], name+".weight", true)
	return product.in[0]
}

// isLinear says whether v comes out of a linear layer.
func (r *recogniser) isLinear(v string) bool {
	n := r.node(v)
	if n.op != "Add" || len(n.in) != 2 {
		return n.op == "Gemm"
	}
	x, bias := r.splitInputs(n)
	return bias != "" && r.node(x).op == "MatMul"
}

// liftWeight records which weight the checkpoint calls name.
func (r *recogniser) liftWeight(v, name string, transposed bool) {
	n := r.node(v)
	if n.op == "Transpose" && len(n.in) == 1 && slices.Equal(n.attrs["perm"].ints, []int64{1, 0}) {
		transposed, n = !transposed, r.node(n.in[0])
	}
	t := r.tensors[n.name]
	if n.op != "weight" || t == nil || t.elem != elemFloat {
		r.fail("%s stands where %s should be, as float32", n, name)
		return
	}
	r.lifted.weights[name] = matrix{t, transposed}
}

// norm recognises the layer normalisation that gives v, whole or in its parts, and returns what it is applied to.
func (r *recogniser) norm(v, name string) string {
	if n := r.node(v); n.op == "LayerNormalization" && len(n.in) == 3 {
		axis, ok := n.attrs["axis"]
		epsilon := 1e-5 // the operator's default
		if e, ok := n.attrs["epsilon"]; ok {
			epsilon = float64(e.f)
		}
		r.checkEpsilon(n, epsilon)
		if ok && axis.i != -1 && axis.i != 2 {
			r.fail("%s normalises axis %d", n, axis.i)
		}
		r.liftWeight(n.in[1], name+".weight", false)
		r.liftWeight(n.in[2], name+".bias", false)
		return n.in[0]
	}
	scaled, bias := r.splitInputs(r.wantNode(v, name, 2, "LayerNormalization", "Add"))
	r.liftWeight(bias, name+".bias", false)
	ratio, weight := r.splitInputs(r.wantNode(scaled, name, 2, "Mul"))
	r.liftWeight(weight, name+".weight", false)
	divided := r.wantNode(ratio, name, 2, "Div")
	root := r.wantNode(divided.in[1], name, 1, "Sqrt")
	sum := r.wantNode(root.in[0], name, 2, "Add")
	variance, epsilon := r.splitInputs(sum)
	r.checkEpsilon(sum, r.scalar(epsilon))
	squares := r.wantNode(r.mean(variance, name), name, 2, "Pow")
	if p := r.scalar(squares.in[1]); p != 2 {
		r.fail("%s is no square", squares)
	}
	x := r.matchCentred(divided.in[0], name)
	if y := r.matchCentred(squares.in[0], name); r.err == nil && r.root(x) != r.root(y) {
		r.fail("%s takes the deviation of something else than %s divides", squares, divided)
	}
	return x
}

// matchCentred recognises x - mean(x), and returns x.
func (r *recogniser) matchCentred(v, name string) string {
	n := r.wantNode(v, name, 2, "Sub")
	if x := r.mean(n.in[1], name); r.err == nil && r.root(x) != r.root(n.in[0]) {
		r.fail("%s takes away the mean of something else", n)
	}
	return n.in[0]
}

// mean recognises the mean over the last axis, and returns what it is taken of.
func (r *recogniser) mean(v, name string) string {
	n := r.wantNode(v, name, 1, "ReduceMean")
	axes := n.attrs["axes"].ints
	if len(n.in) == 2 {
		axes = []int64{int64(r.scalar(n.in[1]))}
	}
	if !slices.Equal(axes, []int64{-1}) && !slices.Equal(axes, []int64{2}) {
		r.fail("%s takes the mean over axes %v", n, axes)
	}
	return n.in[0]
}

func (r *recogniser) checkEpsilon(n *node, epsilon float64) {
	if !isClose(epsilon, r.Epsilon) {
		r.fail("%s has epsilon %.3g, but %s says %.3g", n, epsilon, configFile, r.Epsilon)
	}
}

// matrix is a weight of an export, [in, out] where it is transposed.
type matrix struct {
	*initializer
	transposed bool
}

// lifted holds the weights of an export by their names in a checkpoint.
type lifted struct {
	*export
	weights map[string]matrix
	buf     []float32
}

// Names are sorted.
func (l *lifted) Names() []string { return slices.Sorted(maps.Keys(l.weights)) }

// Info has the shape that a checkpoint would have.
func (l *lifted) Info(name string) (checkpoint.Info, bool) {
	m, ok := l.weights[name]
	if !ok {
		return checkpoint.Info{}, false
	}
	shape := slices.Clone(m.dims)
	if m.transposed {
		slices.Reverse(shape)
	}
	return checkpoint.Info{Name: name, DType: "F32", Shape: shape}, true
}

// Floats reads a weight as a checkpoint would have it.
func (l *lifted) Floats(name string, to []float32) ([]float32, error) {
	m := l.weights[name]
	if !m.transposed {
		return l.floats(m.initializer, to)
	}
	v, err := l.floats(m.initializer, l.buf)
	if err != nil {
		return nil, err
	}
	l.buf = v
	in, out := int(m.dims[0]), int(m.dims[1])
	to = slices.Grow(to[:0], len(v))[:len(v)]
	for o := range out {
		for i := range in {
			to[o*in+i] = v[i*out+o]
		}
	}
	return to, nil
}
