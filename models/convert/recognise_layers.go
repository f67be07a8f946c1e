package convert

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

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
	// for rows that are all padding
	if n := r.node(p); n.op == "Where" && len(n.in) == 3 && r.node(n.in[0]).op == "IsNaN" {
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
	if size := r.HiddenSize / r.Heads; len(s.turns) > 0 && s.size > 0 && s.size != float64(size) &&
		s.size != float64(r.HiddenSize) {
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

// isFactor says whether v is one number: a constant, or computed from shapes alone, as scaled_dot_product_attention
// does.
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

// activation recognises the activation function that gives v, which must be that of config.json, and returns what it is
// applied to.
func (r *recogniser) activation(v, name string) string {
	n := r.node(v)
	x, kind := "", ""
	switch {
	case n.op == "Mul" || n.op == "Div":
		x, kind = r.gelu(v)
	case len(n.in) != 1:
	case n.op == "Gelu" && n.attrs["approximate"].s == "tanh":
		x, kind = n.in[0], "FastGelu"
	default:
		x, kind = n.in[0], n.op
	}
	if want := activationOps[r.Activation]; r.err == nil && kind != want {
		r.fail("%s stands where %s should be followed by %s (hidden_act in %s)", n, name, r.Activation, configFile)
	}
	return x
}

// factors splits a product into its constant number and its computed factors. It stops at eight, since no activation
// has as many.
func (r *recogniser) factors(v string) (number float64, computed []string) {
	number = 1
	for open := []string{v}; len(open) > 0 && len(open)+len(computed) < 8; {
		v := open[0]
		open = open[1:]
		n, x := r.node(v), r.scalar(v)
		switch {
		case !math.IsNaN(x):
			number *= x
		case n.op == "Mul" && len(n.in) == 2:
			open = append(open, n.in...)
		case n.op == "Div" && len(n.in) == 2:
			number /= r.scalar(n.in[1])
			open = append(open, n.in[0])
		case n.op == "Pow" && len(n.in) == 2 && (r.scalar(n.in[1]) == 2 || r.scalar(n.in[1]) == 3):
			for range int(r.scalar(n.in[1])) {
				open = append(open, n.in[0])
			}
		default:
			computed = append(computed, r.root(v))
		}
	}
	return number, computed
}

// plus gives the summand of a sum of two for which is does not hold.
func (r *recogniser) plus(v string, is func(string) bool) (other string, ok bool) {
	n := r.node(v)
	if n.op != "Add" || len(n.in) != 2 {
		return "", false
	}
	for i, in := range n.in {
		if is(in) {
			return n.in[1-i], true
		}
	}
	return "", false
}

// gelu recognises x (1 + erf(x/√2)) / 2, which is Gelu, and x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, which is
// FastGelu.
func (r *recogniser) gelu(v string) (x, kind string) {
	half, parts := r.factors(v)
	if !isClose(half, 0.5) || len(parts) != 2 {
		return "", ""
	}
	one := func(v string) bool { return r.scalar(v) == 1 }
	for i, part := range parts {
		x := parts[1-i]
		curve, ok := r.plus(part, one)
		n := r.node(curve)
		switch {
		case !ok || len(n.in) != 1:
		case n.op == "Erf":
			if c, of := r.factors(n.in[0]); isClose(c, math.Sqrt(0.5)) && slices.Equal(of, []string{x}) {
				return x, "Gelu"
			}
		case n.op == "Tanh" && r.isCubic(n.in[0], x):
			return x, "FastGelu"
		}
	}
	return "", ""
}

// isCubic recognises √(2/π) (x + 0.044715 x³), also as √(2/π) x (1 + 0.044715 x²).
func (r *recogniser) isCubic(v, x string) bool {
	c, parts := r.factors(v)
	out := slices.Index(parts, x)
	power, is := 3, func(v string) bool { return r.root(v) == x }
	if len(parts) == 2 && out >= 0 {
		parts = slices.Delete(parts, out, out+1)
		power, is = 2, func(v string) bool { return r.scalar(v) == 1 }
	}
	if len(parts) != 1 {
		return false
	}
	term, ok := r.plus(parts[0], is)
	k, of := r.factors(term)
	return ok && isClose(c, math.Sqrt(2/math.Pi)) && isClose(k, 0.044715) &&
		slices.Equal(of, slices.Repeat([]string{x}, power))
}
