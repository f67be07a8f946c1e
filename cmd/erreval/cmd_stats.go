package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/chart"
	"github.com/erreval/erreval/taxonomy"
)

const statsDescription = `How many rows have each error, of the rows that identify tagged, or each issue of those that discover read:
   erreval stats tagged.jsonl

Systems side by side: by the column "system" if there is one, by another column, or by file:
   erreval stats tagged.jsonl --by model
   erreval stats small.jsonl large.jsonl --by file

What is surely more frequent than yesterday, where today has other inputs (of the same, see diff), ends with code 6:
   erreval stats yesterday.jsonl tagged.jsonl --by file --fail-on "grown>0"

The test of every pair of systems, corrected for their number:
   erreval stats tagged.jsonl --by model --tests --json

A bar chart; a table for a page; figures for a program:
   erreval stats tagged.jsonl --plot errors.svg
   erreval stats tagged.jsonl --markdown >> "$GITHUB_STEP_SUMMARY"
   erreval stats tagged.jsonl --json

Intervals take rows of one passage as more alike than others; --group none takes all rows as
independent instead. docs/reading.md says how each figure is computed.`

func statsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "stats",
		Usage:       "count the errors of tagged rows, per system",
		ArgsUsage:   "OUT...",
		Description: statsDescription,
		Flags: append(reportFlags(),
			&cli.StringFlag{Name: "by",
				Usage: "what tells systems apart: `COLUMN`, file, none, or file,COLUMN of files with several (default: the column " +
					"system, else file)"},
			&cli.BoolFlag{Name: "tests", Usage: "test every pair of systems in each column, paired where they share inputs"},
			&cli.StringFlag{Name: "plot", Usage: "draw a bar chart to `FILE`, .svg, .png or .pdf"},
			failOnFlag("of each system by itself, also on an issue by id or name, grown of two files with --by file: "),
			overwriteFlag()),
		Action: func(ctx *cli.Context) error { return runStats(ctx, e) },
	}
}

func runStats(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, -1, "one or more tagged files", openTask)
	if err != nil {
		return err
	}
	o := report.StatsOptions{Taxonomy: look.Taxonomy, Where: look.where, Group: readGroup(ctx, look.Taxonomy),
		Tests: ctx.Bool("tests")}
	if o.By = ctx.String("by"); isByFile(o.By) {
		o.By, o.Within, _ = strings.Cut(o.By, ",")
	}
	lists := look.issueLists()
	ofIssues, rest := readListedLimits(ctx.StringSlice("fail-on"), look.Taxonomy, lists)
	gates, err := readStatsLimits(ctx, look, rest)
	if len(rest) > 0 {
		err = cmp.Or(checkListed(look.Taxonomy, rest[0], lists), err)
	}
	if err != nil {
		return err
	}
	plot := readPlotOptions(ctx, "plot")
	if err := plot.CheckPath(); err != nil {
		return err
	}
	s, err := look.count(ctx, e, o)
	if err != nil {
		return err
	}
	s.CheckGates(gates, look.Taxonomy.NoError())
	if look.form != (reportForm{}) { // which goes elsewhere than a log
		e.Note(s.Notes)
	}
	bars := func(format string) ([]byte, error) { return chart.Stats(s, format) }
	missed := e.MissedGates(s.CheckIssues(ofIssues))
	return errors.Join(look.printRows(e, s, picture{plot, bars}), missed)
}

// readListedLimits reads the limits on issues that lists have, by id or name, and gives the others back: those on error
// types, which issues may be named after.
func readListedLimits(given []string, t *taxonomy.Taxonomy, lists []*issues.List) (limits []gate.Gate, rest []string) {
	for _, text := range given {
		isIssue := false
		one, err := gate.Parse(text, func(name string) (id string, ok bool) {
			if _, known := findChange(t, name); !known {
				id, isIssue = findIssue(lists, name)
			}
			return id, isIssue
		})
		if err == nil && (isIssue || t.IsTask() && one.Subject == gate.Any) { // any issue
			limits = append(limits, one)
		} else {
			rest = append(rest, text)
		}
	}
	return limits, rest
}

// checkListed refuses a limit that is on no issue of a task without error types.
func checkListed(t *taxonomy.Taxonomy, limit string, lists []*issues.List) error {
	if ids := idsOf(lists); t.IsTask() && ids != "" {
		return exit.Usagef("--fail-on %q is on no issue; there are %s; erreval diff A B compares the issues of two files, "+
			"with --fail-on 'grown>0'", limit, ids)
	}
	return checkTypes(t)
}

// issueLists are the lists beside the files that have one.
func (o *lookOptions) issueLists() (lists []*issues.List) {
	for _, file := range o.paths {
		if list, err := issues.Read(issues.Path(file)); err == nil { // without a list, ids are the names
			lists = append(lists, list)
		}
	}
	return lists
}

// readStatsLimits reads limits of stats, the values of --fail-on.
func readStatsLimits(ctx *cli.Context, look *lookOptions, given []string) ([]gate.Gate, error) {
	limits, err := readChangeLimits(given, look.Taxonomy)
	for _, l := range limits {
		switch {
		case strings.HasPrefix(l.Subject, report.Rise+":"):
			return nil, exit.Usagef("--fail-on %q counts pairs of rows, as erreval diff has them", l.Text)
		case report.IsGrowth(l) && (len(look.paths) != 2 || !isByFile(ctx.String("by"))):
			return nil, exit.Usagef("--fail-on %q is about the second of two files against the first: give both, and --by file",
				l.Text)
		}
	}
	return limits, err
}

// isByFile tells whether files are compared, with a column that names systems in them or without.
func isByFile(by string) bool { return by == report.ByFile || strings.HasPrefix(by, report.ByFile+",") }

// count counts the rows of the files, with the issues of what discover wrote.
func (o *lookOptions) count(ctx *cli.Context, e *env, so report.StatsOptions) (*report.Stats, error) {
	so.Issues, so.IssueNames = issues.IDs, map[string]string{issues.Unlisted: issues.UnlistedName}
	makers := o.makers()
	so.Thresholds = o.thresholdsOf(makers)
	so.LeftOut = map[string]report.Lost{}
	for i, m := range makers {
		so.LeftOut[o.paths[i]] = report.Lost{Lines: m.Rejected, Unrecorded: !m.Recorded}
		so.Weak = append(so.Weak, m.Weak...)
	}
	slices.Sort(so.Weak)
	so.Weak = slices.Compact(so.Weak)
	for _, list := range o.issueLists() {
		so.OfErrors = so.OfErrors || list.Analysis == discover.ByLabels
		for _, i := range list.Issues {
			so.IssueNames[i.ID] = i.Name
		}
	}
	// Of systems the figures say which texts repeat.
	o.Rows.CopiesSaid = !slices.Contains([]string{"", report.ByFile, report.ByNothing}, so.By)
	tally := report.NewTally(so)
	if err := o.readAll(ctx, e, tally.ReadRows); err != nil {
		return nil, err
	}
	return tally.ComputeStats()
}

// makers are what records say of the runs that made each file.
func (o *lookOptions) makers() []run.Maker {
	makers := make([]run.Maker, len(o.paths))
	for i, file := range o.paths {
		makers[i] = run.ReadMaker(file)
	}
	return makers
}

// thresholdsOf are those by which the files were tagged, none where records say that there are none.
func (o *lookOptions) thresholdsOf(makers []run.Maker) []report.Thresholds {
	known, missing := false, false
	thresholds := make([]report.Thresholds, len(makers))
	for i, m := range makers {
		known, missing = known || len(m.Thresholds) > 0, missing || !m.Recorded
		thresholds[i] = report.NewThresholds(o.paths[i], m.Thresholds, o.Taxonomy)
	}
	if !known && (!missing || len(o.paths) == 1) {
		return nil
	}
	return thresholds
}

// byFlag is that of commands which write rows, and then print what printBy does.
func byFlag() cli.Flag {
	return &cli.StringFlag{Name: "by",
		Usage: "also print figures per value of `COLUMN`, as \"erreval stats OUT --by COLUMN\" does"}
}

// checkBy finds out whether printBy can print.
func checkBy(ctx *cli.Context) error {
	if out := ctx.String("output"); ctx.IsSet("by") && (out == "" || out == run.Stdio || ctx.Bool("json")) {
		return exit.Usagef("--by prints figures of OUT: give -o OUT, and leave out --json; erreval stats OUT --by COLUMN " +
			"--json prints them as JSON")
	}
	return nil
}

// printBy prints the figures of what a command wrote by the column of --by, unless it failed; made is its error.
func printBy(ctx *cli.Context, e *env, t *taxonomy.Taxonomy, made error) error {
	whole := slices.Contains([]int{exit.OK, exit.Incomplete, exit.Missed}, codeOf(made))
	if !ctx.IsSet("by") || !whole {
		return made
	}
	look := &lookOptions{paths: []string{ctx.String("output")}}
	o := report.StatsOptions{Taxonomy: t, By: ctx.String("by"), Group: t.GroupField()}
	var err error
	if look.Rows, err = openRowInput(ctx, t); err != nil {
		return err
	}
	p := *e.Process
	p.NoNotes = true
	s, err := look.count(ctx, &env{Process: &p}, o)
	if _, none := errors.AsType[*report.UntaggedError](err); none { // there is nothing to say by system
		return made
	}
	if err != nil {
		return errors.Join(made, err)
	}
	return errors.Join(made, look.printRows(e, s))
}
