package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

const diffDescription = `What changed from one tagged file to another, as after a new version of the
system that wrote the questions, or of the model that tagged them:
   erreval diff before.jsonl after.jsonl

For a page, or a program:
   erreval diff before.jsonl after.jsonl --markdown >> "$GITHUB_STEP_SUMMARY"
   erreval diff before.jsonl after.jsonl --json

Rows are paired by --id COLUMN,COLUMN; without it by the column "id". Where a file has none, or ids made of texts, or
hardly any id is in both files, they are paired by what the system was given (all fields but the first, else the field
of a group) and by the column "system". Rows that share a key are told apart by their texts; those of one system and
input, where both files have as many, then by their order. The first line says so, and counts the rows without a
partner; where a file has more than 5 % of them, the command says which --id would pair them, and ends with code 3.
Conversations are paired by what users said, where the turn of the system changed.
Intervals and p-values are paired, and take rows of one passage as more alike than others (--group).
Two files in which "erreval discover" found issues are compared by these, unless --labels is given; the second one
should be mapped to the first one's list:
   erreval discover new.jsonl -o new-found.jsonl --issues found.jsonl.issues.json --judge gpt-4o-mini
   erreval diff found.jsonl new-found.jsonl --fail-on 'new>0' --fail-on 'grown>0'

docs/reading.md and docs/discover.md say how each figure is computed.`

func diffCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "diff",
		Usage:       "say what changed between two tagged files",
		ArgsUsage:   "A B",
		Description: diffDescription,
		Flags: append(reportFlags(),
			&cli.StringFlag{Name: "by", Usage: "`COLUMN` that tells systems apart (default: system, else model)"},
			&cli.BoolFlag{Name: "same-text", Usage: "compare only rows whose text is the same in both files"},
			&cli.IntFlag{Name: "limit", Value: report.Examples,
				Usage: "list at most `N` rows that gained or lost an error, or whose text changed; 0 lists all"},
			&cli.BoolFlag{Name: "labels", Usage: "compare labels, also where both files have a list of issues"},
			&cli.StringSliceFlag{Name: "fail-on", Usage: "end with code 6 if `LIMIT` holds, as in \"grown>0\" (errors, or " +
				"issues, surely more frequent in B), \"grown:Vague\", \"rise:Vague>2%\" (points of share), or \"Vague>5%\" " +
				"in B; of issues, by id or name, also \"new>0\" and \"new:ID\"; may be repeated"}),
		Action: func(ctx *cli.Context) error { return runDiff(ctx, e) },
	}
}

func runDiff(ctx *cli.Context, e *env) error {
	if !ctx.Bool("labels") {
		lists, err := listsOf(ctx.Args().Slice())
		if err != nil {
			return exit.With(exit.Unfit, err)
		}
		if lists != nil {
			return diffIssues(ctx, e, lists)
		}
	}
	for _, text := range ctx.StringSlice("fail-on") {
		limit, err := gate.Parse(text, func(name string) (string, bool) { return name, true })
		if err == nil && (limit.Subject == issues.New || limit.Subject == issues.Gone) {
			return exit.Usagef("--fail-on is for issues with %q: both files need a list, as erreval discover writes it", text)
		}
	}
	look, err := readLookOptions(ctx, 2, 2, "two tagged files", openTaxonomy)
	if err != nil {
		return err
	}
	limits, err := readDiffLimits(ctx, look.Taxonomy)
	if err != nil {
		return err
	}
	if ctx.Int("limit") < 0 {
		return exit.Usagef("--limit %d: give a number of rows, or 0 for all", ctx.Int("limit"))
	}
	makers := look.makers()
	c := report.NewComparison(report.DiffOptions{Taxonomy: look.Taxonomy, Where: look.where,
		ID: look.ID, By: ctx.String("by"), Group: readGroup(ctx, look.Taxonomy), SameTextOnly: ctx.Bool("same-text"),
		Thresholds: look.thresholdsOf(makers), LeftOut: [2]int{makers[0].Rejected, makers[1].Rejected},
		Unrecorded: !makers[1].Recorded, Limit: ctx.Int("limit")})
	if err := look.readAll(ctx, e, c.ReadA, c.ReadB); err != nil {
		return err
	}
	d, err := c.ComputeDiff()
	if err != nil {
		return err
	}
	missed := e.MissedGates(d.CheckGates(limits, look.Taxonomy.NoError()))
	return errors.Join(look.printRows(e, d), missed)
}

// readDiffLimits reads --fail-on of diff for labels.
func readDiffLimits(ctx *cli.Context, t *taxonomy.Taxonomy) ([]gate.Gate, error) {
	limits, err := readChangeLimits(ctx.StringSlice("fail-on"), t)
	for _, l := range limits {
		if l.Subject == gate.Truncated {
			return nil, exit.Usagef("--fail-on %q is for erreval identify and erreval stats", l.Text)
		}
	}
	return limits, err
}

// readChangeLimits reads values of --fail-on: names and codes of the taxonomy, and how shares may change.
func readChangeLimits(given []string, t *taxonomy.Taxonomy) ([]gate.Gate, error) {
	given = slices.Clone(given)
	for i, text := range given {
		given[i] = withGrowth(text)
	}
	limits, err := run.ParseGates(given, func(name string) (string, bool) { return findChange(t, name) }, t.Labels())
	if err != nil {
		return nil, fmt.Errorf("%w; changes from A to B are grown>0, shrunk>0, of one error, or any, grown:LABEL, "+
			"shrunk:LABEL and rise:LABEL>2%%", err)
	}
	for _, l := range limits {
		of, _, one := strings.Cut(l.Subject, ":")
		if l.Share && (of == report.Grown || of == report.Shrunk) {
			return nil, exit.Usagef("--fail-on %q: %s counts error types, not rows: give a number, as in %[2]s>0, or limit "+
				"points of share, as in rise:any>5%%", l.Text, of)
		}
		if one && of != report.Rise && strings.HasPrefix(l.Op, ">") && l.Limit >= 1 && (l.Op == ">" || l.Limit > 1) {
			return nil, exit.Usagef("--fail-on %q never holds: that is 1 where it is so, else 0; leave the limit out, or "+
				"limit points of share, as in rise:LABEL>2%%", l.Text)
		}
	}
	return limits, nil
}

// withGrowth is a limit with what it says of growth: one that grew is too many.
func withGrowth(text string) string {
	change, _, _ := strings.Cut(text, ":")
	if slices.Contains(issues.Changes(), change) && !strings.ContainsAny(text, "<>") {
		return text + ">0"
	}
	return text
}

// findIssue gives the id of the issue that a name or an id stands for.
func findIssue(lists []*issues.List, name string) (string, bool) {
	for _, l := range lists {
		if id, ok := l.FindID(name); ok {
			return id, true
		}
	}
	return "", false
}

// findIssueChange gives the subject of a limit: an issue's id, a change, or a change of one issue.
func findIssueChange(lists []*issues.List, name string) (string, bool) {
	if id, ok := findIssue(lists, name); ok {
		return id, true
	}
	change, of, one := strings.Cut(name, ":")
	if !slices.Contains(issues.Changes(), change) || !one {
		return name, slices.Contains(issues.Changes(), name)
	}
	id, ok := findIssue(lists, strings.TrimSpace(of))
	return change + ":" + id, ok
}

// idsOf lists the ids of issues, each once.
func idsOf(lists []*issues.List) string {
	var ids []string
	for _, l := range lists {
		for _, i := range l.Issues {
			ids = dataset.AppendName(ids, i.ID)
		}
	}
	return strings.Join(ids, ", ")
}

// findChange gives the subject of a limit: a label, a change, or a change of one label.
func findChange(t *taxonomy.Taxonomy, name string) (string, bool) {
	if label, ok := findLabel(t, name); ok || name == report.Grown || name == report.Shrunk {
		return cmp.Or(label, name), true
	}
	change, of, _ := strings.Cut(name, ":")
	label, ok := findLabel(t, strings.TrimSpace(of))
	if strings.EqualFold(strings.TrimSpace(of), gate.Any) && !ok { // rows with any error are those not without
		label, ok = t.NoError(), true
		switch change {
		case report.Grown:
			change = report.Shrunk
		case report.Shrunk:
			change = report.Grown
		default:
			label = gate.Any
		}
	}
	return change + ":" + label, ok && slices.Contains([]string{report.Grown, report.Shrunk, report.Rise}, change)
}

// listsOf are the lists of issues beside two files; nil where one has none.
func listsOf(files []string) (lists []*issues.List, err error) {
	if len(files) != 2 {
		return nil, nil
	}
	for _, file := range files {
		l, err := issues.Read(issues.Path(file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		lists = append(lists, l)
	}
	return lists, nil
}

// diffIssues compares the issues of two runs.
func diffIssues(ctx *cli.Context, e *env, lists []*issues.List) error {
	look, err := readLookOptions(ctx, 2, 2, "two files of rows", openTask)
	if err != nil {
		return err
	}
	if ctx.IsSet("same-text") || ctx.IsSet("limit") || ctx.IsSet("by") {
		how := "give --labels with them"
		if look.Taxonomy.IsTask() {
			how = "leave them out, as " + look.Taxonomy.ID() + " has none"
		}
		return exit.Usagef("--same-text, --limit and --by compare labels: %s", how)
	}
	limits, err := readIssueLimits(ctx, func(name string) (string, bool) { return findIssueChange(lists, name) },
		strings.Join(issues.Changes(), ", ")+", of one issue too, as in grown:ID>0, and "+idsOf(lists))
	if err != nil {
		return err
	}
	c, err := issues.NewComparison(lists[0], lists[1],
		issues.DiffOptions{Taxonomy: look.Taxonomy, Where: look.where, ID: look.ID, Group: readGroup(ctx, look.Taxonomy)})
	if err != nil {
		return err
	}
	if err := look.readAll(ctx, e, c.ReadA, c.ReadB); err != nil {
		return err
	}
	d, err := c.ComputeDiff()
	if err != nil {
		return err
	}
	missed := e.MissedGates(d.CheckGates(limits))
	return errors.Join(look.printRows(e, d), missed)
}
