// Package prompt makes what a language model is asked. It may be to judge a row on one dimension or on all, with or
// without the errors found in it, to find the errors, to write a text that has one, to say whether a text has it, or to
// find the issues of many rows and give them names. The wording is data: templates beside the code, with kind, version
// and hash, which users can replace by their own.
//
// [Builtin] or [Open] gives a [Template], and [Template.Messages] fills it with an [Input]: the task's taxonomy, the
// row's texts, and what its kind needs besides. [Parse] says how a template is written; the fields and methods of
// [Slots] are what it can show.
//
// Texts under evaluation, and those of examples, stand between fence lines that no text can forge (see [Clean] for what
// else is done to them). A template cannot show them in any other way.
package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/taxonomy"
)

// Modes of judging, as records name them.
const (
	Vanilla    = "vanilla"     // without any errors
	ErrorAware = "error-aware" // with the errors found that bear on the dimension
)

// Input is what one prompt is made of.
type Input struct {
	Task      *taxonomy.Taxonomy
	Dimension *taxonomy.Dimension // of Task; only for templates of kind Judge
	Values    []string            // the row's texts, in the order of Task.Fields
	Mode      string              // Vanilla or ErrorAware; not for Identify, Simulate, Confirm and most kinds about issues
	// Errors are all labels of the row, names or codes, whatever they bear on: the error-aware prompt shows those
	// mapped to the dimension. A row that was not looked at has no error-aware prompt.
	Errors []string
	// PaperWording shows No Error also for rows with errors none of which bears on the dimension, as the ErrEval
	// paper does.
	PaperWording bool
	JSON         bool      // ask for a JSON object instead of lines of text
	Examples     []Example // only for Identify and Simulate; none makes it zero-shot
	// Criteria, Issues, Statements and Most are for the kinds about issues alone, most of which show no row and then take
	// no Values. Most is how many issues a reply may give; 0 is any number.
	Criteria   []Criterion
	Issues     []Issue  // in the order of their numbers
	Statements []string // in the order of their numbers
	Most       int
	// Other is the second of two texts, in the kinds about pairs; the first stands in Values, at the place of the task's
	// first field. OtherErrors are its labels.
	Other       string
	OtherErrors []string
	// Target is the error that is written or looked for, or by which a pair is compared, and Field the index in
	// Task.Fields of the text that has it; only for Simulate, which does not show the text in Values that is to be
	// written, and Confirm.
	Target *taxonomy.Type
	Field  int
}

// Example is a row with its right labels.
type Example struct {
	Values []string // as Input.Values
	Labels []string // names or codes; not empty if the taxonomy has a label for "no error"
}

// Slots are what a template can show: the names of its fields and methods are the slots. Those that belong to one
// kind of template are methods, and fail in another.
type Slots struct {
	Title, Description string      // of the task
	Fields             []Text      // what is judged
	Types              []LabelSlot // all error types of the task; No Error is not among them
	NoError            string      // name of the type that stands for "nothing found", or empty
	ErrorAware         bool        // labels are to be shown
	JSON               bool        // a JSON object is asked for
	Fence              string      // the code in the lines around texts

	kind       string
	about      issueSlots
	pair       pairSlots
	target     LabelSlot
	written    Text
	dimensions []DimensionSlot
	examples   []ExampleSlot
}

// Dimension is the one at hand, in a template of kind Judge.
func (s *Slots) Dimension() (DimensionSlot, error) {
	all, err := slot(s, "Dimension", Judge, s.kind == Judge, s.dimensions)
	if err != nil {
		return DimensionSlot{}, err
	}
	return all[0], nil
}

// Dimensions are all of the task, in a template of kind Joint.
func (s *Slots) Dimensions() ([]DimensionSlot, error) {
	return slot(s, "Dimensions", Joint, s.kind == Joint, s.dimensions)
}

// Examples are rows with their labels, in a template of kind Identify or Simulate; none in a zero-shot prompt.
func (s *Slots) Examples() ([]ExampleSlot, error) {
	return slot(s, "Examples", Identify+" or "+Simulate, s.kind == Identify || s.kind == Simulate, s.examples)
}

// Target is the error that is written or looked for, in a template of kind Simulate or Confirm.
func (s *Slots) Target() (LabelSlot, error) {
	return slot(s, "Target", Simulate+", "+Confirm+" or "+Compare, aboutOne(s.kind) || s.kind == Compare, s.target)
}

// Written is the field that has the error, without its text, in a template of kind Simulate or Confirm.
func (s *Slots) Written() (Text, error) {
	return slot(s, "Written", Simulate+" or "+Confirm, aboutOne(s.kind), s.written)
}

// aboutOne tells whether templates of a kind are about one error type.
func aboutOne(kind string) bool { return kind == Simulate || kind == Confirm }

// slot is what a slot shows, which belongs to templates of some kinds; here tells whether s is of one of these.
func slot[T any](s *Slots, name, kinds string, here bool, shown T) (T, error) {
	if !here {
		var none T
		return none, fmt.Errorf("the slot .%s belongs to templates of kind %s; this one is of kind %s", name, kinds, s.kind)
	}
	return shown, nil
}

// Text is one field of a row. Its content can be shown as Block only.
type Text struct{ Name, Definition, Block string }

// LabelSlot is one error type.
type LabelSlot struct{ Name, Code, Category, Definition string }

// DimensionSlot is one dimension with what is to be shown of the row's labels.
type DimensionSlot struct {
	Name, Key, Definition string
	Criteria              []taxonomy.Criterion
	Steps                 []string
	Errors                []LabelSlot // those that bear on it, or No Error
	Elsewhere             bool        // there are errors, but none that bears on it
	Low, High             int         // ends of its scale
	ErrorAware            bool
}

// ExampleSlot is one example of the few-shot prompt.
type ExampleSlot struct {
	Fields []Text
	Labels []string
}

// Messages fills the template: a system message, if the template has that part, and a user message. What in.Task points
// to must not change any more.
func (t *Template) Messages(in Input) ([]llm.Message, error) {
	slots, err := t.slots(in)
	if err != nil {
		return nil, err
	}
	var out []llm.Message
	for _, role := range []string{llm.System, llm.User} {
		if t.tree.Lookup(role) == nil {
			continue
		}
		content, err := t.fillPart(role, in, slots)
		if err != nil {
			return nil, err
		}
		out = append(out, llm.Message{Role: role, Content: content, Fence: slots.Fence})
	}
	return out, nil
}

// Join is all that messages say as one text, for showing it and for finding its parts in a reply.
func Join(messages []llm.Message) string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Content
	}
	return strings.Join(texts, "\n\n")
}

func (t *Template) slots(in Input) (*Slots, error) {
	if err := t.checkInput(in); err != nil {
		return nil, err
	}
	values := slices.Clone(in.Values)
	for _, e := range in.Examples {
		values = append(values, e.Values...)
	}
	shown := append(values, issueTexts(in)...)
	if isOfPairs(t.Kind) {
		shown = append(shown, in.Other)
	}
	code := fence(t.hash, shown)
	s := &Slots{
		Title: in.Task.Title, Description: cmp.Or(in.Task.Description, in.Task.Title),
		Fields: texts(in.Task, in.Values, code), ErrorAware: in.Mode == ErrorAware, JSON: in.JSON, Fence: code, kind: t.Kind,
	}
	for _, y := range in.Task.Types {
		if y.NoError {
			s.NoError = y.Name
		} else {
			s.Types = append(s.Types, labelSlot(y))
		}
	}
	for i, e := range in.Examples {
		labels, err := canonical(in.Task, e.Labels)
		if err != nil {
			return nil, fmt.Errorf("example %d: %w", i+1, err)
		}
		s.examples = append(s.examples, ExampleSlot{texts(in.Task, e.Values, code), labels})
	}
	if aboutOne(t.Kind) {
		s.target, s.written = labelSlot(*in.Target), Text{Name: in.Task.Fields[in.Field].Name,
			Definition: in.Task.Fields[in.Field].Definition}
	}
	if t.Kind == Simulate {
		s.Fields = slices.Delete(s.Fields, in.Field, in.Field+1)
	}
	if err := errors.Join(s.setIssues(in, code), s.setPair(in, code)); err != nil {
		return nil, err
	}
	return s, s.setDimensions(in)
}

func (t *Template) checkInput(in Input) error {
	if in.Task == nil {
		return errors.New("prompt: no taxonomy")
	}
	if n := len(in.Task.Fields); !showsRow(t.Kind) && len(in.Values) > 0 {
		return fmt.Errorf("prompt: a template of kind %s shows no row", t.Kind)
	} else if showsRow(t.Kind) && len(in.Values) != n {
		return fmt.Errorf("prompt: %d texts for the %d fields of %s", len(in.Values), n, in.Task.ID())
	}
	for i, e := range in.Examples {
		if n := len(in.Task.Fields); len(e.Values) != n {
			return fmt.Errorf("prompt: example %d has %d texts for the %d fields of %s", i+1, len(e.Values), n, in.Task.ID())
		}
	}
	if aboutOne(t.Kind) && (in.Target == nil || in.Target.NoError || in.Field < 0 || in.Field >= len(in.Task.Fields)) {
		return fmt.Errorf("prompt: a template of kind %s needs an error type and one of the fields", t.Kind)
	}
	if (t.Kind == Judge || t.Kind == Joint || showsEvidence(t.Kind) || isOfPairs(t.Kind)) &&
		in.Mode != Vanilla && in.Mode != ErrorAware {
		return fmt.Errorf("prompt: mode is %q; it is %s or %s", in.Mode, Vanilla, ErrorAware)
	}
	if (t.Kind == Judge) != (in.Dimension != nil) {
		return fmt.Errorf("prompt: a template of kind %s needs a dimension if it is %s, and takes none otherwise", t.Kind,
			Judge)
	}
	return nil
}

func (s *Slots) setDimensions(in Input) error {
	var ds []taxonomy.Dimension
	switch s.kind {
	case Judge:
		ds = []taxonomy.Dimension{*in.Dimension}
	case Joint:
		if ds = in.Task.Dimensions; len(ds) == 0 {
			return fmt.Errorf("%s has no dimensions to judge", in.Task.ID())
		}
	}
	for i := range ds {
		d, err := dimensionSlot(in, &ds[i])
		if err != nil {
			return err
		}
		s.dimensions = append(s.dimensions, d)
	}
	return nil
}

func dimensionSlot(in Input, d *taxonomy.Dimension) (DimensionSlot, error) {
	s := DimensionSlot{Name: d.Name, Key: d.Key, Definition: d.Definition, Criteria: d.Criteria, Steps: d.Steps}
	if n := len(d.Criteria); n > 0 {
		s.Low, s.High = d.Criteria[0].Score, d.Criteria[n-1].Score
	}
	if in.Mode != ErrorAware {
		return s, nil
	}
	shown, err := Shown(in.Task, d, in.Errors, in.PaperWording)
	if err != nil {
		return s, err
	}
	s.ErrorAware = true
	for _, name := range shown {
		i, _ := in.Task.Index(name)
		s.Errors = append(s.Errors, labelSlot(in.Task.Types[i]))
	}
	s.Elsewhere = len(shown) == 0 && len(in.Errors) > 0
	return s, nil
}

func labelSlot(y taxonomy.Type) LabelSlot {
	return LabelSlot{y.Name, y.Code, y.Category, y.Definition}
}

func texts(t *taxonomy.Taxonomy, values []string, code string) []Text {
	out := make([]Text, len(values))
	for i, value := range values {
		f := t.Fields[i]
		if f.Optional && strings.TrimSpace(value) == "" {
			value = notGiven
		}
		out[i] = Text{f.Name, f.Definition, block(f.Name, value, code)}
	}
	return out
}

// notGiven stands for an optional field that a row lacks: an empty block looks like a fault to a model.
const notGiven = "(not given)"

// Shown are the labels that the error-aware prompt for d shows of a row with these labels: the errors mapped to d,
// in the taxonomy's order; No Error if the row has no errors or, in the paper's wording, none mapped to d.
func Shown(t *taxonomy.Taxonomy, d *taxonomy.Dimension, labels []string, paperWording bool) ([]string, error) {
	labels, err := canonical(t, labels)
	if err != nil {
		return nil, err
	}
	no := t.NoErrorIndex()
	clean := len(labels) == 0 || no >= 0 && labels[0] == t.Types[no].Name
	labels = slices.DeleteFunc(labels, func(l string) bool {
		return clean || !slices.Contains(d.Types, l)
	})
	if len(labels) == 0 && no >= 0 && (clean || paperWording) {
		labels = []string{t.Types[no].Name}
	}
	return labels, nil
}

// canonical turns names and codes into names in the taxonomy's order, each once.
func canonical(t *taxonomy.Taxonomy, given []string) ([]string, error) {
	no := t.NoErrorIndex()
	if given == nil || no >= 0 && len(given) == 0 {
		return nil, errors.New("the row has no labels: it was not looked at, and unknown is not the same as no error")
	}
	found := make([]bool, len(t.Types))
	for _, g := range given {
		i, ok := t.Index(g)
		if !ok {
			return nil, fmt.Errorf("%s has no label %q", t.ID(), g)
		}
		found[i] = true
	}
	labels := []string{}
	for i, y := range t.Types {
		if found[i] {
			labels = append(labels, y.Name)
		}
	}
	if no >= 0 && found[no] && len(labels) > 1 {
		return nil, fmt.Errorf("%q stands beside other labels; it means that there is none", t.Types[no].Name)
	}
	return labels, nil
}
