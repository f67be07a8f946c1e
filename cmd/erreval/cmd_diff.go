package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/words"
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
Intervals are paired and resample groups of rows, by default those of one passage.
docs/reading.md says how each figure is computed.`

// diffOptions are the flags of diff.
type diffOptions struct {
	lookOptions
	compare report.DiffOptions
	form    reportForm
}

func diffCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "diff",
		Usage:       "say what changed between two tagged files",
		ArgsUsage:   "A B",
		Description: diffDescription,
		Flags:       append(reportFlags(), &cli.BoolFlag{Name: "same-text", Usage: "compare only rows whose text is the same in both files"}),
		Action: func(ctx *cli.Context) error {
			o, err := diffOptionsFrom(ctx)
			if err != nil {
				return err
			}
			return runDiff(ctx.Context, e, o)
		},
	}
}

func diffOptionsFrom(ctx *cli.Context) (*diffOptions, error) {
	if err := wantArgs(ctx, 2, 2, "two tagged files"); err != nil {
		return nil, err
	}
	look, err := lookOptionsFrom(ctx)
	if err != nil {
		return nil, err
	}
	o := &diffOptions{lookOptions: *look}
	if o.compare.Intervals, err = o.checkedIntervals(ctx); err != nil {
		return nil, err
	}
	o.compare.SameTextOnly = ctx.Bool("same-text")
	o.form, err = readReportForm(ctx)
	return o, err
}

func runDiff(ctx context.Context, e *env, o *diffOptions) error {
	d, faults, err := computeDiff(ctx, e, o)
	if err != nil {
		return err
	}
	code := warnFaults(e, faults)
	return errors.Join(o.form.print(e, d), code)
}

func computeDiff(ctx context.Context, e *env, o *diffOptions) (*report.Diff, []error, error) {
	c := report.NewComparison(scheme(o.Taxonomy), o.compare)
	faultsA, err := o.read(ctx, e, o.paths[0], c.AddA)
	if err != nil {
		return nil, nil, err
	}
	faultsB, err := o.read(ctx, e, o.paths[1], c.AddB)
	if err != nil {
		return nil, nil, err
	}
	d, err := c.Diff(ctx)
	if err != nil {
		return nil, nil, err
	}
	d.A.File, d.A.Rejected = o.paths[0], len(faultsA)
	d.B.File, d.B.Rejected = o.paths[1], len(faultsB)
	faults := append(faultsA, faultsB...)
	if d.Compared == 0 {
		return nil, nil, nothingCompared(d, o, faults)
	}
	return d, faults, nil
}

func (o *diffOptions) read(ctx context.Context, e *env, file string, add func(report.DiffRow) error) ([]error, error) {
	return o.each(ctx, e, file, func(row *dataset.Row, d *dataset.Diagnosis) error {
		group, err := evaluation.GroupOf(row, o.Taxonomy, o.compare.Intervals.Group)
		if err != nil {
			return err
		}
		return add(report.DiffRow{ID: row.ID, Group: group, Text: row.TextSum(), Diagnosis: d})
	})
}

func nothingCompared(d *report.Diff, o *diffOptions, faults []error) error {
	switch {
	case d.A.Rows == 0 || d.B.Rows == 0:
		return o.noRows(0, faults)
	case d.Both == 0:
		return fmt.Errorf("%s (ids as %s) and %s (ids as %s) have no id in common; rows need a column \"id\" if their texts change",
			d.A.File, first(d.A.OnlyExamples), d.B.File, first(d.B.OnlyExamples))
	}
	return fmt.Errorf("none of the %s in both files can be compared: %d untagged in %s, %d in %s, %d with changed text",
		words.Plural(d.Both, "row", "rows"), d.A.Untagged, d.A.File, d.B.Untagged, d.B.File, d.ChangedText)
}

func first(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return report.ShortID(ids[0])
}
