package discover

import (
	"context"
	"fmt"
	"slices"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// direct groups all units by one prompt.
func (g *Grouper) direct(ctx context.Context, s *sorted) error {
	if len(s.units) > g.o.MaxDirect {
		return fmt.Errorf("%d different statements are too many for one prompt (at most %d): group with %s or %s",
			len(s.units), g.o.MaxDirect, Cumulative, KeyPoints)
	}
	in := prompt.Input{Statements: s.sentences(span(0, len(s.units)))}
	issue := llm.ObjectOf(text("name"), text("description"), list("statements", integer))
	q, err := g.model.question(prompt.Direct, in, llm.ObjectOf(list("issues", issue)))
	if err != nil {
		return err
	}
	fault, err := g.model.ask(ctx, q, "issues", s.readDirect)
	if err != nil {
		return err
	}
	for u := range s.units {
		switch {
		case fault != nil:
			s.of[u], s.faults[u] = nil, fault.Error()
		case len(s.of[u]) == 0:
			s.faults[u] = reply.Missing + ": the reply leaves the statement out"
		}
	}
	return g.makeUnique(ctx, s, s.members())
}

// readDirect reads the reply to a prompt of kind direct. A statement that stands in several issues has the first.
func (s *sorted) readDirect(o reply.Object) error {
	objects, err := objectsOf(o, "issues")
	if err != nil {
		return err
	}
	s.issues, s.of = nil, make([][]int, len(s.units))
	for _, object := range objects {
		issue, err := readListed(object)
		if err != nil {
			return err
		}
		numbers, err := readNumbers(object, "statements")
		if err != nil {
			return err
		}
		at := slices.IndexFunc(s.issues, func(g Group) bool { return issues.Fold(g.Name) == issues.Fold(issue.Name) })
		if at < 0 {
			at = len(s.issues)
			s.issues = append(s.issues, Group{Name: issue.Name, Description: issue.Description})
		}
		for _, n := range numbers {
			if n < 1 || n > len(s.units) {
				return missing("statement %d of %d", n, len(s.units))
			}
			if len(s.of[n-1]) == 0 {
				s.of[n-1] = []int{at}
			}
		}
	}
	if len(s.issues) == 0 {
		return missing("no issue")
	}
	return nil
}
