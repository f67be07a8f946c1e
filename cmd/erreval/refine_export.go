package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/exchange"
)

func refineExportCommand(e *env) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a batch as a workbook, CSV, JSON Lines, or for Argilla or Label Studio",
		ArgsUsage: "DIR",
		Description: `A workbook with a drop-down per label, in the batch's folder export/:
   erreval refine export work
   erreval refine export work -o batch.xlsx

A workbook for each reviewer; other formats, and with what the identifier proposed:
   erreval refine export work --reviewer anna,ben
   erreval refine export work --format argilla --proposals labels

What is filled in comes back with: erreval refine merge work FILE FILE`,
		Flags: []cli.Flag{batchFlag(),
			&cli.StringFlag{Name: "format", Usage: "`FORMAT`: " + strings.Join(exchange.Formats(), ", ") +
				", or all (default: that of OUT's name, else xlsx)"},
			&cli.StringFlag{Name: "proposals", Usage: "what is shown of the identifier's: `WHAT` is " +
				strings.Join(review.Shows(), ", ") + " (default: review.proposals in refine.yaml)"},
			&cli.StringFlag{Name: "reviewer", Usage: "`NAME[,NAME]` of who will answer: a copy for each, with the name in it"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write to `OUT`, a folder, or a file that ends with .xlsx, .csv or .jsonl (default: export in the batch's " +
					"folder, with --reviewer a folder for each name in it)"},
			overwriteFlag()},
		Action: func(ctx *cli.Context) error { return runRefineExport(ctx, e) },
	}
}

func batchFlag() cli.Flag {
	return &cli.StringFlag{Name: "batch",
		Usage: "`ID` of the batch, such as B001 (default: the first that is not merged, else the last)"}
}

func runRefineExport(ctx *cli.Context, e *env) error {
	w, err := openWorkspace(ctx)
	if err != nil {
		return err
	}
	return exportBatch(e, w, refine.ExportOptions{Batch: ctx.String("batch"), Format: ctx.String("format"),
		Proposals: ctx.String("proposals"), Reviewers: reviewersOf(ctx), Dir: ctx.String("output"),
		Overwrite: ctx.Bool("overwrite")})
}

// reviewersOf are the names in --reviewer; nil where it was not given.
func reviewersOf(ctx *cli.Context) (names []string) {
	if given := ctx.String("reviewer"); given != "" {
		for name := range strings.SplitSeq(given, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// exportBatch writes a batch for reviewers, and says where, and how it comes back.
func exportBatch(e *env, w *refine.Workspace, o refine.ExportOptions) error {
	files, err := w.Export(o)
	if e.Quiet {
		return err
	}
	for _, file := range files {
		fmt.Fprintln(run.Guard(e.Out), file.Text())
	}
	if err == nil {
		back := "NAME=FILE"
		if o.Reviewers != nil {
			back = strings.TrimSpace(strings.Repeat("FILE ", len(o.Reviewers)))
		}
		fmt.Fprintf(run.Guard(e.Out), "next: erreval refine merge %s %s, once they are filled in\n", words.Quote(w.Dir), back)
	}
	return err
}
