package tagging

import (
	"context"
	"errors"
	"fmt"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/scorer"
)

// IdentifierLLM is the name of a language model as identifier in run records and on the command line.
const IdentifierLLM = "llm"

// labellerOptions is the options part of OUT.run.json with a language model as identifier.
type labellerOptions struct {
	Identifier string `json:"identifier"` // IdentifierLLM
	judging.Record
	Examples *runrecord.Input `json:"examples,omitempty"` // absent if none is shown
}

// LLM tags the rows of all inputs with a language model, shown the labelled rows of the file examples if it is not "".
func (i *Identify) LLM(ctx context.Context, o *asking.Options, examples string) error {
	r, s := i.Run, i.stage()
	options := scorer.LabellerOptions{Taxonomy: i.Taxonomy, Repeats: o.Panel.Repeats, Attempts: o.Panel.Attempts,
		Workers: o.Panel.Workers}
	var shown *runrecord.Input
	if examples != "" {
		var err error
		if shown, options.Examples, err = i.readExamples(ctx, examples); err != nil {
			return exit.With(exit.Usage, fmt.Errorf("--examples: %w", err))
		}
	}
	j, err := asking.New(o, prompt.Identify, r.Output)
	if err != nil {
		return err
	}
	options.Template = j.Template
	labeller, err := scorer.NewLabeller(j.Models()[0], options)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	s.Model = &runrecord.Artefact{ID: o.Models[0].Name} // a language model has no file to hash
	s.Options = labellerOptions{Identifier: IdentifierLLM, Record: j.NewRecord(r.Reading), Examples: shown}
	s.Work = func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
		return labeller.Identify(ctx, next, emitting(emit))
	}
	return j.Ask(ctx, r, s, i.JSON, asking.CallsOf(j, labeller.Questions, asking.CallOf), func() error {
		res := r.All(ctx, s)
		return i.all(res, s, func(sum *report.Tagging) error { return addSpent(j, sum) })
	})
}

// readExamples reads the labelled rows that prompts show.
func (i *Identify) readExamples(ctx context.Context, file string) (*runrecord.Input, []prompt.Example, error) {
	hashed, err := runrecord.HashFile(file)
	if err != nil {
		return nil, nil, err
	}
	var examples []prompt.Example
	in := i.Run.Rows()
	in.Limit = scorer.MaxExamples + 1
	faults, err := in.Each(ctx, i.Run.Process, file, func(row *dataset.Row) error {
		labels, err := row.Labels(i.Taxonomy)
		examples = append(examples, prompt.Example{Values: row.Values, Labels: labels})
		return err
	})
	switch {
	case err != nil || len(faults) > 0:
		err = errors.Join(append(faults, err)...)
	case len(examples) == 0:
		err = fmt.Errorf("%s has no rows", file)
	case len(examples) > scorer.MaxExamples:
		err = fmt.Errorf("%s has more than %d rows; each costs as much as a row, in every call: choose some", file,
			scorer.MaxExamples)
	}
	return &hashed, examples, err
}

// addSpent completes the summary of what the language model did.
func addSpent(j *asking.Judges, sum *report.Tagging) error {
	if sum.Rows > 0 && sum.Rows == sum.Resumed {
		return nil
	}
	usage, err := j.Usage()
	if err != nil {
		return err
	}
	sum.Usage, sum.Spent = usage, j.DescribeUsage(usage)
	if sum.Rows > 0 && sum.Reasons[reply.Unavailable] == sum.Rows {
		return asking.ErrNoReply
	}
	return nil
}
