package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/erreval/erreval/internal/stats"
	"github.com/urfave/cli/v2"
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
	rowInput
	gold       string // file with gold labels; empty: the first prediction file
	preds      []string
	where      map[string]string // column → value that gold rows must have
	group      string            // field or column by which intervals resample; empty: by row
	auc        string            // boolean gold column to rank against P(no error); empty: none
	minSupport int
	resamples  int
	seed       uint64
	confusion  bool
	form       reportForm
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
	o := &metaOptions{
		gold: ctx.String("gold"), preds: ctx.Args().Slice(), group: ctx.String("group"), auc: ctx.String("auc"),
		minSupport: ctx.Int("min-support"), resamples: ctx.Int("bootstrap"), seed: ctx.Uint64("seed"),
		confusion: ctx.Bool("confusion"),
	}
	if o.rowInput, err = openRowInput(ctx, t); err != nil {
		return nil, err
	}
	if o.form, err = readReportForm(ctx); err != nil {
		return nil, err
	}
	switch o.group {
	case "":
		o.group = t.GroupField()
	case "none":
		o.group = ""
	}
	if o.where, err = parseWhere(ctx.StringSlice("where")); err != nil {
		return nil, err
	}
	return o, o.validate()
}

func (o *metaOptions) validate() error {
	switch {
	case o.minSupport < 0:
		return usagef("--min-support %d: a number of rows, 0 or more", o.minSupport)
	case o.resamples < 0:
		return usagef("--bootstrap %d: a number of resamples, 0 for no intervals", o.resamples)
	case countOf(append([]string{cmp.Or(o.gold, o.preds[0])}, o.preds...), "-") > 1:
		return usagef("standard input can be read once: only one file may be \"-\", and the gold labels need a file of their own then")
	case o.auc != "" && o.taxonomy.NoErrorIndex() < 0:
		return usagef("--auc: %s has no label that means no error", o.taxonomy.ID())
	}
	return nil
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
			return nil, usagef("--where %q: write it as COLUMN=VALUE, as in --where split=test", pair)
		}
		if _, twice := where[column]; twice {
			return nil, usagef("--where: column %q is given twice", column)
		}
		where[column] = value
	}
	return where, nil
}

// runMetaLabels reads, computes and prints. Its error is coded: exitIncomplete where rows had no prediction.
func runMetaLabels(ctx context.Context, e *env, o *metaOptions) error {
	gold, preds, err := loadMeta(ctx, e, o)
	if err != nil {
		return err
	}
	rows := gold.scored(preds)
	if len(rows) == 0 {
		return fmt.Errorf("no gold row has a prediction: %s; are the ids the same in both files?", describeCounts(gold, preds))
	}
	report, err := computeMeta(ctx, o, gold, preds, rows)
	if err != nil {
		return err
	}
	warnMeta(e, gold, preds)
	err = o.form.print(e, report)
	if err == nil && incomplete(gold, preds) {
		return withCode(exitIncomplete, nil)
	}
	return err
}

// figure is one number of the report with its interval; what is undefined is null in JSON and a dash in text.
type figure struct {
	Value  number `json:"value"`
	Low    number `json:"low"`
	High   number `json:"high"`
	Better string `json:"better"` // "higher" or "lower"
}

// number is a float64 that may be undefined (NaN): null in JSON.
type number float64

// MarshalJSON writes null for an undefined number.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.6g", float64(n)), nil
}

// metaReport is what "meta labels --json" prints; keys are stable.
type metaReport struct {
	Taxonomy   string            `json:"taxonomy"`
	Gold       string            `json:"gold"`
	Where      map[string]string `json:"where,omitempty"`
	Group      string            `json:"group,omitempty"` // empty: intervals resample rows
	Resamples  int               `json:"resamples"`
	Seed       uint64            `json:"seed"`
	Level      float64           `json:"level"` // of the intervals
	MinSupport int               `json:"min_support"`
	Verdicts   *verdictCounts    `json:"verdicts,omitempty"` // only with --auc
	Rows       goldCounts        `json:"rows"`
	Scored     int               `json:"scored"` // rows that all figures stand on
	Groups     int               `json:"groups"` // of the scored rows
	Baseline   baselineReport    `json:"baseline"`
	Preds      []predReport      `json:"predictions"`
	// Difference is second minus first prediction; only with two.
	Difference map[string]figure `json:"difference,omitempty"`

	keys []stats.Metric // the figures, in order
}

// verdictCounts says what the --auc column holds in the scored rows.
type verdictCounts struct {
	Column  string `json:"column"`
	Yes     int    `json:"yes"`
	No      int    `json:"no"`
	Unknown int    `json:"unknown"` // absent or null: left out of the area
}

// baselineReport is the constant prediction: the most frequent gold label set.
type baselineReport struct {
	Labels  []string          `json:"labels"`
	Metrics map[string]figure `json:"metrics"`
}

type predReport struct {
	File          string            `json:"file"`
	Models        []string          `json:"models"` // as the diagnoses name them
	Counts        predCounts        `json:"counts"`
	Metrics       map[string]figure `json:"metrics"`
	MinusBaseline map[string]figure `json:"minus_baseline"`
	// UnscoredAsWrong are the figures of all gold rows, those without prediction as wrong; only where there are any.
	UnscoredAsWrong map[string]number `json:"unscored_as_wrong,omitempty"`
	Labels          []labelReport     `json:"labels"`
	Confusion       []confusionReport `json:"confusion,omitempty"`
}

type labelReport struct {
	Label     string `json:"label"`
	Support   int    `json:"support"`
	Predicted int    `json:"predicted"`
	Precision number `json:"precision"`
	Recall    number `json:"recall"`
	F1        number `json:"f1"`
	AP        number `json:"average_precision"`
	ECE       number `json:"ece"`
	Brier     number `json:"brier"`
	InMacro   bool   `json:"in_macro"`
}

// confusionReport says what was predicted wrongly in rows where a gold label was missed.
type confusionReport struct {
	Label         string      `json:"label"`
	Support       int         `json:"support"`
	Hit           int         `json:"hit"`
	Missed        int         `json:"missed"`
	Instead       []labelRows `json:"instead"`         // most frequent first
	NothingWrong  int         `json:"nothing_instead"` // missed, and nothing was predicted wrongly
	SpuriousAlone int         `json:"added"`           // predicted wrongly where no gold label was missed
}

type labelRows struct {
	Label string `json:"label"`
	Rows  int    `json:"rows"`
}
