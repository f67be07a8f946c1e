package discover

import (
	"context"
	"errors"

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
	form, err := llm.NewSchema(kind, schema)
	if err != nil {
		return nil, err
	}
	request := a.Request(messages, form, 0)
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
