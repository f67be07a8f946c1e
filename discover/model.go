package discover

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// Model is who is asked, and how.
type Model struct {
	llm.Model
	Taxonomy  *taxonomy.Taxonomy          // may be a task
	Templates map[string]*prompt.Template // by kind, in place of the built-in ones
	Attempts  int                         // calls for one answer while replies do not hold it, >= 1
	Workers   int                         // questions under way at once, >= 1
}

// maxWorkers bounds Workers: each holds a goroutine.
const maxWorkers = 1 << 16

// asking is a Model that was checked. Safe for concurrent use.
type asking struct {
	*ask.Asker
	task      *taxonomy.Taxonomy
	templates map[string]*prompt.Template
	attempts  int
	workers   chan struct{} // a place for each question under way
}

func newAsking(m Model, kinds ...string) (*asking, error) {
	faults := faults.List{About: "discovery: "}
	faults.Add(m.Validate())
	a := &asking{Asker: ask.New(m.Model), task: m.Taxonomy, attempts: m.Attempts,
		templates: map[string]*prompt.Template{}}
	for _, kind := range kinds {
		t := m.Templates[kind]
		if t == nil {
			var err error
			if t, err = prompt.Builtin(kind); err != nil {
				return nil, err
			}
		}
		faults.Check(t.Kind == kind, "a template of kind %s in place of one of kind %s", t.Kind, kind)
		a.templates[kind] = t
	}
	faults.Check(m.Taxonomy != nil, "no taxonomy")
	faults.Check(m.Attempts >= 1, "%d attempts; at least 1 is needed", m.Attempts)
	faults.Check(m.Workers >= 1 && m.Workers <= maxWorkers, "%d workers; give 1 to %d", m.Workers, maxWorkers)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	a.workers = make(chan struct{}, m.Workers)
	return a, nil
}

// question makes a call by the template of a kind.
func (a *asking) question(kind string, in prompt.Input, schema llm.Object) (*llm.Request, error) {
	in.Task, in.JSON = a.task, true
	messages, err := a.templates[kind].Messages(in)
	if err != nil {
		return nil, err
	}
	request := a.Request(messages, llm.NewSchema(kind, schema), 0)
	request.About = kind + ", " + a.Name
	return request, nil
}

// repeated is the same question as another call, which has a reply of its own.
func (a *asking) repeated(r *llm.Request) *llm.Request {
	return a.Request(r.Messages, r.Schema, r.Repeat+1)
}

// ask makes a call, and repeats it until read accepts the object with the key in its reply, or attempts are used up;
// fault is then why. read gives a *reply.Fault for what it does not accept. err is one that ends the run.
func (a *asking) ask(ctx context.Context, r *llm.Request, key string,
	read func(reply.Object) error) (fault *reply.Fault, err error) {
	select {
	case a.workers <- struct{}{}:
		defer func() { <-a.workers }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	asked := prompt.Join(r.Messages)
	unanswered, err := a.Ask(ctx, r, a.attempts, func(answer *llm.Reply) bool {
		object, err := reply.Read(answer, asked, key)
		if err == nil {
			err = read(object)
		}
		fault, _ = errors.AsType[*reply.Fault](err)
		return fault == nil
	})
	if unanswered != nil {
		fault = reply.Unanswered(unanswered)
	}
	return fault, err
}

// missing is the fault of an object that lacks what it must have.
func missing(format string, args ...any) error {
	return reply.Faultf(reply.Missing, format, args...)
}

// text, number and list are properties of schemas.
func text(name string) llm.Property { return llm.Property{Name: name, Schema: llm.TextSchema()} }

func number(name string) llm.Property {
	return llm.Property{Name: name, Schema: map[string]any{"type": "number"}}
}

func list(name string, item any) llm.Property {
	return llm.Property{Name: name, Schema: llm.ListSchema(item)}
}

var integer = map[string]any{"type": "integer"}

// Comparer asks a model whether two statements describe the same fault. Safe for concurrent use.
type Comparer struct{ model *asking }

// NewComparer checks the model.
func NewComparer(m Model) (*Comparer, error) {
	model, err := newAsking(m, prompt.Same)
	return &Comparer{model}, err
}

// Same is the model's verdict on a pair of statements.
type Same struct {
	Same  bool
	Fault string // why there is no verdict, or ""
}

// Compare asks about all pairs at the same time. The errors are those that end a run.
func (c *Comparer) Compare(ctx context.Context, pairs [][2]string) ([]Same, error) {
	c.model.Reset()
	out := make([]Same, len(pairs))
	var all errgroup.Group
	all.SetLimit(cap(c.model.workers))
	for i := range pairs {
		all.Go(func() error {
			q, err := c.Request(pairs[i])
			if err != nil {
				return err
			}
			fault, err := c.model.ask(ctx, q, "same", func(o reply.Object) (err error) {
				out[i].Same, err = readSame(o)
				return err
			})
			if fault != nil {
				out[i] = Same{Fault: fault.Error()}
			}
			return err
		})
	}
	return out, all.Wait()
}

// Request is the call about a pair.
func (c *Comparer) Request(pair [2]string) (*llm.Request, error) {
	truth := llm.Property{Name: "same", Schema: map[string]any{"type": "boolean"}}
	return c.model.question(prompt.Same, prompt.Input{Statements: pair[:]}, llm.ObjectOf(text("reason"), truth))
}

// readSame reads the reply to a prompt of kind same.
func readSame(o reply.Object) (bool, error) {
	value, _ := o.Get("same")
	switch value {
	case true, "true", "yes", "Yes", "True":
		return true, nil
	case false, "false", "no", "No", "False":
		return false, nil
	}
	return false, missing("\"same\" is %.40v, neither true nor false", value)
}
