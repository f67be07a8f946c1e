package prompt

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/taxonomy"
)

// Kinds of templates: what a reply to one holds. They are also the names of the built-in ones.
const (
	Judge    = "judge"    // one verdict, on Input.Dimension
	Joint    = "joint"    // one verdict for each dimension of the task
	Identify = "identify" // the labels that apply
	Simulate = "simulate" // a text for Input.Field with the error Input.Target
	Confirm  = "confirm"  // how sure the model is that the text in Input.Field has the error Input.Target
)

// Template makes messages of an Input. It is safe for concurrent use.
type Template struct {
	Kind    string // Judge, Joint and so on
	Version string // as the file says, "1.0"

	hash      string
	tree      *template.Template
	plain     bool // see plain
	skeletons skeletons
}

//go:embed builtin/*.tmpl
var builtinFiles embed.FS

// Builtins are the names that Builtin knows.
func Builtins() []string {
	all := append([]string{Judge, Joint, Identify, Simulate, Confirm}, kindsOfIssues...)
	return append(append(all, CompareWordings()...), CompareJoint)
}

// kinds are all kinds: the built-in templates without further wordings of one.
func kinds() []string {
	return slices.DeleteFunc(Builtins(), func(name string) bool {
		return name != Compare && slices.Contains(CompareWordings(), name)
	})
}

// Builtin loads an embedded template.
func Builtin(name string) (*Template, error) {
	data, err := BuiltinSource(name)
	if err != nil {
		return nil, err
	}
	return Parse(data, name+".tmpl")
}

// BuiltinSource is the text of an embedded template, from which users can make their own.
func BuiltinSource(name string) ([]byte, error) {
	if !slices.Contains(Builtins(), name) {
		return nil, fmt.Errorf("prompt template %q is not built in; there are %s", name, strings.Join(Builtins(), ", "))
	}
	return builtinFiles.ReadFile(path.Join("builtin", name+".tmpl"))
}

// Open loads a built-in template by name, or a file by path.
func Open(nameOrPath string) (*Template, error) {
	if slices.Contains(Builtins(), nameOrPath) {
		return Builtin(nameOrPath)
	}
	data, err := regularfile.Read(nameOrPath, regularfile.MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("prompt template %q is neither a file nor built in (built in: %s): %w", nameOrPath,
			strings.Join(Builtins(), ", "), err)
	}
	if err != nil {
		return nil, fmt.Errorf("prompt template: %w", err)
	}
	return Parse(data, nameOrPath)
}

// Parse reads a template in the syntax of text/template. It consists of named parts: kind (one of Builtins),
// version, user, and, if there is to be a system message, system; further parts may be called from these. The slots
// are the fields of Slots; an unknown one is an error with file and line wherever it stands, in branches that are
// rarely taken too.
func Parse(data []byte, file string) (*Template, error) {
	tree, err := template.New(file).Funcs(funcs).Parse(string(data))
	if err != nil {
		return nil, located(err)
	}
	if err := checkParts(tree, file); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	t := &Template{hash: hex.EncodeToString(sum[:]), tree: tree, plain: isPlain(tree)}
	for _, part := range tree.Templates() {
		if part.Tree != nil {
			addSteps(part.Root)
		}
	}
	for name, dst := range map[string]*string{"kind": &t.Kind, "version": &t.Version} {
		if *dst, err = t.render(name, nil); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(kinds(), t.Kind) {
		return nil, fmt.Errorf("%s:%d: kind is %q; it is one of %s", file, lineOf(tree, "kind", data), t.Kind,
			strings.Join(kinds(), ", "))
	}
	if t.Version == "" || strings.ContainsAny(t.Version, " \t\n@") {
		return nil, fmt.Errorf("%s:%d: version is %q; a word such as 1.0 is expected", file, lineOf(tree, "version",
			data), t.Version)
	}
	if err := t.checkSlots(); err != nil {
		return nil, err
	}
	return t, nil
}

// Hash is the SHA-256 of the template's file, in hex.
func (t *Template) Hash() string { return t.hash }

// ID is kind and version, as records hold it: "judge@1.0".
func (t *Template) ID() string { return t.Kind + "@" + t.Version }

// funcs are what a template can call besides text/template's own functions.
var funcs = template.FuncMap{
	"add": func(a, b int) int { return a + b },
}

// parts that every template has, besides system.
var parts = []string{"kind", "version", "user"}

func checkParts(tree *template.Template, file string) error {
	for _, p := range parts {
		if tree.Lookup(p) == nil {
			return fmt.Errorf(`%s:1: the part %q is missing; write it as {{define %q}}…{{end}} (the parts are %s and, for a system message, system)`,
				file, p, p, strings.Join(parts, ", "))
		}
	}
	if tree.Tree == nil {
		return nil
	}
	for _, n := range tree.Root.Nodes {
		text, ok := n.(*parse.TextNode)
		if !ok || strings.TrimSpace(string(text.Text)) != "" {
			at, _ := tree.ErrorContext(n)
			return fmt.Errorf("%s: this stands outside of every part and would never be sent", trimColumn(at))
		}
	}
	return nil
}

// lineOf is where a part is defined. text/template knows only lines of what is inside.
func lineOf(tree *template.Template, part string, data []byte) int {
	if t := tree.Lookup(part); t != nil && t.Tree != nil && t.Root.Pos < parse.Pos(len(data)) {
		return 1 + strings.Count(string(data[:t.Root.Pos]), "\n")
	}
	return 1
}

// render executes one part, without the blank space around it.
func (t *Template) render(part string, data any) (string, error) {
	text, err := execute(t.tree, part, data)
	return strings.TrimSpace(text), err
}

// checkSlots executes a copy in which every branch is taken, on an example in which every list has an entry: a slot
// that does not exist then fails, wherever it stands.
func (t *Template) checkSlots() error {
	all, err := t.tree.Clone()
	if err != nil {
		return fmt.Errorf("prompt template: %w", err)
	}
	all.Funcs(template.FuncMap{"or": lastArgument, "and": lastArgument})
	for _, part := range all.Templates() {
		if part.Tree != nil {
			part.Tree = part.Copy()
			takeBothBranches(part.Root)
		}
	}
	whole := &Template{tree: all}
	for _, part := range []string{"system", "user"} {
		if all.Lookup(part) == nil {
			continue
		}
		if _, err := whole.render(part, exampleSlots(t.Kind)); err != nil {
			return err
		}
	}
	return nil
}

// lastArgument replaces and, or: all arguments are evaluated, and the result can be ranged over where theirs could.
func lastArgument(args ...any) any {
	if len(args) == 0 {
		return nil
	}
	return args[len(args)-1]
}

// takeBothBranches puts both branches of every condition into the list, and takes out what would leave a loop early.
func takeBothBranches(list *parse.ListNode) {
	if list == nil {
		return
	}
	var nodes []parse.Node
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			nodes = append(nodes, &parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: n.Pipe})
			nodes = append(nodes, bodies(n.List, n.ElseList)...)
		case *parse.RangeNode, *parse.WithNode:
			b := branchOf(n)
			after := bodies(b.ElseList)
			takeBothBranches(b.List)
			b.ElseList = nil
			nodes = append(append(nodes, n), after...)
		case *parse.BreakNode, *parse.ContinueNode:
		default:
			nodes = append(nodes, n)
		}
	}
	list.Nodes = nodes
}

func bodies(lists ...*parse.ListNode) []parse.Node {
	var nodes []parse.Node
	for _, l := range lists {
		if takeBothBranches(l); l != nil {
			nodes = append(nodes, l)
		}
	}
	return nodes
}

// templateAt takes place and message out of text/template's errors: "template: FILE:LINE:COLUMN: executing …: what".
var (
	templateAt = regexp.MustCompile(`^template: (.*?:\d+)(?::\d+)?: (?s:(.*))$`)
	executing  = regexp.MustCompile(`^executing ".*?" at <(.*?)>: (?s:(.*))$`)
	noField    = regexp.MustCompile(`can't evaluate field \S+ in type (\S+)`)
	column     = regexp.MustCompile(`(:\d+):\d+$`)
)

func trimColumn(place string) string { return column.ReplaceAllString(place, "$1") }

// located words an error of text/template as "file:line: what".
func located(err error) error {
	m := templateAt.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("prompt template: %w", err)
	}
	place, what := m[1], m[2]
	if e := executing.FindStringSubmatch(what); e != nil {
		slot := "{{" + strings.Trim(e[1], "{}") + "}}"
		what = slot + ": " + e[2]
		if f := noField.FindStringSubmatch(e[2]); f != nil {
			what = fmt.Sprintf("unknown slot %s; %s", slot, slotsOf(f[1]))
		}
	}
	return fmt.Errorf("%s: %s", place, what)
}

// exampleSlots has values in every slot of a kind, so that a template that is executed on it meets all that it names.
func exampleSlots(kind string) *Slots {
	text := slices.Repeat([]Text{{"text", "a text", "[begin]\n[end]"}}, exampleLength)
	labels := slices.Repeat([]LabelSlot{{"Label", "L", "category", "a label"}}, exampleLength)
	d := DimensionSlot{
		Name: "Quality", Key: "quality", Definition: "a quality",
		Criteria: slices.Repeat([]taxonomy.Criterion{{Score: 1, Text: "low"}}, exampleLength),
		Steps: slices.Repeat([]string{"Look."},
			exampleLength), Errors: labels, Elsewhere: true, Low: 1, High: 2, ErrorAware: true,
	}
	return &Slots{
		Title: "Title", Description: "Description", Fields: text, Types: labels, NoError: "No Error",
		ErrorAware: true, JSON: true,
		Fence: "0", kind: kind, dimensions: slices.Repeat([]DimensionSlot{d}, exampleLength),
		examples: []ExampleSlot{{text, []string{"Label"}}},
		about: issueSlots{criteria: slices.Repeat([]Criterion{{"Clarity", "is clear"}}, exampleLength), issues: text,
			statements: text, evidence: labels, most: 2},
		pair: pairSlots{first: text[0], second: text[0], firstErrors: labels, secondErrors: labels, overall: true},
	}
}

// exampleLength is that of the example's lists: a template may name a field by its place.
const exampleLength = 20

// slotsOf lists for a message what stands where a slot was not found; typeName is Go's, "prompt.Text".
func slotsOf(typeName string) string {
	for _, v := range []any{&Slots{}, &Text{}, &LabelSlot{}, &DimensionSlot{}, &ExampleSlot{},
		&taxonomy.Criterion{}, &Criterion{}} {
		t := reflect.TypeOf(v)
		if strings.TrimPrefix(typeName, "*") != t.Elem().String() {
			continue
		}
		var names []string
		for _, f := range reflect.VisibleFields(t.Elem()) {
			if f.IsExported() {
				names = append(names, "."+f.Name)
			}
		}
		for i := range t.NumMethod() {
			names = append(names, "."+t.Method(i).Name)
		}
		return "there are " + strings.Join(names, ", ")
	}
	return "nothing has slots there"
}
