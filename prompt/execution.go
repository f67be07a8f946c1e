package prompt

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// Limits of one execution of a template, which a stranger may have written. What a model reads, and what a template
// does for it, is far below.
const (
	maxText  = 64 << 20 // bytes that are written, or made by functions such as print
	maxSteps = 1 << 20  // nodes that are executed
	maxTime  = 5 * time.Second
)

var (
	errLong    = fmt.Errorf("the template makes more than %d MiB of text; shorten it", maxText>>20)
	errEndless = fmt.Errorf("the template takes more than %d steps or %s; take out loops that do not end", maxSteps,
		maxTime)
)

// execution is what a template writes, and what that costs.
type execution struct {
	strings.Builder
	steps, size int
	end         time.Time
}

// execute executes one part of a template within the limits. Every node writes, as addSteps has it.
func execute(t *template.Template, part string, data any) (string, error) {
	bounded, err := t.Clone() // the functions count for this execution alone
	if err != nil {
		return "", err
	}
	x := &execution{end: time.Now().Add(maxTime)}
	if err := bounded.Funcs(x.funcs()).ExecuteTemplate(x, part, data); err != nil {
		for _, limit := range []error{errLong, errEndless} {
			if errors.Is(err, limit) {
				return "", fmt.Errorf("%s: part %q: %w", t.Name(), part, limit)
			}
		}
		return "", located(err)
	}
	return x.String(), nil
}

// Write is a step, of a template that writes p.
func (x *execution) Write(p []byte) (int, error) {
	x.steps++
	if x.steps > maxSteps || time.Now().After(x.end) {
		return 0, errEndless
	}
	if err := x.spend(len(p)); err != nil {
		return 0, err
	}
	return x.Builder.Write(p)
}

func (x *execution) spend(bytes int) error {
	if x.size += bytes; x.size > maxText {
		return errLong
	}
	return nil
}

// funcs are those of text/template that make texts, each of which is paid for before it is made: a text that is put
// behind itself doubles.
func (x *execution) funcs() template.FuncMap {
	paid := func(times int, produce func(args ...any) string) func(args ...any) (string, error) {
		return func(args ...any) (string, error) {
			for _, arg := range args {
				text, ok := arg.(string)
				if !ok {
					text = fmt.Sprint(arg)
				}
				if err := x.spend(times * len(text)); err != nil {
					return "", err
				}
			}
			return produce(args...), nil
		}
	}
	// the factors are what one byte can become: &#34; and \u0000, %20, and in printf % #x
	return template.FuncMap{
		"print":    paid(1, fmt.Sprint),
		"println":  paid(1, fmt.Sprintln),
		"html":     paid(5, template.HTMLEscaper),
		"js":       paid(6, template.JSEscaper),
		"urlquery": paid(3, template.URLQueryEscaper),
		"printf": func(format string, args ...any) (string, error) {
			if wide.MatchString(format) {
				return "", fmt.Errorf("printf: %q has a width of more than two digits, * or an index; write it without",
					format)
			}
			if err := x.spend(len(format) + 200*strings.Count(format, "%")); err != nil {
				return "", err
			}
			return paid(5, func(args ...any) string { return fmt.Sprintf(format, args...) })(args...)
		},
	}
}

// wide is a verb of printf that makes much of little, or takes an argument again.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*([0-9]{3}|[*\[])`)

// addSteps puts an empty text, which is written like any other, before each node of a list: a loop that writes nothing
// counts too.
func addSteps(list *parse.ListNode) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, 2*len(list.Nodes)+1)
	step := func(at parse.Pos) { nodes = append(nodes, &parse.TextNode{NodeType: parse.NodeText, Pos: at}) }
	if len(list.Nodes) == 0 {
		step(list.Pos)
	}
	for _, n := range list.Nodes {
		step(n.Position())
		nodes = append(nodes, n)
		if b := branchOf(n); b != nil {
			addSteps(b.List)
			addSteps(b.ElseList)
		}
	}
	list.Nodes = nodes
}

// branchOf is what if, range and with have in common; nil for other nodes.
func branchOf(n parse.Node) *parse.BranchNode {
	switch n := n.(type) {
	case *parse.IfNode:
		return &n.BranchNode
	case *parse.RangeNode:
		return &n.BranchNode
	case *parse.WithNode:
		return &n.BranchNode
	}
	return nil
}
