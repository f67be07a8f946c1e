package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/simulate"
)

// simulateOptions are the flags and argument that every way of simulating has.
type simulateOptions struct {
	run.Rows
	file, output string
	overwrite    bool
	json         bool
}

func simulateCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "simulate",
		Usage:     "make training rows with known errors: by rules, by language models, or wrong label sets for a verifier",
		ArgsUsage: "INPUT",
		Description: `INPUT holds right human questions: passage, question, answer, and if there is one their title. The
whole file is held in memory, since wrong answers are looked for in its other rows. Rows with labels other than
the one for no error are left out. Every example carries labels (codes), the mechanism that made it and the id of its origin.

   erreval simulate questions.jsonl -o simulated.jsonl --copies 3 --mix OTA=40
   erreval simulate questions.jsonl -o facts.jsonl --mix "Factual Error=2,Vague=1" --only --total 600
   erreval simulate questions.jsonl -o each.jsonl --per-error 100 --combined 0.2

Rows for a verifier, from rows with labels (and, for near misses, the diagnosis of an identifier); for any taxonomy:
   erreval simulate labelled.jsonl -o verifier.jsonl --verifier --negatives 0.5

Errors written by a language model, for any taxonomy: the first judge writes, shown an example; a text is kept where two
judges are at least 0.8 sure of the error, else it goes to OUT.rejected.jsonl. Look at prompt and cost first:
   erreval simulate rows.jsonl --judge gpt-4o,gpt-4o-mini --show-prompt '*'
   erreval simulate rows.jsonl --judge gpt-4o,gpt-4o-mini --dry-run
   erreval simulate rows.jsonl -o written.jsonl --judge gpt-4o,gpt-4o-mini --examples seeds.jsonl --max-cost 5

docs/simulate.md lists the mechanisms.`,
		Flags: slices.Concat(rowFlags(), []cli.Flag{outFlag(), overwriteFlag(), taxonomyFlag(),
			&cli.Uint64Flag{Name: "seed", Value: simulate.DefaultOptions().Seed, Usage: "the same seed gives the same file"},
			&cli.BoolFlag{Name: "json", Usage: "print the closing summary as JSON, on standard output"}},
			[]cli.Flag{limitFlag()}, ruleFlags(), verifierFlags(), writerFlags()),
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 1, 1, "one input file"); err != nil {
				return err
			}
			if ctx.String("output") == "" && !ctx.IsSet("judge") {
				return exit.Usagef("erreval simulate needs -o OUT, the file to write")
			}
			t, err := openTaxonomy(ctx.String("taxonomy"))
			if err != nil {
				return err
			}
			o := &simulateOptions{file: ctx.Args().First(), output: ctx.String("output"), overwrite: ctx.Bool("overwrite"), json: ctx.Bool("json")}
			if o.Rows, err = openRowInput(ctx, t); err != nil {
				return err
			}
			if o.Limit = ctx.Int("limit"); o.Limit < 0 {
				return exit.Usagef("--limit %d: give a number of rows, or 0 for all", o.Limit)
			}
			return o.action(ctx, e)
		},
	}
}

// action chooses who makes the rows, and refuses the flags of others.
func (o *simulateOptions) action(ctx *cli.Context, e *env) error {
	if ctx.Bool("verifier") {
		if err := onlyWith(ctx, e, slices.Concat(ruleFlags(), writerFlags()), "--%s plants errors; it does not go with --verifier"); err != nil {
			return err
		}
		return verifierAction(ctx, e, o)
	}
	if err := onlyWith(ctx, e, verifierFlags(), "--%s goes with --verifier"); err != nil {
		return err
	}
	if ctx.IsSet("judge") {
		return writerAction(ctx, e, o)
	}
	if err := onlyWith(ctx, e, writerFlags(), "--%s is for language models that write; name them with --judge"); err != nil {
		return err
	}
	return rulesAction(ctx, e, o)
}

// ruleFlags are those of the rules; a language model takes all but the last two.
func ruleFlags() []cli.Flag {
	def := simulate.DefaultOptions()
	return []cli.Flag{
		&cli.IntFlag{Name: "copies", Value: def.Copies, Usage: "examples tried per row"},
		&cli.StringSliceFlag{Name: "mix", Usage: "relative weight of a label, by name or code, as `LABEL=WEIGHT,…`; may be repeated (default " + mixString(def.Mix) + ")"},
		&cli.BoolFlag{Name: "only", Usage: "make no label but those that --mix names"},
		&cli.IntFlag{Name: "total", Usage: "make `N` examples in all, each label by its share of the mix, instead of --copies a row"},
		&cli.IntFlag{Name: "per-error", Usage: "make `N` examples of each error type with a weight in the mix, instead of --copies a row"},
		&cli.Float64Flag{Name: "combined", Value: def.Combined, Usage: "give this `SHARE` of the erroneous examples a second error"},
		&cli.IntFlag{Name: "rules", Value: def.Rules, Usage: "set of rules: `1` is what the default model's version 3 was trained on (without combined errors), 2 has more mechanisms"},
	}
}

func rulesAction(ctx *cli.Context, e *env, o *simulateOptions) error {
	bound, err := simulate.Bind(o.Taxonomy)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	r := &ruleRun{o: o, bound: bound}
	if r.Options, err = readRules(ctx, bound); err != nil {
		return exit.Usagef("%v", err)
	}
	if len(bound.Without) > 0 {
		fmt.Fprintf(e.Err, "no rules for %s: a language model can write them, with --judge\n", strings.Join(bound.Without, ", "))
	}
	return r.run(ctx.Context, e)
}

// readRules reads the options of the rules.
func readRules(ctx *cli.Context, bound *simulate.Binding) (simulate.Options, error) {
	o := simulate.DefaultOptions()
	o.Seed, o.Copies, o.Total, o.PerError = ctx.Uint64("seed"), ctx.Int("copies"), ctx.Int("total"), ctx.Int("per-error")
	if o.Rules, o.Combined = ctx.Int("rules"), ctx.Float64("combined"); o.Rules == 1 && !ctx.IsSet("combined") {
		o.Combined = 0
	}
	if ctx.Bool("only") {
		if clear(o.Mix); !ctx.IsSet("mix") {
			return o, errors.New("--only: name the labels with --mix")
		}
	}
	for code := range o.Mix {
		if !slices.Contains(bound.Codes, code) {
			delete(o.Mix, code)
		}
	}
	mix, err := parseMix(ctx.StringSlice("mix"), func(label string) (string, bool) { return bound.Code(label) }, bound.Names())
	for code, w := range mix {
		o.Mix[code] = w
	}
	return o, errors.Join(err, o.Validate())
}

func mixString(mix map[string]float64) string {
	var parts []string
	for _, code := range simulate.Codes() {
		parts = append(parts, fmt.Sprintf("%s=%g", code, mix[code]))
	}
	return strings.Join(parts, " ")
}

// parseMix reads the values of --mix; code finds what a label is called within.
func parseMix(values []string, code func(string) (string, bool), known []string) (map[string]float64, error) {
	mix := map[string]float64{}
	for _, value := range values {
		for s := range strings.SplitSeq(value, ",") {
			label, weight, ok := strings.Cut(strings.TrimSpace(s), "=")
			w, err := strconv.ParseFloat(weight, 64)
			if !ok || err != nil {
				return nil, fmt.Errorf("--mix %q: give CODE=WEIGHT, such as OTA=30", s)
			}
			c, ok := code(label)
			if !ok {
				return nil, fmt.Errorf("mix names %q: choose among %s", label, strings.Join(known, ", "))
			}
			mix[c] = w
		}
	}
	return mix, nil
}

// ruleRun makes examples by rules.
type ruleRun struct {
	simulate.Options
	o     *simulateOptions
	bound *simulate.Binding
}

func (r *ruleRun) run(ctx context.Context, e *env) error {
	rows, leftOut, faults, err := readRightRows(ctx, e, r.o, r.bound)
	if err != nil {
		return err
	}
	sum := &simulateSummary{Rows: len(rows), LeftOut: leftOut, taxonomy: r.o.Taxonomy, Labels: map[string]int{}, Mechanisms: map[string]int{}}
	err = r.o.write(r.record(), sum.counts, func(out *run.Output) error {
		return simulate.Generate(rows, r.Options, func(ex simulate.Example) error {
			ex.Labels = r.bound.Labels(ex.Labels)
			sum.add(ex.Labels, ex.Mechanism)
			row, err := dataset.RowOf(ex)
			return errors.Join(err, out.Write(row))
		})
	})
	if err != nil {
		return err
	}
	return errors.Join(sum.print(e, r.o.json), warnFaults(e, faults))
}

// rulesRecord is the options part of OUT.run.json. Counts that do not take effect are 0.
type rulesRecord struct {
	By       string             `json:"by"`  // "rules"
	Map      map[string]string  `json:"map"` // field to column
	Limit    int                `json:"limit"`
	Seed     uint64             `json:"seed"`
	Weights  map[string]float64 `json:"mix"` // by label
	Copies   int                `json:"copies"`
	PerError int                `json:"per_error"`
	Total    int                `json:"total"`
	Combined float64            `json:"combined"`
	Rules    int                `json:"rules"`
}

func (r *ruleRun) record() rulesRecord {
	rec := rulesRecord{By: "rules", Map: r.o.Columns, Limit: r.o.Limit, Seed: r.Seed, Weights: map[string]float64{}, Copies: r.Copies,
		PerError: r.PerError, Total: r.Total, Combined: r.Combined, Rules: r.Rules}
	if r.PerError+r.Total > 0 {
		rec.Copies = 0
	}
	for code, w := range r.Mix {
		for _, label := range r.bound.Labels([]string{code}) {
			i, _ := r.o.Taxonomy.Index(label)
			rec.Weights[r.o.Taxonomy.Types[i].Name] = w
		}
	}
	return rec
}

// write makes the output and its record; nothing of them is left where fill fails.
func (o *simulateOptions) write(options any, counts func() map[string]int, fill func(*run.Output) error) error {
	rec, err := o.record(options)
	if err != nil {
		return err
	}
	out, err := run.Create(o.output, o.overwrite, rec, o.file)
	if err != nil {
		return err
	}
	out.Format, out.Options = o.Files.Format(o.output), o.Files.SinkOptions(nil)
	if err := fill(out); err != nil {
		return errors.Join(err, out.Discard())
	}
	rec.Counts = counts()
	return out.Commit()
}

// record begins the record of a run that reads INPUT, and other files.
func (o *simulateOptions) record(options any, others ...string) (*runrecord.Record, error) {
	rec := runrecord.New("simulate", options)
	rec.Taxonomy = &runrecord.Artefact{ID: o.Taxonomy.ID(), SHA256: o.Taxonomy.Hash()}
	for _, file := range append([]string{o.file}, others...) {
		in := runrecord.Input{File: run.Stdio, Size: -1} // nothing is left of it to hash
		if file != run.Stdio {
			var err error
			if in, err = runrecord.HashFile(file); err != nil {
				return nil, err
			}
		}
		rec.Inputs = append(rec.Inputs, in)
	}
	return rec, nil
}

// simulateSummary counts what was made.
type simulateSummary struct {
	Rows       int            `json:"rows"`     // that examples were made of
	LeftOut    int            `json:"left_out"` // rows with errors
	Examples   int            `json:"examples"`
	Combined   int            `json:"combined"`   // with several mechanisms
	Labels     map[string]int `json:"labels"`     // examples that have it
	Mechanisms map[string]int `json:"mechanisms"` // examples that it made, "a+b" where two did

	taxonomy *taxonomy.Taxonomy
}

func (s *simulateSummary) add(labels []string, mechanism string) {
	s.Examples++
	s.Mechanisms[mechanism]++
	if strings.Contains(mechanism, "+") {
		s.Combined++
	}
	for _, l := range labels {
		s.Labels[l]++
	}
}

func (s *simulateSummary) counts() map[string]int {
	out := map[string]int{"rows": s.Examples, "combined": s.Combined, "left_out": s.LeftOut}
	for label, n := range s.Labels {
		out["label."+label] = n
	}
	return out
}

func (s *simulateSummary) print(e *env, asJSON bool) error {
	if asJSON {
		return writeJSON(e.Out, s)
	}
	fmt.Fprintf(e.Err, "%d examples of %d rows:", s.Examples, s.Rows)
	if s.Combined > 0 {
		fmt.Fprintf(e.Err, " %d with a second error;", s.Combined)
	}
	for _, y := range s.taxonomy.Types {
		if n := s.Labels[y.Code]; n > 0 {
			fmt.Fprintf(e.Err, " %s %.1f%%", y.Code, 100*float64(n)/float64(s.Examples))
		}
	}
	fmt.Fprintln(e.Err)
	if s.LeftOut > 0 {
		fmt.Fprintf(e.Err, "%s with errors left out\n", words.Plural(s.LeftOut, "row", "rows"))
	}
	return s.mechanisms(e.Err)
}

// mechanisms prints how often each mechanism had a part.
func (s *simulateSummary) mechanisms(w io.Writer) error {
	parts := map[string]int{}
	for m, n := range s.Mechanisms {
		for part := range strings.SplitSeq(m, "+") {
			parts[part] += n
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, code := range simulate.Codes() {
		var texts []string
		for _, name := range simulate.Mechanisms(code) {
			if n := parts[name]; n > 0 {
				texts = append(texts, fmt.Sprintf("%s %d", name, n))
			}
		}
		if len(texts) > 0 {
			fmt.Fprintf(t, "%s\t%s\n", code, strings.Join(texts, ", "))
		}
	}
	return t.Flush()
}

// readRightRows reads all rows; one with an empty passage, question or answer cannot teach and is an error.
func readRightRows(ctx context.Context, e *env, o *simulateOptions, bound *simulate.Binding) (rows []simulate.Row, leftOut int, faults []error, err error) {
	faults, err = o.eachFit(ctx, e, func(r *dataset.Row) error {
		right, err := isRight(r, o.Taxonomy)
		switch i := slices.IndexFunc(r.Values, blank); {
		case err != nil:
			return err
		case !right:
			leftOut++
		case i >= 0:
			return fmt.Errorf("row %s: the %s is empty", r.ID, o.Taxonomy.Fields[i].Name)
		default:
			rows = append(rows, bound.Row(r, textOf(r, "title"), textOf(r, "source")))
		}
		return nil
	})
	if err == nil && len(rows) == 0 && len(faults) > 0 {
		err = fmt.Errorf("%s: no row could be read; the first fault: %w", o.file, faults[0])
	}
	if err == nil && len(rows) == 0 && leftOut > 0 {
		err = fmt.Errorf("%s: every row has labels of errors; examples are made of right rows", o.file)
	}
	return rows, leftOut, faults, err
}

// eachFit calls f for every row of the input. A row that f refuses is among the faults: it is no reason to make nothing of the others.
func (o *simulateOptions) eachFit(ctx context.Context, e *env, f func(*dataset.Row) error) ([]error, error) {
	var unfit []error
	faults, err := o.Each(ctx, e.Process, o.file, func(r *dataset.Row) error {
		if err := f(r); err != nil {
			unfit = append(unfit, &dataset.LineError{File: r.Source, Line: r.Line, Err: err})
		}
		return nil
	})
	return append(faults, unfit...), err
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// isRight tells whether a row has no labels, or no errors among them.
func isRight(r *dataset.Row, t *taxonomy.Taxonomy) (bool, error) {
	raw, ok := r.Get(dataset.ColumnLabels)
	if !ok || string(raw) == "null" || string(raw) == `""` || string(raw) == "[]" {
		return true, nil
	}
	labels, err := r.Labels(t)
	if err != nil {
		return false, err
	}
	no := t.NoErrorIndex()
	return len(labels) == 0 || no >= 0 && labels[0] == t.Types[no].Name, nil
}

// textOf is a column's text, or nothing where it is absent or none.
func textOf(r *dataset.Row, column string) (s string) {
	raw, _ := r.Get(column)
	_ = json.Unmarshal(raw, &s)
	return s
}
