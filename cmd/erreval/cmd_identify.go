package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report/rows"
	"github.com/erreval/erreval/taxonomy"
)

// identifyOptions are the command's flags and arguments.
type identifyOptions struct {
	Inputs     []string // files of rows, or "-"
	Output     string   // file, folder or "-"; "" only with Table
	Model      string
	Verifier   string // "" is none
	Taxonomy   string
	Device     string
	Library    string // of ONNX Runtime; "" looks for it
	Join       string
	Map        []string // FIELD=COLUMN
	Thresholds []string // P or LABEL=P
	Limit      int      // rows, over all inputs; 0 is all
	Workers    int      // 0 is one a core
	Files      run.FileOptions
	LabelsOnly bool
	Table      bool
	Overwrite  bool
	Resume     bool
	Shard      string // I/N; "" is all rows
	Gates      gateOptions
	Quiet      bool
	JSON       bool
	Judge      *judgeOptions // nil is the local model
	Examples   string        // file, or ""; only with Judge
	GoOn       string        // what to type after an interruption; "" is the line as typed, with --resume
}

func identifyCommand(e *env) *cli.Command {
	var o identifyOptions
	return &cli.Command{
		Name:      "identify",
		Usage:     "find the errors in each row of a file",
		ArgsUsage: "INPUT...",
		Description: `Rows are JSON Lines, a JSON list, CSV, TSV, XLSX or Parquet, by the file's name or --format, also with
.gz or .zst. Each gets a column "diagnosis" with the errors found and the probability of
every error type; all other columns stay as they are.
   erreval identify questions.jsonl -o tagged.jsonl

Read the result as a table instead:
   erreval identify questions.jsonl --table

Columns with other names, several files (each to a file of its name in a folder), a pipe:
   erreval identify rows.jsonl --map question=prediction -o tagged.jsonl
   erreval identify a.jsonl b.jsonl -o tagged/
   zcat rows.jsonl.gz | erreval identify - -o - > tagged.jsonl

Find more, or less: one threshold for all, or one for a type (the model brings its own):
   erreval identify rows.jsonl --threshold 0.4 --threshold "Vague=0.3" -o tagged.jsonl

Go on after an interruption; tag one part of five; fail where there is too much:
   erreval identify rows.jsonl -o tagged.jsonl --resume
   erreval identify rows.jsonl -o part2.jsonl --shard 2/5
   erreval identify rows.jsonl -o tagged.jsonl --fail-on "Factual Error>5%" --fail-on "untagged>0"

Let a language model find the errors, by the taxonomy's definitions and, if you like, labelled examples (` + usualKey() + `
holds the key); look at prompt and cost first, bound what is spent, and compare it with the local model:
   erreval identify rows.jsonl --identifier llm --judge gpt-4o-mini --show-prompt q1
   erreval identify rows.jsonl --identifier llm --judge gpt-4o-mini --dry-run
   erreval identify rows.jsonl -o llm.jsonl --identifier llm --judge gpt-4o-mini --max-cost 5
   erreval identify rows.jsonl -o few.jsonl --identifier llm --judge gpt-4o-mini --examples labelled.jsonl
   erreval meta labels --gold gold.jsonl tagged.jsonl llm.jsonl

Beside OUT stand OUT.run.json (model, taxonomy, options, counts) and, if lines were no rows,
OUT.rejected.jsonl. Exit code 3 says that some rows are untagged or some lines rejected. docs/evaluation.md says
more about language models.`,
		Flags: append([]cli.Flag{
			outFlag(), &cli.BoolFlag{Name: "table", Usage: "print the rows and their errors as a table"},
			modelFlag(), verifierFlag(), joinFlag(), taxonomyFlag(), deviceFlag(), gpuMemoryFlag(), libraryFlag(), mapFlag(), limitFlag(),
			workersFlag(), thresholdFlag(), labelsOnlyFlag(), overwriteFlag(), resumeFlag(), shardFlag(), quietFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print the closing summary as JSON, on standard output unless rows go there"},
			identifierFlag(),
		}, slices.Concat(fileFlags(), gateFlags(), labellerFlags())...),
		Action: func(ctx *cli.Context) error {
			o = identifyOptions{Inputs: ctx.Args().Slice(), Output: ctx.String("output"), Model: ctx.String("model"),
				Verifier: ctx.String("verifier"), Taxonomy: ctx.String("taxonomy"), Device: ctx.String("device"), Join: ctx.String("join"), Map: ctx.StringSlice("map"),
				Thresholds: ctx.StringSlice("threshold"), Limit: ctx.Int("limit"), Workers: ctx.Int("workers"),
				LabelsOnly: ctx.Bool("labels-only"), Table: ctx.Bool("table"), Overwrite: ctx.Bool("overwrite"),
				Quiet: ctx.Bool("quiet"), JSON: ctx.Bool("json"), Library: ctx.String("ort-lib"), Files: readFileOptions(ctx),
				Resume: ctx.Bool("resume"), Shard: ctx.String("shard"), Gates: readGateOptions(ctx)}
			var err error
			if e.gpuMemory, err = parseSize(ctx.String("gpu-memory")); err != nil {
				return err
			}
			if o.Inputs, err = expandGlobs(o.Inputs); err != nil {
				return err
			}
			if err := o.readIdentifier(ctx, e); err != nil {
				return err
			}
			if err := o.validate(); err != nil {
				return err
			}
			return runIdentify(ctx.Context, e, &o)
		},
	}
}

func thresholdFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "threshold", Aliases: []string{"t"},
		Usage: "give an error from this probability on: `P`, or LABEL=P; may be repeated"}
}

func labelsOnlyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "labels-only", Usage: "leave the probabilities out of diagnoses"}
}

// writes tells whether the run makes an output: not where it only tells what it would do.
func (o *identifyOptions) writes() bool { return o.Judge == nil || o.Judge.calls() }

func (o *identifyOptions) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, exit.Usagef(format, args...))
		}
	}
	check(len(o.Inputs) > 0, `no input; give a file of rows, or "-" for standard input`)
	check(o.Output != "" || o.Table || !o.writes(), `no output; give -o OUT, -o - for standard output, or --table`)
	check(o.Output != run.Stdio || !o.Table, "--table and -o - both print to standard output; give one of them")
	check(o.Output != run.Stdio || len(o.Inputs) < 2, "several inputs do not go to one standard output; give -o FOLDER")
	check(o.Output != run.Stdio && o.Output != "" || !o.Resume, "--resume goes on with a file; give it with -o OUT")
	check(o.Verifier == "" || o.Judge == nil, "--verifier follows the local model; leave it out with --identifier llm")
	check(o.Limit >= 0, "--limit %d: give a number of rows, or 0 for all", o.Limit)
	check(o.Workers >= 0, "--workers %d: give a number of rows to compute at a time, or 0 for one a core", o.Workers)
	stdin := 0
	for _, in := range o.Inputs {
		if in == run.Stdio {
			stdin++
		}
	}
	check(stdin < 2, `standard input "-" can be read once`)
	return errors.Join(errs...)
}

// identifyRun is one run of the command: what its files have in common.
type identifyRun struct {
	e          *env
	o          *identifyOptions
	model      *models.Model // nil with judges
	taxonomy   *taxonomy.Taxonomy
	identifier *identifier.Identifier // nil with judges
	verifier   *verifier              // or nil
	judges     *judges                // the language model, or nil
	examples   *runrecord.Input       // shown to it, or nil
	columns    map[string]string      // field to column
	workers    int
	shard      *runrecord.Shard // or nil
	gates      []gate.Gate
	read       int      // rows, over all files
	rejected   []string // files of rejected lines
	changed    []string // inputs that changed while they were read, each with what happened
	files      *run.Files
	progress   *run.Progress
	total      *identifySummary // over all files
}

func runIdentify(ctx context.Context, e *env, o *identifyOptions) (err error) {
	r := &identifyRun{e: e, o: o, progress: run.NewProgress(e.Process, o.Quiet)}
	if r.shard, err = parseShard(o.Shard); err != nil {
		return err
	}
	if r.files, err = o.Files.Open(); err != nil {
		return err
	}
	outputs, err := o.outputs()
	if err != nil {
		return err
	}
	faults := []error{o.Gates.check(e), run.CheckInputs(o.Inputs)}
	if o.Judge == nil {
		faults = append(faults, o.checkOutputs(outputs)) // before the model is loaded
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	closeModel, err := r.open(ctx, outputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModel()) }()
	if !o.writes() {
		return r.forecast(ctx)
	}
	return r.all(ctx, outputs)
}

// all tags the inputs, one after the other.
func (r *identifyRun) all(ctx context.Context, outputs []string) error {
	r.total = newSummary(r)
	for i, in := range r.o.Inputs {
		if r.o.Limit > 0 && r.read >= r.o.Limit {
			break
		}
		done, err := r.finished(ctx, in, outputs[i])
		if err == nil && !done {
			err = r.file(ctx, in, outputs[i])
		}
		if err != nil && run.LacksColumns(err) && r.total.Rows == 0 {
			return err // there is nothing to sum up
		}
		if err != nil {
			return errors.Join(err, r.close(false))
		}
	}
	return r.close(true)
}

// open loads taxonomy and identifier.
func (r *identifyRun) open(ctx context.Context, outputs []string) (closeModel func() error, err error) {
	o := r.o
	if r.taxonomy, err = openTaxonomy(o.Taxonomy); err != nil {
		return nil, err
	}
	if r.gates, err = parseGates(o.Gates.FailOn, r.taxonomy); err != nil {
		return nil, err
	}
	if err := r.nameColumns(ctx, o.Map); err != nil {
		return nil, err
	}
	if o.Judge != nil {
		return r.openLabeller(ctx, outputs)
	}
	return r.openLocal(ctx)
}

// nameColumns reads --map, and checks that the inputs have the columns.
func (r *identifyRun) nameColumns(ctx context.Context, pairs []string) (err error) {
	if r.columns, err = parseMap(pairs, r.taxonomy.FieldNames()); err != nil {
		return err
	}
	in := &run.Rows{Files: r.files, Taxonomy: r.taxonomy, Columns: r.columns}
	return in.CheckColumns(ctx, r.e.Process, r.o.Inputs...)
}

// openLocal loads model and library.
func (r *identifyRun) openLocal(ctx context.Context) (closeRunner func() error, err error) {
	o := r.o
	if r.model, err = r.e.openModel(ctx, o.Model, o.Join, r.taxonomy); err != nil {
		return nil, err
	}
	options := scheduleFor(o.Device, o.Workers)
	options.LabelsOnly = o.LabelsOnly
	r.workers = options.Workers
	if options.Thresholds, err = parseThresholds(o.Thresholds, r.taxonomy, r.model.Manifest.Labels); err != nil {
		return nil, err
	}
	id, runner, err := r.e.openIdentifier(ctx, r.model, r.taxonomy, o.Device, o.Library, options, r.e.Warn)
	if err != nil {
		return nil, err
	}
	r.identifier = id
	closeRunner = runner.Close
	if o.Verifier != "" {
		closeSecond, err := r.openVerifier(ctx, options)
		if err != nil {
			return nil, errors.Join(err, runner.Close())
		}
		closeRunner = func() error { return errors.Join(closeSecond(), runner.Close()) }
	}
	if r.model.Plain {
		r.say("%s has no manifest: its fields are joined as %q (--join), its thresholds are 0.5 (--threshold)", r.model.Source, r.model.Manifest.Join)
	}
	return closeRunner, nil
}

// say prints a note, unless --quiet.
func (r *identifyRun) say(format string, args ...any) {
	if !r.o.Quiet {
		r.progress.Clear()
		fmt.Fprintf(r.e.Err, "erreval: "+format+"\n", args...)
	}
}

// close prints the summary, and gives the exit codes of rows that could not be tagged and of limits that
// were missed. Of a run that did not end, limits say nothing.
func (r *identifyRun) close(ended bool) error {
	r.progress.Clear()
	r.total.finish()
	asking := r.closeAsking()
	r.total.Gates = checkGates(nil, gate.Counts{})
	if ended {
		r.total.Gates = checkGates(r.gates, r.total.counts(r.noError()))
	}
	var err error
	if ended || r.total.Rows > 0 || r.o.JSON || r.o.Judge != nil { // else the error says all that there is to say
		err = r.total.print(r.e, r.o)
	}
	if ended {
		err = errors.Join(err, r.total.publish(r.e, r.o))
	}
	return errors.Join(err, asking, r.incomplete(), missedGates(r.total.Gates))
}

func (r *identifyRun) noError() string {
	if i := r.taxonomy.NoErrorIndex(); i >= 0 {
		return r.taxonomy.Types[i].Name
	}
	return ""
}

func (r *identifyRun) incomplete() error {
	if r.total.Untagged+r.total.Rejected+len(r.changed) == 0 {
		return nil
	}
	var parts []string
	if n := r.total.Untagged; n > 0 {
		parts = append(parts, words.Plural(n, "row was", "rows were")+" not tagged: diagnosis.reason says why")
	}
	if n := r.total.Rejected; n > 0 {
		parts = append(parts, words.Plural(n, "line was no row", "lines were no rows")+r.whereRejected()+noRowLeft(r.total.Rows))
	}
	if len(r.changed) > 0 {
		parts = append(parts, strings.Join(r.changed, "; ")+": the rows that were read are tagged; tag the file again once nothing changes it")
	}
	return exit.With(exit.Incomplete, errors.New(strings.Join(parts, "; ")))
}

// noRowLeft says what to do where nothing but rejected lines was read.
func noRowLeft(rows int) string {
	if rows > 0 {
		return ""
	}
	return "; no row is left: mend the file or name its columns with --map, and run again with --overwrite"
}

// whereRejected says where the lines are that are no rows. A run that did not end meets them again.
func (r *identifyRun) whereRejected() string {
	switch {
	case r.o.Output == "" || r.o.Output == run.Stdio:
		return ", kept nowhere: -o FILE keeps them in FILE.rejected.jsonl"
	case len(r.rejected) == 1:
		return ": see " + r.rejected[0]
	case len(r.rejected) > 1:
		return ": see " + filepath.Join(r.o.Output, dataset.RejectedPath("*"))
	}
	return ""
}

// noteRejected remembers the rejected lines beside a finished output.
func (r *identifyRun) noteRejected(s *identifySummary, out string) {
	if s.Rejected > 0 {
		r.rejected = append(r.rejected, dataset.RejectedPath(out))
	}
}

// file tags one input.
func (r *identifyRun) file(ctx context.Context, in, out string) error {
	f, err := r.openFile(ctx, in, out)
	if err != nil {
		return err
	}
	defer f.source.Close()
	defer f.reader.Close()
	next := func() (*dataset.Row, error) { return f.next(ctx) }
	if r.judges != nil {
		err = f.askRows(ctx, next)
	} else { // the first interruption ends the reading; what is in flight is finished and kept
		err = r.tag(context.WithoutCancel(ctx), next, f.emit)
	}
	f.summary.finish()
	r.total.merge(f.summary)
	r.read += f.rows
	if err == nil && ctx.Err() != nil {
		err = f.interrupted(in)
	}
	if f.changed = run.Changed(in, f.info); f.changed != "" {
		r.changed = append(r.changed, in+" "+f.changed+" while it was read")
	}
	return f.finish(err)
}

// identifyFile is one input on its way to its output.
type identifyFile struct {
	run     *identifyRun
	source  io.Closer
	input   *runrecord.InputReader
	reader  *dataset.Reader
	name    string      // of the input
	info    fs.FileInfo // of the input when reading began; nil if it is no regular file
	changed string      // what happened to the input since; "" is nothing
	path    string      // of the output
	record  *runrecord.Record
	summary *identifySummary
	last    int // line of the last row written
	rows    int // read so far
	faults  int // lines read that are no rows
	noted   map[string]bool
	before  judging.Used // by a language model, for earlier files

	mu     sync.Mutex // guards what follows: lines are rejected while rows are written
	out    *dataset.Output
	stream dataset.Sink // standard output, or nil
	table  *rows.Table  // or nil
}

func (r *identifyRun) openFile(ctx context.Context, in, out string) (*identifyFile, error) {
	f := &identifyFile{run: r, name: in, path: out, summary: newSummary(r), record: r.newRecord(), noted: map[string]bool{}}
	if r.judges != nil {
		f.before = r.judges.Used()
	}
	source, info, err := run.OpenInput(ctx, r.e.Process, in)
	if err != nil {
		return nil, err
	}
	f.source, f.info = source, info
	if r.o.Table {
		f.table = rows.NewTable(r.e.Out, r.e.Width(), r.taxonomy)
	}
	f.input = runrecord.NewInputReader(in, source)
	counter := run.NewCountingReader(f.input)
	r.progress.Begin(f.size(), counter)
	limit := 0
	if r.o.Limit > 0 {
		limit = r.o.Limit - r.read
	}
	f.reader, err = r.files.Reader(counter, source, in, dataset.Options{Taxonomy: r.taxonomy, Map: r.columns, Limit: limit})
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	if err := f.create(out); err != nil {
		return nil, errors.Join(err, f.reader.Close(), source.Close())
	}
	return f, nil
}

// size is that of the input in bytes, or -1.
func (f *identifyFile) size() int64 {
	if f.info == nil {
		return -1
	}
	return f.info.Size()
}

// create begins the output.
func (f *identifyFile) create(out string) (err error) {
	format, options := f.run.files.Format(out), f.run.files.SinkOptions(f.reader.Schema())
	switch out {
	case "":
		return nil
	case run.Stdio:
		f.stream, err = dataset.NewSink(f.run.e.Out, format, options)
	default:
		if err = f.begin(f.size()); err == nil {
			f.out.Format, f.out.Options = format, options
		}
	}
	for _, n := range f.run.files.OutputNotes(format, f.reader.Schema()) {
		f.run.say("%s", n)
	}
	return err
}

// notes says what was assumed about the input.
func (f *identifyFile) notes() {
	for _, n := range f.reader.Notes() {
		if !f.noted[n] {
			f.run.say("%s", n)
		}
		f.noted[n] = true
	}
}

// next reads on behind lines that are no rows, and ends when the user interrupts.
func (f *identifyFile) next(ctx context.Context) (*dataset.Row, error) {
	for {
		row, err := f.reader.Read()
		if err == nil && len(f.noted) == 0 || errors.Is(err, io.EOF) {
			f.notes()
		}
		if ctx.Err() != nil {
			return nil, io.EOF
		}
		var fault *dataset.LineError
		switch {
		case errors.As(err, &fault):
			err = f.reject(fault)
		case errors.Is(err, io.EOF):
			return nil, f.endOfInput()
		case err == nil:
			var todo bool
			if todo, err = f.todo(row); todo {
				return row, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// todo tells whether a row is to be tagged: it is one of the shard, and no earlier run tagged it.
func (f *identifyFile) todo(row *dataset.Row) (bool, error) {
	f.rows++
	if !f.run.mine(f.rows - 1) {
		return false, nil
	}
	found, err := f.recall(row)
	return !found && err == nil, err
}

// shownRejections is how many rejected lines are printed; the others are only kept and counted.
const shownRejections = 5

func (f *identifyFile) reject(fault *dataset.LineError) error {
	f.faults++
	if !f.run.mine(f.faults - 1) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.summary.Rejected++
	if n := f.run.total.Rejected + f.summary.Rejected; n <= shownRejections {
		f.run.say("%v", fault)
	} else if n == shownRejections+1 {
		f.run.say("more lines are no rows; they are not shown here")
	}
	if f.out == nil {
		return nil
	}
	return f.out.Reject(fault)
}

func (f *identifyFile) emit(row *dataset.Row, d *dataset.Diagnosis) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := row.SetDiagnosis(d); err != nil {
		return err
	}
	f.last = row.Line
	f.summary.add(d)
	err := f.write(row, d)
	f.run.progress.Show(f.run.total.Rows + f.summary.Rows)
	return err
}

func (f *identifyFile) write(row *dataset.Row, d *dataset.Diagnosis) error {
	var errs []error
	if f.out != nil {
		errs = append(errs, f.out.Write(row))
	}
	if f.stream != nil { // flushed row by row, for whoever waits at the other end of a pipe
		errs = append(errs, f.stream.Write(row))
		if s, ok := f.stream.(interface{ Flush() error }); ok {
			errs = append(errs, s.Flush())
		}
	}
	return errors.Join(append(errs, f.show(row, d))...)
}

// show adds the row to the table.
func (f *identifyFile) show(row *dataset.Row, d *dataset.Diagnosis) error {
	if f.table == nil {
		return nil
	}
	f.run.progress.Clear()
	return f.table.WriteRow(row, d)
}

// finish gives the output its name, or keeps what there is under OUT.partial.
func (f *identifyFile) finish(err error) error {
	if f.stream != nil {
		err = errors.Join(err, f.stream.Close())
	}
	if f.out == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, f.abort())
	}
	if err := f.commit(); err != nil {
		return err
	}
	f.run.noteRejected(f.summary, f.path)
	return nil
}
