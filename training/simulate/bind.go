package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// home is the taxonomy whose codes the rules speak of.
const home = "question-generation"

// Fields that the rules read and write.
var fields = []string{"question", "answer", "passage"}

// Binding fits the rules to a taxonomy.
type Binding struct {
	Codes   []string // of the rules' labels, those that the taxonomy has a type for, in the rules' order
	Without []string // names of the types that no rule makes

	taxonomy *taxonomy.Taxonomy
	types    map[string]int // rules' code to type
}

// Bind finds the types of t that rules make: those with the name, or else the code, that the built-in taxonomy gives them,
// and the no-error type. A taxonomy with other fields than a question, an answer and a passage is an error.
func Bind(t *taxonomy.Taxonomy) (*Binding, error) {
	names := t.FieldNames()
	if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(fields))) {
		return nil, fmt.Errorf("the rules make questions of the fields %s; %s has the fields %s: let a language model write its errors, with --judge",
			strings.Join(fields, ", "), t.ID(), strings.Join(t.FieldNames(), ", "))
	}
	own, err := taxonomy.Builtin(home)
	if err != nil {
		return nil, err
	}
	b := &Binding{taxonomy: t, types: map[string]int{}}
	bound := make([]bool, len(t.Types))
	for _, code := range Codes() {
		i, ok := find(t, own, code)
		if ok && !bound[i] {
			b.Codes, b.types[code], bound[i] = append(b.Codes, code), i, true
		}
	}
	for i, y := range t.Types {
		if !bound[i] {
			b.Without = append(b.Without, y.Name)
		}
	}
	if len(b.Codes) == 0 {
		return nil, fmt.Errorf("%s has none of the error types that there are rules for: let a language model write its errors, with --judge", t.ID())
	}
	return b, nil
}

// find is the type of t that a code of the built-in taxonomy stands for.
func find(t, own *taxonomy.Taxonomy, code string) (int, bool) {
	at, ok := own.Index(code)
	if !ok {
		return 0, false
	}
	if own.Types[at].NoError {
		return t.NoErrorIndex(), t.NoErrorIndex() >= 0
	}
	for _, name := range []string{own.Types[at].Name, code} {
		if i, ok := t.Index(name); ok && !t.Types[i].NoError {
			return i, true
		}
	}
	return 0, false
}

// Code is what the rules call a type of the taxonomy, given by name or code.
func (b *Binding) Code(label string) (string, bool) {
	at, ok := b.taxonomy.Index(label)
	if !ok {
		return "", false
	}
	for code, i := range b.types {
		if i == at {
			return code, true
		}
	}
	return "", false
}

// Names are the taxonomy's codes of the types that rules make.
func (b *Binding) Names() []string { return b.Labels(b.Codes) }

// Labels are the taxonomy's codes for those of the rules. A label that the taxonomy has no type for is left out.
func (b *Binding) Labels(codes []string) []string {
	var out []string
	for _, code := range codes {
		if i, ok := b.types[code]; ok {
			out = append(out, b.taxonomy.Types[i].Code)
		}
	}
	return out
}

// Row is a row of the taxonomy as the rules read it.
func (b *Binding) Row(r *dataset.Row, title, source string) Row {
	value := func(field string) string { return r.Values[slices.Index(b.taxonomy.FieldNames(), field)] }
	return Row{ID: r.ID, Title: title, Passage: value("passage"), Question: value("question"), Answer: value("answer"), Source: source}
}
