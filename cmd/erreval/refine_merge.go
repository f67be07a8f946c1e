package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
)

func refineMergeCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "merge", Usage: "put the answers to a batch into the training set", ArgsUsage: "DIR [[NAME=]FILE...]",
		Description: `What was answered on the review page:
   erreval refine merge work

Files that were filled in, of any format that export writes; NAME says who did it where the file does not:
   erreval refine merge work anna=review.xlsx ben=review-ben.csv
   erreval refine merge work records.json project-3.json

Rows that were marked on the page of erreval serve, whether they are in a batch or not:
   erreval refine merge work tagged.jsonl.marks.jsonl

Nothing is merged while anything is wrong: each fault is named with its place, and all are kept in
merge.rejected.jsonl in the batch's folder. Rows that reviewers answered differently stay out until somebody decides,
on a page of these rows, or in their workbook (a skip leaves a row out for good):
   erreval refine review work --conflicts
   erreval refine merge work cleo=work/batches/B001/conflicts/review.xlsx`,
		Flags: []cli.Flag{batchFlag(),
			&cli.BoolFlag{Name: "partial", Usage: "leave out rows that nobody answered; they can be merged later"},
			jsonFlag()},
		Action: func(ctx *cli.Context) error { return runRefineMerge(ctx, e) },
	}
}

// countMarks counts the files that are called as those of marks.
func countMarks(files []string) (n int) {
	for _, file := range files {
		if strings.HasSuffix(file, dataset.MarksPath("")) {
			n++
		}
	}
	return n
}

func runRefineMerge(ctx *cli.Context, e *env) error {
	if err := wantArgs(ctx, 1, -1, "the folder of a workspace, and files of answers"); err != nil {
		return err
	}
	w, err := openWorkspaceAt(ctx.Args().First())
	if err != nil {
		return err
	}
	left, err := w.RemoveLeft()
	if err != nil {
		return err
	}
	if left != "" {
		e.Warn("removed what a step that was killed left: %s", left)
	}
	files := ctx.Args().Tail()
	if n := countMarks(files); n > 0 {
		if n < len(files) || ctx.String("batch") != "" {
			return exit.Usagef("files of marks (%s) are merged by themselves, without other files and --batch",
				dataset.MarksPath("FILE"))
		}
		merged, err := w.MergeMarks(files, e.typedLine())
		if err != nil {
			return err
		}
		return printResult(ctx, e, merged)
	}
	return mergeBatch(ctx, e, w, refine.MergeOptions{Batch: ctx.String("batch"), Files: files,
		Partial: ctx.Bool("partial")})
}

// mergeBatch merges the answers to a batch, and says what came of it.
func mergeBatch(ctx *cli.Context, e *env, w *refine.Workspace, o refine.MergeOptions) error {
	o.Command = e.typedLine()
	merged, err := w.Merge(o)
	if err != nil {
		return err
	}
	if of := merged.Exported; len(of.Absent) > 0 {
		e.Warn("%s was exported for %s; nothing of %s came back", merged.Batch, strings.Join(of.For, ", "),
			strings.Join(of.Absent, ", "))
	}
	if err := printResult(ctx, e, merged); err != nil || len(merged.Conflicts) == 0 {
		return err
	}
	err = fmt.Errorf("%s: reviewers differ on %s; decide %s", merged.Batch,
		words.Plural(len(merged.Conflicts), "row", "rows"), merged.Deciding.Places())
	return exit.With(exit.Incomplete, err)
}
