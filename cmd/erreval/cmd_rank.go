package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/app/comparing"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/pairwise/verdicts"
)

const rankDescription = `Verdicts of "erreval compare":
   erreval rank compared.jsonl --anchor baseline-v1

Those of people, or of another program: a column each, whose majority counts, with A, B, both_good or both_bad, with
1, 2 or 0 (a tie), or with a system's name:
   erreval rank votes.csv --verdict winner --system-a model_a --system-b model_b --item question_id
   erreval rank pairs.jsonl --verdict annotator1,annotator2,annotator3 --system-a model1 --system-b model2

Four ratings stand side by side: Bradley-Terry (ties are half a win), Davidson (ties are an outcome), Elo as the mean
over drawn orders, Glicko-2 in one period; Borda counts over them. docs/compare.md says how each is computed.`

func rankCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "rank",
		Usage:       "rate systems by verdicts on pairs",
		ArgsUsage:   "VERDICTS...",
		Description: rankDescription,
		Flags: slices.Concat(fileFlags(), []cli.Flag{recordedTaxonomyFlag("VERDICTS"), idFlag(),
			&cli.StringFlag{Name: "verdict", Usage: "`COLUMN[,COLUMN]` with verdicts (default: those of erreval compare)"},
			typesFlag("rate"),
		}, pairColumnFlags(), ratingFlags(), []cli.Flag{overwriteFlag(), jsonFlag(), markdownFlag(), latexFlag()}),
		Action: withArgs(1, -1, "one or more files of verdicts",
			func(ctx *cli.Context) error { return runRank(ctx, e) }),
	}
}

// pairColumnFlags name the columns of pairs with verdicts.
func pairColumnFlags() []cli.Flag {
	own := comparing.OwnColumns()
	return []cli.Flag{
		&cli.StringFlag{Name: "item", Usage: "`COLUMN[,COLUMN]` that says what both texts were written for (default: " +
			verdicts.Item + ", or the taxonomy's group field)"},
		&cli.StringFlag{Name: "system-a", Value: own.SystemA, Usage: "`COLUMN` with the first system"},
		&cli.StringFlag{Name: "system-b", Value: own.SystemB, Usage: "`COLUMN` with the second system"},
	}
}

func readPairColumns(ctx *cli.Context) comparing.VerdictColumns {
	return comparing.VerdictColumns{Item: ctx.String("item"), SystemA: ctx.String("system-a"),
		SystemB: ctx.String("system-b")}
}

func runRank(ctx *cli.Context, e *env) error {
	paths := ctx.Args().Slice()
	if err := run.CheckInputs(paths); err != nil {
		return err
	}
	t, err := taxonomyOf(ctx.String("taxonomy"), paths, openTask)
	if err != nil {
		return err
	}
	form, err := readReportForm(ctx)
	if err != nil {
		return err
	}
	k := &comparing.Rank{Process: e.Process, Taxonomy: t, Inputs: paths, JSON: form.json, Markdown: form.markdown,
		LaTeX: form.latex, Columns: readPairColumns(ctx)}
	if ctx.IsSet("verdict") {
		if k.Columns.Verdicts, err = run.ReadID(ctx.String("verdict")); err != nil || k.Columns.Verdicts == nil {
			return exit.Usagef("--verdict %q: write COLUMN or COLUMN,COLUMN", ctx.String("verdict"))
		}
	}
	k.OnlyTypes = ctx.String("types") != ""
	if k.Types, err = readTypes(ctx.String("types"), t); err != nil {
		return err
	}
	if len(k.Columns.Verdicts) > 0 {
		if k.OnlyTypes {
			return exit.Usagef("--types is for verdicts of erreval compare; a column of --verdict says " +
				"which text is better overall")
		}
		k.Types = []string{verdicts.Overall}
	}
	if k.Ratings, err = readRatings(ctx); err != nil {
		return err
	}
	if k.Rows, err = openRowInput(ctx, run.WithoutFields(t)); err != nil {
		return err
	}
	return k.Run(ctx.Context)
}
