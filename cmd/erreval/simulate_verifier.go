package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/simulate"
)

// verifierFlags are those of rows for a verifier.
func verifierFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "verifier", Usage: "from rows with labels, make rows with right and wrong label sets for a verifier"},
		&cli.Float64Flag{Name: "negatives", Value: 0.5, Usage: "with --verifier, `SHARE` of the rows whose label set is wrong"},
	}
}

// verifierAction makes rows for a verifier.
func verifierAction(ctx *cli.Context, e *env, o *simulateOptions) error {
	opts := simulate.VerifierOptions{Taxonomy: o.Taxonomy, Seed: ctx.Uint64("seed"), Negatives: ctx.Float64("negatives")}
	if err := opts.Validate(); err != nil {
		return exit.Usagef("--negatives: %v", err)
	}
	var rows []simulate.Judged
	faults, err := o.eachFit(ctx.Context, e, func(r *dataset.Row) error {
		labels, err := r.Labels(o.Taxonomy)
		if err != nil {
			return err
		}
		d, err := r.Diagnosis()
		if err == nil {
			rows = append(rows, simulate.Judged{Row: r, Labels: labels, Diagnosis: d})
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errors.Join(fmt.Errorf("%s: no rows", o.file), warnFaults(e, faults))
	}
	sum := &verifierSummary{Rows: len(rows), Mechanisms: map[string]int{}}
	rec := verifierRecord{By: "verifier", Map: o.Columns, Limit: o.Limit, Seed: opts.Seed, Negatives: opts.Negatives}
	err = o.write(rec, sum.counts, func(out *run.Output) error {
		n := 0
		return simulate.Verifier(rows, opts, func(r simulate.VerifierRow) error {
			if n++; r.Right {
				n = 0
			}
			sum.add(r)
			row, err := r.Record(o.Taxonomy, n)
			if err != nil {
				return err
			}
			return out.Write(row)
		})
	})
	if err != nil {
		return err
	}
	return errors.Join(sum.print(e, o.json), warnFaults(e, faults))
}

// verifierRecord is the options part of OUT.run.json.
type verifierRecord struct {
	By        string            `json:"by"`  // "verifier"
	Map       map[string]string `json:"map"` // field to column
	Limit     int               `json:"limit"`
	Seed      uint64            `json:"seed"`
	Negatives float64           `json:"negatives"`
}

// verifierSummary counts rows for a verifier.
type verifierSummary struct {
	Rows       int            `json:"rows"` // with labels
	Right      int            `json:"right"`
	Wrong      int            `json:"wrong"`
	Mechanisms map[string]int `json:"mechanisms"` // of the wrong sets
}

func (s *verifierSummary) add(r simulate.VerifierRow) {
	if r.Right {
		s.Right++
		return
	}
	s.Wrong++
	s.Mechanisms[r.Mechanism]++
}

func (s *verifierSummary) counts() map[string]int {
	out := map[string]int{"rows": s.Right + s.Wrong, "right": s.Right, "wrong": s.Wrong}
	for mechanism, n := range s.Mechanisms {
		out["mechanism."+mechanism] = n
	}
	return out
}

func (s *verifierSummary) print(e *env, asJSON bool) error {
	if asJSON {
		return writeJSON(e.Out, s)
	}
	fmt.Fprintf(e.Err, "%s with labels: %d right sets, %d wrong ones (%s)\n", words.Plural(s.Rows, "row", "rows"), s.Right, s.Wrong, words.Counts(s.Mechanisms))
	return nil
}
