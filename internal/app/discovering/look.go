package discovering

import (
	"context"
	"fmt"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/llm"
)

// look does what --dry-run and --show-prompt ask for.
func (d *discovery) look(ctx context.Context) error {
	if d.ask.ShowPrompt != "" && d.analyst == nil {
		return exit.Usagef("--show-prompt: with --analysis %s no model is asked about single rows", d.By)
	}
	all := func(visit func(*asking.Subject) error) (int, error) {
		statements := 0
		err := d.eachChosen(ctx, func(row *dataset.Row) error {
			if d.analyst != nil {
				statements++
				return visit(&asking.Subject{ID: row.ID, Calls: func() ([]asking.Call, error) { return d.callsAbout(row) }})
			}
			f, err := d.given(row)
			if err == nil && f.Status == "" {
				statements++
			}
			return err
		})
		if err == nil && d.ask.ShowPrompt == "" {
			err = d.forecastGrouping(statements, visit)
		}
		return len(d.faults), err
	}
	if d.ask.ShowPrompt == "" {
		d.Process.Warn("grouping is forecast as if every row had an issue in words of its own, and there were %d issues",
			forecastIssues)
	}
	return d.judges.LookAt(d.Process, d.JSON, all, fmt.Sprintf("%s has no row %q", d.Input, d.ask.ShowPrompt), "")
}

func (d *discovery) callsAbout(row *dataset.Row) ([]asking.Call, error) {
	requests, err := d.analyst.Requests(row)
	return d.calls(d.kinds()[0], requests), err
}

func (d *discovery) calls(title string, requests []*llm.Request) []asking.Call {
	calls := make([]asking.Call, len(requests))
	for i, r := range requests {
		calls[i] = asking.Call{Judge: d.model.Name, Title: title, Shown: true, Request: r}
	}
	return calls
}
