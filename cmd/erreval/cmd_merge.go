package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
)

// mergeOptions are the flags and arguments of merge.
type mergeOptions struct {
	Parts     []string
	Output    string
	Files     run.FileOptions
	Overwrite bool
	Quiet     bool
}

func mergeCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "put outputs of identify together",
		ArgsUsage: "OUT...",
		Description: `The parts of one input, in any order; the rows come back in the input's order:
   erreval identify rows.jsonl --shard 1/2 -o part1.jsonl
   erreval identify rows.jsonl --shard 2/2 -o part2.jsonl
   erreval merge part1.jsonl part2.jsonl -o tagged.jsonl

Whole outputs of several inputs, one after the other as named:
   erreval merge monday.jsonl tuesday.jsonl -o week.jsonl

The run record beside each output (OUT.run.json) says how it was made. Outputs are put together if
model, taxonomy and options are the same, no part is missing and no id occurs twice.`,
		Flags: append([]cli.Flag{outFlag(), overwriteFlag(), quietFlag()}, fileFlags()...),
		Action: func(ctx *cli.Context) error {
			o := &mergeOptions{Parts: ctx.Args().Slice(), Output: ctx.String("output"), Files: readFileOptions(ctx),
				Overwrite: ctx.Bool("overwrite"), Quiet: ctx.Bool("quiet")}
			if err := o.validate(); err != nil {
				return err
			}
			return runMerge(ctx.Context, e, o)
		},
	}
}

func (o *mergeOptions) validate() error {
	switch {
	case len(o.Parts) == 0:
		return exit.Usagef("no outputs to put together; name those of identify, as in: erreval merge part1.jsonl part2.jsonl -o tagged.jsonl")
	case o.Output == "" || o.Output == run.Stdio:
		return exit.Usagef("no output; give -o MERGED")
	case slices.Contains(o.Parts, run.Stdio):
		return exit.Usagef(`"-" has no run record beside it; name files`)
	}
	return run.CheckInputs(o.Parts)
}

// part is one output to be merged.
type part struct {
	path   string
	record *runrecord.Record
	rows   *dataset.Reader
	close  func()
	n      int // rows read
}

// merger puts parts together.
type merger struct {
	o      *mergeOptions
	files  *run.Files
	parts  []*part // of shards, in the order of their numbers
	shards bool    // else whole outputs
	out    *dataset.Output
	seen   map[[16]byte]*part // ids, shortened hashes of
}

func runMerge(ctx context.Context, e *env, o *mergeOptions) (err error) {
	m := &merger{o: o, seen: map[[16]byte]*part{}}
	if m.files, err = o.Files.Open(); err != nil {
		return err
	}
	if err := m.readRecords(); err != nil {
		return err
	}
	defer m.close()
	if err := m.open(ctx, e); err != nil {
		return err
	}
	if m.out, err = dataset.Create(o.Output, o.Overwrite, o.Parts...); err != nil {
		return err
	}
	m.out.Format, m.out.Options = m.files.Format(o.Output), m.files.SinkOptions(m.parts[0].rows.Schema())
	if err = m.copyRows(ctx); err == nil {
		err = m.copyRejected()
	}
	if err != nil {
		return errors.Join(err, m.out.Abort(), removeIfThere(dataset.PartialPath(o.Output)))
	}
	if err := m.out.Commit(); err != nil {
		return err
	}
	if err := m.record().Write(o.Output); err != nil {
		return err
	}
	if !o.Quiet {
		fmt.Fprintf(e.Err, "%s of %s in %s; %s rejected\n", words.Plural(m.out.Rows(), "row", "rows"),
			words.Plural(len(m.parts), "part", "parts"), o.Output, words.Plural(m.out.Rejected(), "line", "lines"))
	}
	return nil
}

// readRecords checks that the parts belong together.
func (m *merger) readRecords() error {
	for _, path := range m.o.Parts {
		if _, err := os.Stat(dataset.PartialPath(path)); err == nil {
			return fmt.Errorf("%s is not finished: there is %s; finish it with --resume", path, dataset.PartialPath(path))
		}
		record, err := runrecord.Read(path)
		if err != nil {
			return fmt.Errorf("%s: nothing says how it was made: %w", path, err)
		}
		if len(record.Inputs) == 0 {
			return fmt.Errorf("%s: its run record names no input", path)
		}
		m.parts = append(m.parts, &part{path: path, record: record})
	}
	var errs []error
	for _, p := range m.parts[1:] {
		errs = append(errs, m.same(m.parts[0], p))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	m.shards = m.parts[0].record.Shard != nil
	if m.shards {
		return m.checkShards()
	}
	return nil
}

func (m *merger) same(a, b *part) error {
	diff, err := runrecord.Differences(a.record, b.record, sameRows...)
	if err != nil {
		return err
	}
	if x, y := a.record.Shard, b.record.Shard; (x == nil) != (y == nil) {
		diff = append(diff, fmt.Sprintf("shard: %s, now %s", shardText(x), shardText(y)))
	}
	for i, d := range diff {
		diff[i] = strings.Replace(d, ", now ", " and ", 1)
	}
	x, y := a.record.Inputs[0], b.record.Inputs[0]
	shards, sameInput := a.record.Shard != nil && b.record.Shard != nil, x.SHA256 == y.SHA256 && x.Size == y.Size
	if shards && !sameInput {
		diff = append(diff, "input: "+strings.Replace(differentInput(x, y), ", now ", " and ", 1))
	}
	if len(diff) == 0 && !shards && sameInput {
		return exit.With(exit.Unfit, fmt.Errorf("%s and %s were made of the same input, %s", a.path, b.path, x.File))
	}
	if len(diff) == 0 {
		return nil
	}
	return exit.With(exit.Unfit, fmt.Errorf("%s and %s were made differently:\n  %s", a.path, b.path, strings.Join(diff, "\n  ")))
}

// checkShards puts the parts in order, and finds those that are missing or there twice.
func (m *merger) checkShards() error {
	of := m.parts[0].record.Shard.Of
	sorted := make([]*part, of)
	var errs []error
	for _, p := range m.parts {
		s := p.record.Shard
		switch {
		case s.Of != of:
			errs = append(errs, fmt.Errorf("%s is part %s, but %s is %s", p.path, s, m.parts[0].path, m.parts[0].record.Shard))
		case s.Index < 1 || s.Index > of:
			errs = append(errs, fmt.Errorf("%s: its run record says part %s", p.path, s))
		case sorted[s.Index-1] != nil:
			errs = append(errs, fmt.Errorf("%s and %s are both part %s", sorted[s.Index-1].path, p.path, s))
		default:
			sorted[s.Index-1] = p
		}
	}
	var missing []string
	for i, p := range sorted {
		if p == nil {
			missing = append(missing, fmt.Sprintf("%d/%d", i+1, of))
		}
	}
	if len(errs) == 0 && len(missing) > 0 {
		errs = append(errs, fmt.Errorf("missing: the output of --shard %s", strings.Join(missing, ", ")))
	}
	m.parts = sorted
	if len(errs) == 0 {
		return nil
	}
	return exit.With(exit.Unfit, errors.Join(errs...))
}

func (m *merger) open(ctx context.Context, e *env) (err error) {
	for _, p := range m.parts {
		p.rows, p.close, err = m.files.OpenRows(ctx, e.Process, p.path, dataset.Options{})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) close() {
	for _, p := range m.parts {
		if p != nil && p.close != nil {
			p.close()
		}
	}
}

// copyRows takes the rows of shards in turn, since row k of the input went to shard k modulo n; whole outputs
// one after the other.
func (m *merger) copyRows(ctx context.Context) error {
	if !m.shards {
		for _, p := range m.parts {
			if err := m.copyAll(ctx, p); err != nil {
				return err
			}
		}
		return m.checkCounts()
	}
	for i := 0; ; i++ {
		p := m.parts[i%len(m.parts)]
		more, err := m.copyRow(ctx, p)
		if err != nil {
			return err
		}
		if !more {
			return m.checkCounts()
		}
	}
}

func (m *merger) copyAll(ctx context.Context, p *part) error {
	for {
		if more, err := m.copyRow(ctx, p); !more || err != nil {
			return err
		}
	}
}

// copyRow copies the part's next row; more is false at its end.
func (m *merger) copyRow(ctx context.Context, p *part) (more bool, err error) {
	row, err := p.rows.Read()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return false, fmt.Errorf("%w; %s is not as identify wrote it", err, p.path)
	}
	p.n++
	if raw, ok := row.Get(dataset.ColumnID); ok && string(raw) != "null" {
		sum := sha256.Sum256([]byte(row.ID))
		id := [16]byte(sum[:16])
		if other := m.seen[id]; other != nil {
			return false, exit.With(exit.Unfit, fmt.Errorf("the id %q is in %s and in %s; outputs to be merged have different rows", row.ID, other.path, p.path))
		}
		m.seen[id] = p
	}
	return true, m.out.Write(row)
}

// checkCounts compares the rows read with those that the records count.
func (m *merger) checkCounts() error {
	var errs []error
	for _, p := range m.parts {
		if _, err := p.rows.Read(); !errors.Is(err, io.EOF) {
			p.n++ // at least one more than its turn
		}
		if want := p.record.Counts["rows"]; p.n != want {
			errs = append(errs, exit.With(exit.Unfit, fmt.Errorf("%s has other rows than the %d that its run record counts; it was changed since", p.path, want)))
		}
	}
	return errors.Join(errs...)
}

// copyRejected merges OUT.rejected.jsonl in the same order as the rows.
func (m *merger) copyRejected() error {
	lists := make([]*bufio.Reader, len(m.parts))
	want := 0
	for i, p := range m.parts {
		f, err := openRejected(p.path)
		if err != nil {
			return err
		}
		defer f.Close()
		lists[i] = bufio.NewReader(f)
		want += p.record.Counts["rejected"]
	}
	for at := 0; at < len(lists); {
		line, err := lists[at].ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && m.shards: // those of the others are at their ends too
			at = len(lists)
		case errors.Is(err, io.EOF):
			at++
		case err != nil:
			return fmt.Errorf("rejected lines: %w", err)
		default:
			if err := m.out.CopyRejected(line); err != nil {
				return err
			}
			if m.shards {
				at = (at + 1) % len(lists)
			}
		}
	}
	if got := m.out.Rejected(); got != want {
		return exit.With(exit.Unfit, fmt.Errorf("the files of rejected lines hold %d lines, but the run records count %d; they were changed since", got, want))
	}
	return nil
}

// openRejected opens the rejected lines of an output; there may be none.
func openRejected(out string) (io.ReadCloser, error) {
	f, err := os.Open(dataset.RejectedPath(out))
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err != nil {
		return nil, fmt.Errorf("rejected lines: %w", err)
	}
	return f, nil
}

// record is that of a run over all inputs, with the parts it was put together from.
func (m *merger) record() *runrecord.Record {
	first := m.parts[0].record
	r := runrecord.New(first.Command, first.Options)
	r.Model, r.Taxonomy, r.Columns, r.Started = first.Model, first.Taxonomy, first.Columns, first.Started
	for _, p := range m.parts {
		if p.record.Started.Before(r.Started) {
			r.Started = p.record.Started
		}
		if !m.shards {
			r.Inputs = append(r.Inputs, p.record.Inputs...)
		}
		for name, n := range p.record.Counts {
			r.Counts[name] += n
		}
		r.Parts = append(r.Parts, runrecord.Part{File: filepath.Base(p.path), Shard: p.record.Shard, Tool: p.record.Tool, Usage: p.record.Usage})
	}
	if m.shards {
		r.Inputs = first.Inputs
	}
	return r
}
