package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/stages"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/training/llmsim"
)

// writerFlags are those of language models that write errors, beside the rules' --copies, --mix, --only, --total and --per-error.
func writerFlags() []cli.Flag {
	def := llmsim.DefaultOptions()
	own := slices.DeleteFunc(askFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"judge", "seed", "repeats", "template"}, f.Names()[0])
	})
	return append(own,
		&cli.StringFlag{Name: "judge", Usage: "have errors written by language models, `NAME,NAME`; the key is in " + keyVariables()}, // the environment's alone spends nothing
		&cli.StringFlag{Name: "writer", Usage: "which `NAME` of --judge writes (default: the first); all of them are asked whether the error is there"},
		&cli.StringFlag{Name: "field", Usage: "`FIELD` that is written (default: the taxonomy's first, the text under evaluation)"},
		&cli.StringFlag{Name: "examples", Usage: "labelled rows of `FILE`, one of which each prompt shows (default: the rows with errors in INPUT)"},
		&cli.IntFlag{Name: "agree", Value: def.Agree, Usage: "keep a text of whose error at least `N` judges are sure"},
		&cli.Float64Flag{Name: "confidence", Value: def.Confidence, Usage: "`P` from which on a judge is sure, 0 to 1"},
		&cli.StringFlag{Name: "write-template", Usage: "prompt `TEMPLATE` that asks for texts, of kind simulate"},
		&cli.StringFlag{Name: "confirm-template", Usage: "prompt `TEMPLATE` that asks for confidence, of kind confirm"})
}

// writtenRun has errors written by language models.
type writtenRun struct {
	e       *env
	o       *simulateOptions
	ask     *stages.AskOptions
	opts    llmsim.Options
	mix     llmsim.Mix
	writer  string
	from    string // file of examples; "" is the input
	judges  *stages.Judges
	sim     *llmsim.Simulator
	confirm *prompt.Template
	rows    []*dataset.Row
	faults  []error
	sum     *writtenSummary
}

func writerAction(ctx *cli.Context, e *env, o *simulateOptions) error {
	if ctx.String("judge") == "" {
		return exit.Usagef("--judge is empty: name language models, or leave it out to plant errors by rules")
	}
	if err := onlyWith(ctx, e, []cli.Flag{&cli.IntFlag{Name: "combined"}, &cli.IntFlag{Name: "rules"}}, "--%s is for the rules; leave it out with --judge"); err != nil {
		return err
	}
	r := &writtenRun{e: e, o: o, writer: ctx.String("writer"), from: ctx.String("examples"), opts: llmsim.DefaultOptions()}
	var err error
	if r.ask, err = readAskOptions(ctx, e); err != nil {
		return err
	}
	if o.output == "" && r.ask.Asks() {
		return exit.Usagef("erreval simulate needs -o OUT, the file to write")
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	return r.run(ctx.Context)
}

// read reads the options.
func (r *writtenRun) read(ctx *cli.Context) error {
	t := r.o.Taxonomy
	r.ask.Template, r.ask.Repeats = ctx.String("write-template"), 1
	r.opts.Taxonomy, r.opts.Agree, r.opts.Confidence = t, ctx.Int("agree"), ctx.Float64("confidence")
	r.opts.Attempts, r.opts.Workers, r.opts.Seed = r.ask.Panel.Attempts, max(1, min(r.ask.Panel.Workers, 64)), ctx.Uint64("seed")
	if field := ctx.String("field"); field != "" {
		if r.opts.Field = slices.Index(t.FieldNames(), field); r.opts.Field < 0 {
			return exit.Usagef("--field %q: %s has the fields %s", field, t.ID(), strings.Join(t.FieldNames(), ", "))
		}
	}
	names := r.ask.Names()
	r.writer = cmp.Or(r.writer, names[0])
	if !slices.Contains(names, r.writer) {
		return exit.Usagef("--writer %q: it is one of --judge: %s", r.writer, strings.Join(names, ", "))
	}
	if r.opts.Agree > len(names) || r.opts.Agree < 1 {
		return exit.Usagef("--agree %d: --judge names %s; name more, as in --judge NAME,NAME, or give another number", r.opts.Agree, words.Plural(len(names), "model", "models"))
	}
	if r.opts.Confidence < 0 || r.opts.Confidence > 1 {
		return exit.Usagef("--confidence %v: give 0 to 1, as in 0.8", r.opts.Confidence)
	}
	var err error
	if r.confirm, err = prompt.Open(cmp.Or(ctx.String("confirm-template"), prompt.Confirm)); err != nil {
		return exit.With(exit.Usage, err)
	}
	if r.confirm.Kind != prompt.Confirm {
		return exit.Usagef("--confirm-template is of kind %s; it needs one of kind %s", r.confirm.Kind, prompt.Confirm)
	}
	return r.readMix(ctx)
}

// readMix reads which errors, and how many.
func (r *writtenRun) readMix(ctx *cli.Context) error {
	t := r.o.Taxonomy
	r.mix = llmsim.Mix{Weights: llmsim.Everything(t), Copies: 1, PerError: ctx.Int("per-error"), Total: ctx.Int("total"), Seed: ctx.Uint64("seed")}
	if ctx.IsSet("copies") {
		r.mix.Copies = ctx.Int("copies")
	}
	if ctx.Bool("only") {
		if clear(r.mix.Weights); !ctx.IsSet("mix") {
			return exit.Usagef("--only: name the labels with --mix")
		}
	}
	given, err := parseMix(ctx.StringSlice("mix"), func(label string) (string, bool) {
		i, ok := t.Index(label)
		if !ok {
			return "", false
		}
		return t.Types[i].Name, true
	}, t.Labels())
	if err != nil {
		return exit.Usagef("%v", err)
	}
	for name, w := range given {
		i, _ := t.Index(name)
		r.mix.Weights[i] = w
	}
	if err := r.mix.Validate(t); err != nil {
		return exit.Usagef("%v", err)
	}
	return nil
}

func (r *writtenRun) run(ctx context.Context) (err error) {
	if err := r.readRows(ctx); err != nil {
		return err
	}
	if r.judges, err = stages.NewJudges(r.ask, prompt.Simulate, r.o.output); err != nil {
		return err
	}
	if err := r.openSimulator(); err != nil {
		return exit.With(exit.Usage, err)
	}
	if r.ask.Asks() {
		if err := r.clear(); err != nil {
			return err
		}
	}
	if err := r.judges.OpenJournal(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.judges.Close()) }()
	jobs := llmsim.Plan(r.rows, r.mix)
	switch {
	case r.ask.ShowPrompt != "":
		return r.showPrompt(jobs)
	case r.ask.DryRun:
		return r.dryRun(jobs)
	}
	return errors.Join(r.write(ctx, jobs), warnFaults(r.e, r.faults))
}

// openSimulator makes the simulator of the models.
func (r *writtenRun) openSimulator() (err error) {
	models := r.judges.Models()
	writer := models[slices.Index(r.ask.Names(), r.writer)]
	r.opts.Write, r.opts.Confirm = r.judges.Template, r.confirm
	r.sim, err = llmsim.New(writer, models, r.opts)
	return err
}

// readRows reads the rows to write for, and the examples.
func (r *writtenRun) readRows(ctx context.Context) (err error) {
	var wrong []prompt.Example
	r.sum = &writtenSummary{judges: r.ask.Names(), Rejected: map[string]int{}, Asked: map[string]int{}, Kept: map[string]int{}}
	r.faults, err = r.o.eachFit(ctx, r.e, func(row *dataset.Row) error {
		right, err := isRight(row, r.o.Taxonomy)
		if err != nil {
			return err
		}
		if right {
			r.rows = append(r.rows, row)
			return nil
		}
		labels, err := row.Labels(r.o.Taxonomy)
		if err == nil {
			wrong = append(wrong, prompt.Example{Values: row.Values, Labels: labels})
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(r.rows) == 0 {
		return errors.Join(append([]error{fmt.Errorf("%s: no row to write for; rows with labels of errors serve as examples only", r.o.file)}, r.faults...)...)
	}
	if r.opts.Examples = wrong; r.from == "" {
		return nil
	}
	r.opts.Examples = nil
	faults, err := r.o.Each(ctx, r.e.Process, r.from, func(row *dataset.Row) error {
		labels, err := row.Labels(r.o.Taxonomy)
		r.opts.Examples = append(r.opts.Examples, prompt.Example{Values: row.Values, Labels: labels})
		return err
	})
	if err = errors.Join(append(faults, err)...); err != nil {
		return exit.With(exit.Usage, fmt.Errorf("--examples: %w", err))
	}
	return nil
}

// clear makes room for the output before there is a journal: a run that cannot begin leaves none.
func (r *writtenRun) clear() error {
	if err := r.judges.CheckPath(r.o.file, r.o.output); err != nil {
		return err
	}
	if err := run.StartOver(r.o.output, func(old *runrecord.Record) bool { return old.Command == "simulate" }); err != nil {
		return err
	}
	return dataset.CheckOutput(r.o.output, r.o.overwrite, append(r.others(), r.o.file)...)
}

// others are the files that are read beside INPUT.
func (r *writtenRun) others() []string {
	if r.from == "" {
		return nil
	}
	return []string{r.from}
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

func (r *writtenRun) record() (*runrecord.Record, error) {
	t := r.o.Taxonomy
	rec := writtenRecord{Record: r.judges.Record(r.o.Columns, r.o.Limit), Confirm: r.confirm.ID() + " sha256:" + r.confirm.Hash(), Writer: r.writer,
		Field: t.FieldNames()[r.opts.Field], Agree: r.opts.Agree, Confidence: r.opts.Confidence, Weights: map[string]float64{}, Copies: r.mix.Copies, PerError: r.mix.PerError, Total: r.mix.Total}
	for i, w := range r.mix.Weights {
		rec.Weights[t.Types[i].Name] = w
	}
	return r.o.record(rec, r.others()...)
}

// write makes the output.
func (r *writtenRun) write(ctx context.Context, jobs []llmsim.Job) error {
	rec, err := r.record()
	if err != nil {
		return err
	}
	out, err := run.Create(r.o.output, r.o.overwrite, rec, append(r.others(), r.o.file)...)
	if err != nil {
		return err
	}
	out.Format, out.Options = r.o.Files.Format(r.o.output), r.o.Files.SinkOptions(nil)
	p := run.NewProgress(r.e.Process, false)
	p.Begin(-1, &run.CountingReader{})
	p.More = func() string { return fmt.Sprintf(" of %d, %s", len(jobs), r.judges.Describe(r.judges.Used())) }
	err = r.sim.Run(ctx, jobs, func(c *llmsim.Candidate) error {
		p.Show(r.sum.add(r.o.Taxonomy.Types[c.Type].Code, c))
		return r.keep(out, c)
	})
	p.Clear()
	if err != nil {
		return errors.Join(r.stopped(ctx, out, err), out.Abort())
	}
	if r.sum.Usage, err = r.judges.Usage(); err != nil {
		return errors.Join(err, out.Abort())
	}
	rec.Counts, rec.Usage = r.sum.counts(), r.sum.Usage
	if err := out.Commit(); err != nil {
		return err
	}
	return r.sum.print(r.e, r)
}

// keep writes a text to OUT, or to OUT.rejected.jsonl.
func (r *writtenRun) keep(out *run.Output, c *llmsim.Candidate) error {
	row, err := r.sim.Record(c)
	if err != nil {
		return err
	}
	if c.Rejected == "" {
		return out.Write(row)
	}
	var line bytes.Buffer
	w := dataset.NewWriter(&line)
	if err := errors.Join(w.Write(row), w.Flush()); err != nil {
		return err
	}
	return out.CopyRejected(line.Bytes())
}

// stopped says how a run that ended early goes on.
func (r *writtenRun) stopped(ctx context.Context, out *run.Output, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exit.With(exit.Interrupted,
			fmt.Errorf("interrupted after %s; %s", words.Plural(r.sum.Written, "text", "texts"), r.judges.GoOn()))
	}
	stop := r.judges.Stop(err)
	if stop == nil {
		return err
	}
	usage, fault := r.judges.Usage()
	return errors.Join(out.Stopped(stop, err, r.sum.counts(), usage), fault)
}

// showPrompt prints what is asked about a row: the first job of it.
func (r *writtenRun) showPrompt(jobs []llmsim.Job) error {
	for _, j := range jobs {
		if !report.IsSameID(r.ask.ShowPrompt, j.Row.ID) {
			continue
		}
		names, requests, err := r.sim.Requests(j)
		if err != nil {
			return err
		}
		for i, kind := range []string{prompt.Simulate, prompt.Confirm} {
			stages.PrintQuestion(r.e.Process, &scorer.Question{Judge: names[i], Mode: kind, Dimension: r.o.Taxonomy.Types[j.Type].Name, Request: requests[i]})
		}
		return nil
	}
	return exit.Usagef("--show-prompt: nothing is written for a row %q of %s; its first is %q; ID* is what an id begins with, and * the first row", r.ask.ShowPrompt, r.o.file, report.ShortID(r.rows[0].ID))
}

// dryRun prints what would be called. The judges' calls are counted with the row's own text in the place of the one to be
// written, so of them none is in the journal.
func (r *writtenRun) dryRun(jobs []llmsim.Job) error {
	i := 0
	return r.judges.DryRun(r.e.Process, r.o.json, func(visit func(*dataset.Row) error) (int, error) {
		for ; i < len(jobs); i++ {
			if err := visit(jobs[i].Row); err != nil {
				return 0, err
			}
		}
		return len(r.faults), nil
	}, func(*dataset.Row) ([]*scorer.Question, error) {
		names, requests, err := r.sim.Requests(jobs[i])
		var out []*scorer.Question
		for k, name := range names {
			out = append(out, &scorer.Question{Judge: name, Request: requests[k]})
		}
		return out, err
	})
}

// writtenSummary counts what was written.
type writtenSummary struct {
	Written  int            `json:"written"`  // texts asked for
	Examples int            `json:"examples"` // kept
	Rejected map[string]int `json:"rejected"` // by reason
	Unread   int            `json:"unread"`   // replies that did not hold what was asked for
	ZeroShot int            `json:"zero_shot"`
	Asked    map[string]int `json:"asked"` // by label
	Kept     map[string]int `json:"kept"`  // by label
	Usage    *judging.Usage `json:"usage,omitempty"`

	judges []string
}

// add counts a candidate and gives their number.
func (s *writtenSummary) add(label string, c *llmsim.Candidate) int {
	s.Written++
	s.Asked[label]++
	s.Unread += c.Unread
	if !c.Example {
		s.ZeroShot++
	}
	if c.Rejected == "" {
		s.Examples++
		s.Kept[label]++
	} else {
		s.Rejected[c.Rejected]++
	}
	return s.Written
}

func (s *writtenSummary) counts() map[string]int {
	out := map[string]int{"written": s.Written, "rows": s.Examples, "unread": s.Unread}
	for reason, n := range s.Rejected {
		out["rejected."+reason] = n
	}
	for label, n := range s.Kept {
		out["label."+label] = n
	}
	return out
}

func (s *writtenSummary) print(e *env, r *writtenRun) error {
	if r.o.json {
		if err := writeJSON(e.Out, s); err != nil {
			return err
		}
	} else {
		s.text(e.Err, r)
	}
	if s.Written > 0 && s.Rejected[llmsim.Unwritten] == s.Written {
		return exit.With(exit.Incomplete, errors.New("no text was written; "+dataset.RejectedPath(r.o.output)+" says why"))
	}
	return nil
}

func (s *writtenSummary) text(w io.Writer, r *writtenRun) {
	fmt.Fprintf(w, "%s asked of %s, %d kept: at least %d of %s %.2g sure or more", words.Plural(s.Written, "text", "texts"), r.writer, s.Examples, r.opts.Agree, strings.Join(s.judges, ", "), r.opts.Confidence)
	if len(s.Rejected) > 0 {
		fmt.Fprintf(w, "; not kept: %s, see %s", words.Counts(s.Rejected), dataset.RejectedPath(r.o.output))
	}
	fmt.Fprintln(w)
	for _, y := range r.o.Taxonomy.Types {
		if n := s.Asked[y.Code]; n > 0 {
			fmt.Fprintf(w, "%-8s %d of %d\n", y.Code, s.Kept[y.Code], n)
		}
	}
	if s.ZeroShot > 0 {
		fmt.Fprintf(w, "%s asked for without an example of the error\n", words.Plural(s.ZeroShot, "text was", "texts were"))
	}
	if s.Unread > 0 {
		fmt.Fprintf(w, "%s not hold what was asked for\n", words.Plural(s.Unread, "reply did", "replies did"))
	}
	fmt.Fprintf(w, "this run: %s; the journal in all: %s\n", r.judges.Describe(s.Usage.ThisRun), r.judges.Describe(s.Usage.Journal))
}
