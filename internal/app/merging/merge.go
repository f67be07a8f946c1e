// Package merging puts outputs together: the shards of one input, or whole outputs.
package merging

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/storage"
)

// part is one output to be merged.
type part struct {
	path   string
	record *runrecord.Record
	rows   *dataset.Reader
	close  func()
	n      int // rows read
}

// Options are those of Merge.
type Options struct {
	Parts     []string // outputs with their run records
	Output    string
	Files     run.FileOptions
	Overwrite bool
}

// Validate reports a fault of o that can be told without looking into files.
func (o *Options) Validate() error {
	switch {
	case len(o.Parts) == 0:
		return exit.Usagef("no outputs to put together; name those of identify, as in: " +
			"erreval merge part1.jsonl part2.jsonl -o tagged.jsonl")
	case o.Output == "" || o.Output == run.Stdio:
		return exit.Usagef("no output; give -o MERGED")
	case slices.Contains(o.Parts, run.Stdio):
		return exit.Usagef(`"-" has no run record beside it; name files`)
	}
	return run.CheckInputs(o.Parts)
}

// Merged is what came of Merge.
type Merged struct{ Rows, Rejected, Parts int }

// merger puts parts together.
type merger struct {
	files  *run.Files
	parts  []*part // of shards, in the order of their numbers
	shards bool    // else whole outputs
	out    *run.Output
	seen   map[[16]byte]*part // ids, shortened hashes of
}

// Merge puts outputs together: the shards of one input in the order of its rows, or whole outputs one after the other.
func Merge(ctx context.Context, p *run.Process, o Options) (_ *Merged, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m := &merger{seen: map[[16]byte]*part{}}
	if m.files, err = o.Files.Open(); err != nil {
		return nil, err
	}
	if err := m.readRecords(o.Parts); err != nil {
		return nil, err
	}
	defer m.closeParts()
	if err := m.openParts(ctx, p); err != nil {
		return nil, err
	}
	if m.out, err = run.Create(o.Output, o.Overwrite, m.record(), o.Parts...); err != nil {
		return nil, err
	}
	m.out.Format, m.out.Options = m.files.Format(o.Output), m.files.SinkOptions(m.parts[0].rows.Schema())
	if err = m.copyRows(ctx); err == nil {
		err = m.copyRejected()
	}
	if err := m.out.End(err); err != nil {
		return nil, err
	}
	return &Merged{Rows: m.out.Rows(), Rejected: m.out.Rejected(), Parts: len(m.parts)}, nil
}

// readRecords checks that the parts belong together.
func (m *merger) readRecords(paths []string) error {
	for _, path := range paths {
		if _, err := os.Stat(dataset.PartialPath(path)); err == nil {
			return fmt.Errorf("%s is not finished: there is %s; finish it with --resume", path, dataset.PartialPath(path))
		}
		record, err := runrecord.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: nothing says how it was made: there is no %s; what is merged are outputs of one command, "+
				"with their records beside them", path, runrecord.Path(path))
		}
		if err != nil {
			return fmt.Errorf("%s: nothing says how it was made: %w", path, err)
		}
		if len(record.Inputs) == 0 {
			return fmt.Errorf("%s: its run record names no input", path)
		}
		if err := record.Output.Differs(path); err != nil {
			return exit.With(exit.Unfit, err)
		}
		m.parts = append(m.parts, &part{path: path, record: record})
	}
	var errs []error
	for _, p := range m.parts[1:] {
		errs = append(errs, checkAlike(m.parts[0], p))
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

// checkAlike refuses parts of which the rows were made differently, or twice of the same input.
func checkAlike(a, b *part) error {
	diff, err := runrecord.Differences(a.record, b.record, runrecord.SameRows()...)
	if err != nil {
		return err
	}
	if x, y := a.record.Shard, b.record.Shard; (x == nil) != (y == nil) {
		diff = append(diff, fmt.Sprintf("shard: %s, now %s", x, y))
	}
	for i, d := range diff {
		diff[i] = strings.Replace(d, ", now ", " and ", 1)
	}
	x, y := a.record.Inputs[0], b.record.Inputs[0]
	shards, sameInput := a.record.Shard != nil && b.record.Shard != nil, x.SHA256 == y.SHA256 && x.Size == y.Size
	if shards && !sameInput {
		diff = append(diff, "input: "+strings.Replace(x.Differs(y), ", now ", " and ", 1))
	}
	if len(diff) == 0 && !shards && sameInput && a.record.Sheet == b.record.Sheet {
		return exit.With(exit.Unfit, fmt.Errorf("%s and %s were made of the same input, %s", a.path, b.path, x.File))
	}
	if len(diff) == 0 {
		return nil
	}
	next := ""
	if slices.ContainsFunc(diff, func(d string) bool { return strings.HasPrefix(d, "map.") }) {
		next = "\ngive the columns the same names in all inputs, and run the command on these again"
	}
	return exit.With(exit.Unfit, fmt.Errorf("%s and %s were made differently:\n  %s%s", a.path, b.path,
		strings.Join(diff, "\n  "), next))
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

func (m *merger) openParts(ctx context.Context, proc *run.Process) (err error) {
	for _, p := range m.parts {
		p.rows, p.close, err = m.files.OpenRows(ctx, proc, p.path, dataset.Options{})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) closeParts() {
	for _, p := range m.parts {
		if p != nil && p.close != nil {
			p.close()
		}
	}
}

// inTurn has copyNext copy what is next in a part: of shards in turn, since row k of the input went to shard k modulo
// n, until one has no more, and neither have the others; of whole outputs one after the other.
func (m *merger) inTurn(copyNext func(part int) (more bool, err error)) error {
	for at := 0; at < len(m.parts); {
		more, err := copyNext(at)
		switch {
		case err != nil:
			return err
		case m.shards && !more:
			return nil
		case m.shards:
			at = (at + 1) % len(m.parts)
		case !more:
			at++
		}
	}
	return nil
}

func (m *merger) copyRows(ctx context.Context) error {
	err := m.inTurn(func(i int) (bool, error) { return m.copyRow(ctx, m.parts[i]) })
	if err != nil {
		return err
	}
	return m.checkCounts()
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
	if given := row.GivenID(); given != "" {
		sum := sha256.Sum256([]byte(given))
		id := [16]byte(sum[:16])
		if other := m.seen[id]; other != nil && !other.repeatsIDs() && !p.repeatsIDs() {
			return false, exit.With(exit.Unfit,
				fmt.Errorf("the id %q is in %s and in %s; outputs to be merged have different rows", given, other.path, p.path))
		}
		m.seen[id] = p
	}
	return true, m.out.Write(row)
}

// repeatsIDs tells whether several rows of the part's input have the same id.
func (p *part) repeatsIDs() bool { return p.record.RepeatedIDs > 0 }

// checkCounts compares the rows read with those that the records count.
func (m *merger) checkCounts() error {
	var errs []error
	for _, p := range m.parts {
		if _, err := p.rows.Read(); !errors.Is(err, io.EOF) {
			p.n++ // at least one more than its turn
		}
		if want := p.record.Counts[run.CountRows]; p.n != want {
			errs = append(errs, exit.With(exit.Unfit,
				fmt.Errorf("%s has other rows than the %d that its run record counts; it was changed since", p.path, want)))
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
		want += p.record.Counts[run.CountRejected]
	}
	err := m.inTurn(func(i int) (bool, error) {
		line, err := lists[i].ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("rejected lines: %w", err)
		}
		return true, m.out.CopyRejected(line)
	})
	if err != nil {
		return err
	}
	if got := m.out.Rejected(); got != want {
		return exit.With(exit.Unfit,
			fmt.Errorf("the files of rejected lines hold %d lines, but the run records count %d; they were changed since", got,
				want))
	}
	return nil
}

// openRejected opens the rejected lines of an output; there may be none.
func openRejected(out string) (io.ReadCloser, error) {
	f, err := storage.OpenPath(context.Background(), storage.Beside(out, dataset.RejectedPath("")))
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
	r.Model, r.Taxonomy, r.Started = first.Model, first.Taxonomy, first.Started
	r.Columns, r.ID = first.Columns, first.ID
	for _, p := range m.parts {
		if p.record.Started.Before(r.Started) {
			r.Started = p.record.Started
		}
		if !m.shards {
			r.Inputs = append(r.Inputs, p.record.Inputs...)
		}
		r.RepeatedIDs += p.record.RepeatedIDs
		for name, n := range p.record.Counts {
			r.Counts[name] += n
		}
		r.Parts = append(r.Parts, runrecord.Part{File: storage.Base(p.path), Shard: p.record.Shard, Tool: p.record.Tool,
			Usage: p.record.Usage})
	}
	if m.shards {
		r.Inputs, r.RepeatedIDs = first.Inputs, first.RepeatedIDs // each part's run read the whole input
	}
	return r
}
