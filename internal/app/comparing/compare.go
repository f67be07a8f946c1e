// Package comparing rates systems by verdicts on pairs of their texts.
package comparing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/pairwise"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// Compare gives verdicts on pairs of texts, and rates the systems.
type Compare struct {
	Run       *run.Run           // of pairs
	Taxonomy  *taxonomy.Taxonomy // of single texts
	Types     []string           // names of the error types that are compared, and verdicts.Overall
	Wordings  []string           // prompt templates: built-in names or files
	Orders    []string           // verdicts.OrderAB and OrderBA
	Modes     []string           // prompt.Vanilla and ErrorAware
	Reconcile string
	Ratings   RatingOptions
	// Round is how many pairs are judged between two looks at whether the order of the systems is settled, overall or by
	// the last type; 0 judges all pairs.
	Round  int
	JSON   bool     // prints the leaderboards as JSON, on standard output
	Weak   []string // what the labels are not to be relied on for, a sentence each
	judges *asking.Judges
}

// compareRecord is the options part of OUT.run.json.
type compareRecord struct {
	*judging.Record            // absent where no model judges
	runrecord.Reading          // where there is none
	Types             []string `json:"types"`
	Orders            []string `json:"orders,omitempty"`
	Modes             []string `json:"modes,omitempty"`
	Prompts           []string `json:"prompts,omitempty"` // ids and hashes of templates
	Reconcile         string   `json:"reconcile,omitempty"`
	Round             int      `json:"round,omitempty"` // pairs between two looks, where it ends once settled
}

const countVerdict = "verdict." // and a type's name: pairs with a verdict by it

// stage is what judging and comparing offline have in common.
func (c *Compare) stage() *run.Stage {
	s := &run.Stage{Command: "compare", Taxonomy: pairwise.PairTask(c.Taxonomy), Column: verdicts.Column, Verb: "judge",
		Past: "judged", Weak: c.Weak, Why: func(run.Counts) string { return c.judges.Why("verdicts.*.reason says why") },
		Zero: run.Counts{"unjudged": 0}}
	for _, name := range c.Types {
		s.Zero[countVerdict+name] = 0
	}
	s.Count = func(row *dataset.Row, _ bool, counts run.Counts) error {
		set, err := verdicts.Of(row)
		open := false
		for name, v := range set {
			if v.Value != "" {
				counts[countVerdict+name]++
			} else if v.Reason != verdicts.Inconsistent && v.Reason != verdicts.NotJudged && v.Reason != verdicts.Settled {
				open = true
			}
		}
		if open {
			counts["unjudged"]++
		}
		return err
	}
	return s
}

// Offline compares by the labels of both texts.
func (c *Compare) Offline(ctx context.Context) error {
	if err := c.Run.CheckOutputs(); err != nil {
		return err
	}
	offline := pairwise.NewOffline(c.Taxonomy, c.Types)
	if slices.Contains(c.Types, verdicts.Overall) {
		c.Run.Say("%s weighs the labels by the severity that %s gives them, else by %g", verdicts.Overall, c.Taxonomy.ID(),
			pairwise.DefaultSeverity)
	}
	s := c.stage()
	s.Options = compareRecord{Reading: c.Run.Reading, Types: c.Types}
	s.Work = run.Each(func(row *dataset.Row) error {
		set, err := offline.Compare(row)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", row.Source, row.Line, err)
		}
		return row.Set(verdicts.Column, set)
	})
	res := c.Run.All(ctx, s)
	if offline.Uneven > 0 {
		c.Run.Warn("in %d of %s the texts were not judged for the same errors: %s takes those that both were judged for",
			offline.Uneven, words.Plural(offline.Tagged, "pair", "pairs"), verdicts.Overall)
	}
	if offline.Tagged == 0 && res.Ended {
		return errors.Join(res.Err, exit.With(exit.Incomplete, errors.New("no pair has labels to decide by: tag the texts "+
			"with erreval identify first, or name a judge with --judge")))
	}
	return c.finish(ctx, res)
}

// Panel has pairs judged by language models.
func (c *Compare) Panel(ctx context.Context, o *asking.Options) (err error) {
	r, s := c.Run, c.stage()
	kind := prompt.Compare
	if o.Joint {
		kind, c.Wordings = prompt.CompareJoint, []string{prompt.CompareJoint}
	}
	o.Template = c.Wordings[0]
	if c.judges, err = asking.New(o, kind, r.Output); err != nil {
		return err
	}
	j := c.judges
	panel, prompts, err := c.newPanel(o)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	record := j.NewRecord(r.Reading)
	s.Options = compareRecord{Record: &record, Types: c.Types, Orders: c.Orders, Modes: c.Modes, Prompts: prompts,
		Reconcile: c.Reconcile, Round: c.Round}
	s.Work = func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
		return c.judge(ctx, panel, next, func(row *dataset.Row, set verdicts.Set) error {
			if err := row.Set(verdicts.Column, set); err != nil {
				return err
			}
			return emit(row)
		})
	}
	of := func(q *pairwise.Question) asking.Call {
		return asking.Call{Judge: q.Judge, Title: q.Title, Request: q.Request}
	}
	return j.Ask(ctx, r, s, c.JSON, asking.CallsOf(j, panel.Questions, of),
		func() error { return c.finish(ctx, r.All(ctx, s)) })
}

func (c *Compare) newRank() *Rank {
	return &Rank{Process: c.Run.Process, Taxonomy: c.Taxonomy, Rows: *c.Run.Rows(), Types: c.Types,
		Columns: OwnColumns(), columnOf: c.Run.Columns}
}

// CheckSystems finds out how the first pair names its systems, before anybody is asked.
func (c *Compare) CheckSystems(ctx context.Context) error {
	for _, file := range c.Run.Inputs {
		row, err := c.Run.Rows().First(ctx, c.Run.Process, file)
		if err != nil || row == nil {
			continue // whoever reads it says so
		}
		if _, err := c.newRank().pairOf(row); err != nil {
			return err
		}
	}
	return nil
}

// judge judges all pairs, or in rounds until the order of the systems is settled; the pairs that are left are then not
// asked about.
func (c *Compare) judge(ctx context.Context, panel *pairwise.Panel, next func() (*dataset.Row, error),
	emit func(*dataset.Row, verdicts.Set) error) error {
	if c.Round == 0 {
		return panel.Judge(ctx, next, emit)
	}
	rank := c.newRank()
	seen := rank.newVerdicts()
	settling := c.Types[len(c.Types)-1] // Overall, where it is compared
	for look := 1; ; look++ {
		n, ended := 0, false
		err := panel.Judge(ctx, func() (*dataset.Row, error) {
			if n == c.Round {
				return nil, io.EOF
			}
			n++
			row, err := next()
			ended = ended || errors.Is(err, io.EOF)
			return row, err
		}, func(row *dataset.Row, set verdicts.Set) error {
			if err := emit(row, set); err != nil {
				return err
			}
			return rank.addRow(seen, row)
		})
		switch {
		case err != nil || ended:
			return err
		case seen.board.Settled(settling, look):
			c.Run.Say("the order of the systems is settled after %d pairs; the others are not asked about", look*c.Round)
			return run.Each(func(*dataset.Row) error { return nil })(ctx, next,
				func(row *dataset.Row) error { return emit(row, c.settled()) })
		}
	}
}

// settled are the verdicts on a pair that need not be asked about.
func (c *Compare) settled() verdicts.Set {
	set := verdicts.Set{}
	for _, name := range c.Types {
		set[name] = &verdicts.Verdict{Status: verdicts.Unjudged, Reason: verdicts.Settled}
	}
	return set
}

// newPanel makes the panel, and says which prompts it uses.
func (c *Compare) newPanel(o *asking.Options) (panel *pairwise.Panel, prompts []string, err error) {
	options := pairwise.PanelOptions{Taxonomy: c.Taxonomy, Types: c.Types, Orders: c.Orders, Modes: c.Modes,
		Repeats: o.Panel.Repeats, Attempts: o.Panel.Attempts, Workers: o.Panel.Workers, Reconcile: c.Reconcile}
	for _, wording := range c.Wordings {
		t, err := prompt.Open(wording)
		if err != nil {
			return nil, nil, err
		}
		options.Templates = append(options.Templates, t)
		prompts = append(prompts, t.ID()+" sha256:"+t.Hash())
	}
	panel, err = pairwise.NewPanel(c.judges.Models(), options)
	return panel, prompts, err
}

// finish rates the systems by all verdicts of the output.
func (c *Compare) finish(ctx context.Context, res *run.Result) error {
	if res.NothingRead() || !res.Ended {
		return errors.Join(res.Err, c.Run.Incomplete())
	}
	rank := c.newRank()
	rank.Inputs, rank.Ratings, rank.JSON, rank.Brief = []string{c.Run.Output}, c.Ratings, c.JSON, true
	rank.Rows.Taxonomy = pairwise.PairTask(c.Taxonomy)
	rank.Rows.Limit = 0
	err := rank.Run(ctx)
	if c.judges != nil {
		err = errors.Join(err, c.judges.SayUsage(c.Run.Process))
	}
	return errors.Join(res.Err, err, c.Run.Incomplete())
}

// RatingOptions say how systems are rated and judges audited, and what is made of the figures besides what is printed.
type RatingOptions struct {
	leaderboard.Options
	Own   map[string][]string // judge to the systems that are its own
	Audit bool                // measures what the judges go by besides quality

	Gates  []gate.Gate
	Report string // Markdown file, or ""
	Plots  RankPlots
}
