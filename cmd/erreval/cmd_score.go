package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/app/scoring"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
)

func scoreCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "score",
		Usage:     "score tagged rows on the task's dimensions",
		ArgsUsage: "TAGGED",
		Description: `TAGGED is what "erreval identify" wrote. Each row gets a column "scores": for every dimension of
the taxonomy a value on the dimension's scale, computed from the probabilities of the errors that
bear on it. No judge, no key, no network; the judge in the records is called "offline".
   erreval identify questions.jsonl -o tagged.jsonl
   erreval score tagged.jsonl -o scored.jsonl

Other formats, a pipe, the first rows only, going on after an interruption:
   erreval score tagged.csv -o scored.xlsx
   erreval identify rows.jsonl -o - | erreval score - -o scored.jsonl
   erreval score tagged.jsonl -o try.jsonl --limit 100
   erreval score tagged.jsonl -o scored.jsonl --resume

Some dimensions only, which is cheaper where a judge is asked:
   erreval score tagged.jsonl -o scored.jsonl --dimensions fluency,answer_consistency

Ask a language model instead, which is shown the errors found (` + usualKey() + ` holds the key); look at the
prompts and the cost first, and bound what is spent. The same line again goes on where it stopped:
   erreval score tagged.jsonl --judge gpt-4o-mini --show-prompt q1
   erreval score tagged.jsonl --judge gpt-4o-mini --dry-run
   erreval score tagged.jsonl -o scored.jsonl --judge gpt-4o-mini --max-cost 5
   erreval score tagged.jsonl -o scored.jsonl --judge llama3.1 --base-url http://localhost:11434/v1
   erreval score tagged.jsonl -o scored.jsonl --judge gpt-4o-mini,gpt-4.1-nano --mode both

Judges behind different endpoints, by names that erreval.yaml gives them (docs/scoring.md):
   erreval score tagged.jsonl -o scored.jsonl --judge small,local

Measure the scores against people's:
   erreval meta scores --human fluency=rating scored.jsonl

A row without diagnosis is unscored, with the reason, and leads to exit code 3; it is never a 0.
Beside OUT stands OUT.run.json. docs/scoring.md says how the values are computed.`,
		Flags: slices.Concat(runFlags(map[string][]cli.Flag{"output": {recordedTaxonomyFlag("INPUT"),
			&cli.StringFlag{Name: "dimensions",
				Usage: "score these dimensions of the taxonomy alone, `NAME[,NAME]`, by key or title (default: all)"}, byFlag()},
			"resume": {flushFlag()}}), scoreJudge.flags(), panelFlags()),
		Action: withArgs(1, 1, "one file of tagged rows", func(ctx *cli.Context) error {
			if ctx.Bool("flush") && namesJudge(ctx) {
				return exit.Usagef("--flush is for offline scores; leave it out with --judge")
			}
			ask, err := readJudgeOptions(ctx, e)
			if err != nil {
				return err
			}
			return runScore(ctx, e, readRunOptions(ctx), ask)
		}),
	}
}

// runScore scores offline where ask is nil.
func runScore(ctx *cli.Context, e *env, o run.Options, ask *asking.Options) error {
	if o.Output == "" && (ask == nil || ask.Asks()) {
		return exit.Usagef("no output; give -o OUT, or -o - for standard output")
	}
	if err := errors.Join(checkBy(ctx), o.Validate()); err != nil {
		return err
	}
	r, err := run.New(e.Process, o)
	if err != nil {
		return err
	}
	if err := run.CheckInputs(o.Inputs); err != nil {
		return err
	}
	s := &scoring.Score{Run: r, JSON: ctx.Bool("json")}
	if ctx.IsSet("dimensions") {
		s.Dimensions = strings.Split(ctx.String("dimensions"), ",")
	}
	if s.Taxonomy, err = taxonomyOf(ctx.String("taxonomy"), o.Inputs, openTaxonomy); err != nil {
		return err
	}
	if err := r.NameColumns(ctx.Context, s.Taxonomy); err != nil {
		return err
	}
	if ask != nil && !ask.Asks() {
		return s.Panel(ctx.Context, ask)
	}
	if ask != nil {
		return printBy(ctx, e, s.Taxonomy, s.Panel(ctx.Context, ask))
	}
	return printBy(ctx, e, s.Taxonomy, s.Offline(ctx.Context))
}
