package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/identifier/ort"
)

// Operations counts multiplications and additions in matrix products, by the kind of numbers multiplied.
type Operations struct {
	Int8  float64 `json:"int8"`
	Float float64 `json:"float"` // fp32 and fp16
}

// Total is the sum of both kinds.
func (o Operations) Total() float64 { return o.Int8 + o.Float }

func (o *Operations) add(integer bool, n float64) {
	if integer {
		o.Int8 += n
	} else {
		o.Float += n
	}
}

// event is one entry of a trace of ONNX Runtime.
type event struct {
	Category string          `json:"cat"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
}

// nodeArgs describe a node that was run. A tensor is its element type and its shape.
type nodeArgs struct {
	Op     string             `json:"op_name"`
	Input  []map[string][]int `json:"input_type_shape"`
	Output []map[string][]int `json:"output_type_shape"`
}

// ReadTrace counts the matrix products in a trace of ONNX Runtime, which holds the executed nodes with their sizes,
// after the runtime's own rewriting. runs has one entry a Run. products lists the products with weights, each once.
func ReadTrace(r io.Reader) (runs []Operations, products []ort.Product, err error) {
	var events []event
	if err := json.NewDecoder(r).Decode(&events); err != nil {
		return nil, nil, fmt.Errorf("trace: %w", err)
	}
	var sum Operations
	for _, e := range events {
		if e.Category == "Session" && e.Name == "model_run" { // written when a Run ends
			runs = append(runs, sum)
			sum = Operations{}
		}
		if e.Category != "Node" || !strings.HasSuffix(e.Name, "_kernel_time") {
			continue
		}
		var node nodeArgs
		if err := json.Unmarshal(e.Args, &node); err != nil {
			return nil, nil, fmt.Errorf("trace: %s: %w", e.Name, err)
		}
		if p, ok := node.countOperations(&sum); ok && !slices.Contains(products, p) {
			products = append(products, p)
		}
	}
	return runs, products, nil
}

// countOperations adds a node's operations. ok says that p is a product with weights. The trace has no shape of packed
// weights, so the sizes of p are those of input and output.
func (n *nodeArgs) countOperations(sum *Operations) (p ort.Product, ok bool) {
	if len(n.Input) == 0 || len(n.Output) == 0 {
		return p, false
	}
	kind, in := firstTensor(n.Input[0])
	_, out := firstTensor(n.Output[0])
	if len(in) < 2 || len(out) < 2 {
		return p, false
	}
	p = ort.Product{Int8: strings.Contains(kind, "int8"), M: countElements(out[:len(out)-1]), K: in[len(in)-1],
		N: out[len(out)-1]}
	switch n.Op {
	case "MatMul", "FusedMatMul", "Gemm", "FusedGemm", "MatMulInteger", "MatMulIntegerToFloat":
	case "DynamicQuantizeMatMul":
		p.Int8 = true
	case "Attention", "QAttention": // projects one input to queries, keys and values
		p.Int8, p.N = n.Op == "QAttention", 3*p.N
		sum.add(false, 4*float64(p.M)*float64(in[len(in)-2])*float64(out[len(out)-1]))
	case "MultiHeadAttention":
		sum.add(false, 4*float64(p.M)*float64(n.keys())*float64(p.N))
		return p, false
	default:
		return p, false
	}
	sum.add(p.Int8, p.Operations())
	return p, len(in) <= 3 // four dimensions are attention's own products
}

// keys is the number of tokens that each token attends to.
func (n *nodeArgs) keys() int {
	if len(n.Input) < 2 {
		return 0
	}
	_, shape := firstTensor(n.Input[1])
	if len(shape) < 3 {
		return 0
	}
	return shape[len(shape)-2] // [batch, tokens, hidden] or [batch, heads, tokens, size]
}

// firstTensor is the only entry of m.
func firstTensor(m map[string][]int) (kind string, shape []int) {
	for kind, shape = range m {
		return kind, shape
	}
	return "", nil
}

func countElements(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
