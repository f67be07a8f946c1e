package discover

import (
	"errors"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

// Forecast calls visit with calls like those that n different statements would need if they had so many issues: as many
// calls, about as long.
func (g *Grouper) Forecast(n, known int, visit func(kind string, r *llm.Request) error) error {
	statement := strings.TrimSpace(strings.Repeat("word ", 30))
	issue := prompt.Issue{Name: "word word word", Description: statement}
	repeat := func(times int, kind string, statements, issues int, schema llm.Object) error {
		in := prompt.Input{Most: g.o.MaxIssues}
		for range statements {
			in.Statements = append(in.Statements, statement)
		}
		for range issues {
			in.Issues = append(in.Issues, issue)
		}
		q, err := g.model.question(kind, in, schema)
		for range times {
			if err == nil {
				err = visit(kind, q)
			}
		}
		return err
	}
	schema := llm.ObjectOf(text("name"), text("description"))
	var faults []error
	switch {
	case n == 0 || g.model == nil:
	case g.o.Grouping == Cumulative:
		faults = append(faults, repeat(n*g.o.Orders, prompt.Fit, 1, min(known, g.o.Shortlist), schema))
		faults = append(faults, repeat(known, prompt.Name, min(n, g.o.NameFrom), 0, schema))
	case g.o.Grouping == KeyPoints:
		sample := min(n, g.o.MaxStatements)
		faults = append(faults, repeat((sample+g.o.Batch-1)/g.o.Batch, prompt.Synthesize, min(sample, g.o.Batch),
			known, issueList))
		faults = append(faults, repeat(1, prompt.Merge, 0, 2*known, issueList))
		faults = append(faults, repeat(n, prompt.Map, 1, known, schema))
	case g.o.Grouping == Direct:
		faults = append(faults, repeat(1, prompt.Direct, n, 0, issueList))
	}
	return errors.Join(faults...)
}
