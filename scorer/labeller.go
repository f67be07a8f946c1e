package scorer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// MaxExamples are as many as a prompt shows: each costs as much as a row, in every call.
const MaxExamples = 32

// labelShare is the share of repeats from which on a label is given.
const labelShare = 0.5

// LabellerOptions say how a language model looks for errors.
type LabellerOptions struct {
	Taxonomy *taxonomy.Taxonomy
	Template *prompt.Template // of kind prompt.Identify
	// Examples are shown with their labels, MaxExamples at most; none asks by the definitions alone. A row whose texts are
	// those of an example is asked about without it.
	Examples []prompt.Example
	// Repeats is how often each row is asked about, >= 1. With several, a label's probability is the share of the repeats
	// with labels that give it, and those of one half or more are given. With one there are no probabilities.
	Repeats  int
	Attempts int // calls for one repeat while replies hold no labels, >= 1
	Workers  int // questions under way at once, >= 1; how many calls are in flight is the client's to limit
}

// DefaultLabellerOptions ask once, with up to three calls, 16 under way. Taxonomy and Template are missing.
func DefaultLabellerOptions() LabellerOptions {
	return LabellerOptions{Repeats: 1, Attempts: 3, Workers: 16}
}

// Validate joins all faults of o.
func (o *LabellerOptions) Validate() error {
	faults := faults.List{About: "labelling: "}
	faults.Check(o.Taxonomy != nil, "no taxonomy")
	faults.Check(o.Template != nil && o.Template.Kind == prompt.Identify, "the template is of kind %s", prompt.Identify)
	faults.Check(len(o.Examples) <= MaxExamples, "%d examples; a prompt shows %d at most", len(o.Examples), MaxExamples)
	faults.Check(o.Repeats >= 1 && o.Repeats <= maxRepeats, "%d repeats; give 1 to %d", o.Repeats, maxRepeats)
	faults.Check(o.Attempts >= 1, "%d attempts; at least 1 is needed", o.Attempts)
	faults.Check(o.Workers >= 1 && o.Workers <= maxWorkers, "%d workers; give 1 to %d", o.Workers, maxWorkers)
	return faults.Err()
}

// Labeller is a language model that looks for errors. Its records are those of package identifier, so that both kinds
// of identifier can be compared. Safe for concurrent use.
type Labeller struct {
	o      LabellerOptions
	judge  *ask.Asker
	schema *llm.Schema
}

// NewLabeller checks judge and options. Diagnoses name the judge as their model.
func NewLabeller(judge llm.Model, o LabellerOptions) (*Labeller, error) {
	if err := errors.Join(validate(&judge), o.Validate()); err != nil {
		return nil, err
	}
	l := &Labeller{o: o, judge: ask.New(judge), schema: LabelsSchema(o.Taxonomy)}
	_, err := o.Template.Messages(prompt.Input{Task: o.Taxonomy, Values: make([]string, len(o.Taxonomy.Fields)),
		Examples: o.Examples})
	return l, err
}

// Identify finds the errors of the rows that next gives until io.EOF, and hands them, in order, with their diagnosis to
// emit. It runs and ends as Panel.Score does. A row of which no reply holds labels of the taxonomy is untagged, with
// the reason: never guessed at, and never taken for one without error.
func (l *Labeller) Identify(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row,
	*dataset.Diagnosis) error) error {
	plan := func(row *dataset.Row) ([]*Question, func() error, error) {
		questions, err := l.Questions(row)
		return questions, func() error { return emit(row, l.diagnosis(questions, row.Values)) }, err
	}
	return ask.About(ctx, []*ask.Asker{l.judge}, l.o.Workers, next, plan,
		func(ctx context.Context, q *Question) error { return q.ask(ctx, l.o.Attempts) })
}

// Questions are the calls that a row needs, if each first reply holds labels.
func (l *Labeller) Questions(row *dataset.Row) ([]*Question, error) {
	in := prompt.Input{Task: l.o.Taxonomy, Values: row.Values, JSON: !l.judge.Lines}
	in.Examples = slices.DeleteFunc(slices.Clone(l.o.Examples),
		func(e prompt.Example) bool { return slices.Equal(e.Values, row.Values) })
	questions := make([]*Question, l.o.Repeats)
	for i := range questions {
		q := &Question{Judge: l.judge.Name, Repeat: i, judge: l.judge, answer: &labelling{taxonomy: l.o.Taxonomy}}
		if err := q.setRequest(l.o.Template, in, l.schema, row); err != nil {
			return nil, fmt.Errorf("row %s: %w", row.ID, err)
		}
		questions[i] = q
	}
	return questions, nil
}

// labelling is an answer in labels.
type labelling struct {
	taxonomy *taxonomy.Taxonomy
	labels   []string
	err      error // why there are none
}

func (a *labelling) read(reply *llm.Reply, prompt string) (found int, whole bool, keep func()) {
	labels, err := ParseLabels(reply, prompt, a.taxonomy)
	if err == nil {
		found = 1
	}
	return found, err == nil, func() { a.labels, a.err = labels, err }
}

func (a *labelling) unscored(u *reply.Fault) { a.labels, a.err = nil, u }

// diagnosis puts the answered questions about a row together. What the row cannot show is not taken from the answers
// either.
func (l *Labeller) diagnosis(questions []*Question, values []string) *dataset.Diagnosis {
	d := &dataset.Diagnosis{Model: l.judge.Name, Taxonomy: l.o.Taxonomy.ID(), NotJudged: l.o.Taxonomy.NotJudged(values)}
	var all [][]string
	for _, q := range questions {
		a, ok := q.answer.(*labelling)
		if ok && a.err == nil {
			all = append(all, l.o.Taxonomy.Judged(a.labels, d.NotJudged))
		} else if ok && d.Reason == "" {
			d.Reason = a.err.Error()
		}
	}
	if len(all) == 0 {
		d.Status, d.NotJudged = dataset.StatusUntagged, nil
		return d
	}
	d.Reason = ""
	if l.o.Repeats == 1 {
		d.Labels = all[0]
		return d
	}
	d.Labels, d.Probabilities = shares(all, l.o.Taxonomy)
	d.Probabilities = slices.DeleteFunc(d.Probabilities,
		func(p dataset.Probability) bool { return slices.Contains(d.NotJudged, p.Label) })
	return d
}

// shares are the labels of most repeats, and how many give each.
func shares(all [][]string, t *taxonomy.Taxonomy) ([]string, dataset.Probabilities) {
	labels, p := []string{}, make(dataset.Probabilities, len(t.Types))
	for i, y := range t.Types {
		n := 0
		for _, given := range all {
			if slices.Contains(given, y.Name) {
				n++
			}
		}
		p[i] = dataset.Probability{Label: y.Name, P: float64(n) / float64(len(all))}
		if !y.NoError && p[i].P >= labelShare {
			labels = append(labels, y.Name)
		}
	}
	if i := t.NoErrorIndex(); len(labels) == 0 && i >= 0 {
		labels = []string{t.Types[i].Name}
	}
	return labels, p
}
