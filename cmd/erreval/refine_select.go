package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/app/tagging"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/training/refine"
)

func refineSelectCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "select", Usage: "choose the rows of the pool that are worth a person's time: a frozen batch", ArgsUsage: "DIR",
		Description: `Tags the pool with the model in use, and its verifier if it has one, then freezes a batch for review, beside
rows that are sure enough to be added without a person. refine.yaml (select:) says how; docs/refinement.md why.
   erreval refine select work --size 50 --reviewer anna,ben
   erreval refine select work --seed 7 --dry-run

Why a row was chosen, or what kept it out:
   erreval refine select work --explain q17

A pool that was tagged elsewhere, by parts or on a GPU:
   erreval identify work/pool.jsonl -o tagged.jsonl --device cuda \
     --model work/iterations/01/model --verifier work/iterations/01/verifier
   erreval refine select work --pool tagged.jsonl`,
		Flags: []cli.Flag{
			sizeFlag(), reviewersFlag(),
			&cli.Int64Flag{Name: "seed", Value: 1, Usage: "`SEED`: the same one chooses the same rows"},
			&cli.StringFlag{Name: "pool", Usage: "`FILE` of rows that erreval identify tagged, instead of the workspace's pool"},
			&cli.StringFlag{Name: "only", Usage: "choose among the pool's rows whose ids are in `FILE` alone, as the page of a " +
				"report exports rows"},
			&cli.StringFlag{Name: "mistakes", Usage: "`FILE` that ranks rows of the training set, {\"row_id\": …, " +
				"\"score\": …} a line, the lowest score the most doubtful (default: DIR/" +
				refine.QualityFile + ", if it is there)"},
			&cli.StringFlag{Name: "explain", Usage: "say why the row `ID` is chosen or not, and change nothing"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be chosen, and freeze nothing"},
			deviceFlag(), gpuMemoryFlag(), libraryFlag(), workersFlag(), jsonFlag()},
		Action: func(ctx *cli.Context) error { return runRefineSelect(ctx, e) },
	}
}

func runRefineSelect(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	o, err := selectOptions(ctx, e, w)
	if err != nil {
		return err
	}
	if id := ctx.String("explain"); id != "" {
		why, err := w.Explain(ctx.Context, id, o)
		if err != nil {
			return err
		}
		return printResult(ctx, e, why)
	}
	return chooseBatch(ctx, e, w, o)
}

func sizeFlag() cli.Flag {
	return &cli.IntFlag{Name: "size", Usage: "`N` rows for a person, instead of refine.yaml's"}
}

func reviewersFlag() cli.Flag {
	return &cli.StringFlag{Name: "reviewer", Usage: "`NAME[,NAME]`: write each a workbook of the batch, as refine export does"}
}

// checkHandOut tells whether --reviewer can be done.
func checkHandOut(ctx *cli.Context, dryRun bool) error {
	reviewers := reviewersOf(ctx)
	if reviewers != nil && (dryRun || ctx.Bool("json")) {
		return exit.Usagef("--reviewer writes workbooks; leave out --dry-run and --json")
	}
	return refine.CheckReviewers(reviewers)
}

// chooseBatch chooses a batch, and writes it for the reviewers of --reviewer.
func chooseBatch(ctx *cli.Context, e *env, w *refine.Workspace, o refine.SelectOptions) error {
	reviewers := reviewersOf(ctx)
	if err := checkHandOut(ctx, o.DryRun); err != nil {
		return err
	}
	chosen, err := w.Select(ctx.Context, o)
	var waiting *refine.WaitingError
	if err == nil {
		chosen.HandedOut = reviewers != nil
		err = printResult(ctx, e, chosen)
	} else if errors.As(err, &waiting) {
		e.Warn("%v", waiting)
		err = nil
	}
	if err != nil || reviewers == nil {
		return err
	}
	return exportBatch(e, w, refine.ExportOptions{Reviewers: reviewers})
}

func selectOptions(ctx *cli.Context, e *env, w *refine.Workspace) (refine.SelectOptions, error) {
	on, err := readLocalOptions(ctx)
	o := selectWith(ctx, e, w, on)
	o.Seed, o.Pool, o.Only, o.Mistakes = ctx.Int64("seed"), ctx.String("pool"), ctx.String("only"), ctx.String("mistakes")
	o.DryRun = ctx.Bool("dry-run")
	for _, file := range []string{o.Pool, o.Only, o.Mistakes} {
		if file != "" {
			err = errors.Join(err, run.CheckInputs([]string{file}))
		}
	}
	return o, err
}

// selectWith are the options of a batch of the workspace's own pool, which a model on tags.
func selectWith(ctx *cli.Context, e *env, w *refine.Workspace, on tagging.LocalOptions) refine.SelectOptions {
	o := refine.SelectOptions{Size: givenInt(ctx, "size"), Seed: 1, Command: e.typedLine(), Warn: e.Warn}
	o.Tag = func(c context.Context, job refine.TagJob) error {
		silent := e.silent()
		// init has said what the pool was made of
		silent.Quiet, silent.NoNotes = silent.Quiet || job.Begun, true
		err := runIdentify(c, silent, &identifyOptions{Taxonomy: job.Taxonomy, JSON: true, // the summary goes nowhere
			Options: run.Options{Inputs: []string{job.Pool}, Output: job.Out, Resume: true,
				GoOn: e.typedLine()},
			Local: tagging.LocalOptions{Model: job.Model, Verifier: job.Verifier, Workers: on.Workers, On: on.On,
				RowTimeout: identifier.DefaultOptions().RowTimeout}})
		switch other := (run.OtherRunError{}); {
		case errors.As(err, &other):
			return errors.Join(err, refine.ErrTaggedOtherwise)
		case codeOf(err) == exit.Incomplete: // untagged rows are counted, and cannot be chosen
			return nil
		}
		return err
	}
	o.Thresholds = func(c context.Context, model string) (string, map[string]float64, error) {
		m, err := e.machine().OpenModel(c, model, "", w.Taxonomy)
		if err != nil {
			return "", nil, err
		}
		return m.Manifest.ID(), m.Manifest.Thresholds, nil
	}
	return o
}
