package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/training/refine"
)

func refineQualityCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "quality", Usage: "rank the training set by how doubtful its labels are", ArgsUsage: "DIR",
		Description: `Reviewed rows, against what the model found before it was trained on them:
   erreval refine quality work

All rows, those of the start too, against identifiers that are each trained without a fifth of the groups:
   erreval refine quality work --folds 5

All rows, against probabilities of your own, by a model that was not trained on the row (as in cross-validation):
   erreval refine quality work --tagged out_of_sample.jsonl

The ranking is written to DIR/quality.jsonl, the most doubtful row first; the next refine select puts some of
its first rows before a reviewer. --folds trains as refine train does (settings, Python or trainer of refine.yaml),
goes on where it was when it is stopped, and keeps what it found until rows or settings change. The figures are cleanlab's label quality scores for several labels a row.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tagged",
				Usage: "`FILE` of training rows with a diagnosis, tagged by a model that was not trained on them"},
			&cli.IntFlag{Name: "folds",
				Usage: fmt.Sprintf("train `N` identifiers (%d to %d), each without one of N parts of the training set, and rank "+
					"all rows by them", refine.MinFolds, refine.MaxFolds)},
			&cli.StringFlag{Name: "method", Value: "self_confidence",
				Usage: "`METHOD`: self_confidence, normalized_margin or confidence_weighted_entropy"},
			&cli.IntFlag{Name: "show", Value: 10, Usage: "print the `N` most doubtful rows"},
			libraryFlag()},
		Action: func(ctx *cli.Context) error { return runRefineQuality(ctx, e) },
	}
}

func runRefineQuality(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	o := refine.QualityOptions{Method: ctx.String("method"), Tagged: ctx.String("tagged"), Folds: givenInt(ctx, "folds")}
	if o.Folds != nil {
		if o.Train, err = trainOptions(ctx, e, w); err != nil {
			return err
		}
	}
	ranking, err := w.RankQuality(ctx.Context, o)
	if err != nil {
		return explainInterrupted(ctx, e, err)
	}
	if !e.Quiet {
		fmt.Fprintln(e.Err, ranking.Summary())
	}
	return ranking.Text(run.Guard(e.Out), ctx.Int("show"))
}
