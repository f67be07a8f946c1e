package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/simulate"
)

// simulateOptions are the command's flags and argument.
type simulateOptions struct {
	rowInput
	simulate.Options
	file, output string
	overwrite    bool
}

func simulateCommand(e *env) *cli.Command {
	def := simulate.DefaultOptions()
	return &cli.Command{
		Name:      "simulate",
		Usage:     "plant errors into right rows, as training material (rule-based, seeded)",
		ArgsUsage: "INPUT",
		Description: `INPUT holds right human questions: passage, question, answer, and if there is one their title. The
whole file is held in memory, since wrong answers are looked for in its other rows. Every example
carries labels (codes), the mechanism that made it and the id of its origin.

   erreval simulate questions.jsonl -o simulated.jsonl --copies 3 --mix OTA=40`,
		Flags: append(rowFlags(), outFlag(), overwriteFlag(),
			&cli.Uint64Flag{Name: "seed", Value: def.Seed, Usage: "the same seed gives the same file"},
			&cli.IntFlag{Name: "copies", Value: def.Copies, Usage: "examples tried per row"},
			&cli.StringSliceFlag{Name: "mix", Usage: "relative weight of a label as `CODE=WEIGHT`; repeat it (default " + mixString(def.Mix) + ")"}),
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 1, 1, "one input file"); err != nil {
				return err
			}
			if ctx.String("output") == "" {
				return usagef("erreval simulate needs -o OUT, the file to write")
			}
			o := &simulateOptions{Options: simulate.Options{Seed: ctx.Uint64("seed"), Copies: ctx.Int("copies"), Mix: def.Mix},
				file: ctx.Args().First(), output: ctx.String("output"), overwrite: ctx.Bool("overwrite")}
			if err := addMix(o.Mix, ctx.StringSlice("mix")); err != nil {
				return usagef("%v", err)
			}
			if err := o.Validate(); err != nil {
				return usagef("%v", err)
			}
			t, err := openTaxonomy("question-generation") // the rules know its errors only
			if err != nil {
				return err
			}
			if o.rowInput, err = openRowInput(ctx, t); err != nil {
				return err
			}
			return runSimulate(ctx.Context, e, o)
		},
	}
}

func mixString(mix map[string]float64) string {
	var parts []string
	for _, code := range simulate.Codes() {
		parts = append(parts, fmt.Sprintf("%s=%g", code, mix[code]))
	}
	return strings.Join(parts, " ")
}

func addMix(mix map[string]float64, settings []string) error {
	for _, s := range settings {
		code, weight, ok := strings.Cut(s, "=")
		w, err := strconv.ParseFloat(weight, 64)
		if !ok || err != nil {
			return fmt.Errorf("--mix %q: give CODE=WEIGHT, such as OTA=30", s)
		}
		mix[code] = w
	}
	return nil
}

func runSimulate(ctx context.Context, e *env, o *simulateOptions) error {
	rows, faults, err := readRightRows(ctx, e, o)
	if err != nil {
		return err
	}
	out, err := dataset.Create(o.output, o.overwrite, o.file)
	if err != nil {
		return err
	}
	out.Format, out.Options = o.files.format(o.output), o.files.sinkOptions(nil)
	counts := map[string]int{}
	err = simulate.Generate(rows, o.Options, func(ex simulate.Example) error {
		for _, l := range ex.Labels {
			counts[l]++
		}
		row, err := dataset.RowOf(ex)
		return errors.Join(err, out.Write(row))
	})
	if err != nil {
		return errors.Join(err, out.Abort(), removeIfThere(dataset.PartialPath(o.output)))
	}
	if err := out.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "%d examples of %d rows:", out.Rows(), len(rows))
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(e.err, " %s %.1f%%", code, 100*float64(counts[code])/float64(max(out.Rows(), 1)))
	}
	fmt.Fprintln(e.err)
	return warnFaults(e, faults)
}

// readRightRows reads all rows; one with an empty passage, question or answer cannot teach and is an error.
func readRightRows(ctx context.Context, e *env, o *simulateOptions) (rows []simulate.Row, faults []error, err error) {
	fields := o.taxonomy.FieldNames()
	faults, err = o.eachRow(ctx, e, o.file, func(r *dataset.Row) error {
		if i := slices.Index(r.Values, ""); i >= 0 {
			return fmt.Errorf("row %s: the %s is empty", r.ID, fields[i])
		}
		value := func(field string) string { return r.Values[slices.Index(fields, field)] }
		rows = append(rows, simulate.Row{ID: r.ID, Title: textOf(r, "title"), Passage: value("passage"),
			Question: value("question"), Answer: value("answer"), Source: textOf(r, "source")})
		return nil
	})
	if err == nil && len(rows) == 0 && len(faults) > 0 {
		err = fmt.Errorf("%s: no row could be read; the first fault: %w", o.file, faults[0])
	}
	return rows, faults, err
}

// textOf is a column's text, or nothing where it is absent or none.
func textOf(r *dataset.Row, column string) (s string) {
	raw, _ := r.Get(column)
	_ = json.Unmarshal(raw, &s)
	return s
}
