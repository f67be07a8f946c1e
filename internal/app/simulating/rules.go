// Package simulating makes training rows of the rows of a file, by rules or by language models.
package simulating

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/training/simulate"
)

// Simulate makes training rows of the rows of a file.
type Simulate struct {
	Process   *run.Process
	Rows      run.Rows // how Input is read
	Input     string   // file of rows, or run.Stdio
	Output    string
	Overwrite bool
	JSON      bool // prints the summary as JSON, on standard output
}

// MixOptions say which errors are made.
type MixOptions struct {
	Weights []string // "LABEL=WEIGHT,…", in place of the default weights
	Only    bool     // makes no errors but those of Weights
}

func (m *MixOptions) validate() error {
	if m.Only && len(m.Weights) == 0 {
		return exit.Usagef("--only: name the labels with --mix")
	}
	return nil
}

// rulesRecord is the options part of OUT.run.json. Counts that do not take effect are 0.
type rulesRecord struct {
	By string `json:"by"` // "rules" or "edits"
	runrecord.Reading
	Seed     uint64             `json:"seed"`
	Weights  map[string]float64 `json:"mix"` // by label
	Copies   int                `json:"copies"`
	PerError int                `json:"per_error"`
	Total    int                `json:"total"`
	Combined float64            `json:"combined"`
	Rules    int                `json:"rules"`
}

// ByRules plants errors into right rows, by the edits that the taxonomy names or else by the rules for questions; mix
// sets o.Mix.
func (s *Simulate) ByRules(ctx context.Context, o simulate.Options, mix MixOptions) error {
	if err := mix.validate(); err != nil {
		return err
	}
	if len(simulate.EditMix(s.Rows.Taxonomy)) > 0 {
		return s.byEdits(ctx, o, mix)
	}
	bound, err := simulate.Bind(s.Rows.Taxonomy)
	if err != nil {
		return exit.With(exit.Unfit, err)
	}
	o.Mix, err = bound.Mix(mix.Weights, mix.Only)
	if err = errors.Join(err, o.Validate()); err != nil {
		return exit.With(exit.Usage, err)
	}
	s.sayWithout("rules", bound.Without)
	rec := rulesRecord{By: "rules", Weights: bound.Weights(o.Mix), Rules: o.Rules}
	return plant(ctx, s, o, rec, bound.Read, func(rows []simulate.Row, sum *simulate.Summary, write writeRow) error {
		return simulate.Generate(rows, o, func(ex simulate.Example) error {
			ex.Labels = bound.Labels(ex.Labels)
			sum.Add(ex.Labels, ex.Mechanism)
			return write(dataset.RowOf(ex))
		})
	})
}

// sayWithout names the types that get no example.
func (s *Simulate) sayWithout(what string, types []string) {
	if len(types) > 0 && !s.Process.Quiet {
		fmt.Fprintf(s.Process.Err, "no %s for %s: a language model can write them, with --judge\n", what,
			strings.Join(types, ", "))
	}
}

// byEdits is ByRules for a taxonomy that names edits.
func (s *Simulate) byEdits(ctx context.Context, o simulate.Options, mix MixOptions) (err error) {
	t := s.Rows.Taxonomy
	o.Mix, err = simulate.MixOf(t, mix.Weights, mix.Only)
	if err = errors.Join(err, o.ValidateFor(t)); err != nil {
		return exit.With(exit.Usage, err)
	}
	var without []string
	for _, y := range t.Types {
		if y.Simulate == nil && !y.NoError {
			without = append(without, y.Name)
		}
	}
	s.sayWithout("edits", without)
	read := func(r *dataset.Row) (*dataset.Row, bool, error) {
		right, err := simulate.IsRight(r, t)
		return r, right, err
	}
	rec := rulesRecord{By: "edits", Weights: o.Mix}
	return plant(ctx, s, o, rec, read, func(rows []*dataset.Row, sum *simulate.Summary, write writeRow) error {
		return simulate.Edits(rows, t, o, func(ex *simulate.Edited) error {
			sum.Add(ex.Labels, ex.Mechanism)
			return write(ex.Row(t))
		})
	})
}

// plant reads the right rows, has examples made of them, and sums up.
func plant[T any](ctx context.Context, s *Simulate, o simulate.Options, rec rulesRecord,
	read func(*dataset.Row) (T, bool, error), fill func([]T, *simulate.Summary, writeRow) error) error {
	sum := simulate.NewSummary(s.Rows.Taxonomy)
	rows, faults, err := readRight(ctx, s, sum, read)
	if err != nil {
		return err
	}
	rec.Reading, rec.Seed, rec.Combined = s.Rows.Reading, o.Seed, o.Combined
	rec.PerError, rec.Total = o.PerError, o.Total
	if o.PerError+o.Total == 0 {
		rec.Copies = o.Copies
	}
	return s.writeOutput(rec, sum, faults, func(write writeRow) error { return fill(rows, sum, write) })
}

// readRight reads the right rows; it counts them and the others in sum.
func readRight[T any](ctx context.Context, s *Simulate, sum *simulate.Summary,
	read func(*dataset.Row) (T, bool, error)) (rows []T, faults []error, err error) {
	faults, err = s.Rows.EachFit(ctx, s.Process, s.Input, func(r *dataset.Row) error {
		row, right, err := read(r)
		if err == nil && right {
			rows = append(rows, row)
		} else if err == nil {
			sum.LeftOut++
		}
		return err
	})
	switch sum.Rows = len(rows); {
	case err != nil || len(rows) > 0:
	case len(faults) > 0:
		err = fmt.Errorf("%s: no row could be read; the first fault: %w", s.Input, faults[0])
	case sum.LeftOut > 0:
		err = fmt.Errorf("%s: every row has labels of errors; examples are made of right rows", s.Input)
	}
	return rows, faults, err
}

// verifierRecord is the options part of OUT.run.json.
type verifierRecord struct {
	By string `json:"by"` // "verifier"
	runrecord.Reading
	Seed      uint64  `json:"seed"`
	Negatives float64 `json:"negatives"`
}

// ForVerifier writes labelled rows with right and with wrong label sets.
func (s *Simulate) ForVerifier(ctx context.Context, o simulate.VerifierOptions) error {
	t := s.Rows.Taxonomy
	o.Taxonomy = t
	if err := o.Validate(); err != nil {
		return exit.Usagef("--negatives: %w", err)
	}
	var rows []simulate.Judged
	faults, err := s.Rows.EachFit(ctx, s.Process, s.Input, func(r *dataset.Row) error {
		row, err := simulate.ReadJudged(r, t)
		if err == nil {
			rows = append(rows, row)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errors.Join(fmt.Errorf("%s: no rows", s.Input), s.Process.WarnFaults(faults))
	}
	sum := &simulate.VerifierSummary{Rows: len(rows), Mechanisms: map[string]int{}}
	rec := verifierRecord{By: "verifier", Reading: s.Rows.Reading, Seed: o.Seed, Negatives: o.Negatives}
	return s.writeOutput(rec, sum, faults, func(write writeRow) error {
		return simulate.Verifier(rows, o, func(r simulate.VerifierRow) error {
			sum.Add(&r)
			return write(r.Record(t, r.Nth))
		})
	})
}

// summary is what was made, counted.
type summary interface {
	Counts() map[string]int
	Text(io.Writer) error
}

// writeRow writes a row that was made, unless the error says that it could not be.
type writeRow func(*dataset.Row, error) error

// writeOutput makes the output and its record, of which nothing is left where fill fails, and sums up. faults are the
// lines of the input that are no rows.
func (s *Simulate) writeOutput(options any, sum summary, faults []error, fill func(writeRow) error) error {
	rec, err := s.Rows.NewRecord("simulate", options, s.Input)
	if err != nil {
		return err
	}
	out, err := s.Rows.Create(s.Output, s.Overwrite, rec, s.Input)
	if err != nil {
		return err
	}
	err = fill(func(row *dataset.Row, err error) error {
		if err != nil {
			return err
		}
		return out.Write(row)
	})
	rec.Counts = sum.Counts()
	if err := out.End(err); err != nil {
		return err
	}
	return errors.Join(s.Process.PrintSummary(s.JSON, false, sum), s.Process.WarnFaults(faults))
}
