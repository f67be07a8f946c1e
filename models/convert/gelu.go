package convert

import (
	"math"
	"slices"
)

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
