package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
)

// ShownRejections is how many lines that are no rows are printed; the others are only kept and counted.
const ShownRejections = 5

// file is one input on its way to its output.
type file struct {
	run    *Run
	name   string      // of the input
	info   fs.FileInfo // of the input when reading began; nil if it is no regular file
	source io.Closer
	input  *runrecord.InputReader
	reader *dataset.Reader
	record *runrecord.Record
	usage  func() (any, error) // or nil
	rows   int                 // read so far
	faults int                 // lines read that are no rows
	own    bool                // it was said that a column of the input's own is replaced
	noted  map[string]bool

	mu      sync.Mutex // guards what follows: lines are rejected while rows are written
	counts  Counts
	resumed int
	last    int          // line of the last row written
	out     *Output      // or nil
	stream  dataset.Sink // standard output, or nil
	answers *answers     // of a worker, or nil
}

// file does the stage's work on one input.
func (r *Run) file(ctx context.Context, in, out string) error {
	f, err := r.openFile(ctx, in, out)
	if err != nil {
		return err
	}
	defer f.source.Close()
	defer f.reader.Close()
	err = r.stage.Work(ctx, func() (*dataset.Row, error) { return f.next(ctx) }, f.emit)
	r.addFile(f.counts, f.resumed)
	r.read += f.rows
	switch {
	case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		err = f.interrupted()
	case err != nil:
		err = f.out.Stopped(err, r.stage.Stop, f.usage, f.counts)
	}
	changed := Changed(in, f.info)
	if changed != "" {
		r.changed = append(r.changed, in+" "+changed+" while it was read")
	}
	return f.finish(err, changed)
}

func (r *Run) openFile(ctx context.Context, in, out string) (*file, error) {
	f := &file{run: r, name: in, counts: r.stage.zero(), record: r.stage.record(r.shard), noted: map[string]bool{}}
	if r.stage.Meter != nil {
		f.usage = r.stage.Meter()
	}
	source, info, err := OpenInput(ctx, r.Process, in)
	if err != nil {
		return nil, err
	}
	f.source, f.info, f.input = source, info, runrecord.NewInputReader(in, source)
	r.Progress.Begin(f.size(), f.input)
	limit := 0
	if r.Limit > 0 {
		limit = r.Limit - r.read
	}
	options := dataset.Options{Taxonomy: r.stage.Taxonomy, Map: r.Columns, ID: r.ID, Limit: limit}
	if r.Flush {
		f.answers = newAnswers(&f.mu)
		f.reader = r.files.LineReader(f.input, in, options)
	} else {
		f.reader, err = r.files.Reader(f.input, source, in, options)
	}
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	if err := f.create(out); err != nil {
		return nil, errors.Join(err, f.reader.Close(), source.Close())
	}
	return f, nil
}

// size is that of the input in bytes, or -1.
func (f *file) size() int64 {
	if f.info == nil {
		return -1
	}
	return f.info.Size()
}

// create begins the output.
func (f *file) create(out string) (err error) {
	r := f.run
	format, options := r.files.Format(out), r.files.SinkOptions(f.reader.Schema())
	switch out {
	case "":
		return nil
	case Stdio:
		f.stream, err = dataset.NewSink(r.Out, format, options)
	default:
		if f.out, err = f.begin(out); err == nil {
			f.out.Format, f.out.Options = format, options
		}
	}
	for _, n := range r.files.OutputNotes(format, f.reader.Schema()) {
		r.Say("%s", n)
	}
	return err
}

// next reads on behind lines that are no rows and rows that need no work, and ends when the user interrupts.
func (f *file) next(ctx context.Context) (*dataset.Row, error) {
	for row, err := range dataset.Rows(ctx, f.read, f.reject) {
		if ctx.Err() != nil {
			return nil, io.EOF
		}
		todo := false
		if err == nil {
			todo, err = f.takes(row)
		}
		if todo || err != nil {
			return row, err
		}
	}
	return nil, f.endOfInput()
}

// read reads a record, and says what was assumed about the input behind the first row, and what only its end tells.
func (f *file) read() (*dataset.Row, error) {
	row, err := f.reader.Read()
	if err == nil && f.rows == 0 || errors.Is(err, io.EOF) {
		f.note()
	}
	return row, err
}

// note says what was assumed about the input, also where the run is quiet, but for a worker's: its caller knows.
func (f *file) note() {
	for _, n := range f.reader.Notes() {
		if !f.noted[n] && !f.run.NoNotes && !(f.run.Quiet && f.run.Flush) {
			f.run.Warn("%s", n)
		}
		f.noted[n] = true
	}
}

// takes tells whether a row is the stage's: it is one of the shard, and no earlier run made it.
func (f *file) takes(row *dataset.Row) (bool, error) {
	f.rows++
	if !f.run.mine(f.rows - 1) {
		return false, nil
	}
	if !f.own {
		f.noteOwn(row)
	}
	if f.answers != nil {
		f.answers.expect()
	}
	found, err := f.recall(row)
	return !found && err == nil, err
}

// noteOwn says once that a column of the input's own is replaced.
func (f *file) noteOwn(row *dataset.Row) {
	if own := row.OwnText(f.run.stage.Column); own != "" {
		f.own = true
		f.run.Note([]string{own})
	}
}

func (f *file) reject(fault *dataset.LineError) error {
	f.faults++
	if !f.run.mine(f.faults - 1) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[CountRejected]++
	if n := f.run.total[CountRejected] + f.counts[CountRejected]; n <= ShownRejections {
		f.run.Say("%v", fault)
	} else if n == ShownRejections+1 {
		f.run.Say("more lines are no rows; they are not shown here")
	}
	switch {
	case f.answers != nil:
		return f.answers.reject(fault, f.stream)
	case f.out == nil:
		return nil
	}
	return f.out.Reject(fault)
}

// emit writes a row.
func (f *file) emit(row *dataset.Row) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.count(row, false); err != nil {
		return f.answers.fail(err)
	}
	err := f.answers.fail(f.write(row))
	if f.answers != nil && err == nil {
		err = f.answers.written(f.stream)
	}
	f.run.Progress.Show(f.run.total[CountRows] + f.counts[CountRows])
	return err
}

// count counts a row; the caller holds the lock.
func (f *file) count(row *dataset.Row, resumed bool) error {
	f.last = row.Line
	f.counts[CountRows]++
	if resumed {
		f.resumed++
	}
	return f.run.stage.Count(row, resumed, f.counts)
}

func (f *file) write(row *dataset.Row) error {
	var errs []error
	if f.out != nil {
		errs = append(errs, f.out.Write(row))
	}
	if f.stream != nil {
		errs = append(errs, writeNow(f.stream, row))
	}
	return errors.Join(append(errs, f.show(row))...)
}

// writeNow writes a row, and does not keep it from whoever waits at the other end of a pipe.
func writeNow(to dataset.Sink, row *dataset.Row) error {
	err := to.Write(row)
	if s, ok := to.(interface{ Flush() error }); ok {
		err = errors.Join(err, s.Flush())
	}
	return err
}

func (f *file) show(row *dataset.Row) error {
	if f.run.stage.Show == nil {
		return nil
	}
	f.run.Progress.Clear()
	return f.run.stage.Show(row)
}

// interrupted says what was kept, and the line that goes on.
func (f *file) interrupted() error {
	text := fmt.Sprintf("interrupted after line %d of %s", f.last, f.name)
	switch {
	case f.last == 0:
		text = "interrupted before the first row of " + f.name
	case f.out != nil && f.out.Recalling():
		text = "interrupted before the first new row of " + f.name
	case f.out != nil:
		text += fmt.Sprintf("; %s in %s", words.Plural(f.counts[CountRows], "finished row is", "finished rows are"),
			f.out.partial())
	}
	if f.out != nil {
		text += "\nto go on: " + f.run.goOn()
	}
	if f.out != nil && f.name == Stdio {
		text += "\nwith the same standard input from its beginning"
	}
	return exit.With(exit.Interrupted, errors.New(text))
}

// finish gives the output its name, or keeps what there is under OUT.partial.
func (f *file) finish(err error, changed string) error {
	if f.stream != nil {
		err = errors.Join(err, f.stream.Close())
	}
	if f.out == nil {
		return err
	}
	if err == nil {
		err = f.complete(changed)
	}
	if err != nil {
		return errors.Join(err, f.out.Abort())
	}
	if err := f.out.Commit(); err != nil {
		return err
	}
	f.run.noteRejected(f.counts, f.out.path)
	return nil
}

// complete fills in the record.
func (f *file) complete(changed string) (err error) {
	if f.usage != nil {
		if f.record.Usage, err = f.usage(); err != nil {
			return err
		}
	}
	input := f.input.Input()
	input.Changed = changed
	f.record.Columns, f.record.Notes = f.reader.Columns(), slices.Sorted(maps.Keys(f.noted))
	f.record.Weak, f.record.Sheet = f.run.stage.Weak, f.reader.Sheet()
	f.record.ID, f.record.RepeatedIDs = f.reader.RecordedID(), f.reader.RepeatedIDs()
	f.record.Inputs, f.record.Counts = []runrecord.Input{input}, f.counts
	return nil
}

// noteRejected remembers the rejected lines beside a finished output.
func (r *Run) noteRejected(counts Counts, out string) {
	if counts[CountRejected] > 0 {
		r.rejected = append(r.rejected, dataset.RejectedPath(out))
	}
}
