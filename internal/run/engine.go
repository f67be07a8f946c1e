package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// Run is one run of a row command: New, then NameColumns, then All with the Stage.
type Run struct {
	*Process
	Options
	Progress *Progress

	files    *Files
	taxonomy *taxonomy.Taxonomy
	stage    *Stage
	shard    *runrecord.Shard // or nil
	outputs  []string         // by input
	read     int              // rows, over all files
	total    Counts           // over all files
	resumed  int              // rows, over all files, that an earlier run made
	rejected []string         // files of rejected lines
	changed  []string         // inputs that changed while they were read, each with what happened
}

// New checks the options, and that the inputs are there. Nothing is read yet and nothing is written.
func New(p *Process, o Options) (r *Run, err error) {
	r = &Run{Process: p, Options: o, Progress: NewProgress(p)}
	if r.shard, err = o.shard(); err != nil {
		return nil, err
	}
	if r.files, err = o.Files.Open(); err != nil {
		return nil, err
	}
	if r.ID, err = ReadID(o.IDFlag); err != nil {
		return nil, err
	}
	r.outputs, err = o.outputs()
	return r, err
}

// NameColumns reads the options' Map, and checks that the inputs have the columns of t's fields.
func (r *Run) NameColumns(ctx context.Context, t *taxonomy.Taxonomy) (err error) {
	if r.Columns, err = ReadMap(r.Map, t.FieldNames()); err != nil {
		return err
	}
	r.taxonomy = t
	return r.Rows().CheckColumns(ctx, r.Process, r.Inputs...)
}

// Rows is how the run reads files, without its limit.
func (r *Run) Rows() *Rows {
	return &Rows{Files: r.files, Taxonomy: r.taxonomy, Reading: runrecord.Reading{Columns: r.Columns, ID: r.ID}}
}

// Each goes through the rows that All would give to the stage, all outputs being new. It gives the number of lines that
// are no rows.
func (r *Run) Each(ctx context.Context, visit func(*dataset.Row) error) (rejected int, err error) {
	for _, file := range r.Inputs {
		in := r.Rows()
		if r.Limit > 0 {
			if in.Limit = r.Limit - r.read; in.Limit == 0 {
				break
			}
		}
		n := 0
		faults, err := in.Each(ctx, r.Process, file, func(row *dataset.Row) error {
			if n++; !r.mine(n - 1) {
				return nil
			}
			return visit(row)
		})
		if err != nil {
			return rejected, err
		}
		for i := range faults {
			if r.mine(i) {
				rejected++
			}
		}
		r.read += n
	}
	return rejected, nil
}

// mine tells whether the n-th row or rejected line of a file (from 0) belongs to the shard.
func (r *Run) mine(n int) bool {
	return r.shard == nil || n%r.shard.Of == r.shard.Index-1
}

// Result is what came of a run.
type Result struct {
	Counts  Counts    // over all files
	Resumed int       // rows of Counts that an earlier run made
	Ended   bool      // all inputs were read; else Err says why not
	Started time.Time // of the first file
	Err     error     // why the run ended early, or nil
}

// NothingRead tells whether the run failed so early that there is nothing to sum up.
func (r *Result) NothingRead() bool {
	return r.Err != nil && LacksColumns(r.Err) && r.Counts[CountRows] == 0
}

// All does the stage's work on all inputs, one after the other.
func (r *Run) All(ctx context.Context, s *Stage) *Result {
	r.stage, r.total = s, s.zero()
	res := &Result{Started: time.Now()}
	res.Err = r.makeFolder()
	for i, in := range r.Inputs {
		if res.Err != nil || r.Limit > 0 && r.read >= r.Limit {
			break
		}
		var done bool
		if done, res.Err = r.finished(ctx, in, r.outputs[i]); res.Err == nil && !done {
			res.Err = r.file(ctx, in, r.outputs[i])
		}
	}
	r.Progress.Clear()
	res.Counts, res.Resumed, res.Ended = r.total, r.resumed, res.Err == nil
	return res
}

// zero is a file's counts before its first row.
func (s *Stage) zero() Counts {
	c := Counts{CountRows: 0, CountRejected: 0}
	maps.Copy(c, s.Zero)
	return c
}

// Say prints a note, unless the run is quiet.
func (r *Run) Say(format string, args ...any) {
	r.Progress.Clear()
	r.Process.Say(format, args...)
}

// Incomplete is the error, with exit code 3, of rows without what the stage gives, rejected lines and inputs that
// changed meanwhile; nil where there are none.
func (r *Run) Incomplete() error {
	var parts []string
	s := r.stage
	if n := r.total[s.missing()]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s: %s", n, words.Plural(r.total[CountRows], "row is", "rows are"),
			s.missing(), s.Why(r.total)))
	}
	if n := r.total[CountRejected]; n > 0 {
		parts = append(parts, words.Plural(n, "line was no row", "lines were no rows")+r.whereRejected()+r.noRowLeft())
	}
	if len(r.changed) > 0 {
		parts = append(parts, fmt.Sprintf("%s: the rows that were read are %s; %s the file again once nothing changes it",
			strings.Join(r.changed, "; "), s.Past, s.Verb))
	}
	if len(parts) == 0 {
		return nil
	}
	if r.Flush && r.Quiet { // whoever reads the answers knows
		return exit.With(exit.Incomplete, nil)
	}
	return exit.With(exit.Incomplete, errors.New(strings.Join(parts, "; ")))
}

// noRowLeft says what to do where nothing but rejected lines was read.
func (r *Run) noRowLeft() string {
	if r.total[CountRows] > 0 || r.Flush {
		return ""
	}
	return "; no row is left: mend the file, make plain text a table whose first line names its columns (.csv), or name " +
		"columns with --map, and run again with --overwrite"
}

// whereRejected says where the lines are that are no rows. A run that did not end meets them again.
func (r *Run) whereRejected() string {
	switch {
	case r.Flush:
		return ", answered in their place"
	case r.Output == "" || r.Output == Stdio:
		return ", kept nowhere: -o FILE keeps them in FILE.rejected.jsonl"
	case len(r.rejected) == 1:
		return ": see " + r.rejected[0]
	case len(r.rejected) > 1:
		return ": see " + filepath.Join(r.Output, dataset.RejectedPath("*"))
	}
	return ""
}

// addFile adds what came of a file.
func (r *Run) addFile(counts Counts, resumed int) {
	r.total.add(counts)
	r.resumed += resumed
}
