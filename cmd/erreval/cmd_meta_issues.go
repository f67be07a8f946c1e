package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/discovering"
	"github.com/erreval/erreval/internal/exit"
)

const metaIssuesDescription = `Issues that were discovered against rows in which people say what is wrong, in a sentence, and into which
group it belongs; in rows that are right both are empty:
   erreval meta issues --gold experts.jsonl found.jsonl
   erreval meta issues --gold experts.csv --gold-sentence comment --gold-cluster kind found.jsonl --json

Is it the same fault, row by row? By people's verdicts (yes or no), or by a language model; by both, to see how far
the model can be trusted:
   erreval meta issues --gold experts.jsonl found.jsonl --verdicts compared.jsonl --verdict same
   erreval meta issues --gold experts.jsonl found.jsonl --judge gpt-4o-mini --max-cost 1

Rows are joined by id. A row that is unassigned, or missing, counts as a group of its own: it lowers the figures.
Intervals resample groups of rows (--group). docs/evaluation.md says how each figure is computed.`

// metaIssuesJudge are the judge's flags of meta issues, where --seed is that of the resampling.
var metaIssuesJudge = judgeFlags{without: []string{"repeats", "seed", "lines"}, instead: "ask no model",
	missing: discoverJudge.missing}

func metaIssuesCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "issues",
		Usage:       "agreement of discovered issues with people's sentences and groups",
		ArgsUsage:   "OUT",
		Description: metaIssuesDescription,
		Flags: slices.Concat(rowFlags(), []cli.Flag{
			&cli.StringFlag{Name: "gold", Usage: "`FILE` with what people say, joined by id; its rows need no texts (default: OUT itself)"},
			&cli.StringFlag{Name: "gold-sentence", Value: "issue", Usage: "its `COLUMN` that says what is wrong"},
			&cli.StringFlag{Name: "gold-cluster", Value: "cluster", Usage: "its `COLUMN` that names the group of the fault"},
			&cli.StringFlag{Name: "verdicts", Usage: "`FILE` in which people say whether a row's analysis describes the " +
				"fault of the gold sentence"},
			&cli.StringFlag{Name: "verdict", Value: "same", Usage: "its `COLUMN` with yes or no"},
			recordedTaxonomyFlag("OUT"), goldByFlag("adjusted Rand index"), groupFlag(), bootstrapFlag(), seedFlag(),
			jsonFlag(), markdownFlag(), latexFlag()},
			metaIssuesJudge.flags()),
		Action: func(ctx *cli.Context) error { return runMetaIssues(ctx, e) },
	}
}

// runMetaIssues reads, asks, measures and prints.
func runMetaIssues(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, 1, "one file that erreval discover wrote", openTask)
	if err != nil {
		return err
	}
	file, gold := look.paths[0], ctx.String("gold")
	if gold == "" {
		gold = file
	}
	list, err := issues.Read(issues.Path(file))
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	found, err := evaluation.NewIssues(evaluation.IssueOptions{Taxonomy: look.Taxonomy, List: list,
		Sentence: ctx.String("gold-sentence"), Cluster: ctx.String("gold-cluster"), Verdict: ctx.String("verdict"),
		By: ctx.String("by"), Intervals: readIntervals(ctx, look.Taxonomy)})
	if err != nil {
		return err
	}
	err = look.readLabels(ctx, e, gold, found.ReadGold)
	if err == nil {
		err = look.Read(ctx.Context, e.Process, file, found.ReadFound)
	}
	if verdicts := ctx.String("verdicts"); err == nil && verdicts != "" {
		err = look.readLabels(ctx, e, verdicts, found.ReadVerdicts)
	}
	if err != nil {
		return err
	}
	if asked, err := askAboutIssues(ctx, e, look, found); err != nil || !asked {
		return err
	}
	r, err := found.ComputeReport(ctx.Context)
	if err != nil {
		return err
	}
	return look.printRows(e, r)
}

// askAboutIssues asks a model, if one is named; false where there is nothing to print behind it.
func askAboutIssues(ctx *cli.Context, e *env, look *lookOptions, found *evaluation.Issues) (bool, error) {
	ask, err := metaIssuesJudge.read(ctx, e)
	if ask == nil || err != nil {
		return err == nil, err
	}
	return discovering.CompareIssues(ctx.Context, e.Process, look.Taxonomy, found, ask, look.paths[0]+".meta",
		ctx.Bool("json"))
}
