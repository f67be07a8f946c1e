package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
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

// Bind finds the types of t that rules make: those with the name, or else the code, that the built-in taxonomy gives
// them, and the no-error type. A taxonomy with other fields than a question, an answer and a passage is an error.
func Bind(t *taxonomy.Taxonomy) (*Binding, error) {
	names := t.FieldNames()
	if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(fields))) {
		return nil, fmt.Errorf("the rules make questions of the fields %s; %s has the fields %s: name edits at its types, "+
			"as in simulate: [cut], or let a language model write its errors, with --judge",
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
		return nil, fmt.Errorf("%s has none of the error types that there are rules for: let a language model write its "+
			"errors, with --judge", t.ID())
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

// Mix is the default mix of the labels that the taxonomy has, nothing with only, in which values such as
// "Vague=2,OTA=1" replace weights.
func (b *Binding) Mix(values []string, only bool) (map[string]float64, error) {
	usual := DefaultOptions().Mix
	maps.DeleteFunc(usual, func(code string, _ float64) bool { return !slices.Contains(b.Codes, code) })
	return ParseMix(usual, values, only, b.Code, b.Labels(b.Codes))
}

// Weights is a mix by the taxonomy's names of labels. A label that the taxonomy has no type for is left out.
func (b *Binding) Weights(mix map[string]float64) map[string]float64 {
	weights := map[string]float64{}
	for code, weight := range mix {
		if i, ok := b.types[code]; ok {
			weights[b.taxonomy.Types[i].Name] = weight
		}
	}
	return weights
}

// Read is a row as the rules read it; right is false for a row with errors. A row with an empty field is an error:
// rules cannot make anything of it.
func (b *Binding) Read(r *dataset.Row) (row Row, right bool, err error) {
	if right, err = IsRight(r, b.taxonomy); err != nil || !right {
		return Row{}, right, err
	}
	if i := slices.IndexFunc(r.Values, func(text string) bool { return strings.TrimSpace(text) == "" }); i >= 0 {
		return Row{}, true, fmt.Errorf("row %s: the %s is empty", r.ID, b.taxonomy.Fields[i].Name)
	}
	value := func(field string) string { return r.Values[slices.Index(b.taxonomy.FieldNames(), field)] }
	return Row{ID: r.ID, Title: textOf(r, "title"), Passage: value("passage"), Question: value("question"),
		Answer: value("answer"), Source: textOf(r, "source")}, true, nil
}

// textOf is the text in a column; "" where there is none.
func textOf(r *dataset.Row, column string) (text string) {
	raw, _ := r.Get(column)
	_ = json.Unmarshal(raw, &text)
	return text
}
