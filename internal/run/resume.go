package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/internal/words"
)

// OtherRunError says that an output was made otherwise than --resume would go on with it, or of other rows.
type OtherRunError struct{ error }

// Unwrap gives what is different.
func (o OtherRunError) Unwrap() error { return o.error }

func otherRunf(format string, args ...any) error {
	return exit.With(exit.Usage, OtherRunError{fmt.Errorf(format, args...)})
}

// begin creates the output, or takes up the one that an earlier run left.
func (f *file) begin(path string) (*Output, error) {
	r, now, partial := f.run, f.record, dataset.PartialPath(path)
	now.Inputs = []runrecord.Input{{File: storage.Base(f.name), Size: f.size(), Partial: true}}
	info, err := os.Stat(partial)
	if !r.Resume || err != nil || info.Size() == 0 { // killed before the first row, or even before its record
		return Create(path, r.Overwrite, now, r.Inputs...)
	}
	old, err := runrecord.Read(partial)
	if err != nil {
		return nil, otherRunf("--resume: %s cannot be continued: %w; start again with --overwrite", partial, err)
	}
	if err := compare(partial, old, now); err != nil {
		return nil, err
	}
	if a, b := begun(old.Inputs[0], now.Inputs[0]), now.Inputs[0]; a != b {
		return nil, otherRunf("--resume: %s was begun with another input:\n  %s\nstart again with --overwrite", partial,
			a.Differs(b))
	}
	if old.Tool != now.Tool {
		r.Say("%s was begun with erreval %s; this is %s", partial, old.Tool, now.Tool)
	}
	return continueOutput(path, r.Overwrite, now, r.Inputs...)
}

// begun is an input of an earlier run as it was recorded when that run began. The record may be the finished one, of a
// run that died before its output had its name: of what was read then, only a whole file's size can be compared with
// now's.
func begun(in, now runrecord.Input) runrecord.Input {
	if in.SHA256 == "" {
		return in
	}
	size := now.Size
	if !in.Partial && size >= 0 {
		size = in.Size
	}
	return runrecord.Input{File: in.File, Size: size, Partial: true}
}

// compare refuses to mix rows of two ways of making them.
func compare(file string, old, now *runrecord.Record) error {
	diff, err := differences(old, now)
	if err != nil {
		return err
	}
	if len(diff) == 0 && len(old.Inputs) == 1 {
		return nil
	}
	return otherRunf("--resume: %s was made otherwise:\n  %s\ngo on as it was begun, or start again with --overwrite",
		file, strings.Join(diff, "\n  "))
}

// differences says what makes other rows.
func differences(a, b *runrecord.Record) ([]string, error) {
	diff, err := runrecord.Differences(a, b, runrecord.SameRows()...)
	if x, y := a.Shard.String(), b.Shard.String(); x != y {
		diff = append(diff, fmt.Sprintf("shard: %s, now %s", x, y))
	}
	return diff, err
}

// recall counts a row that an earlier run made. It tells false for a row that is new.
func (f *file) recall(row *dataset.Row) (bool, error) {
	if f.out == nil || !f.out.Recalling() {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found, err := f.out.Recall(row, f.run.stage.Column)
	if errors.Is(err, dataset.ErrOtherRows) {
		return false, exit.With(exit.Usage, OtherRunError{err})
	}
	if err != nil {
		return false, err
	}
	if !found {
		f.run.Progress.Skip(f.run.total[CountRows] + f.counts[CountRows])
		return false, nil
	}
	if err := f.count(row, true); err != nil {
		return false, fmt.Errorf("%s: %w", f.out.partial(), err)
	}
	return true, f.show(row)
}

// endOfInput is io.EOF, unless an earlier run made rows that the input does not have.
func (f *file) endOfInput() error {
	if f.out == nil {
		return io.EOF
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.out.EndRecall(); err != nil {
		return exit.With(exit.Usage, OtherRunError{err})
	}
	return io.EOF
}

// finished takes the counts of an output that an earlier run has finished in the same way. It tells false where there
// is something to do.
func (r *Run) finished(ctx context.Context, in, out string) (bool, error) {
	if !r.Resume {
		return false, nil
	}
	if _, err := os.Stat(dataset.PartialPath(out)); err == nil {
		return false, nil
	}
	if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	old, err := finishedRecord(out, r.stage.record(r.shard))
	if err == nil {
		err = r.sameInput(ctx, in, out, old.Inputs[0])
	}
	if err != nil && r.Overwrite {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.addFile(old.Counts, old.Counts[CountRows])
	r.noteRejected(old.Counts, out)
	r.Say("%s is finished already", out)
	return true, nil
}

// finishedRecord reads the record of an output, if it was made, as a whole, by a run like the one that now begins.
func finishedRecord(out string, now *runrecord.Record) (*runrecord.Record, error) {
	old, err := runrecord.Read(out)
	if err == nil {
		err = settleRecord(out)
	}
	if err != nil {
		return nil, otherRunf("--resume: %s exists, but nothing says how it was made: %w; replace it with --overwrite", out,
			err)
	}
	if err := compare(out, old, now); err != nil {
		return nil, err
	}
	if err := old.Output.Differs(out); err != nil {
		return nil, otherRunf("--resume: %w; replace it with --overwrite", err)
	}
	return old, nil
}

// sameInput refuses an input that is not what a finished output was made of.
func (r *Run) sameInput(ctx context.Context, in, out string, was runrecord.Input) error {
	now, err := r.hashInput(ctx, in, was)
	was.Changed = "" // the hash tells whether it still is what was read
	if err == nil && now != was {
		return otherRunf("--resume: %s was made of another input:\n  %s\nreplace it with --overwrite", out,
			was.Differs(now))
	}
	return err
}

// IsFinished tells whether out was made, as a whole, by a run like the one that record begins, with its inputs. The
// error says what differs. It is for runs that read all of their inputs before they write.
func IsFinished(out string, record *runrecord.Record) (bool, error) {
	if _, err := os.Stat(out); err != nil {
		return false, nil
	}
	old, err := finishedRecord(out, record)
	if err != nil {
		return false, err
	}
	for i, now := range record.Inputs {
		if i >= len(old.Inputs) || now != old.Inputs[i] {
			return false, otherRunf("--resume: %s was made of another input than %s; replace it with --overwrite", out, now.File)
		}
	}
	return true, nil
}

// hashInput reads as much of an input as the record says was read.
func (r *Run) hashInput(ctx context.Context, in string, old runrecord.Input) (runrecord.Input, error) {
	source, _, err := OpenInput(ctx, r.Process, in)
	if err != nil {
		return runrecord.Input{}, err
	}
	defer source.Close()
	reader := runrecord.NewInputReader(in, source)
	size := old.Size
	if !old.Partial {
		size = 1<<63 - 1
	}
	if _, err := io.CopyN(io.Discard, reader, size); err != nil && !errors.Is(err, io.EOF) {
		return runrecord.Input{}, fmt.Errorf("%s: %w", in, err)
	}
	return reader.Input(), ctx.Err()
}

// ClearOutputs makes room for the outputs of a stage whose answers are in a journal: what an earlier run like this one
// left of them is removed, since its rows are made again at once, and those without an answer are asked about again.
// It is called before there is a journal: a run that cannot begin leaves none.
// check may refuse an output beforehand.
func (r *Run) ClearOutputs(owns func(*runrecord.Record) bool, check func(input, output string) error) error {
	for i, out := range r.outputs {
		if err := check(r.Inputs[i], out); err != nil {
			return err
		}
	}
	if err := r.makeFolder(); err != nil {
		return err
	}
	for _, out := range r.outputs {
		if err := ClearOutput(out, r.Overwrite || r.Resume, owns, r.Inputs...); err != nil {
			return err
		}
	}
	return r.CheckOutputs()
}

// goOn is what to type after an interruption.
func (r *Run) goOn() string { return cmp.Or(r.GoOn, resumeLine(r.Args)) }

// resumeLine is the command line as typed, with --resume, to be pasted into a shell.
func resumeLine(args []string) string {
	line := slices.Clone(args)
	if !slices.ContainsFunc(args, func(a string) bool { return strings.TrimLeft(a, "-") == "resume" && a != "resume" }) {
		at := slices.Index(line, "--")
		if at < 0 {
			at = len(line)
		}
		line = slices.Insert(line, at, "--resume")
	}
	return words.QuoteAll(line)
}
