package main

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/stats"
)

const metaLabelsDescription = `Labels found, in the column diagnosis, against gold labels in a file with the same ids:
   erreval meta labels --gold questions_gold.jsonl tagged.jsonl

Gold labels in the tagged file itself (column "labels"):
   erreval meta labels tagged.jsonl

Two models on the same rows, with intervals of the difference:
   erreval meta labels --gold gold.jsonl small.jsonl large.jsonl

One split only; what was taken for what; P(No Error) against a teacher's verdict:
   erreval meta labels --gold gold.jsonl tagged.jsonl --where split=test --confusion --auc accepted

Intervals resample groups of rows (--group), by default the passage. The baseline predicts the
most frequent gold label set for every row. Rows without prediction (untagged, missing, changed
text) are left out of the figures, counted, and lead to exit code 3; a second set of figures
counts them as wrong. docs/evaluation.md says how each figure is computed.`

func metaCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "meta",
		Usage: "measure labels, scores, issues and verdicts against people's",
		Description: "erreval meta labels --gold questions_gold.jsonl tagged.jsonl\nerreval meta scores --human " +
			"fluency=rating scored.jsonl\nerreval meta issues --gold experts.jsonl found.jsonl\n" +
			"erreval meta pairs --human winner compared.jsonl",
		Subcommands: []*cli.Command{{
			Name:        "labels",
			Usage:       "F1, exact match, calibration … of the labels found, with intervals and a baseline",
			ArgsUsage:   "PRED [PRED2]",
			Description: metaLabelsDescription,
			Flags:       metaFlags(),
			Action:      func(ctx *cli.Context) error { return runMetaLabels(ctx, e) },
		}, metaScoresCommand(e), metaIssuesCommand(e), metaPairsCommand(e)},
	}
}

func metaFlags() []cli.Flag {
	return append(rowFlags(), recordedTaxonomyFlag("PRED"),
		&cli.StringFlag{Name: "gold", Usage: "`FILE` whose column labels holds the gold labels (default: PRED itself)"},
		whereFlag("gold rows"), goldByFlag("micro F1"), groupFlag(),
		&cli.StringFlag{Name: "auc",
			Usage: "boolean gold `COLUMN`; adds the area under the ROC curve of P(no error) against it"},
		&cli.IntFlag{Name: "min-support", Value: stats.DefaultMinSupport,
			Usage: "macro averages take labels with at least `N` gold rows"},
		bootstrapFlag(), seedFlag(),
		&cli.BoolFlag{Name: "confusion", Usage: "show what was predicted instead of each gold label"},
		jsonFlag(), markdownFlag(), latexFlag())
}

// goldByFlag is that of a table more, of one figure.
func goldByFlag(figure string) cli.Flag {
	return &cli.StringFlag{Name: "by", Usage: "also print rows and " + figure + " per value of `COLUMN` of the gold rows"}
}

// runMetaLabels reads, measures and prints. Its error is coded: exit.Incomplete where rows had no prediction.
func runMetaLabels(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, 2, "one or two files with predictions", openTaxonomy)
	if err != nil {
		return err
	}
	gold := cmp.Or(ctx.String("gold"), look.paths[0])
	if countOf(append([]string{gold}, look.paths...), run.Stdio) > 1 {
		return exit.Usagef("standard input can be read once: only one file may be \"-\", " +
			"and the gold labels need a file of their own then")
	}
	labels, err := evaluation.NewLabels(evaluation.LabelOptions{Taxonomy: look.Taxonomy, Where: look.where,
		Verdict: ctx.String("auc"), MinSupport: ctx.Int("min-support"), Confusion: ctx.Bool("confusion"),
		By:        ctx.String("by"),
		Intervals: readIntervals(ctx, look.Taxonomy)})
	if err != nil {
		return err
	}
	if err := look.Read(ctx.Context, e.Process, gold, labels.ReadGold); err != nil {
		return err
	}
	if err := look.readAll(ctx, e, labels.ReadPredictions); err != nil {
		return err
	}
	r, err := labels.ComputeReport(ctx.Context)
	if err != nil {
		return err
	}
	return look.printRows(e, r)
}
