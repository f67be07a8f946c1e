package convert

import (
	"fmt"
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
	r := &recogniser{export: g, config: c, family: families[c.ModelType], lifted: lifted{export: g, weights: map[string]matrix{}}}
	switch {
	case r.relative:
		return nil, fmt.Errorf("graphs of %s are not recognised, only those of bert, distilbert, roberta and xlm-roberta", c.ModelType)
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

// head recognises the head, and returns the encoder's output.
func (r *recogniser) head() string {
	if len(r.outputs) != 1 && !slices.Contains(r.outputs, output) {
		r.fail("none of the outputs %s is called %s", strings.Join(r.outputs, ", "), output)
		return ""
	}
	v := output
	if len(r.outputs) == 1 {
		v = r.outputs[0]
	}
	logits, dense, activation := "classifier", r.prefix+"pooler.dense", "tanh"
	switch {
	case r.distilled:
		dense, activation = "pre_classifier", "relu"
	case r.offset:
		logits, dense = "classifier.out_proj", "classifier.dense"
	}
	x := r.linear(v, logits)
	if n := r.node(x); n.op != "Gather" {
		x = r.linear(r.wantNode(x, "the head", 1, activationOps[activation]).in[0], dense)
	} else if r.offset { // a linear head has another name
		for _, end := range []string{".weight", ".bias"} {
			r.lifted.weights["classifier"+end] = r.lifted.weights[logits+end]
			delete(r.lifted.weights, logits+end)
		}
	}
	first := r.wantNode(x, "the head, which reads the first token,", 2, "Gather")
	if first.attrs["axis"].i != 1 || r.scalar(first.in[1]) != 0 {
		r.fail("%s does not take the first token, which the head should read", first)
	}
	return first.in[0]
}

// layer recognises a layer that gives v, and returns what it is applied to.
func (r *recogniser) layer(v, name string) string {
	down, x := r.residual(r.norm(v, name+r.outputNorm), name+r.outputNorm)
	up := r.activation(r.linear(down, name+r.down), name+r.up)
	r.checkSource(r.linear(up, name+r.up), x, name+r.up)
	out, x := r.residual(r.norm(x, name+r.attentionNorm), name+r.attentionNorm)
	r.attention(r.linear(out, name+r.out), x, name)
	return x
}

// residual splits a sum into the linear layer and what bypasses it.
func (r *recogniser) residual(v, name string) (linear, bypass string) {
	n := r.wantNode(v, "the sum before "+name, 2, "Add")
	if r.isLinear(n.in[0]) {
		return n.in[0], n.in[1]
	}
	return n.in[1], n.in[0]
}

func (r *recogniser) checkSource(v, x, name string) {
	if r.err == nil && r.root(v) != r.root(x) {
		r.fail("%s stands where %s should be applied to %s", r.node(v), name, r.node(x))
	}
}

// attention recognises the attention of x to itself that gives v.
func (r *recogniser) attention(v, x, layer string) {
	name := "the attention of " + strings.TrimSuffix(layer, ".")
	context := r.stripTurns(v, name)
	product := r.wantNode(context.v, name, 2, "MatMul")
	value := r.stripTurns(product.in[1], name)
	p := r.root(product.in[0])
	if n := r.node(p); n.op == "Where" && len(n.in) == 3 && r.node(n.in[0]).op == "IsNaN" { // for rows that are all padding
		p = n.in[2]
	}
	softmax := r.wantNode(p, name, 1, "Softmax")
	if axis, ok := softmax.attrs["axis"]; ok && axis.i != -1 && axis.i != 3 {
		r.fail("%s is over axis %d", softmax, axis.i)
	}
	scores := r.stripTurns(r.removeMask(softmax.in[0], name), name)
	dot := r.wantNode(scores.v, name, 2, "MatMul")
	query, key := r.stripTurns(dot.in[0], name), r.stripTurns(dot.in[1], name)
	for _, p := range []struct {
		s     stripped
		name  string
		turns []string
	}{{query, r.query, straight}, {key, r.key, turned}, {value, r.value, straight}} {
		r.checkSource(r.linear(p.s.v, layer+p.name), x, layer+p.name)
		p.s.checkShape(r, layer+p.name, p.turns)
	}
	context.checkShape(r, name, straight)
	scores.checkShape(r, name, []string{"[]"})
	scale, size := scores.scale*query.scale*key.scale, float64(r.HiddenSize/r.Heads)
	if context.scale*value.scale != 1 || !math.IsNaN(scale) && !isClose(scale, 1/math.Sqrt(size)) {
		r.fail("%s scales by %.4g, which is not 1/√%v", name, scale, size)
	}
}

// stripped is a value from which changes of shape and factors were removed.
type stripped struct {
	v     string
	turns [][]int64 // axes, from the first transposition to the last
	scale float64   // NaN where it is computed from a shape
	size  float64   // of the last axis after the first change of shape; NaN where it is not constant
}

// Transpositions that put heads before tokens, and those that also swap tokens and the numbers of a head.
var (
	straight = []string{"[[0 2 1 3]]"}
	turned   = []string{"[[0 2 3 1]]", "[[0 2 1 3] [0 1 3 2]]", "[[0 2 1 3] [0 2 1]]"}
)

func (s stripped) checkShape(r *recogniser, name string, turns []string) {
	if got := fmt.Sprint(s.turns); !slices.Contains(turns, got) {
		r.fail("the axes of %s are transposed as %s in place of %s", name, got, turns[0])
	}
	if size := r.HiddenSize / r.Heads; len(s.turns) > 0 && s.size > 0 && s.size != float64(size) && s.size != float64(r.HiddenSize) {
		r.fail("%s has heads of %v numbers, but %s says %d", name, s.size, configFile, size)
	}
}

// stripTurns goes back through changes of shape and multiplications with one number.
func (r *recogniser) stripTurns(v, name string) stripped {
	s := stripped{scale: 1, size: math.NaN()}
	for {
		n := r.node(v)
		switch {
		case n.op == "Reshape" && len(n.in) == 2:
			v, s.size = n.in[0], r.lastAxis(n.in[1])
		case n.op == "Transpose" && len(n.in) == 1:
			v, s.turns = n.in[0], slices.Insert(s.turns, 0, n.attrs["perm"].ints)
		case (n.op == "Mul" || n.op == "Div") && len(n.in) == 2 && r.isFactor(n.in[1]):
			f := r.scalar(n.in[1])
			if n.op == "Div" {
				f = 1 / f
			}
			v, s.scale = n.in[0], s.scale*f
		default:
			s.v = v
			return s
		}
	}
}

// isFactor says whether v is one number: a constant, or computed from shapes alone, as scaled_dot_product_attention does.
func (r *recogniser) isFactor(v string) bool {
	if r.constant(v) != "" {
		return !math.IsNaN(r.scalar(v))
	}
	return r.node(v).op != "input" && len(r.sources(v)) == 0
}

// lastAxis is the last number of a shape, NaN where it is not constant.
func (r *recogniser) lastAxis(v string) float64 {
	if n := r.node(v); n.op == "Concat" && len(n.in) > 0 {
		v = n.in[len(n.in)-1]
	}
	if x, ok := r.numbers(r.root(v)); ok && len(x) > 0 {
		return x[len(x)-1]
	}
	return math.NaN()
}

// removeMask gives the scores to which v adds the mask. What is added, or put in their place, must depend on
// attention_mask alone.
func (r *recogniser) removeMask(v, name string) string {
	n := r.wantNode(v, "the mask of "+name, 2, "Add", "Where")
	scores, mask := n.in[0], n.in[1]
	switch {
	case n.op == "Where" && len(n.in) == 3: // DistilBERT: scores where there is a token, else the lowest number
		scores, mask = n.in[2], n.in[0]
		if r.constant(scores) != "" {
			scores = n.in[1]
		}
	case slices.Contains(r.sources(scores), inputMask) && !slices.Contains(r.sources(scores), inputIDs):
		scores, mask = mask, scores
	}
	if from := r.sources(mask); r.err == nil && !slices.Equal(from, []string{inputMask}) {
		r.fail("%s masks by %s, not by %s alone", n, strings.Join(append(from, "constants"), ", "), inputMask)
	}
	return scores
}

// sources are the inputs of the graph that v depends on, sorted. An input does not count if only its shape is used.
func (r *recogniser) sources(v string) []string {
	var from []string
	r.visitInputs(v, func(n *node) {
		if n.op == "input" {
			from = append(from, n.name)
		}
	})
	slices.Sort(from)
	return from
}

// visitInputs visits v's node and all that it depends on, once each; shapes are not followed.
func (r *recogniser) visitInputs(v string, visit func(*node)) {
	seen := map[string]bool{}
	for open := []string{v}; len(open) > 0; {
		v := r.root(open[len(open)-1])
		open = open[:len(open)-1]
		if v == "" || seen[v] || r.tensors[v] != nil {
			continue
		}
		seen[v] = true
		n := r.node(v)
		visit(n)
		if n.op != "Shape" {
			open = append(open, n.in...)
		}
	}
}

// embeddings recognises the normalised sum of tables that gives v.
func (r *recogniser) embeddings(v string) {
	name := r.prefix + "embeddings."
	tables := map[string]string{} // rows that are read, by table
	for open := []string{r.norm(v, name+"LayerNorm")}; len(open) > 0 && len(open) < 8 && r.err == nil; {
		n := r.wantNode(open[0], "the sum of embeddings", 2, "Add", "Gather")
		if open = open[1:]; n.op == "Add" {
			open = append(open, n.in...)
			continue
		}
		table := name + r.tableOf(n)
		if tables[table] != "" {
			r.fail("%s is one more table of %s", n, table)
		}
		tables[table] = n.in[1]
		r.liftWeight(n.in[0], table+".weight", false)
	}
	if r.err == nil && tables[name+"position_embeddings"] == "" {
		r.fail("the embeddings have no table of positions")
	}
	if types := tables[name+"token_type_embeddings"]; r.root(types) != inputType && *r.Types > 1 {
		r.oneType = true
	}
}

// tableOf names a table by the input that chooses its rows.
func (r *recogniser) tableOf(n *node) string {
	from := r.sources(n.in[1])
	rows := int64(0)
	if t := r.tensors[r.constant(n.in[0])]; t != nil && len(t.dims) == 2 {
		rows = t.dims[0]
	}
	switch root := r.root(n.in[1]); {
	case root == inputIDs:
		return "word_embeddings"
	case root == inputType || rows == *r.Types && rows != r.Positions && (rows == 1 || len(from) == 0):
		return "token_type_embeddings"
	case !r.offset && len(from) == 0:
		return "position_embeddings"
	case r.offset && slices.Equal(from, []string{inputIDs}) && r.isTokenCount(n.in[1]):
		return "position_embeddings"
	}
	r.fail("%s reads rows of a table by something else than tokens, types or positions", n)
	return ""
}

// isTokenCount says whether positions are counted over the tokens that are no padding.
func (r *recogniser) isTokenCount(v string) bool {
	counts, pad := false, math.NaN()
	r.visitInputs(v, func(n *node) {
		counts = counts || n.op == "CumSum"
		if n.op == "Equal" && len(n.in) == 2 && r.root(n.in[0]) == inputIDs {
			pad = r.scalar(n.in[1])
		}
	})
	return counts && pad == float64(*r.Pad)
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
func (l *lifted) Names() []string {
	names := make([]string, 0, len(l.weights))
	for name := range l.weights {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

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
