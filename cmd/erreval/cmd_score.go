package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// scoreOptions are the command's flags and argument.
type scoreOptions struct {
	Input     string // file of tagged rows, or "-"
	Output    string // file or "-"
	Taxonomy  string // "" is the one in the input's run record
	Map       []string
	Limit     int // rows; 0 is all
	Files     run.FileOptions
	Overwrite bool
	Resume    bool
	Quiet     bool
	JSON      bool
	Judge     *judgeOptions // nil scores offline
}

func scoreCommand(e *env) *cli.Command {
	taxonomy := taxonomyFlag().(*cli.StringFlag)
	taxonomy.Value, taxonomy.Usage = "", "`TAXONOMY`: a built-in name or a YAML file (default: the one in INPUT.run.json, else question-generation)"
	return &cli.Command{
		Name:      "score",
		Usage:     "score tagged rows on the task's dimensions",
		ArgsUsage: "TAGGED",
		Description: `TAGGED is what "erreval identify" wrote. Each row gets a column "scores": for every dimension of
the taxonomy a value on the dimension's scale, computed from the probabilities of the errors that
bear on it. No judge, no key, no network; the judge in the records is called "offline".
   erreval identify questions.jsonl -o tagged.jsonl
   erreval score tagged.jsonl -o scored.jsonl

Other formats, a pipe, the first rows only, going on after an interruption:
   erreval score tagged.csv -o scored.xlsx
   erreval identify rows.jsonl -o - | erreval score - -o scored.jsonl
   erreval score tagged.jsonl -o try.jsonl --limit 100
   erreval score tagged.jsonl -o scored.jsonl --resume

Ask a language model instead, which is shown the errors found (` + usualKey() + ` holds the key); look at the
prompts and the cost first, and bound what is spent. The same line again goes on where it stopped:
   erreval score tagged.jsonl --judge gpt-4o-mini --show-prompt q1
   erreval score tagged.jsonl --judge gpt-4o-mini --dry-run
   erreval score tagged.jsonl -o scored.jsonl --judge gpt-4o-mini --max-cost 5
   erreval score tagged.jsonl -o scored.jsonl --judge llama3.1 --base-url http://localhost:11434/v1
   erreval score tagged.jsonl -o scored.jsonl --judge gpt-4o-mini,gpt-4.1-nano --mode both

Judges behind different endpoints, by names that erreval.yaml gives them (docs/scoring.md):
   erreval score tagged.jsonl -o scored.jsonl --judge small,local

Measure the scores against people's:
   erreval meta scores --human fluency=rating scored.jsonl

A row without diagnosis is unscored, with the reason, and leads to exit code 3; it is never a 0.
Beside OUT stands OUT.run.json. docs/scoring.md says how the values are computed.`,
		Flags: append([]cli.Flag{outFlag(), taxonomy, mapFlag(), limitFlag(), overwriteFlag(), resumeFlag(), quietFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print the closing summary as JSON, on standard output unless rows go there"},
		}, append(fileFlags(), judgeFlags()...)...),
		Action: func(ctx *cli.Context) error {
			if err := wantArgs(ctx, 1, 1, "one file of tagged rows"); err != nil {
				return err
			}
			o := &scoreOptions{Input: ctx.Args().First(), Output: ctx.String("output"), Taxonomy: ctx.String("taxonomy"),
				Map: ctx.StringSlice("map"), Limit: ctx.Int("limit"), Files: readFileOptions(ctx), Overwrite: ctx.Bool("overwrite"),
				Resume: ctx.Bool("resume"), Quiet: ctx.Bool("quiet"), JSON: ctx.Bool("json")}
			var err error
			if o.Judge, err = readJudgeOptions(ctx, e); err != nil {
				return err
			}
			if err := o.validate(); err != nil {
				return err
			}
			return runScore(ctx.Context, e, o)
		},
	}
}

func (o *scoreOptions) validate() error {
	switch {
	case o.Output == "" && (o.Judge == nil || o.Judge.calls()):
		return exit.Usagef("no output; give -o OUT, or -o - for standard output")
	case o.Output == run.Stdio && o.Resume:
		return exit.Usagef("--resume goes on with a file; give it with -o OUT")
	case o.Limit < 0:
		return exit.Usagef("--limit %d: give a number of rows, or 0 for all", o.Limit)
	}
	return nil
}

// scoreRun is one run of the command. Reading, rejecting, resuming and naming files is identify's.
type scoreRun struct {
	o       *scoreOptions
	rows    *identifyRun
	scorer  *scorer.Offline
	judges  *judges // or nil
	summary *scoreSummary
}

func runScore(ctx context.Context, e *env, o *scoreOptions) (err error) {
	r := newScoreRun(e, o)
	if err := r.open(ctx); err != nil {
		return err
	}
	if o.Judge == nil {
		if r.scorer, err = scorer.NewOffline(r.rows.taxonomy, scorer.OfflineOptions{}); err != nil {
			return exit.With(exit.Unfit, err)
		}
		return r.write(ctx, e)
	}
	if r.judges, err = newJudges(o.Judge, r.rows.taxonomy, o.Output); err != nil {
		return err
	}
	if err := r.clear(); err != nil {
		return err
	}
	if err := r.judges.openJournal(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.judges.Close()) }()
	switch {
	case o.Judge.ShowPrompt != "":
		rows, questions := r.planQuestions(ctx, e)
		return r.judges.showPrompt(e, o.Input, rows, questions)
	case o.Judge.DryRun:
		rows, questions := r.planQuestions(ctx, e)
		return r.judges.dryRun(e, o.JSON, rows, questions)
	}
	r.judges.announceModels(r.rows)
	r.summary.Judging, r.rows.progress.More = newJudgeSummary(r.judges, r.rows.taxonomy), r.note
	return r.write(ctx, e)
}

// clear makes room for the output before there is a journal: a run that cannot begin leaves none.
func (r *scoreRun) clear() error {
	if !r.o.Judge.calls() {
		return nil
	}
	if err := r.judges.checkPath(r.o.Input, r.o.Output); err != nil {
		return err
	}
	if r.o.Output != run.Stdio {
		if err := dataset.CheckOutput(r.o.Output, r.o.Overwrite || r.o.Resume, r.o.Input); err != nil {
			return err
		}
	}
	if err := startOver(r.o.Output, func(old *runrecord.Record) bool { return old.Command == "score" }); err != nil {
		return err
	}
	return r.rows.o.checkOutputs([]string{r.o.Output})
}

func newScoreRun(e *env, o *scoreOptions) *scoreRun {
	return &scoreRun{o: o, rows: &identifyRun{e: e, progress: run.NewProgress(e.Process, o.Quiet), total: &identifySummary{},
		o: &identifyOptions{Inputs: []string{o.Input}, Output: o.Output, Limit: o.Limit, Overwrite: o.Overwrite, Resume: o.Resume, Quiet: o.Quiet}}}
}

// open looks at the input and finds out which taxonomy it is of.
func (r *scoreRun) open(ctx context.Context) (err error) {
	rows := r.rows
	if rows.files, err = r.o.Files.Open(); err != nil {
		return err
	}
	if err := run.CheckInputs(rows.o.Inputs); err != nil {
		return err
	}
	if rows.taxonomy, err = taxonomyOf(r.o.Taxonomy, rows.o.Inputs); err != nil {
		return err
	}
	r.summary = newScoreSummary(rows.taxonomy)
	return rows.nameColumns(ctx, r.o.Map)
}

// write makes the output, unless an earlier run has.
func (r *scoreRun) write(ctx context.Context, e *env) error {
	if err := r.rows.o.checkOutputs([]string{r.o.Output}); err != nil {
		return err
	}
	if done, err := r.finished(ctx); done || err != nil {
		return errors.Join(err, r.close(e))
	}
	err := r.file(ctx)
	if run.LacksColumns(err) {
		return err // there is nothing to sum up
	}
	return errors.Join(err, r.close(e))
}

// close prints the summary, and gives the exit code of rows without a score.
func (r *scoreRun) close(e *env) error {
	r.rows.progress.Clear()
	err := errors.Join(r.closeJudging(), r.summary.print(e, r.o))
	if r.summary.Unscored+r.summary.Rejected+len(r.rows.changed) == 0 {
		return err
	}
	return errors.Join(err, exit.With(exit.Incomplete, errors.New(r.summary.incomplete(r.rows))))
}

// file scores the input.
func (r *scoreRun) file(ctx context.Context) error {
	f := &scoreFile{identifyFile: &identifyFile{run: r.rows, name: r.o.Input, path: r.o.Output, summary: &identifySummary{}, record: r.newRecord(),
		noted: map[string]bool{}}, score: r}
	source, info, err := run.OpenInput(ctx, r.rows.e.Process, r.o.Input)
	if err != nil {
		return err
	}
	defer source.Close()
	f.source, f.info, f.input = source, info, runrecord.NewInputReader(r.o.Input, source)
	counter := run.NewCountingReader(f.input)
	r.rows.progress.Begin(f.size(), counter)
	f.reader, err = r.rows.files.Reader(counter, source, r.o.Input, dataset.Options{Taxonomy: r.rows.taxonomy, Map: r.rows.columns, Limit: r.o.Limit})
	if err != nil {
		return err
	}
	defer f.reader.Close()
	if err := f.create(r.o.Output); err != nil {
		return err
	}
	if r.judges != nil {
		err = f.judgeRows(ctx)
	} else {
		err = f.all(ctx)
	}
	if err == nil && ctx.Err() != nil {
		f.summary.Rows = r.summary.Rows
		err = f.interrupted(r.o.Input)
	}
	if f.changed = run.Changed(r.o.Input, f.info); f.changed != "" {
		r.rows.changed = append(r.rows.changed, r.o.Input+" "+f.changed+" while it was read")
	}
	return f.finish(err)
}

// scoreFile is the input on its way to the output.
type scoreFile struct {
	*identifyFile
	score *scoreRun
}

// all scores row by row until the input ends, or the user interrupts.
func (f *scoreFile) all(ctx context.Context) error {
	for {
		row, err := f.reader.Read()
		if err == nil && len(f.noted) == 0 || errors.Is(err, io.EOF) {
			f.notes()
		}
		if ctx.Err() != nil {
			return nil
		}
		var fault *dataset.LineError
		switch {
		case errors.As(err, &fault):
			err = f.reject(fault)
			f.score.summary.Rejected++
		case errors.Is(err, io.EOF):
			if err := f.endOfInput(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		case err == nil:
			err = f.row(row)
		}
		if err != nil {
			return err
		}
	}
}

// row scores one, unless an earlier run did.
func (f *scoreFile) row(row *dataset.Row) error {
	known, err := f.recall(row)
	if err != nil {
		return err
	}
	if !known {
		if err := f.judge(row); err != nil {
			return fmt.Errorf("%s:%d: %w", row.Source, row.Line, err)
		}
	}
	scores, err := row.Scores()
	if err != nil {
		return err
	}
	f.last = row.Line
	f.score.summary.add(scores, known)
	if !known {
		err = f.write(row, nil)
	}
	f.run.progress.Show(f.score.summary.Rows)
	return err
}

// judge puts the scores of every dimension into the row.
func (f *scoreFile) judge(row *dataset.Row) error {
	t := f.run.taxonomy
	d, err := row.Diagnosis()
	if err != nil {
		return err
	}
	if err := fitsTaxonomy(row, d, t); err != nil {
		return err
	}
	return row.SetScores(t, f.score.scorer.Judge(d))
}

// fitsTaxonomy refuses labels of another taxonomy than t. d may be nil.
func fitsTaxonomy(row *dataset.Row, d *dataset.Diagnosis, t *taxonomy.Taxonomy) error {
	if d == nil || d.MadeWith(t.ID()) {
		return nil
	}
	return exit.With(exit.Unfit, fmt.Errorf("row %s was tagged with the taxonomy %s, not %s; give that one with --taxonomy", row.ID, d.Taxonomy, t.ID()))
}

// recall takes the scores of a row from the output of an earlier run. It tells false for a row that is new.
func (f *scoreFile) recall(row *dataset.Row) (bool, error) {
	if f.out == nil || !f.out.Recalling() {
		return false, nil
	}
	found, err := f.out.Recall(row, dataset.ColumnScores)
	if errors.Is(err, dataset.ErrOtherRows) {
		err = exit.With(exit.Usage, err)
	}
	if err == nil && !found {
		f.run.progress.Skip(f.score.summary.Rows)
	}
	return found, err
}

// finish gives the output its name, or keeps what there is under OUT.partial.
func (f *scoreFile) finish(err error) error {
	if f.stream != nil {
		err = errors.Join(err, f.stream.Close())
	}
	if f.out == nil {
		return err
	}
	if err == nil {
		input := f.input.Input()
		input.Changed = f.changed
		f.record.Columns, f.record.Notes = f.reader.Columns(), slices.Sorted(maps.Keys(f.noted))
		f.record.Inputs, f.record.Counts = []runrecord.Input{input}, f.score.summary.counts()
		if f.score.judges != nil {
			f.record.Usage, err = f.score.judges.Usage()
		}
		err = errors.Join(err, f.record.Write(f.path))
	}
	if err != nil {
		return errors.Join(err, f.abort())
	}
	if err := f.out.Commit(); err != nil {
		return err
	}
	f.run.noteRejected(f.summary, f.path)
	return removeIfThere(runrecord.Path(dataset.PartialPath(f.path)))
}

// scoreRecord is the options part of OUT.run.json.
type scoreRecord struct {
	Judge string            `json:"judge"`
	Map   map[string]string `json:"map"` // field to column
	Limit int               `json:"limit"`
}

func (r *scoreRun) newRecord() *runrecord.Record {
	var options any = scoreRecord{Judge: dataset.JudgeOffline, Map: r.rows.columns, Limit: r.o.Limit}
	if r.judges != nil {
		options = r.judgeRecord()
	}
	rec := runrecord.New("score", options)
	rec.Taxonomy = &runrecord.Artefact{ID: r.rows.taxonomy.ID(), SHA256: r.rows.taxonomy.Hash()}
	return rec
}

// finished takes the counts of an output that an earlier run has finished in the same way.
func (r *scoreRun) finished(ctx context.Context) (bool, error) {
	old, err := r.rows.finishedRecord(ctx, r.o.Input, r.o.Output, r.newRecord())
	if old == nil || err != nil {
		return false, err
	}
	r.summary.restore(old.Counts)
	if r.summary.Rejected > 0 {
		r.rows.rejected = append(r.rows.rejected, dataset.RejectedPath(r.o.Output))
	}
	r.rows.say("%s is finished already", filepath.Base(r.o.Output))
	return true, removeIfThere(runrecord.Path(dataset.PartialPath(r.o.Output)))
}
