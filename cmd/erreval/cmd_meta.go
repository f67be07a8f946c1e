package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/app/comparing"
	"github.com/erreval/erreval/internal/app/discovering"
	"github.com/erreval/erreval/internal/app/scoring"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/people"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

const metaLabelsDescription = `Labels found, in the column diagnosis, against gold labels in a file with the same ids:
   erreval meta labels --gold questions_gold.jsonl tagged.jsonl

Gold labels in the tagged file itself (column "labels"):
   erreval meta labels tagged.jsonl

Two models on the same rows, with intervals of the difference:
   erreval meta labels --gold gold.jsonl small.jsonl large.jsonl

One split only; what was taken for what; P(No Error) against a teacher's verdict:
   erreval meta labels --gold gold.jsonl tagged.jsonl --where split=test --confusion --auc accepted

Intervals resample groups of rows (--group), by default the passage. The baseline predicts the
most frequent gold label set for every row. Rows without prediction (untagged, missing, changed
text) are left out of the figures, counted, and lead to exit code 3; a second set of figures
counts them as wrong. docs/evaluation.md says how each figure is computed.`

func metaCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "meta",
		Usage: "measure labels, scores, issues and verdicts against people's",
		Description: "erreval meta labels --gold questions_gold.jsonl tagged.jsonl\nerreval meta scores --human " +
			"fluency=rating scored.jsonl\nerreval meta issues --gold experts.jsonl found.jsonl\n" +
			"erreval meta pairs --human winner compared.jsonl",
		Subcommands: []*cli.Command{{
			Name:        "labels",
			Usage:       "F1, exact match, calibration … of the labels found, with intervals and a baseline",
			ArgsUsage:   "PRED [PRED2]",
			Description: metaLabelsDescription,
			Flags:       metaFlags(),
			Action:      func(ctx *cli.Context) error { return runMetaLabels(ctx, e) },
		}, metaScoresCommand(e), metaIssuesCommand(e), metaPairsCommand(e)},
	}
}

func metaFlags() []cli.Flag {
	return append(rowFlags(), recordedTaxonomyFlag("PRED"),
		&cli.StringFlag{Name: "gold", Usage: "`FILE` with gold labels, joined by id, or text (default: PRED itself)"},
		&cli.StringFlag{Name: "gold-labels", Value: dataset.ColumnLabels, Usage: "its `COLUMN` of labels"},
		whereFlag("gold rows"), goldByFlag("micro F1"), groupFlag(),
		&cli.StringFlag{Name: "auc",
			Usage: "boolean gold `COLUMN`; adds the area under the ROC curve of P(no error) against it"},
		&cli.IntFlag{Name: "min-support", Value: stats.DefaultMinSupport,
			Usage: "macro averages take labels with at least `N` gold rows"},
		bootstrapFlag(), seedFlag(),
		&cli.BoolFlag{Name: "confusion", Usage: "show what was predicted instead of each gold label"},
		&cli.IntFlag{Name: "limit", Value: report.Examples, Usage: "list at most `N` rows with other labels; 0 lists all"},
		jsonFlag(), markdownFlag(), latexFlag())
}

// goldByFlag is that of a table more, of one figure.
func goldByFlag(figure string) cli.Flag {
	return &cli.StringFlag{Name: "by", Usage: "also print rows and " + figure + " per value of `COLUMN` of the gold rows"}
}

// runMetaLabels reads, measures and prints. Its error is coded: exit.Incomplete where rows had no prediction.
func runMetaLabels(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, 2, "one or two files with predictions", openTaxonomy)
	if err != nil {
		return err
	}
	gold := cmp.Or(ctx.String("gold"), look.paths[0])
	if countOf(append([]string{gold}, look.paths...), run.Stdio) > 1 {
		return exit.Usagef("standard input can be read once: only one file may be \"-\", " +
			"and the gold labels need a file of their own then")
	}
	labels, err := evaluation.NewLabels(evaluation.LabelOptions{Taxonomy: look.Taxonomy, Where: look.where,
		Verdict: ctx.String("auc"), MinSupport: ctx.Int("min-support"), Confusion: ctx.Bool("confusion"),
		By: ctx.String("by"), Column: ctx.String("gold-labels"), Limit: cmp.Or(ctx.Int("limit"), -1),
		Intervals: readIntervals(ctx, look.Taxonomy)})
	if err != nil {
		return err
	}
	look.JoinedForm = evaluation.GoldForm
	if look.ID == nil && strings.HasSuffix(gold, dataset.MarksPath("")) {
		look.ID = []string{dataset.NoID} // a mark is of texts
	}
	may := []string{ctx.String("by"), ctx.String("auc")}
	if err := look.readGold(ctx, e, gold, []string{ctx.String("gold-labels")}, may, labels.ReadGold); err != nil {
		return err
	}
	if err := look.readAll(ctx, e, labels.ReadPredictions); err != nil {
		return err
	}
	r, err := labels.ComputeReport(ctx.Context)
	if err != nil {
		return err
	}
	return look.printRows(e, r)
}

const metaScoresDescription = `Scores (column scores.<dimension>) against columns with people's scores; several columns of one
dimension are averaged:
   erreval meta scores --human fluency=fluency_1,fluency_2 --human clarity=clarity scored.jsonl

People's scores in a file of their own, joined by id, or by the question where it has no ids:
   erreval meta scores --human-file ratings.xlsx --human fluency=Fluency scored.jsonl

Such a file may have one rating a row, in columns such as id, rater, dimension and score:
   erreval meta scores --human-file ratings.csv scored.jsonl

Two judges on the same rows, with intervals and p-values of the difference:
   erreval meta scores --human fluency=fluency offline.jsonl judge.jsonl

Did the errors help? The file of "erreval score --mode both" has both modes of the same rows: how well each agrees
with people, the difference, and the lift, which needs no human scores:
   erreval meta scores --lift --human fluency=fluency scored.jsonl --lift-plot lift.svg
   erreval meta scores --lift scored.jsonl

Systems by another column than "system"; a picture; figures for a program or a page:
   erreval meta scores --human fluency=fluency scored.jsonl --by model --plot scores.svg
   erreval meta scores --human fluency=fluency scored.jsonl --json
   erreval meta scores --human fluency=fluency scored.jsonl --markdown >> "$GITHUB_STEP_SUMMARY"

People's scores are read from the first file, or from --human-file; a second file is joined by id. Unscored rows are
left out of every figure, counted, and lead to exit code 3. Intervals resample groups of rows (--group), by
default the passage. docs/scoring.md says how each figure is computed.`

func metaScoresCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "scores",
		Usage:       "correlation, overestimation … of scores with people's, with intervals",
		ArgsUsage:   "SCORED [SCORED2]",
		Description: metaScoresDescription,
		Flags: append(rowFlags(),
			&cli.StringSliceFlag{Name: "human",
				Usage: "people's scores of a dimension, `DIMENSION=COLUMN[,COLUMN2]`; may be repeated"},
			humanFileFlag("id, or text"),
			&cli.BoolFlag{Name: "lift",
				Usage: "compare the vanilla and the error-aware judgements in one file, and report the lift"},
			&cli.StringFlag{Name: "by",
				Usage: "`COLUMN` that names the system a row is of (default: system, where there is one)"},
			&cli.Float64Flag{Name: "low", Value: evaluation.DefaultLow,
				Usage: "a row whose human score is at most `SCORE` is low"},
			&cli.Float64Flag{Name: "high", Value: evaluation.DefaultHigh,
				Usage: "a low row is overestimated from `SCORE` on"},
			recordedTaxonomyFlag("SCORED"), whereFlag("rows of the first file"),
			groupFlag(), bootstrapFlag(), seedFlag(),
			&cli.StringFlag{Name: "plot", Usage: "draw score against human score to `FILE`, .svg, .png or .pdf"},
			&cli.StringFlag{Name: "lift-plot", Usage: "with --lift, draw the lift of each dimension to `FILE`, .svg, .png, .pdf"},
			overwriteFlag(), jsonFlag(), markdownFlag(), latexFlag()),
		Action: func(ctx *cli.Context) error { return runMetaScores(ctx, e) },
	}
}

// runMetaScores reads, measures, draws and prints. Its error is coded: exit.Incomplete where rows had no value.
func runMetaScores(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, 2, "one or two files with scores", openTaxonomy)
	if err != nil {
		return err
	}
	if err := checkScoredWith(look.paths, look.Taxonomy); err != nil {
		return err
	}
	human, err := evaluation.ParseHuman(ctx.StringSlice("human"))
	if err != nil {
		return err
	}
	if human, err = look.joinRatings(ctx, e, human); err != nil {
		return err
	}
	scores, err := newScores(ctx, look, human)
	if err != nil {
		return err
	}
	plot, lift := readPlotOptions(ctx, "plot"), readPlotOptions(ctx, "lift-plot")
	if err := errors.Join(plot.CheckPath(), lift.CheckPath()); err != nil {
		return err
	}
	if err := errors.Join(look.readAll(ctx, e, scores.ReadScores), look.checkJoined(e)); err != nil {
		return err
	}
	r, err := scores.ComputeReport(ctx.Context)
	if err != nil {
		return err
	}
	return look.printRows(e, r, picture{plot, r.DrawScores}, picture{lift, r.DrawLift})
}

func newScores(ctx *cli.Context, look *lookOptions, human []evaluation.HumanScores) (*evaluation.Scores, error) {
	lift := ctx.Bool("lift")
	switch {
	case lift && len(look.paths) > 1:
		return nil, exit.Usagef("--lift compares the modes of one file; give one")
	case !lift && ctx.String("lift-plot") != "":
		return nil, exit.Usagef("--lift-plot draws what --lift reports; give that as well")
	case lift && len(human) == 0 && ctx.String("plot") != "":
		return nil, exit.Usagef("--plot draws scores against people's; give --human, or --lift-plot for the lift")
	}
	o := evaluation.ScoreOptions{Taxonomy: look.Taxonomy, Where: look.where, Human: human, System: ctx.String("by"),
		Low: ctx.Float64("low"), High: ctx.Float64("high"), ByMode: lift,
		Intervals: readIntervals(ctx, look.Taxonomy)}
	if o.ByMode {
		o.Aggregate = scoring.AggregateBy(cmp.Or(scoring.RecordedAggregate(look.paths[0]), scorer.Mean))
	}
	return evaluation.NewScores(o)
}

// checkScoredWith looks into the run records whether the files were scored with the taxonomy.
func checkScoredWith(files []string, t *taxonomy.Taxonomy) error {
	for _, file := range files {
		if made, err := runrecord.Read(file); err == nil && made.Taxonomy != nil && made.Taxonomy.ID != t.ID() {
			return exit.With(exit.Unfit, fmt.Errorf("%s was scored with the taxonomy %s, not %s; give that one with --taxonomy",
				file, made.Taxonomy.ID, t.ID()))
		}
	}
	return nil
}

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
			&cli.StringFlag{Name: "gold", Usage: "`FILE` with what people say, joined by id, or text (default: OUT itself)"},
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
	file, gold := look.paths[0], cmp.Or(ctx.String("gold"), look.paths[0])
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
	err = look.readGold(ctx, e, gold, nil,
		[]string{ctx.String("gold-sentence"), ctx.String("gold-cluster"), ctx.String("by")}, found.ReadGold)
	if err == nil {
		err = look.Read(ctx.Context, e.Process, file, found.ReadFound)
	}
	if verdicts := ctx.String("verdicts"); err == nil && verdicts != "" {
		err = look.readGold(ctx, e, verdicts, []string{ctx.String("verdict")}, nil, found.ReadVerdicts)
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

const metaPairsDescription = `A judge's verdicts on pairs (column verdicts, as "erreval compare" writes it) against people's, in a column each, or
in a row each with their names in a column such as rater:
   erreval meta pairs --human annotator1,annotator2,annotator3 compared.jsonl
   erreval meta pairs --human winner --type Factuality compared.jsonl

Without a judge, how far people agree with each other:
   erreval meta pairs --human annotator1,annotator2,annotator3 pairs.jsonl --system-a model1 --system-b model2

People write A, B, both_good or both_bad; 1, 2 or 0 for a tie; or the better system's name. Their majority counts.
docs/compare.md says how each figure is computed.`

func metaPairsCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "pairs",
		Usage:       "agreement of verdicts on pairs with people's, and of people with each other",
		ArgsUsage:   "VERDICTS",
		Description: metaPairsDescription,
		Flags: slices.Concat(fileFlags(), []cli.Flag{recordedTaxonomyFlag("VERDICTS"), idFlag(),
			&cli.StringFlag{Name: "human", Usage: "`COLUMN[,COLUMN]` with people's verdicts"},
			humanFileFlag("id, or what was asked"),
			&cli.StringFlag{Name: "type", Value: verdicts.Overall, Usage: "the judge's verdicts by this error `TYPE`"},
		}, pairColumnFlags(), []cli.Flag{bootstrapFlag(), seedFlag(), jsonFlag(), markdownFlag(), latexFlag()}),
		Action: func(ctx *cli.Context) error { return runMetaPairs(ctx, e) },
	}
}

func runMetaPairs(ctx *cli.Context, e *env) error {
	look, err := readLookOptions(ctx, 1, 1, "one file of pairs", openTask)
	if err != nil {
		return err
	}
	if ctx.String("human") == "" {
		return exit.Usagef("give --human COLUMN[,COLUMN], with people's verdicts")
	}
	k := &comparing.Rank{Process: e.Process, Taxonomy: look.Taxonomy, Columns: readPairColumns(ctx)}
	for name := range strings.SplitSeq(ctx.String("human"), ",") {
		k.Columns.Verdicts = append(k.Columns.Verdicts, strings.TrimSpace(name))
	}
	look.Taxonomy = run.WithoutFields(look.Taxonomy)
	if file := ctx.String("human-file"); file != "" {
		look.Joined, k.Columns.Verdicts, err = comparing.ReadPeoplesFile(ctx.Context, e.Process, look.Rows, file,
			k.Columns.Verdicts)
		if err != nil {
			return err
		}
	}
	k.Rows = look.Rows
	pairs, faults, err := k.ReadPeople(ctx.Context, look.paths[0], ctx.String("type"))
	if err := errors.Join(err, look.checkJoined(e)); err != nil {
		return err
	}
	o := people.Options{Intervals: report.IntervalOptions{Resamples: ctx.Int("bootstrap"),
		Seed: ctx.Uint64("seed")}, Ratings: leaderboard.DefaultOptions()}
	if err := o.Intervals.Validate(); err != nil {
		return exit.With(exit.Usage, err)
	}
	r, err := people.Compute(ctx.Context, look.paths[0], ctx.String("type"), pairs, o)
	if err != nil {
		return err
	}
	r.SetFaults(faults)
	return look.printRows(e, r)
}
