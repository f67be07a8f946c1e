package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
)

// sameRows are the options that do not change what becomes of a row.
var sameRows = []string{"workers"}

// otherRun says that an output was made otherwise than --resume would go on with it, or of other rows.
type otherRun struct{ error }

func (o otherRun) Unwrap() error { return o.error }

func otherRunf(format string, args ...any) error {
	return exit.With(exit.Usage, otherRun{fmt.Errorf(format, args...)})
}

// begin creates the output, or takes up the one that an earlier run left. A record of how it is made
// stands beside OUT.partial from the start.
func (f *identifyFile) begin(size int64) (err error) {
	now, partial := f.record, dataset.PartialPath(f.path)
	now.Inputs = []runrecord.Input{{File: filepath.Base(f.name), Size: size, Partial: true}}
	info, err := os.Stat(partial)
	if !f.run.o.Resume || err != nil || info.Size() == 0 { // killed before the first row, or even before its record
		if f.out, err = dataset.Create(f.path, f.run.o.Overwrite, f.run.o.Inputs...); err != nil {
			return err
		}
		return now.Write(partial)
	}
	old, err := runrecord.Read(partial)
	if err != nil {
		return otherRunf("--resume: %s cannot be continued: %w; start again with --overwrite", partial, err)
	}
	if err := f.run.compare(partial, old, now); err != nil {
		return err
	}
	if a, b := old.Inputs[0], now.Inputs[0]; a != b {
		return otherRunf("--resume: %s was begun with another input:\n  %s\nstart again with --overwrite", partial, differentInput(a, b))
	}
	f.run.noteBuild(partial, old, now)
	if f.out, err = dataset.Resume(f.path, f.run.o.Overwrite, f.run.o.Inputs...); err != nil {
		return err
	}
	return now.Write(partial)
}

// compare refuses to mix rows of two ways of making them.
func (r *identifyRun) compare(file string, old, now *runrecord.Record) error {
	diff, err := runrecord.Differences(old, now, sameRows...)
	if err != nil {
		return err
	}
	if a, b := shardText(old.Shard), shardText(now.Shard); a != b {
		diff = append(diff, fmt.Sprintf("shard: %s, now %s", a, b))
	}
	if len(diff) == 0 && len(old.Inputs) == 1 {
		return nil
	}
	return otherRunf("--resume: %s was made otherwise:\n  %s\ngo on as it was begun, or start again with --overwrite",
		file, strings.Join(diff, "\n  "))
}

func (r *identifyRun) noteBuild(file string, old, now *runrecord.Record) {
	if old.Tool != now.Tool {
		r.say("%s was begun with erreval %s; this is %s", file, old.Tool, now.Tool)
	}
}

func shardText(s *runrecord.Shard) string {
	if s == nil {
		return "none"
	}
	return s.String()
}

func differentInput(a, b runrecord.Input) string {
	switch {
	case a.File != b.File:
		return fmt.Sprintf("%s, now %s", a.File, b.File)
	case a.Size != b.Size:
		return fmt.Sprintf("%s of %d bytes, now %d", a.File, a.Size, b.Size)
	}
	return fmt.Sprintf("%s with SHA-256 %.12s…, now %.12s…", a.File, a.SHA256, b.SHA256)
}

// recall adds a row that an earlier run tagged to the counts. It tells false for a row that is new.
func (f *identifyFile) recall(row *dataset.Row) (bool, error) {
	if f.out == nil || !f.out.Recalling() {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found, err := f.out.Recall(row, dataset.ColumnDiagnosis)
	if errors.Is(err, dataset.ErrOtherRows) {
		return false, exit.With(exit.Usage, otherRun{err})
	}
	if err != nil {
		return false, err
	}
	if !found {
		f.run.progress.Skip(f.run.total.Rows + f.summary.Rows)
		return false, nil
	}
	d, err := row.Diagnosis()
	if err != nil {
		return false, fmt.Errorf("%s: %w", dataset.PartialPath(f.path), err)
	}
	f.last = row.Line
	f.summary.Resumed++
	f.summary.add(d)
	return true, f.show(row, d)
}

// finished takes the counts of an output that an earlier run has finished in the same way. It tells
// false where there is something to do.
func (r *identifyRun) finished(ctx context.Context, in, out string) (bool, error) {
	if !r.o.Resume {
		return false, nil
	}
	if _, err := os.Stat(dataset.PartialPath(out)); err == nil {
		return false, nil
	}
	if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err := r.checkFinished(ctx, in, out)
	if err != nil && r.o.Overwrite {
		return false, nil
	}
	return err == nil, err
}

func (r *identifyRun) checkFinished(ctx context.Context, in, out string) error {
	old, err := runrecord.Read(out)
	if err != nil {
		return otherRunf("--resume: %s exists, but nothing says how it was made: %w; replace it with --overwrite", out, err)
	}
	if err := r.compare(out, old, r.newRecord()); err != nil {
		return err
	}
	now, err := r.hashInput(ctx, in, old.Inputs[0])
	if err != nil {
		return err
	}
	old.Inputs[0].Changed = "" // the hash tells whether it still is what was read
	if now != old.Inputs[0] {
		return otherRunf("--resume: %s was made of another input:\n  %s\nreplace it with --overwrite", out, differentInput(old.Inputs[0], now))
	}
	s := newSummary(r)
	s.restore(old.Counts)
	r.total.merge(s)
	r.noteRejected(s, out)
	r.say("%s is finished already", out)
	return removeIfThere(runrecord.Path(dataset.PartialPath(out)))
}

// hashInput reads as much of an input as the record says was read.
func (r *identifyRun) hashInput(ctx context.Context, in string, old runrecord.Input) (runrecord.Input, error) {
	source, _, err := run.OpenInput(ctx, r.e.Process, in)
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

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// endOfInput is io.EOF, unless an earlier run tagged rows that the input does not have.
func (f *identifyFile) endOfInput() error {
	if f.out == nil {
		return io.EOF
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.out.EndRecall(); err != nil {
		return exit.With(exit.Usage, otherRun{err})
	}
	return io.EOF
}

// commit gives the output its name. The record goes first: where a process dies in between, OUT.partial is
// left, and --resume finishes.
func (f *identifyFile) commit() error {
	if err := f.writeRecord(); err != nil {
		return errors.Join(err, f.abort())
	}
	if err := f.out.Commit(); err != nil {
		return err
	}
	return removeIfThere(runrecord.Path(dataset.PartialPath(f.path)))
}

// abort keeps the rows there are under OUT.partial, and the record only with them.
func (f *identifyFile) abort() error {
	err := f.out.Abort()
	if _, gone := os.Stat(dataset.PartialPath(f.path)); gone != nil {
		err = errors.Join(err, removeIfThere(runrecord.Path(dataset.PartialPath(f.path))))
	}
	return err
}

// interrupted says what was kept, and the line that goes on.
func (f *identifyFile) interrupted(in string) error {
	text := fmt.Sprintf("interrupted after line %d of %s", f.last, in)
	switch {
	case f.last == 0:
		text = "interrupted before the first row of " + in
	case f.out != nil && f.out.Recalling():
		text = "interrupted before the first new row of " + in
	case f.out != nil:
		text += fmt.Sprintf("; %s in %s", words.Plural(f.summary.Rows, "finished row is", "finished rows are"), dataset.PartialPath(f.path))
	}
	if f.out != nil {
		text += "\nto go on: " + cmp.Or(f.run.o.GoOn, resumeLine(f.run.e.Args))
	}
	if f.out != nil && in == run.Stdio {
		text += "\nwith the same standard input from its beginning"
	}
	return exit.With(exit.Interrupted, errors.New(text))
}

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

// parseShard reads "2/5".
func parseShard(text string) (*runrecord.Shard, error) {
	if text == "" {
		return nil, nil
	}
	index, of, ok := strings.Cut(text, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if !ok || errI != nil || errN != nil || i < 1 || i > n {
		return nil, exit.Usagef("--shard %q: write it as I/N with I from 1 to N, as in --shard 2/5", text)
	}
	return &runrecord.Shard{Index: i, Of: n}, nil
}

// mine tells whether the n-th row or rejected line (from 0) belongs to the shard.
func (r *identifyRun) mine(n int) bool {
	return r.shard == nil || n%r.shard.Of == r.shard.Index-1
}
