package main

import (
	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/report"
)

const diffDescription = `What changed from one tagged file to another with the same ids, as after a new version of the
system that wrote the questions, or of the model that tagged them:
   erreval diff before.jsonl after.jsonl

For a page, or a program:
   erreval diff before.jsonl after.jsonl --markdown >> "$GITHUB_STEP_SUMMARY"
   erreval diff before.jsonl after.jsonl --json

Rows are joined by id. Where a file has no column "id", ids are made from the texts, so rows with
changed text are then in one file only; with given ids they are compared, unless --same-text.
Rows that share an id are joined by id and text; --id COLUMN,COLUMN names columns that tell them apart.
Intervals are paired and resample groups of rows, by default those of one passage.
docs/reading.md says how each figure is computed.`

func diffCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "diff",
		Usage:       "say what changed between two tagged files",
		ArgsUsage:   "A B",
		Description: diffDescription,
		Flags: append(reportFlags(), &cli.BoolFlag{Name: "same-text",
			Usage: "compare only rows whose text is the same in both files"}),
		Action: func(ctx *cli.Context) error { return runDiff(ctx, e) },
	}
}

func runDiff(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 2, 2, "two tagged files")
	if err != nil {
		return err
	}
	c, err := report.NewComparison(report.DiffOptions{Taxonomy: look.Taxonomy, Where: look.where,
		Intervals: readIntervals(ctx, look.Taxonomy), SameTextOnly: ctx.Bool("same-text")})
	if err != nil {
		return err
	}
	if err := look.Read(ctx.Context, e.Process, look.paths[0], c.ReadA); err != nil {
		return err
	}
	if err := look.Read(ctx.Context, e.Process, look.paths[1], c.ReadB); err != nil {
		return err
	}
	d, err := c.ComputeDiff(ctx.Context)
	if err != nil {
		return err
	}
	return look.printRows(e, d)
}
