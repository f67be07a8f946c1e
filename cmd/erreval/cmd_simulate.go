package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/training/simulate"
)

func simulateCommand(e *env) *cli.Command {
	def := simulate.DefaultOptions()
	return &cli.Command{
		Name:      "simulate",
		Usage:     "plant errors into right rows, as training material (rule-based, seeded)",
		ArgsUsage: "INPUT",
		Description: `INPUT is JSON Lines with id, title, passage, question and answer of right human questions; the
whole file is held in memory, since wrong answers are looked for in its other rows. Every example
carries labels (codes), the mechanism that made it and the id of its origin.

   erreval simulate questions.jsonl -o simulated.jsonl --copies 3 --mix OTA=40`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "file to write"},
			&cli.Uint64Flag{Name: "seed", Value: def.Seed, Usage: "the same seed gives the same file"},
			&cli.IntFlag{Name: "copies", Value: def.Copies, Usage: "examples tried per row"},
			&cli.StringSliceFlag{Name: "mix", Usage: "relative weight of a label as `CODE=WEIGHT`; repeat it (default " + mixString(def.Mix) + ")"},
			&cli.BoolFlag{Name: "overwrite", Usage: "replace an existing output"},
		},
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 1, 1, "one input file"); err != nil {
				return err
			}
			if ctx.String("output") == "" {
				return usagef("erreval simulate needs -o OUT, the file to write")
			}
			o := simulate.Options{Seed: ctx.Uint64("seed"), Copies: ctx.Int("copies"), Mix: def.Mix}
			if err := addMix(o.Mix, ctx.StringSlice("mix")); err != nil {
				return usagef("%v", err)
			}
			if err := o.Validate(); err != nil {
				return usagef("%v", err)
			}
			return runSimulate(e, ctx.Args().First(), ctx.String("output"), ctx.Bool("overwrite"), o)
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

func runSimulate(e *env, input, output string, overwrite bool, o simulate.Options) (err error) {
	rows, err := readRightRows(input)
	if err != nil {
		return err
	}
	if _, err := os.Stat(output); err == nil && !overwrite {
		return fmt.Errorf("%s exists: choose another -o or add --overwrite", output)
	}
	f, err := os.Create(output + ".partial")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	counts, n := map[string]int{}, 0
	err = simulate.Generate(rows, o, func(ex simulate.Example) error {
		n++
		for _, l := range ex.Labels {
			counts[l]++
		}
		return enc.Encode(ex)
	})
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), output); err != nil {
		return err
	}
	fmt.Fprintf(e.err, "%d examples of %d rows:", n, len(rows))
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(e.err, " %s %.1f%%", code, 100*float64(counts[code])/float64(max(n, 1)))
	}
	fmt.Fprintln(e.err)
	return nil
}

// readRightRows reads all rows; a row without passage, question or answer cannot teach and is an error.
func readRightRows(path string) ([]simulate.Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReader(f))
	var rows []simulate.Row
	for {
		var r simulate.Row
		if err := dec.Decode(&r); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", path, len(rows)+1, err)
		}
		if r.ID == "" || r.Passage == "" || r.Question == "" || r.Answer == "" {
			return nil, fmt.Errorf("%s, row %d (id %q): id, passage, question and answer must all be there", path, len(rows)+1, r.ID)
		}
		rows = append(rows, r)
	}
}
