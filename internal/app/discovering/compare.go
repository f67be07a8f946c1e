package discovering

import (
	"context"
	"errors"

	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// CompareIssues asks a model whether what was found describes the faults that people describe. It tells whether calls
// were made: --dry-run makes none.
func CompareIssues(ctx context.Context, p *run.Process, t *taxonomy.Taxonomy, found *evaluation.Issues,
	o *asking.Options, output string, asJSON bool) (asked bool, err error) {
	if len(o.Models) != 1 {
		return false, exit.Usagef("--judge names %d models; one compares statements", len(o.Models))
	}
	j, err := asking.New(o, prompt.Same, output)
	if err != nil {
		return false, err
	}
	comparer, err := discover.NewComparer(discover.Model{Model: j.Models()[0], Taxonomy: t, Attempts: o.Panel.Attempts,
		Workers: o.Panel.Workers, Templates: map[string]*prompt.Template{prompt.Same: j.Template}})
	if err != nil {
		return false, exit.With(exit.Usage, err)
	}
	return o.Asks(), j.During(func() error {
		pairs := found.Pairs()
		if !o.Asks() {
			return lookAtPairs(p, j, comparer, pairs, asJSON)
		}
		verdicts, err := comparer.Compare(ctx, pairs)
		if stop := j.FindStop(err); stop != nil {
			return exit.With(stop.Code, errors.Join(err, errors.New(stop.GoOn)))
		}
		if err != nil {
			return err
		}
		same, known := make([]bool, len(verdicts)), make([]bool, len(verdicts))
		for i, v := range verdicts {
			same[i], known[i] = v.Same, v.Fault == ""
		}
		found.SetSame(same, known)
		return j.SayUsage(p)
	})
}

// lookAtPairs does what --dry-run and --show-prompt ask for.
func lookAtPairs(p *run.Process, j *asking.Judges, c *discover.Comparer, pairs [][2]string, asJSON bool) error {
	all := func(visit func(*asking.Subject) error) (int, error) {
		for _, pair := range pairs {
			err := visit(&asking.Subject{ID: pair[0], Calls: func() ([]asking.Call, error) {
				r, err := c.Request(pair)
				return []asking.Call{{Judge: j.Options.Models[0].Name, Title: prompt.Same, Shown: true, Request: r}}, err
			}})
			if err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	return j.LookAt(p, asJSON, all, "no pair of statements begins with that", "")
}
