package discover

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

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
