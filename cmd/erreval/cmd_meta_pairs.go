package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/comparing"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/pairwise/people"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

const metaPairsDescription = `A judge's verdicts on pairs (column verdicts, as "erreval compare" writes it) against people's, a column each:
   erreval meta pairs --human annotator1,annotator2,annotator3 compared.jsonl
   erreval meta pairs --human winner --type Factuality compared.jsonl

Without a judge, how far people agree with each other:
   erreval meta pairs --human annotator1,annotator2,annotator3 pairs.jsonl --system-a model1 --system-b model2

People write A, B, both_good or both_bad; 1, 2 or 0 for a tie; or the better system's name. Their majority counts.
docs/compare.md says how each figure is computed.`

func metaPairsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "pairs",
		Usage:       "agreement of verdicts on pairs with people's, and of people with each other",
		ArgsUsage:   "VERDICTS",
		Description: metaPairsDescription,
		Flags: slices.Concat(fileFlags(), []cli.Flag{recordedTaxonomyFlag("VERDICTS"), idFlag(),
			&cli.StringFlag{Name: "human", Usage: "`COLUMN[,COLUMN]` with people's verdicts"},
			humanFileFlag(),
			&cli.StringFlag{Name: "type", Value: verdicts.Overall, Usage: "the judge's verdicts by this error `TYPE`"},
		}, pairColumnFlags(), []cli.Flag{bootstrapFlag(), seedFlag(), jsonFlag(), markdownFlag(), latexFlag()}),
		Action: func(ctx *cli.Context) error { return runMetaPairs(ctx, e) },
	}
}

func runMetaPairs(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, 1, "one file of pairs", openTask)
	if err != nil {
		return err
	}
	if ctx.String("human") == "" {
		return exit.Usagef("give --human COLUMN[,COLUMN], with people's verdicts")
	}
	k := &comparing.Rank{Process: e.Process, Taxonomy: look.Taxonomy, Columns: readPairColumns(ctx)}
	for name := range strings.SplitSeq(ctx.String("human"), ",") {
		k.Columns.Verdicts = append(k.Columns.Verdicts, strings.TrimSpace(name))
	}
	look.Taxonomy = run.WithoutFields(look.Taxonomy)
	if err := look.join(ctx, e, k.Columns.Verdicts, nil); err != nil {
		return err
	}
	k.Rows = look.Rows
	pairs, faults, err := k.ReadPeople(ctx.Context, look.paths[0], ctx.String("type"))
	if err := errors.Join(err, look.checkJoined(e)); err != nil {
		return err
	}
	o := people.Options{Intervals: report.IntervalOptions{Resamples: ctx.Int("bootstrap"),
		Seed: ctx.Uint64("seed")}, Ratings: comparing.DefaultRatings()}
	if err := o.Intervals.Validate(); err != nil {
		return exit.With(exit.Usage, err)
	}
	r, err := people.Compute(ctx.Context, look.paths[0], ctx.String("type"), pairs, o)
	if err != nil {
		return err
	}
	r.SetFaults(faults)
	return look.printRows(e, r)
}
