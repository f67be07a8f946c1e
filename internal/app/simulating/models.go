package simulating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/app/asking"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/training/llmsim"
	"github.com/erreval/erreval/training/simulate"
)

// WriteOptions say what language models write, and what of it is kept.
type WriteOptions struct {
	llmsim.Options            // Agree, Confidence, Attempts, Workers and Seed; the others follow from what stands below
	Amount         llmsim.Mix // how many texts; its weights follow from Mix
	Mix            MixOptions // which errors

	WriterName      string // of the model that writes; "" is the first
	FieldName       string // of the field that is written; "" is the taxonomy's first
	ExamplesFile    string // labelled rows that prompts show; "" is the rows with errors in the input
	ConfirmTemplate string // built-in name or file; "" is the built-in one
}

// writtenRecord is the options part of OUT.run.json.
type writtenRecord struct {
	judging.Record
	Confirm    string             `json:"confirm_template"` // id, and hash of its file
	Writer     string             `json:"writer"`
	Field      string             `json:"field"`
	Agree      int                `json:"agree"`
	Confidence float64            `json:"confidence"`
	Weights    map[string]float64 `json:"mix"` // by label
	Copies     int                `json:"copies"`
	PerError   int                `json:"per_error"`
	Total      int                `json:"total"`
}

// writtenSummary is what was written, and what it cost.
type writtenSummary struct {
	*llmsim.Summary
	Usage *judging.Usage `json:"usage,omitempty"`

	rejected string // file of the texts that are not kept
	spent    string
}

// Text writes the summary in lines.
func (s *writtenSummary) Text(w io.Writer) error {
	s.Summary.Text(w, s.rejected)
	_, err := fmt.Fprintln(w, s.spent)
	return err
}

// writing is a run in which language models write errors.
type writing struct {
	*Simulate
	ask    *asking.Options
	o      WriteOptions
	judges *asking.Judges
	sim    *llmsim.Simulator
	rows   []*dataset.Row // to write for
	faults []error        // lines of the input that are no rows
	jobs   []llmsim.Job
}

// ByModels has errors written by language models.
func (s *Simulate) ByModels(ctx context.Context, ask *asking.Options, o WriteOptions) error {
	w := &writing{Simulate: s, ask: ask, o: o}
	if err := w.checkOptions(); err != nil {
		return err
	}
	if err := w.readRows(ctx); err != nil {
		return err
	}
	if err := w.openModels(); err != nil {
		return err
	}
	return w.judges.During(func() error {
		w.jobs = llmsim.Plan(w.rows, w.o.Amount)
		if !ask.Asks() {
			return w.judges.LookAt(s.Process, s.JSON, w.visitJobs,
				fmt.Sprintf("nothing is written for a row %q of %s", ask.ShowPrompt, s.Input), w.rows[0].ID)
		}
		return errors.Join(w.writeTexts(ctx), s.Process.WarnFaults(w.faults))
	})
}

// checkOptions finds what is wrong with the options, and completes them.
func (w *writing) checkOptions() (err error) {
	t, o, names := w.Rows.Taxonomy, &w.o, w.ask.Names()
	o.Taxonomy, o.WriterName = t, cmp.Or(o.WriterName, names[0])
	if o.FieldName != "" {
		o.Field = slices.Index(t.FieldNames(), o.FieldName)
	}
	switch {
	case o.Field < 0:
		return exit.Usagef("--field %q: %s has the fields %s", o.FieldName, t.ID(), strings.Join(t.FieldNames(), ", "))
	case !slices.Contains(names, o.WriterName):
		return exit.Usagef("--writer %q: it is one of --judge: %s", o.WriterName, strings.Join(names, ", "))
	case o.Agree > len(names) || o.Agree < 1:
		return exit.Usagef("--agree %d: --judge names %s; name more, as in --judge NAME,NAME, or give another number",
			o.Agree, words.Plural(len(names), "model", "models"))
	case o.Confidence < 0 || o.Confidence > 1:
		return exit.Usagef("--confidence %v: give 0 to 1, as in 0.8", o.Confidence)
	}
	if o.Confirm, err = prompt.Open(cmp.Or(o.ConfirmTemplate, prompt.Confirm)); err != nil {
		return exit.With(exit.Usage, err)
	}
	if kind := o.Confirm.Kind; kind != prompt.Confirm {
		return exit.Usagef("--confirm-template is of kind %s; it needs one of kind %s", kind, prompt.Confirm)
	}
	if err := o.Mix.validate(); err != nil {
		return err
	}
	if o.Amount.Weights, err = llmsim.ReadWeights(t, o.Mix.Weights, o.Mix.Only); err == nil {
		err = o.Amount.Validate(t)
	}
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	return nil
}

// readRows reads the rows to write for, and the examples.
func (w *writing) readRows(ctx context.Context) (err error) {
	t := w.Rows.Taxonomy
	addExample := func(row *dataset.Row) error {
		labels, err := row.Labels(t)
		if err == nil {
			w.o.Examples = append(w.o.Examples, prompt.Example{Values: row.Values, Labels: labels})
		}
		return err
	}
	w.faults, err = w.Rows.EachFit(ctx, w.Process, w.Input, func(row *dataset.Row) error {
		right, err := simulate.IsRight(row, t)
		switch {
		case err != nil:
			return err
		case !right:
			return addExample(row)
		}
		w.rows = append(w.rows, row)
		return nil
	})
	if err != nil {
		return err
	}
	if len(w.rows) == 0 {
		none := fmt.Errorf("%s: no row to write for; rows with labels of errors serve as examples only", w.Input)
		return errors.Join(append([]error{none}, w.faults...)...)
	}
	if w.o.ExamplesFile == "" {
		return nil
	}
	w.o.Examples = nil
	faults, err := w.Rows.Each(ctx, w.Process, w.o.ExamplesFile, addExample)
	if err = errors.Join(append(faults, err)...); err != nil {
		return exit.With(exit.Usage, fmt.Errorf("--examples: %w", err))
	}
	return nil
}

// openModels makes the simulator of the models, and clears the output before there is a journal: a run that cannot
// begin leaves none.
func (w *writing) openModels() (err error) {
	if w.judges, err = asking.New(w.ask, prompt.Simulate, w.Output); err != nil {
		return err
	}
	models := w.judges.Models()
	w.o.Write = w.judges.Template
	if w.sim, err = llmsim.New(models[slices.Index(w.ask.Names(), w.o.WriterName)], models, w.o.Options); err != nil {
		return exit.With(exit.Usage, err)
	}
	if !w.ask.Asks() {
		return nil
	}
	if err := w.judges.CheckPath(w.Input, w.Output); err != nil {
		return err
	}
	return run.ClearOutput(w.Output, w.Overwrite, func(old *runrecord.Record) bool { return old.Command == "simulate" },
		w.inputs()...)
}

// inputs are the files that are read.
func (w *writing) inputs() []string {
	if w.o.ExamplesFile == "" {
		return []string{w.Input}
	}
	return []string{w.Input, w.o.ExamplesFile}
}

// visitJobs goes through the texts that would be written. The judges' calls hold the row's own text instead of the one
// to be written, so none of them is in the journal.
func (w *writing) visitJobs(visit func(*asking.Subject) error) (rejected int, err error) {
	for _, job := range w.jobs {
		err := visit(&asking.Subject{ID: job.Row.ID, Calls: func() ([]asking.Call, error) {
			names, requests, err := w.sim.Requests(job)
			calls := make([]asking.Call, len(names))
			for i, name := range names {
				kind := prompt.Confirm
				if i == 0 {
					kind = prompt.Simulate
				}
				title := w.o.Taxonomy.Types[job.Type].Name + ", " + kind
				calls[i] = asking.Call{Judge: name, Title: title, Shown: i < 2, Request: requests[i]}
			}
			return calls, err
		}})
		if err != nil {
			return 0, err
		}
	}
	return len(w.faults), nil
}

// record begins the record of the run.
func (w *writing) record() (*runrecord.Record, error) {
	t, o := w.Rows.Taxonomy, &w.o
	rec := writtenRecord{Record: w.judges.NewRecord(w.Rows.Reading),
		Confirm: o.Confirm.ID() + " sha256:" + o.Confirm.Hash(), Writer: o.WriterName,
		Field: t.FieldNames()[o.Field], Agree: o.Agree, Confidence: o.Confidence, Weights: map[string]float64{},
		Copies: o.Amount.Copies, PerError: o.Amount.PerError, Total: o.Amount.Total}
	for i, weight := range o.Amount.Weights {
		rec.Weights[t.Types[i].Name] = weight
	}
	return w.Rows.NewRecord("simulate", rec, w.inputs()...)
}

// writeTexts makes the output.
func (w *writing) writeTexts(ctx context.Context) error {
	rec, err := w.record()
	if err != nil {
		return err
	}
	out, err := w.Rows.Create(w.Output, w.Overwrite, rec, w.inputs()...)
	if err != nil {
		return err
	}
	sum := &writtenSummary{Summary: w.sim.NewSummary(), rejected: dataset.RejectedPath(w.Output)}
	p := run.NewProgress(w.Process)
	p.Begin(-1, nil)
	p.More = func() string { return fmt.Sprintf(" of %d, %s", len(w.jobs), w.judges.Describe(w.judges.Used())) }
	err = w.sim.Run(ctx, w.jobs, func(c *llmsim.Candidate) error {
		sum.Add(c)
		p.Show(sum.Written)
		return w.keep(out, c)
	})
	p.Clear()
	if err != nil {
		return errors.Join(w.stopped(ctx, out, sum, err), out.Abort())
	}
	if sum.Usage, err = w.judges.Usage(); err != nil {
		return errors.Join(err, out.Abort())
	}
	rec.Counts, rec.Usage = sum.Counts(), sum.Usage
	if err := out.Commit(); err != nil {
		return err
	}
	sum.spent = w.judges.DescribeUsage(sum.Usage)
	if err := w.Process.PrintSummary(w.JSON, false, sum); err != nil || !sum.WroteNothing() {
		return err
	}
	return exit.With(exit.Incomplete, errors.New("no text was written; "+sum.rejected+" says why"))
}

// keep writes a text to OUT, or to OUT.rejected.jsonl.
func (w *writing) keep(out *run.Output, c *llmsim.Candidate) error {
	row, err := w.sim.Record(c)
	switch {
	case err != nil:
		return err
	case c.Rejected != "":
		return out.RejectRow(row)
	}
	return out.Write(row)
}

// stopped says how a run that ended early goes on.
func (w *writing) stopped(ctx context.Context, out *run.Output, sum *writtenSummary, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exit.With(exit.Interrupted,
			fmt.Errorf("interrupted after %s; %s", words.Plural(sum.Written, "text", "texts"), w.judges.DescribeNextRun()))
	}
	return out.Stopped(err, w.judges.FindStop, func() (any, error) { return w.judges.Usage() }, sum.Counts())
}
