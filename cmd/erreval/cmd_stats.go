package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
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

// statsOptions are the flags of stats.
type statsOptions struct {
	lookOptions
	by        string // column, byFile, byNothing or "" for what there is
	intervals report.IntervalOptions
	plot      plotOptions
	form      reportForm
	gates     []gate.Gate
}

// Values of --by that are no columns.
const (
	byFile    = "file"
	byNothing = "none"
)

// mostSystems: a column with more values does not name systems.
const mostSystems = 500

func statsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "stats",
		Usage:       "count the errors of tagged rows, per system",
		ArgsUsage:   "OUT...",
		Description: statsDescription,
		Flags: append(reportFlags(),
			&cli.StringFlag{Name: "by", Usage: "what tells systems apart: `COLUMN`, file or none (default: the column system, else file)"},
			&cli.StringFlag{Name: "interval", Value: report.Bootstrap, Usage: "`METHOD` of intervals: bootstrap, wilson or none"},
			&cli.StringFlag{Name: "plot", Usage: "draw a bar chart to `FILE`, .svg or .png"},
			failOnFlag(), overwriteFlag()),
		Action: func(ctx *cli.Context) error {
			o, err := statsOptionsFrom(ctx)
			if err != nil {
				return err
			}
			return runStats(ctx.Context, e, o)
		},
	}
}

func statsOptionsFrom(ctx *cli.Context) (*statsOptions, error) {
	if err := wantArgs(ctx, 1, -1, "one or more tagged files"); err != nil {
		return nil, err
	}
	look, err := lookOptionsFrom(ctx)
	if err != nil {
		return nil, err
	}
	o := &statsOptions{lookOptions: *look, by: ctx.String("by"), plot: readPlotOptions(ctx, "plot")}
	if o.intervals, err = o.checkedIntervals(ctx); err != nil {
		return nil, err
	}
	if o.intervals.Method != report.None {
		o.intervals.Method = ctx.String("interval")
	}
	if err := o.intervals.Validate(); err != nil {
		return nil, exit.Usagef("--interval: %w", err)
	}
	if o.form, err = readReportForm(ctx); err != nil {
		return nil, err
	}
	if o.gates, err = parseGates(ctx.StringSlice("fail-on"), o.Taxonomy); err != nil {
		return nil, err
	}
	return o, o.plot.check()
}

func runStats(ctx context.Context, e *env, o *statsOptions) error {
	s, faults, err := computeStats(ctx, e, o)
	if err != nil {
		return err
	}
	code := warnFaults(e, faults)
	if err := drawStats(s, &o.plot); err != nil {
		return err
	}
	return errors.Join(o.form.print(e, s), code, statsGates(s, o.gates, scheme(o.Taxonomy).NoError))
}

func computeStats(ctx context.Context, e *env, o *statsOptions) (*report.Stats, []error, error) {
	tally := report.NewTally(scheme(o.Taxonomy), o.intervals)
	var faults []error
	systems, rows, named := map[string]bool{}, 0, false
	for _, file := range o.paths {
		found, err := o.each(ctx, e, file, func(row *dataset.Row, d *dataset.Diagnosis) error {
			system, ok, err := o.system(row, file)
			if err != nil {
				return err
			}
			rows, named, systems[system] = rows+1, named || ok, true
			if len(systems) > mostSystems {
				return exit.Usagef("--by %s: more than %d different values; choose a column that names systems", o.by, mostSystems)
			}
			group, err := o.group(row)
			if err != nil {
				return err
			}
			return tally.Add(system, group, d)
		})
		faults = append(faults, found...)
		if err != nil {
			return nil, faults, err
		}
	}
	if tally.Tagged() == 0 {
		return nil, faults, o.noRows(rows, faults)
	}
	s, err := tally.Stats(ctx)
	if err != nil {
		return nil, faults, err
	}
	s.Files, s.Rejected, s.By = o.paths, len(faults), o.byName(named)
	return s, faults, nil
}

// group is what the row is resampled with; Wilson's intervals need none.
func (o *statsOptions) group(row *dataset.Row) (string, error) {
	if o.intervals.Method != report.Bootstrap {
		return "", nil
	}
	return evaluation.GroupOf(row, o.Taxonomy, o.intervals.Group)
}

// system names the row's system; ok tells whether its column did.
func (o *statsOptions) system(row *dataset.Row, file string) (name string, ok bool, err error) {
	column := o.by
	switch o.by {
	case byFile:
		return file, false, nil
	case byNothing:
		return o.all(), false, nil
	case "":
		column = dataset.ColumnSystem
	}
	raw, ok := row.Get(column)
	switch {
	case ok && string(raw) != "null":
		return dataset.PlainText(raw), true, nil
	case ok && o.by != "":
		return "(null)", true, nil
	case o.by != "":
		return "", false, exit.Usagef("--by: row %s has no column %q; the columns are %s", row.ID, o.by, strings.Join(row.Columns(), ", "))
	case len(o.paths) > 1:
		return file, false, nil
	}
	return o.all(), false, nil
}

func (o *statsOptions) all() string { return strings.Join(o.paths, ", ") }

// byName is what a system is, for the report.
func (o *statsOptions) byName(named bool) string {
	switch {
	case o.by == byNothing:
		return ""
	case o.by != "":
		return o.by
	case named:
		return dataset.ColumnSystem
	case len(o.paths) > 1:
		return byFile
	}
	return ""
}

func drawStats(s *report.Stats, plot *plotOptions) error {
	return plot.write(func(format string) ([]byte, error) {
		data, err := chart.Stats(s, format)
		if err != nil {
			err = fmt.Errorf("%w; choose some with --where, or --by none", err)
		}
		return data, err
	})
}
