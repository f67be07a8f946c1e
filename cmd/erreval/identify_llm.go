package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/scorer"
)

// Who finds the errors.
const (
	identifierLocal = "local"
	identifierLLM   = "llm"
)

// labellerFlags are those of a language model as identifier.
func labellerFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "examples", Usage: fmt.Sprintf("show the labelled rows of `FILE` in each prompt, %d at most", scorer.MaxExamples)},
	}, askFlags()...)
}

func identifierFlag() cli.Flag {
	return &cli.StringFlag{Name: "identifier", Value: identifierLocal, Usage: "`WHO` finds the errors: local, or llm, the language model that --judge names"}
}

// localFlags are those of the local model alone.
func localFlags() []cli.Flag {
	return []cli.Flag{modelFlag(), joinFlag(), deviceFlag(), gpuMemoryFlag(), libraryFlag(), workersFlag(), thresholdFlag(), labelsOnlyFlag()}
}

// readIdentifier reads who finds the errors, and refuses the flags of the other one.
func (o *identifyOptions) readIdentifier(ctx *cli.Context, e *env) (err error) {
	switch who := ctx.String("identifier"); who {
	case identifierLocal:
		return onlyWith(ctx, e, labellerFlags(), "--%s is for a language model as identifier; choose one with --identifier llm --judge NAME")
	case identifierLLM:
	default:
		return exit.Usagef("--identifier %q: give local, or llm and a model with --judge", who)
	}
	if err := onlyWith(ctx, e, localFlags(), "--%s is for the local model; leave it out with --identifier llm"); err != nil {
		return err
	}
	if ctx.String("judge") == "" {
		return exit.Usagef("--identifier llm: name the language model with --judge, as in --judge gpt-4o-mini")
	}
	o.Examples = ctx.String("examples")
	if o.Judge, err = readAskOptions(ctx, e); err != nil {
		return err
	}
	if names := o.Judge.Names(); len(names) > 1 {
		return exit.Usagef("--judge %s: one model finds errors; tag once with each, and compare the files with erreval meta labels", strings.Join(names, ","))
	}
	return nil
}

// openLabeller makes the language model, with what an earlier run left of the outputs out of the way. The caller closes its
// journal.
func (r *identifyRun) openLabeller(ctx context.Context, outputs []string) (closeModel func() error, err error) {
	o := r.o.Judge
	options := scorer.LabellerOptions{Taxonomy: r.taxonomy, Repeats: o.Panel.Repeats, Attempts: o.Panel.Attempts, Workers: o.Panel.Workers}
	if r.o.Examples != "" {
		if options.Examples, err = r.readExamples(ctx); err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("--examples: %w", err))
		}
	}
	if r.judges, err = newModels(o, r.taxonomy, prompt.Identify, r.o.Output); err != nil {
		return nil, err
	}
	options.Template = r.judges.template
	if r.judges.labeller, err = scorer.NewLabeller(r.judges.Models()[0], options); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if o.calls() {
		if err := r.clear(outputs); err != nil { // before there is a journal: a run that cannot begin leaves none
			return nil, err
		}
		r.judges.announceModels(r)
		r.progress.More = func() string { return ", " + r.judges.describeUsed(r.judges.Used()) }
	}
	return r.judges.Close, r.judges.openJournal()
}

// clear makes room for the outputs.
func (r *identifyRun) clear(outputs []string) error {
	for i, out := range outputs {
		if err := r.judges.checkPath(r.o.Inputs[i], out); err != nil {
			return err
		}
		if err := startOver(out, sameKind); err != nil {
			return err
		}
	}
	if err := r.o.checkOutputs(outputs); err != nil { // makes their folder
		return err
	}
	for _, out := range outputs {
		if out == run.Stdio || out == "" {
			continue
		}
		if err := dataset.CheckOutput(out, r.o.Overwrite || r.o.Resume, r.o.Inputs...); err != nil {
			return err
		}
	}
	return nil
}

// readExamples reads the labelled rows that prompts show.
func (r *identifyRun) readExamples(ctx context.Context) ([]prompt.Example, error) {
	file := r.o.Examples
	hashed, err := runrecord.HashFile(file)
	if err != nil {
		return nil, err
	}
	r.examples = &hashed
	var examples []prompt.Example
	in := &run.Rows{Files: r.files, Taxonomy: r.taxonomy, Columns: r.columns, Limit: scorer.MaxExamples + 1}
	faults, err := in.Each(ctx, r.e.Process, file, func(row *dataset.Row) error {
		labels, err := row.Labels(r.taxonomy)
		examples = append(examples, prompt.Example{Values: row.Values, Labels: labels})
		return err
	})
	switch {
	case err != nil || len(faults) > 0:
		return nil, errors.Join(append(faults, err)...)
	case len(examples) == 0:
		return nil, fmt.Errorf("%s has no rows", file)
	case len(examples) > scorer.MaxExamples:
		return nil, fmt.Errorf("%s has more than %d rows; each costs as much as a row, in every call: choose some", file, scorer.MaxExamples)
	}
	return examples, nil
}

// forecast does what --dry-run and --show-prompt ask for.
func (r *identifyRun) forecast(ctx context.Context) error {
	rows := func(visit func(*dataset.Row) error) (int, error) { return r.eachMine(ctx, visit) }
	if r.o.Judge.ShowPrompt != "" {
		return r.judges.showPrompt(r.e, strings.Join(r.o.Inputs, ", "), rows, r.judges.labeller.Questions)
	}
	return r.judges.dryRun(r.e, r.o.JSON, rows, r.judges.labeller.Questions)
}

// eachMine goes through the rows that the run would tag. It gives the number of lines that are no rows.
func (r *identifyRun) eachMine(ctx context.Context, visit func(*dataset.Row) error) (rejected int, err error) {
	for _, file := range r.o.Inputs {
		in := &run.Rows{Files: r.files, Taxonomy: r.taxonomy, Columns: r.columns}
		if r.o.Limit > 0 {
			if in.Limit = r.o.Limit - r.read; in.Limit == 0 {
				break
			}
		}
		n := 0
		faults, err := in.Each(ctx, r.e.Process, file, func(row *dataset.Row) error {
			if n++; !r.mine(n - 1) {
				return nil
			}
			return visit(row)
		})
		if err != nil {
			return rejected, err
		}
		for i := range faults {
			if r.mine(i) {
				rejected++
			}
		}
		r.read += n
	}
	return rejected, nil
}

// sameKind tells whether a record is that of a run with a language model as identifier.
func sameKind(old *runrecord.Record) bool {
	options, ok := old.Options.(map[string]any)
	return ok && old.Command == "identify" && options["identifier"] == identifierLLM
}

// askRows tags rows by the language model until the input ends, the user interrupts, or no call can be made.
func (f *identifyFile) askRows(ctx context.Context, next func() (*dataset.Row, error)) error {
	j := f.run.judges
	err := j.labeller.Identify(ctx, next, f.emit)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // of an interruption the caller tells
	}
	return f.stopped(err, j, f.summary.Rows, f.summary.recordCounts(), f.usage)
}

// usage is what the language model used for this file.
func (f *identifyFile) usage() (*judging.Usage, error) {
	j := f.run.judges
	u, err := j.Usage()
	if err == nil {
		u.ThisRun = u.ThisRun.Minus(f.before)
		u.ByJudge = map[string]judging.Used{j.o.Models[0].Name: u.ThisRun}
	}
	return u, err
}

// labellerRecord is the options part of OUT.run.json with a language model as identifier.
type labellerRecord struct {
	Identifier string `json:"identifier"` // "llm"
	judging.Record
	Examples *runrecord.Input `json:"examples,omitempty"` // absent if none is shown
}

// closeAsking completes the summary of what the language model did.
func (r *identifyRun) closeAsking() error {
	s := r.total
	if r.judges == nil || s.Rows > 0 && s.Rows == s.Resumed {
		return nil
	}
	usage, err := r.judges.Usage()
	if err != nil {
		return err
	}
	s.Usage = usage
	s.spent = fmt.Sprintf("this run: %s; the journal in all: %s", r.judges.describeUsed(usage.ThisRun), r.judges.describeUsed(usage.Journal))
	if s.Rows > 0 && s.Reasons[scorer.ReasonUnavailable] == s.Rows {
		return exit.With(exit.Judge, errors.New("the model gave no reply at all; the same command with --overwrite asks again"))
	}
	return nil
}
