package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/scorer"
)

const metaScoresDescription = `Scores (column scores.<dimension>) against columns with people's scores; several columns of one
dimension are averaged:
   erreval meta scores --human fluency=fluency_1,fluency_2 --human clarity=clarity scored.jsonl

Two judges on the same rows, with intervals and p-values of the difference:
   erreval meta scores --human fluency=fluency offline.jsonl judge.jsonl

Did the errors help? The file of "erreval score --mode both" has both modes of the same rows: how well each agrees
with people, the difference, and the lift, which needs no human scores:
   erreval meta scores --by mode --human fluency=fluency scored.jsonl --lift-plot lift.svg
   erreval meta scores --by mode scored.jsonl

Systems by another column than "system"; a picture; figures for a program or a page:
   erreval meta scores --human fluency=fluency scored.jsonl --system model --plot scores.svg
   erreval meta scores --human fluency=fluency scored.jsonl --json
   erreval meta scores --human fluency=fluency scored.jsonl --markdown >> "$GITHUB_STEP_SUMMARY"

People's scores are read from the first file; a second one is joined by id. Unscored rows are left out
of every figure, counted, and lead to exit code 3. Intervals resample groups of rows (--group), by
default the passage. docs/scoring.md says how each figure is computed.`

// metaScoresOptions are the flags of "meta scores".
type metaScoresOptions struct {
	metaOptions
	human   []humanColumns
	system  string  // column; "" is bySystem where there is one
	low     float64 // people's score up to which a row counts as low
	high    float64 // value from which it is judged high
	byMode  bool    // the modes of one file instead of files
	plot    plotOptions
	lift    plotOptions     // of the lift
	columns map[string]bool // those of human that some row has
}

// humanColumns are where people's scores of a dimension stand.
type humanColumns struct {
	dimension string // key
	columns   []string
}

// Defaults of the overestimation rate: the ErrEval paper's, on scales from 1 to 3.
const (
	defaultLow      = 2
	defaultHigh     = 2.5
	defaultTopScore = 3
)

func metaScoresCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:        "scores",
		Usage:       "correlation, overestimation … of scores with people's, with intervals",
		ArgsUsage:   "SCORED [SCORED2]",
		Description: metaScoresDescription,
		Flags: append(rowFlags(),
			&cli.StringSliceFlag{Name: "human", Usage: "people's scores of a dimension, `DIMENSION=COLUMN[,COLUMN2]`; may be repeated"},
			&cli.StringFlag{Name: "by", Usage: "`mode`: compare the vanilla and the error-aware judgements in one file, and report the lift"},
			&cli.StringFlag{Name: "system", Usage: "`COLUMN` that names the system a row is of (default: system, where there is one)"},
			&cli.Float64Flag{Name: "low", Value: defaultLow, Usage: "a row whose human score is at most `SCORE` is low"},
			&cli.Float64Flag{Name: "high", Value: defaultHigh, Usage: "a low row is overestimated from `SCORE` on"},
			&cli.StringFlag{Name: "taxonomy", EnvVars: envName("taxonomy"), Usage: "`TAXONOMY`: a built-in name or a YAML file (default: the one in SCORED.run.json, else question-generation)"},
			&cli.StringSliceFlag{Name: "where", Usage: "only rows of the first file with this value, `COLUMN=VALUE`; may be repeated"},
			&cli.StringFlag{Name: "group", Usage: "field or column by which intervals resample, `FIELD`, or none (default: the taxonomy's group field)"},
			&cli.IntFlag{Name: "bootstrap", Value: stats.DefaultResamples, Usage: "`N` resamples for the intervals; 0: no intervals"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the resampling"},
			&cli.StringFlag{Name: "plot", Usage: "draw score against human score to `FILE`, .svg or .png"},
			&cli.StringFlag{Name: "lift-plot", Usage: "with --by mode, draw the lift of each dimension to `FILE`, .svg or .png"},
			overwriteFlag(), jsonFlag(), markdownFlag()),
		Action: func(ctx *cli.Context) error {
			o, err := metaScoresOptionsFrom(ctx)
			if err != nil {
				return err
			}
			return runMetaScores(ctx.Context, e, o)
		},
	}
}

func metaScoresOptionsFrom(ctx *cli.Context) (*metaScoresOptions, error) {
	if err := wantArgs(ctx, 1, 2, "one or two files with scores"); err != nil {
		return nil, err
	}
	o := &metaScoresOptions{system: ctx.String("system"), low: ctx.Float64("low"), high: ctx.Float64("high"), columns: map[string]bool{},
		plot: readPlotOptions(ctx, "plot"), lift: readPlotOptions(ctx, "lift-plot"), byMode: ctx.String("by") == "mode"}
	o.preds, o.group, o.resamples, o.seed = ctx.Args().Slice(), ctx.String("group"), ctx.Int("bootstrap"), ctx.Uint64("seed")
	if err := checkInputs(o.preds); err != nil {
		return nil, err
	}
	t, err := taxonomyOf(ctx.String("taxonomy"), o.preds)
	if err != nil {
		return nil, err
	}
	for _, file := range o.preds {
		if made := readRecord(file); made != nil && made.Taxonomy.ID != "" && made.Taxonomy.ID != t.ID() {
			return nil, withCode(exitUnfit, fmt.Errorf("%s was scored with the taxonomy %s, not %s; give that one with --taxonomy", file, made.Taxonomy.ID, t.ID()))
		}
	}
	if o.rowInput, err = openRowInput(ctx, t); err != nil {
		return nil, err
	}
	if o.form, err = readReportForm(ctx); err != nil {
		return nil, err
	}
	if o.where, err = parseWhere(ctx.StringSlice("where")); err != nil {
		return nil, err
	}
	if err := o.parseHuman(ctx.StringSlice("human")); err != nil {
		return nil, err
	}
	if by := ctx.String("by"); by != "" && !o.byMode {
		return nil, usagef("--by %s: there is only --by mode", by)
	}
	switch {
	case o.group == "none":
		o.group = ""
	case o.group == "":
		o.group = t.GroupField()
	}
	switch {
	case o.resamples < 0:
		return nil, usagef("--bootstrap %d: a number of resamples, 0 for no intervals", o.resamples)
	case o.byMode && len(o.preds) > 1:
		return nil, usagef("--by mode compares the modes of one file; give one")
	case !o.byMode && o.lift.file != "":
		return nil, usagef("--lift-plot draws what --by mode reports; give that as well")
	case len(o.human) == 0 && o.plot.file != "":
		return nil, usagef("--plot draws scores against people's; give --human, or --lift-plot for the lift")
	case countOf(o.preds, stdio) > 1:
		return nil, usagef(`standard input "-" can be read once`)
	case !(o.low < o.high):
		return nil, usagef("--low %v, --high %v: a low row is overestimated from a higher score on", o.low, o.high)
	}
	return o, errors.Join(o.plot.check(), o.lift.check())
}

// parseHuman reads the values of --human, in the taxonomy's order.
func (o *metaScoresOptions) parseHuman(pairs []string) error {
	of := map[string][]string{}
	for _, pair := range pairs {
		name, list, ok := strings.Cut(pair, "=")
		columns := strings.Split(list, ",")
		if !ok || slices.Contains(columns, "") {
			return usagef("--human %q: write it as DIMENSION=COLUMN[,COLUMN2], as in --human fluency=fluency_score", pair)
		}
		if of[name] != nil {
			return usagef("--human: dimension %q is given twice; write its columns as %s=COLUMN,COLUMN2", name, name)
		}
		of[name] = columns
	}
	var keys []string
	for _, d := range o.taxonomy.Dimensions {
		keys = append(keys, d.Key)
		if columns := of[d.Key]; columns != nil {
			o.human = append(o.human, humanColumns{d.Key, columns})
		}
		delete(of, d.Key)
	}
	for name := range of {
		return usagef("--human: %s has no dimension %q; its dimensions are %s", o.taxonomy.ID(), name, strings.Join(keys, ", "))
	}
	if len(o.human) == 0 && !o.byMode {
		return usagef("no people's scores; give --human DIMENSION=COLUMN; the dimensions are %s", strings.Join(keys, ", "))
	}
	return nil
}

// scoredRow is a row of the first file as far as the figures need it.
type scoredRow struct {
	group, system string
	text          [32]byte
	human         []float64 // by dimension of --human; NaN is unknown
}

// scoredFile is parallel to the rows: values by dimension and row, NaN where there is none.
type scoredFile struct {
	file    string
	mode    string // of the runs that make the values; "" takes the scores' own
	values  [][]float64
	repeats []map[[2]string][][]float64 // by dimension: judge and mode to the values of each row
	missing int                         // rows of the first file whose id, with the same text, is not here
	faults  []error
}

// name is what reports call it.
func (f *scoredFile) name() string {
	if f.mode != "" {
		return f.file + ", " + f.mode
	}
	return f.file
}

type scoredSet struct {
	rows  []scoredRow
	index map[string]int
	files []*scoredFile
	lift  *liftCount // with --by mode
	how   string     // the file's scores are put together
}

func runMetaScores(ctx context.Context, e *env, o *metaScoresOptions) error {
	set, err := loadScores(ctx, e, o)
	if err != nil {
		return err
	}
	r, err := computeScores(ctx, o, set)
	if err != nil {
		return err
	}
	var code error
	for i, f := range set.files {
		again := i > 0 && f.mode != "" // the faults of one file, twice
		if !again && warnFaults(e, f.faults) != nil || f.missing > 0 || r.incomplete() {
			code = withCode(exitIncomplete, nil)
		}
	}
	if o.plot.file != "" {
		if err := drawScores(o, set); err != nil {
			return err
		}
	}
	if o.lift.file != "" {
		if err := drawLift(&o.lift, r.Lift); err != nil {
			return err
		}
	}
	if err := o.form.print(e, r); err != nil {
		return err
	}
	return code
}

func loadScores(ctx context.Context, e *env, o *metaScoresOptions) (*scoredSet, error) {
	set := &scoredSet{index: map[string]int{}}
	seen := &goldSet{file: o.preds[0], columns: map[string][]string{}}
	rows := 0
	for i, file := range o.preds {
		files := set.open(file, o)
		faults, err := o.eachRow(ctx, e, file, func(row *dataset.Row) error {
			if i > 0 {
				return set.join(files[0], row, o)
			}
			rows++
			if !seen.matches(row, o.where) {
				return nil
			}
			return set.add(row, o)
		})
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			f.faults = faults
		}
	}
	switch {
	case len(set.rows) == 0 && rows > 0:
		return nil, seen.noMatch(o.where)
	case len(set.rows) == 0:
		return nil, fmt.Errorf("%s: there are no rows", o.preds[0])
	}
	for _, h := range o.human {
		for _, c := range h.columns {
			if !o.columns[c] {
				return nil, usagef("--human %s: no row of %s has a column %q", h.dimension, o.preds[0], c)
			}
		}
	}
	return set, nil
}

// open makes what the rows of a file go to: one, or one a mode.
func (s *scoredSet) open(file string, o *metaScoresOptions) []*scoredFile {
	modes := []string{""}
	if o.byMode {
		modes = []string{dataset.ModeVanilla, dataset.ModeErrorAware}
		s.how = cmp.Or(recordedAggregate(file), scorer.Mean)
		s.lift = newLift(o.taxonomy, s.how)
	}
	before := len(s.files)
	for _, mode := range modes {
		f := &scoredFile{file: file, mode: mode, missing: len(s.rows), values: make([][]float64, len(o.human)), repeats: make([]map[[2]string][][]float64, len(o.human))}
		for d := range o.human {
			f.repeats[d] = map[[2]string][][]float64{}
			f.values[d] = nans(len(s.rows))
		}
		s.files = append(s.files, f)
	}
	return s.files[before:]
}

// recordedAggregate is how the run that wrote file put judgements together, or "".
func recordedAggregate(file string) string {
	if made := readRecord(file); made != nil && slices.Contains(scorer.Aggregates(), made.Options.Aggregate) {
		return made.Options.Aggregate
	}
	return ""
}

func nans(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// add takes a row of the first file.
func (s *scoredSet) add(row *dataset.Row, o *metaScoresOptions) error {
	r := scoredRow{text: textHash(row.Values)}
	var err error
	if r.group, err = groupOf(row, &o.metaOptions); err != nil {
		return err
	}
	raw, ok := row.Get(cmp.Or(o.system, bySystem))
	switch {
	case ok && string(raw) != "null":
		r.system = plain(raw)
	case o.system != "":
		return usagef("--system: row %s has no column %q; the columns are %s", row.ID, o.system, strings.Join(row.Columns(), ", "))
	}
	for _, h := range o.human {
		x, err := h.read(row, o.columns)
		if err != nil {
			return err
		}
		r.human = append(r.human, x)
	}
	s.index[row.ID] = len(s.rows)
	s.rows = append(s.rows, r)
	scores, err := row.Scores()
	if err != nil {
		return err
	}
	if s.lift != nil {
		s.lift.add(r.group, scores)
	}
	for _, f := range s.files {
		for d := range f.values {
			f.values[d] = append(f.values[d], math.NaN())
		}
		f.take(len(s.rows)-1, scores, s.how, o)
	}
	return nil
}

// join takes a row of the second file.
func (s *scoredSet) join(f *scoredFile, row *dataset.Row, o *metaScoresOptions) error {
	i, ok := s.index[row.ID]
	if !ok || textHash(row.Values) != s.rows[i].text {
		return nil
	}
	f.missing--
	scores, err := row.Scores()
	if err != nil {
		return err
	}
	f.take(i, scores, s.how, o)
	return nil
}

// take reads the scores of row i.
func (f *scoredFile) take(i int, scores map[string]*dataset.Score, how string, o *metaScoresOptions) {
	for d, h := range o.human {
		s := scores[h.dimension]
		if s == nil {
			continue
		}
		if v, ok := f.value(s, how); ok {
			f.values[d][i] = v
		}
		runs := map[[2]string][]float64{}
		for _, r := range s.Runs {
			if r.Value != nil && r.Planted == "" && (f.mode == "" || r.Mode == f.mode) {
				key := [2]string{r.Judge, r.Mode}
				runs[key] = append(runs[key], *r.Value)
			}
		}
		for key, values := range runs {
			f.repeats[d][key] = append(f.repeats[d][key], values)
		}
	}
}

// value is a score's own, or what its runs of one mode make.
func (f *scoredFile) value(s *dataset.Score, how string) (float64, bool) {
	switch {
	case f.mode != "":
		return modeValue(s.Runs, f.mode, how)
	case s.Value != nil:
		return *s.Value, true
	}
	return 0, false
}

// read is the mean of the columns that have a number; NaN if none has.
func (h *humanColumns) read(row *dataset.Row, seen map[string]bool) (float64, error) {
	sum, n := 0.0, 0.0
	for _, c := range h.columns {
		raw, ok := row.Get(c)
		seen[c] = seen[c] || ok
		if text := plain(raw); ok && text != "" && text != "null" {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return 0, usagef("--human %s: row %s: column %q is %.40s, not a number", h.dimension, row.ID, c, raw)
			}
			sum, n = sum+x, n+1
		}
	}
	return sum / n, nil // 0/0 is unknown
}
