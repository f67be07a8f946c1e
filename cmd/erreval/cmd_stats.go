package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
)

const statsDescription = `How many rows have each error, of the rows that identify tagged:
   erreval stats tagged.jsonl

Systems side by side: by the column "system" if there is one, by another column, or by file:
   erreval stats tagged.jsonl --by model
   erreval stats small.jsonl large.jsonl --by file

A bar chart; a table for a page; figures for a program:
   erreval stats tagged.jsonl --plot errors.svg
   erreval stats tagged.jsonl --markdown >> "$GITHUB_STEP_SUMMARY"
   erreval stats tagged.jsonl --json

Intervals resample groups of rows, by default those of one passage; --interval wilson takes rows as
independent instead. docs/reading.md says how each figure is computed.`

func statsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "stats",
		Usage:       "count the errors of tagged rows, per system",
		ArgsUsage:   "OUT...",
		Description: statsDescription,
		Flags: append(reportFlags(),
			&cli.StringFlag{Name: "by",
				Usage: "what tells systems apart: `COLUMN`, file or none (default: the column system, else file)"},
			&cli.StringFlag{Name: "interval", Value: report.Bootstrap,
				Usage: "`METHOD` of intervals: bootstrap, wilson or none"},
			&cli.StringFlag{Name: "plot", Usage: "draw a bar chart to `FILE`, .svg, .png or .pdf"},
			failOnFlag(), overwriteFlag()),
		Action: func(ctx *cli.Context) error { return runStats(ctx, e) },
	}
}

func runStats(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, -1, "one or more tagged files", openTaxonomy)
	if err != nil {
		return err
	}
	tally, err := newTally(ctx, look)
	if err != nil {
		return err
	}
	gates, err := parseGates(ctx.StringSlice("fail-on"), look.Taxonomy)
	if err != nil {
		return err
	}
	plot := readPlotOptions(ctx, "plot")
	if err := plot.CheckPath(); err != nil {
		return err
	}
	if err := look.readAll(ctx, e, tally.ReadRows); err != nil {
		return err
	}
	s, err := tally.ComputeStats(ctx.Context)
	if err != nil {
		return err
	}
	bars := func(format string) ([]byte, error) { return chart.Stats(s, format) }
	noError := ""
	if i := look.Taxonomy.NoErrorIndex(); i >= 0 {
		noError = look.Taxonomy.Types[i].Name
	}
	return errors.Join(look.printRows(e, s, picture{plot, bars}), run.MissedGates(s.CheckGates(gates, noError)))
}

func newTally(ctx *cli.Context, look *lookOptions) (*report.Tally, error) {
	o := report.StatsOptions{Taxonomy: look.Taxonomy, Where: look.where, By: ctx.String("by"),
		Intervals: readIntervals(ctx, look.Taxonomy)}
	if o.Intervals.Method != report.None {
		o.Intervals.Method = ctx.String("interval")
	}
	return report.NewTally(o)
}
