package pairwise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// PanelOptions say how models judge pairs.
type PanelOptions struct {
	Taxonomy *taxonomy.Taxonomy // of single texts
	Types    []string           // names of error types, and Overall; what is compared
	// Templates are wordings of kind prompt.Compare, each of which is asked; or one of kind prompt.CompareJoint, which
	// asks about all types in one call.
	Templates []*prompt.Template
	Orders    []string // verdicts.OrderAB, OrderBA, or both
	Modes     []string // prompt.Vanilla, prompt.ErrorAware, or both; pairs without labels are judged in vanilla mode alone
	Repeats   int      // of each question
	Attempts  int      // calls for one answer while replies do not hold it, >= 1
	Workers   int      // questions under way at once, >= 1
	Reconcile string   // verdicts.Agree or verdicts.Majority
}

const (
	maxWorkers = 1 << 16
	maxRepeats = 1000
)

// Validate joins all faults of o.
func (o *PanelOptions) Validate() error {
	faults := faults.List{About: "comparison: "}
	faults.Check(o.Taxonomy != nil, "no taxonomy")
	faults.Check(len(o.Types) > 0, "there is nothing to compare by")
	faults.Check(len(o.Templates) > 0, "no template")
	for _, t := range o.Templates {
		faults.Check(t.Kind == prompt.Compare || t.Kind == prompt.CompareJoint && len(o.Templates) == 1,
			"the templates are of kind %s, or one of kind %s", prompt.Compare, prompt.CompareJoint)
	}
	faults.Check(len(o.Orders) > 0 && len(o.Modes) > 0, "no order or no mode")
	faults.Check(o.Repeats >= 1 && o.Repeats <= maxRepeats, "%d repeats; give 1 to %d", o.Repeats, maxRepeats)
	faults.Check(o.Attempts >= 1, "%d attempts; at least 1 is needed", o.Attempts)
	faults.Check(o.Workers >= 1 && o.Workers <= maxWorkers, "%d workers; give 1 to %d", o.Workers, maxWorkers)
	faults.Check(o.Reconcile == verdicts.Agree || o.Reconcile == verdicts.Majority, "reconcile %q: it is %s or %s",
		o.Reconcile, verdicts.Agree, verdicts.Majority)
	return faults.Err()
}

// Panel is one or more models that judge pairs. Safe for concurrent use.
type Panel struct {
	o      PanelOptions
	judges []*ask.Asker
}

// NewPanel checks models and options.
func NewPanel(models []llm.Model, o PanelOptions) (*Panel, error) {
	p := &Panel{o: o}
	faults := []error{o.Validate()}
	for i := range models {
		faults = append(faults, models[i].Validate())
		if slices.ContainsFunc(p.judges, func(a *ask.Asker) bool { return a.Name == models[i].Name }) {
			faults = append(faults, fmt.Errorf("judge %s is asked twice", models[i].Name))
		}
		p.judges = append(p.judges, ask.New(models[i]))
	}
	if len(models) == 0 {
		faults = append(faults, errors.New("no judge"))
	}
	return p, errors.Join(faults...)
}

// Judge judges the pairs that next gives until io.EOF, read as PairTask says, and hands them, in order, with their
// verdicts to emit. It runs and ends as scorer.Panel.Score does.
func (p *Panel) Judge(ctx context.Context, next func() (*dataset.Row, error),
	emit func(*dataset.Row, verdicts.Set) error) error {
	return ask.About(ctx, p.judges, p.o.Workers, next, func(row *dataset.Row) ([]*Question, func() error, error) {
		questions, err := p.Questions(row)
		return questions, func() error {
			set, err := p.verdictsOf(row, questions)
			return errors.Join(err, emit(row, set))
		}, err
	}, func(ctx context.Context, q *Question) error { return q.ask(ctx, p.o.Attempts) })
}

// Question is one call about a pair.
type Question struct {
	Judge   string
	Title   string // what it asks, for people
	Request *llm.Request

	judge *ask.Asker
	task  *taxonomy.Taxonomy
	types []string // what the reply is about: one, or all where it is joint
	joint bool
	run   verdicts.Run // without the value
	runs  map[string]verdicts.Run
}

// Questions are the calls that a pair needs, if each first reply can be read.
func (p *Panel) Questions(row *dataset.Row) ([]*Question, error) {
	pair, err := readPair(p.o.Taxonomy, row)
	if err != nil {
		return nil, err
	}
	var questions []*Question
	for _, judge := range p.judges {
		for _, mode := range p.modes(pair) {
			for n, template := range p.o.Templates {
				for _, order := range p.o.Orders {
					for repeat := range p.o.Repeats {
						run := verdicts.Run{Judge: judge.Name, Mode: mode, Order: order, Prompt: strconv.Itoa(n + 1), Repeat: repeat}
						more, err := p.about(judge, template, pair, run)
						if err != nil {
							return nil, fmt.Errorf("row %s: %w", row.ID, err)
						}
						questions = append(questions, more...)
					}
				}
			}
		}
	}
	return questions, nil
}

// modes are those in which a pair can be judged.
func (p *Panel) modes(pair *pair) []string {
	if pair.a != nil && pair.b != nil {
		return p.o.Modes
	}
	return []string{prompt.Vanilla}
}

// about are the questions of one run: one, or one for each type.
func (p *Panel) about(judge *ask.Asker, template *prompt.Template, pair *pair, run verdicts.Run) ([]*Question, error) {
	types := p.judgeable(pair)
	if template.Kind == prompt.CompareJoint && len(types) > 0 {
		q, err := p.question(judge, template, pair, run, types, true)
		return []*Question{q}, err
	}
	questions := make([]*Question, len(types))
	for i := range types {
		var err error
		if questions[i], err = p.question(judge, template, pair, run, types[i:i+1], false); err != nil {
			return nil, err
		}
	}
	return questions, nil
}

// judgeable are the types that a pair has the fields for.
func (p *Panel) judgeable(pair *pair) []string {
	not := p.o.Taxonomy.NotJudged(pair.values)
	return slices.DeleteFunc(slices.Clone(p.o.Types), func(name string) bool { return slices.Contains(not, name) })
}

func (p *Panel) question(judge *ask.Asker, template *prompt.Template, pair *pair, run verdicts.Run, types []string,
	joint bool) (*Question, error) {
	t := p.o.Taxonomy
	in := prompt.Input{Task: t, Values: pair.values, Other: pair.other, Mode: run.Mode, JSON: !judge.Lines}
	if joint {
		in.Task = only(t, types)
	} else if i, ok := t.Index(types[0]); ok {
		in.Target = &t.Types[i]
	}
	if run.Mode == prompt.ErrorAware {
		in.Errors, in.OtherErrors = labelsIn(in.Task, pair.a), labelsIn(in.Task, pair.b)
	}
	if run.Order == verdicts.OrderBA {
		in.Values, in.Other = append([]string{pair.other}, pair.values[1:]...), pair.values[0]
		in.Errors, in.OtherErrors = in.OtherErrors, in.Errors
	}
	messages, err := template.Messages(in)
	if err != nil {
		return nil, err
	}
	q := &Question{Judge: judge.Name, judge: judge, task: t, types: types, joint: joint, run: run,
		runs: map[string]verdicts.Run{}, Request: judge.Request(messages, schemaOf(t, types, joint), run.Repeat)}
	q.Title = fmt.Sprintf("%s, %s, order %s, wording %s", types[0], run.Mode, run.Order, run.Prompt)
	if joint {
		q.Title = fmt.Sprintf("all types, %s, order %s", run.Mode, run.Order)
	}
	q.Request.Row, q.Request.About = pair.row.ID, q.Title+", "+judge.Name
	return q, nil
}

// only is a taxonomy with these types alone, and the label of texts without error.
func only(t *taxonomy.Taxonomy, types []string) *taxonomy.Taxonomy {
	c := *t
	c.Types = slices.DeleteFunc(slices.Clone(t.Types), func(y taxonomy.Type) bool {
		return !y.NoError && !slices.Contains(types, y.Name)
	})
	return &c
}

// labelsIn are the labels of a text that a taxonomy has, or its label of texts without error.
func labelsIn(t *taxonomy.Taxonomy, d *dataset.Diagnosis) []string {
	labels := slices.DeleteFunc(slices.Clone(d.Labels), func(name string) bool { _, ok := t.Index(name); return !ok })
	if i := t.NoErrorIndex(); len(labels) == 0 && i >= 0 {
		return []string{t.Types[i].Name}
	}
	return labels
}

// ask fills in the runs. The error is one that ends the run.
func (q *Question) ask(ctx context.Context, attempts int) error {
	best := -1
	unanswered, err := q.judge.Ask(ctx, q.Request, attempts, func(reply *llm.Reply) bool {
		found := q.read(reply)
		n := 0
		for _, r := range found {
			if r.Value != "" {
				n++
			}
		}
		if n > best {
			q.runs, best = found, n
		}
		return n == len(q.types)
	})
	if unanswered != nil && best <= 0 {
		q.runs = q.failed(reply.Unanswered(unanswered))
	}
	return err
}

// failed are the runs where there is no answer.
func (q *Question) failed(err error) map[string]verdicts.Run {
	runs := map[string]verdicts.Run{}
	for _, name := range q.types {
		r := q.run
		r.Status, r.Reason = verdicts.Unjudged, err.Error()
		runs[name] = r
	}
	return runs
}

// verdictsOf puts the answered questions about a pair together.
func (p *Panel) verdictsOf(row *dataset.Row, questions []*Question) (verdicts.Set, error) {
	set := verdicts.Set{}
	for _, name := range p.o.Types {
		v := &verdicts.Verdict{}
		for _, q := range questions {
			if r, ok := q.runs[name]; ok {
				v.Runs = append(v.Runs, r)
			}
		}
		if v.Reconcile(p.o.Reconcile); len(v.Runs) == 0 {
			v.Reason = verdicts.NotJudged
		}
		set[name] = v
	}
	offline, err := NewOffline(p.o.Taxonomy, p.o.Types).Compare(row)
	for name, v := range offline {
		set[name].Offline = v.Value
	}
	return set, err
}
