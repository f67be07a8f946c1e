package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/stats"
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

// metaOptions are the flags of "meta labels".
type metaOptions struct {
	run.Rows
	gold   string // file with gold labels; empty: the first prediction file
	preds  []string
	labels evaluation.LabelOptions
	form   reportForm
}

func metaCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "meta",
		Usage:       "measure labels against gold labels, and scores against people's",
		Description: "erreval meta labels --gold questions_gold.jsonl tagged.jsonl\nerreval meta scores --human fluency=rating scored.jsonl",
		Subcommands: []*cli.Command{{
			Name:        "labels",
			Usage:       "F1, exact match, calibration … of the labels found, with intervals and a baseline",
			ArgsUsage:   "PRED [PRED2]",
			Description: metaLabelsDescription,
			Flags:       metaFlags(),
			Action: func(ctx *cli.Context) error {
				o, err := metaOptionsFrom(ctx)
				if err != nil {
					return err
				}
				return runMetaLabels(ctx.Context, e, o)
			},
		}, metaScoresCommand(e)},
	}
}

func metaFlags() []cli.Flag {
	return append(rowFlags(),
		&cli.StringFlag{Name: "taxonomy", EnvVars: envName("taxonomy"), Usage: "`TAXONOMY`: a built-in name or a YAML file (default: the one in PRED.run.json, else question-generation)"},
		&cli.StringFlag{Name: "gold", Usage: "`FILE` whose column labels holds the gold labels (default: PRED itself)"},
		&cli.StringSliceFlag{Name: "where", Usage: "only gold rows with this value, `COLUMN=VALUE`; may be repeated"},
		&cli.StringFlag{Name: "group", Usage: "field or column by which intervals resample, `FIELD`, or none (default: the taxonomy's group field)"},
		&cli.StringFlag{Name: "auc", Usage: "boolean gold `COLUMN`; adds the area under the ROC curve of P(no error) against it"},
		&cli.IntFlag{Name: "min-support", Value: stats.DefaultMinSupport, Usage: "macro averages take labels with at least `N` gold rows"},
		&cli.IntFlag{Name: "bootstrap", Value: stats.DefaultResamples, Usage: "`N` resamples for the intervals; 0: no intervals"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the resampling"},
		&cli.BoolFlag{Name: "confusion", Usage: "show what was predicted instead of each gold label"},
		jsonFlag(), markdownFlag())
}

func metaOptionsFrom(ctx *cli.Context) (*metaOptions, error) {
	if err := wantArgs(ctx, 1, 2, "one or two files with predictions"); err != nil {
		return nil, err
	}
	t, err := taxonomyOf(ctx.String("taxonomy"), ctx.Args().Slice())
	if err != nil {
		return nil, err
	}
	o := &metaOptions{gold: ctx.String("gold"), preds: ctx.Args().Slice()}
	if o.Rows, err = openRowInput(ctx, t); err != nil {
		return nil, err
	}
	if o.form, err = readReportForm(ctx); err != nil {
		return nil, err
	}
	o.labels = evaluation.LabelOptions{Taxonomy: t, Verdict: ctx.String("auc"), MinSupport: ctx.Int("min-support"),
		Confusion: ctx.Bool("confusion"), Intervals: readIntervals(ctx, t)}
	if o.labels.Where, err = parseWhere(ctx.StringSlice("where")); err != nil {
		return nil, err
	}
	o.gold = cmp.Or(o.gold, o.preds[0])
	if countOf(append([]string{o.gold}, o.preds...), run.Stdio) > 1 {
		return nil, exit.Usagef("standard input can be read once: only one file may be \"-\", " +
			"and the gold labels need a file of their own then")
	}
	return o, nil
}

func countOf(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func parseWhere(pairs []string) (map[string]string, error) {
	where := map[string]string{}
	for _, pair := range pairs {
		column, value, ok := strings.Cut(pair, "=")
		if !ok || column == "" {
			return nil, exit.Usagef("--where %q: write it as COLUMN=VALUE, as in --where split=test", pair)
		}
		if _, twice := where[column]; twice {
			return nil, exit.Usagef("--where: column %q is given twice", column)
		}
		where[column] = value
	}
	return where, nil
}

// runMetaLabels reads, measures and prints. Its error is coded: exit.Incomplete where rows had no prediction.
func runMetaLabels(ctx context.Context, e *env, o *metaOptions) error {
	labels, err := evaluation.NewLabels(o.labels)
	if err != nil {
		return err
	}
	if err := o.Read(ctx, e.Process, o.gold, labels.ReadGold); err != nil {
		return err
	}
	for _, file := range o.preds {
		if err := o.Read(ctx, e.Process, file, labels.ReadPredictions); err != nil {
			return err
		}
	}
	r, err := labels.ComputeReport(ctx)
	if err != nil {
		return err
	}
	warnFiles(e, r.Warnings())
	if err := o.form.print(e, r); err != nil {
		return err
	}
	return incompleteIf(r.IsIncomplete())
}

// warnFiles says on stderr what the figures leave out.
func warnFiles(e *env, files []evaluation.FileWarning) {
	for _, f := range files {
		_ = warnFaults(e, f.Faults) // the report knows whether it is incomplete
		for _, note := range f.Notes {
			fmt.Fprintf(e.Err, "warning: %s\n", note)
		}
	}
}

func incompleteIf(incomplete bool) error {
	if !incomplete {
		return nil
	}
	return exit.With(exit.Incomplete, nil)
}
