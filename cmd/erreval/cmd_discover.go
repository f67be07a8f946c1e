package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/discover/where"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/app/discovering"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

const discoverDescription = `ROWS are the outputs of any system: what it was given and what it wrote. A language model says what is
wrong with each row, the answers are sorted into issues, and the issues are counted. OUT has the rows with a column
"issues"; OUT.issues.json has the list: names, counts, shares, severity, stability, examples. Look at the prompts and
the cost first; the same line again goes on where it stopped:
   erreval discover answers.jsonl --taxonomy response --judge gpt-4o-mini --show-prompt '*'
   erreval discover answers.jsonl --taxonomy response --judge gpt-4o-mini --dry-run
   erreval discover answers.jsonl -o found.jsonl --taxonomy response --judge gpt-4o-mini --max-cost 5

Only rows that are not good, the worst of them; rows that were tagged show the model the errors found:
   erreval discover scored.jsonl -o found.jsonl --judge gpt-4o-mini --where 'score.fluency<2' --sample 200 --worst

Without a language model: by the labels of tagged rows, or by sentences that people wrote:
   erreval discover tagged.jsonl -o found.jsonl --analysis labels
   erreval discover reviewed.jsonl -o found.jsonl --analysis recorded --sentence comment --grouping offline

Group the same analyses again in another way, and map a new run to the issues of an old one:
   erreval discover found.jsonl -o again.jsonl --analysis recorded --grouping offline
   erreval discover new.jsonl -o new-found.jsonl --issues found.jsonl.issues.json --judge gpt-4o-mini
   erreval diff found.jsonl new-found.jsonl

A row is assigned to issues, or has none, or is unassigned with the reason, which leads to exit code 3.
docs/discover.md says how all of it works.`

func discoverCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "discover",
		Usage:       "find the issues that no taxonomy lists",
		ArgsUsage:   "ROWS",
		Description: discoverDescription,
		Flags:       discoverFlags(),
		Action: withArgs(1, 1, "one file of rows (cat puts JSON files together)", func(ctx *cli.Context) error {
			d, ask, err := readDiscover(ctx, e)
			if err = errors.Join(err, checkBy(ctx)); err != nil {
				return err
			}
			err = d.Run(ctx.Context, ask)
			if ask != nil && !ask.Asks() {
				return err
			}
			return printBy(ctx, e, d.Rows.Taxonomy, err)
		}),
	}
}

func discoverFlags() []cli.Flag {
	o, a := discover.DefaultOptions(), discover.DefaultAnalystOptions()
	own := []cli.Flag{rowsOutFlag(), overwriteFlag(), resumeFlag(),
		&cli.BoolFlag{Name: "json", Usage: "print the list of issues as JSON, on standard output"},
		recordedTaxonomyFlag("ROWS"), limitFlag(),
		&cli.StringSliceFlag{Name: "where", Usage: "only rows that meet `CONDITION`: score.fluency<2, label=Vague, " +
			"probability.Vague>=0.9, issue=ID or COLUMN=VALUE; may be repeated"},
		&cli.IntFlag{Name: "sample", Usage: "only `N` rows, drawn by --draw-seed; 0 is all"},
		&cli.BoolFlag{Name: "worst", Usage: "with --sample, the rows with the lowest scores, or the surest errors"},
		&cli.Uint64Flag{Name: "draw-seed", Value: o.Seed, Usage: "`SEED` of samples and orders"},
		&cli.StringFlag{Name: "analysis", Value: a.By, Usage: "`HOW` rows are analysed: " +
			strings.Join([]string{discover.ByIssue, discover.ByCriteria, discover.ByLabels, discover.ByRecord}, ", ")},
		&cli.StringFlag{Name: "evidence", Value: a.Evidence, Usage: "show the model the `LABELS` found in a row: " +
			strings.Join([]string{discover.EvidenceLabels, discover.EvidenceNone, discover.EvidenceBoth}, ", ")},
		&cli.StringFlag{Name: "criteria", Usage: "with --analysis criteria, `FILE` with a criterion a line, as in " +
			"\"Clarity: is easy to follow\" (default: three general ones)"},
		&cli.Float64Flag{Name: "high-score", Value: a.HighScore,
			Usage: "with --analysis criteria, `SCORE` from which a row has no issue"},
		&cli.StringFlag{Name: "sentence", Usage: "with --analysis recorded, `COLUMN` that says what is wrong " +
			"(default: what an earlier run found)"},
		&cli.StringFlag{Name: "grouping", Value: o.Grouping,
			Usage: "`HOW` rows are grouped: " + strings.Join(discover.Groupings(), ", ")},
		&cli.IntFlag{Name: "orders", Value: o.Orders, Usage: "with --grouping cumulative, group in `K` orders"},
		&cli.IntFlag{Name: "max-issues", Value: o.MaxIssues, Usage: "with --grouping keypoints, keep `N` issues at most"},
		&cli.Float64Flag{Name: "threshold", Value: o.Cluster.Threshold,
			Usage: "with --grouping offline, groups of sentences are joined while they are at least as alike as `SIMILARITY` " +
				"(tags, which are few and come often, only if nearly equal, unless it is given)"},
		&cli.StringFlag{Name: "vectors", Value: models.DefaultName, Usage: "compare sentences by vectors of this `MODEL` " +
			"too: " + models.DefaultName + ", the one in the program, or none"},
		&cli.StringFlag{Name: "issues", Usage: "map rows to the issues of `FILE` (OUT.issues.json, or an issue a line); " +
			"others are added, except by --grouping keypoints"},
		&cli.StringFlag{Name: "report", Usage: "write the issues as Markdown to `FILE`, replacing it"},
		&cli.StringSliceFlag{Name: "fail-on", Usage: "end with code 6 if `LIMIT` holds, as in \"unassigned>2%\", " +
			"\"no_issue<50%\" or an issue's id or name in the place of these; may be repeated"},
		groupFlag(), bootstrapFlag(), byFlag(),
		&cli.StringSliceFlag{Name: "template",
			Usage: "prompt template `FILE`, in place of the built-in one of its kind; may be repeated"},
	}
	return slices.Concat(own, rowFlags(), discoverJudge.flags())
}

// discoverJudge are the judge's flags of discover, which has a template for each kind of question.
var discoverJudge = judgeFlags{without: []string{"repeats", "template", "lines"},
	instead: "ask no model", missing: "--%s is for language models; name one with --judge"}

// readDiscover reads the flags; ask is nil without a judge.
func readDiscover(ctx *cli.Context, e *env) (d *discovering.Discover, ask *asking.Options, err error) {
	rows, err := openRows(ctx, ctx.Args().Slice(), openTask)
	if err != nil {
		return nil, nil, err
	}
	d = &discovering.Discover{Process: e.Process, Rows: rows, Input: ctx.Args().First(), Output: ctx.String("output"),
		Overwrite: ctx.Bool("overwrite"), Resume: ctx.Bool("resume"), JSON: ctx.Bool("json"), System: ctx.String("by"),
		By: ctx.String("analysis"), Sentence: ctx.String("sentence"), KnownFile: ctx.String("issues"),
		Analyst: discover.DefaultAnalystOptions(), Group: discover.DefaultOptions(), Templates: ctx.StringSlice("template"),
		Intervals: readIntervals(ctx, rows.Taxonomy), Report: ctx.String("report")}
	if d.Rows.Limit = ctx.Int("limit"); d.Rows.Limit < 0 {
		return nil, nil, exit.Usagef("--limit %d: give a number of rows, or 0 for all", d.Rows.Limit)
	}
	d.Intervals.Seed = ctx.Uint64("draw-seed")
	d.Chosen = discovering.Chosen{Sample: ctx.Int("sample"), Worst: ctx.Bool("worst"), Seed: ctx.Uint64("draw-seed")}
	if d.Chosen.Where, err = where.Parse(ctx.StringSlice("where")); err != nil {
		return nil, nil, exit.Usagef("--where %w", err)
	}
	if err := readGrouping(ctx, e, d); err != nil {
		return nil, nil, err
	}
	if ask, err = discoverJudge.read(ctx, e); ask != nil {
		ask.Template = ""
	}
	return d, ask, errors.Join(err, checkDiscover(ctx, d, ask))
}

// readGrouping reads how rows are analysed and grouped, and the limits.
func readGrouping(ctx *cli.Context, e *env, d *discovering.Discover) (err error) {
	g := &d.Group
	g.Grouping, g.Orders, g.MaxIssues = ctx.String("grouping"), ctx.Int("orders"), ctx.Int("max-issues")
	g.Seed, g.Cluster.Seed = ctx.Uint64("draw-seed"), ctx.Uint64("draw-seed")
	if g.Cluster.Threshold = ctx.Float64("threshold"); ctx.IsSet("threshold") {
		g.TagThreshold = g.Cluster.Threshold
	}
	if g.Embed, err = embedding(ctx, e); err != nil {
		return err
	}
	d.Analyst.Evidence, d.Analyst.HighScore = ctx.String("evidence"), ctx.Float64("high-score")
	if file := ctx.String("criteria"); file != "" {
		if d.Analyst.Criteria, err = readCriteria(file); err != nil {
			return exit.With(exit.Usage, err)
		}
	}
	d.Gates, err = readIssueLimits(ctx, findOfRows, strings.Join([]string{issues.Unassigned, issues.Assigned, issues.None,
		gate.Rejected}, ", ")+", and issues by their ids or names")
	return err
}

// embedding gives vectors of sentences by the encoder in the program, which is opened when the first are asked for; nil
// where words alone are compared.
func embedding(ctx *cli.Context, e *env) (func(context.Context, []string) ([][]float32, error), error) {
	switch name := ctx.String("vectors"); name {
	case "none":
		return nil, nil
	case models.DefaultName:
	default:
		return nil, exit.Usagef("--vectors %q: it is %s or none", name, models.DefaultName)
	}
	return func(ctx context.Context, sentences []string) (vectors [][]float32, err error) {
		machine := e.machine()
		t, err := taxonomy.Builtin(taxonomy.Builtins()[0]) // that of the model
		if err != nil {
			return nil, err
		}
		model, err := machine.OpenModel(ctx, models.DefaultName, "", t)
		if err != nil {
			return nil, err
		}
		on := ort.Options{Device: "cpu"}
		embedder, runner, err := machine.OpenEmbedder(ctx, model, on)
		if err != nil {
			return nil, fmt.Errorf("vectors of sentences: %w\n--vectors none compares words alone", err)
		}
		defer func() { err = errors.Join(err, runner.Close()) }()
		return embedder.Embed(ctx, sentences)
	}, nil
}

// readIssueLimits reads the values of --fail-on; find gives the subject that a name stands for, and instead says what
// there is besides.
func readIssueLimits(ctx *cli.Context, find func(string) (string, bool), instead string) ([]gate.Gate, error) {
	var limits []gate.Gate
	for _, text := range ctx.StringSlice("fail-on") {
		one, err := gate.Parse(withGrowth(text), func(name string) (string, bool) { return name, true })
		if err != nil {
			return nil, exit.Usagef("--fail-on %w", err)
		}
		subject, ok := find(one.Subject)
		if !ok {
			return nil, exit.Usagef("--fail-on %q: %q is no issue; there are %s", text, one.Subject, instead)
		}
		one.Text, one.Subject = text, subject
		limits = append(limits, one)
	}
	return limits, nil
}

// findOfRows gives the subject of a limit of discover: an id, which is made of a name, or one of some words, perhaps
// with a dot and a reason behind it. What limits on error types are about is none.
func findOfRows(name string) (string, bool) {
	word, _, _ := strings.Cut(name, ".")
	if slices.Contains([]string{issues.Unassigned, issues.Assigned, issues.None, gate.Rejected}, word) {
		return name, true
	}
	return issues.NewID(name, func(string) bool { return false }),
		!slices.Contains([]string{gate.Any, gate.Untagged, gate.Truncated, gate.NotJudged}, name)
}

// readCriteria reads a criterion a line.
func readCriteria(file string) ([]prompt.Criterion, error) {
	data, err := regularfile.Read(file, regularfile.Max)
	if err != nil {
		return nil, err
	}
	var out []prompt.Criterion
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name = strings.TrimSpace(name); name != "" && !strings.HasPrefix(name, "#") {
			out = append(out, prompt.Criterion{Name: name, Text: strings.TrimSpace(text)})
		}
	}
	if len(out) == 0 {
		return nil, exit.Usagef("--criteria %s: no criterion; write one a line, as in \"Clarity: is easy to follow\"",
			file)
	}
	return out, nil
}

// discoverTable says which flags go with which analysis and grouping. That of labels is a grouping of its own, which
// takes --threshold, and no --issues.
func discoverTable(analysis string) []goesWith {
	known := []string{discover.Cumulative, discover.KeyPoints, discover.Offline}
	table := []goesWith{{"criteria", "analysis", []string{discover.ByCriteria}},
		{"high-score", "analysis", []string{discover.ByCriteria}},
		{"sentence", "analysis", []string{discover.ByRecord}},
		{"evidence", "analysis", []string{discover.ByIssue, discover.ByCriteria}},
		{"orders", "grouping", known[:1]}, {"max-issues", "grouping", known[1:2]}}
	if analysis == discover.ByLabels {
		return append(table, goesWith{"issues", "analysis",
			[]string{discover.ByIssue, discover.ByCriteria, discover.ByRecord}})
	}
	return append(table, goesWith{"threshold", "grouping", known[2:]}, goesWith{"issues", "grouping", known})
}

// checkDiscover finds flags that do not go together.
func checkDiscover(ctx *cli.Context, d *discovering.Discover, ask *asking.Options) error {
	err := errors.Join(
		exit.UsageIf(!slices.Contains([]string{discover.ByIssue, discover.ByCriteria, discover.ByLabels, discover.ByRecord},
			d.By), "--analysis %q: it is issue, criteria, labels or recorded", d.By),
		exit.UsageIf(d.Input == run.Stdio, "rows are read more than once: give a file instead of standard input"),
		exit.UsageIf(d.Output == run.Stdio, "a list of issues stands beside the output: give -o FILE"),
		exit.UsageIf(d.Output == "" && (ask == nil || ask.Asks()), "no output; give -o OUT"),
		exit.UsageIf(d.Chosen.Sample < 0, "--sample %d: give a number of rows, or 0 for all", d.Chosen.Sample),
		exit.UsageIf(d.Chosen.Worst && d.Chosen.Sample == 0, "--worst goes with --sample N"),
		checkTogether(ctx, discoverTable(d.By)))
	grouping, asksAboutRows := d.Group.Grouping, d.By == discover.ByIssue || d.By == discover.ByCriteria
	if d.By == discover.ByLabels {
		return errors.Join(err, exit.UsageIf(ask != nil, "--analysis labels asks no model; leave out --judge"),
			exit.UsageIf(ctx.IsSet("grouping") && grouping != discover.Offline,
				"--analysis labels groups by labels and likeness; leave out --grouping"),
			exit.UsageIf(d.Rows.Taxonomy.IsTask(), "--analysis labels goes by error types, which %s has none of",
				d.Rows.Taxonomy.ID()))
	}
	return errors.Join(err, exit.UsageIf(ask != nil && !asksAboutRows && grouping == discover.Offline,
		"--analysis %s with --grouping %s asks no model; leave out --judge", d.By, grouping),
		exit.UsageIf(ask == nil && !asksAboutRows && grouping != discover.Offline &&
			slices.Contains(discover.Groupings(), grouping), "--grouping %s asks a model: name one with --judge; "+
			"without one there is --grouping %s", grouping, discover.Offline))
}
