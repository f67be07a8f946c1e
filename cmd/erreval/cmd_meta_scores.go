package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/scoring"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

const metaScoresDescription = `Scores (column scores.<dimension>) against columns with people's scores; several columns of one
dimension are averaged:
   erreval meta scores --human fluency=fluency_1,fluency_2 --human clarity=clarity scored.jsonl

People's scores in a file of their own, joined by id; its rows need no texts:
   erreval meta scores --human-file ratings.xlsx --human fluency=Fluency scored.jsonl

Two judges on the same rows, with intervals and p-values of the difference:
   erreval meta scores --human fluency=fluency offline.jsonl judge.jsonl

Did the errors help? The file of "erreval score --mode both" has both modes of the same rows: how well each agrees
with people, the difference, and the lift, which needs no human scores:
   erreval meta scores --lift --human fluency=fluency scored.jsonl --lift-plot lift.svg
   erreval meta scores --lift scored.jsonl

Systems by another column than "system"; a picture; figures for a program or a page:
   erreval meta scores --human fluency=fluency scored.jsonl --by model --plot scores.svg
   erreval meta scores --human fluency=fluency scored.jsonl --json
   erreval meta scores --human fluency=fluency scored.jsonl --markdown >> "$GITHUB_STEP_SUMMARY"

People's scores are read from the first file, or from --human-file; a second file is joined by id. Unscored rows are
left out of every figure, counted, and lead to exit code 3. Intervals resample groups of rows (--group), by
default the passage. docs/scoring.md says how each figure is computed.`

func metaScoresCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "scores",
		Usage:       "correlation, overestimation … of scores with people's, with intervals",
		ArgsUsage:   "SCORED [SCORED2]",
		Description: metaScoresDescription,
		Flags: append(rowFlags(),
			&cli.StringSliceFlag{Name: "human",
				Usage: "people's scores of a dimension, `DIMENSION=COLUMN[,COLUMN2]`; may be repeated"},
			humanFileFlag(),
			&cli.BoolFlag{Name: "lift",
				Usage: "compare the vanilla and the error-aware judgements in one file, and report the lift"},
			&cli.StringFlag{Name: "by",
				Usage: "`COLUMN` that names the system a row is of (default: system, where there is one)"},
			&cli.Float64Flag{Name: "low", Value: evaluation.DefaultLow,
				Usage: "a row whose human score is at most `SCORE` is low"},
			&cli.Float64Flag{Name: "high", Value: evaluation.DefaultHigh,
				Usage: "a low row is overestimated from `SCORE` on"},
			recordedTaxonomyFlag("SCORED"), whereFlag("rows of the first file"),
			groupFlag(), bootstrapFlag(), seedFlag(),
			&cli.StringFlag{Name: "plot", Usage: "draw score against human score to `FILE`, .svg, .png or .pdf"},
			&cli.StringFlag{Name: "lift-plot", Usage: "with --lift, draw the lift of each dimension to `FILE`, .svg, .png, .pdf"},
			overwriteFlag(), jsonFlag(), markdownFlag(), latexFlag()),
		Action: func(ctx *cli.Context) error { return runMetaScores(ctx, e) },
	}
}

// runMetaScores reads, measures, draws and prints. Its error is coded: exit.Incomplete where rows had no value.
func runMetaScores(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, 2, "one or two files with scores", openTaxonomy)
	if err != nil {
		return err
	}
	if err := checkScoredWith(look.paths, look.Taxonomy); err != nil {
		return err
	}
	scores, err := newScores(ctx, look)
	if err != nil {
		return err
	}
	plot, lift := readPlotOptions(ctx, "plot"), readPlotOptions(ctx, "lift-plot")
	if err := errors.Join(plot.CheckPath(), lift.CheckPath()); err != nil {
		return err
	}
	human, err := evaluation.ParseHuman(ctx.StringSlice("human"))
	if err != nil {
		return err
	}
	var columns []string
	for _, h := range human {
		columns = append(columns, h.Columns...)
	}
	if err := look.join(ctx, e, columns, evaluation.CheckRating); err != nil {
		return err
	}
	if err := errors.Join(look.readAll(ctx, e, scores.ReadScores), look.checkJoined(e)); err != nil {
		return err
	}
	r, err := scores.ComputeReport(ctx.Context)
	if err != nil {
		return err
	}
	return look.printRows(e, r, picture{plot, r.DrawScores}, picture{lift, r.DrawLift})
}

func newScores(ctx *cli.Context, look *lookOptions) (*evaluation.Scores, error) {
	human, err := evaluation.ParseHuman(ctx.StringSlice("human"))
	if err != nil {
		return nil, err
	}
	lift := ctx.Bool("lift")
	switch {
	case lift && len(look.paths) > 1:
		return nil, exit.Usagef("--lift compares the modes of one file; give one")
	case !lift && ctx.String("lift-plot") != "":
		return nil, exit.Usagef("--lift-plot draws what --lift reports; give that as well")
	case lift && len(human) == 0 && ctx.String("plot") != "":
		return nil, exit.Usagef("--plot draws scores against people's; give --human, or --lift-plot for the lift")
	}
	o := evaluation.ScoreOptions{Taxonomy: look.Taxonomy, Where: look.where, Human: human, System: ctx.String("by"),
		Low: ctx.Float64("low"), High: ctx.Float64("high"), ByMode: lift,
		Intervals: readIntervals(ctx, look.Taxonomy)}
	if o.ByMode {
		o.Aggregate = scoring.AggregateBy(cmp.Or(scoring.RecordedAggregate(look.paths[0]), scorer.Mean))
	}
	return evaluation.NewScores(o)
}

// checkScoredWith looks into the run records whether the files were scored with the taxonomy.
func checkScoredWith(files []string, t *taxonomy.Taxonomy) error {
	for _, file := range files {
		if made, err := runrecord.Read(file); err == nil && made.Taxonomy != nil && made.Taxonomy.ID != t.ID() {
			return exit.With(exit.Unfit, fmt.Errorf("%s was scored with the taxonomy %s, not %s; give that one with --taxonomy",
				file, made.Taxonomy.ID, t.ID()))
		}
	}
	return nil
}
