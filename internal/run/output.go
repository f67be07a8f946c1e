package run

import (
	"errors"
	"fmt"
	"os"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
)

// Output is a file of rows with its run record. While it is written both bear the name OUT.partial.
//
// Wherever a process dies, OUT.run.json describes the OUT that is there or is missing: the record is finished beside
// OUT.partial, an older OUT.run.json is removed, OUT gets its name, then its record. --resume completes what is
// missing.
type Output struct {
	*dataset.Output
	Record *runrecord.Record
	path   string
}

// Create starts an output; what dataset.Create refuses, it refuses. The record stands beside it from the start.
func Create(path string, overwrite bool, record *runrecord.Record, inputs ...string) (*Output, error) {
	out, err := dataset.Create(path, overwrite, inputs...)
	return withRecord(path, record, out, err)
}

// continueOutput takes up what an earlier run left of an output.
func continueOutput(path string, overwrite bool, record *runrecord.Record, inputs ...string) (*Output, error) {
	out, err := dataset.Resume(path, overwrite, inputs...)
	return withRecord(path, record, out, err)
}

func withRecord(path string, record *runrecord.Record, out *dataset.Output, err error) (*Output, error) {
	if err != nil {
		return nil, err
	}
	o := &Output{Output: out, Record: record, path: path}
	if err := record.Write(o.partial()); err != nil {
		return nil, errors.Join(err, o.Abort())
	}
	return o, nil
}

func (o *Output) partial() string { return dataset.PartialPath(o.path) }

// Commit gives output and record their names.
func (o *Output) Commit() error {
	if err := o.Prepare(); err != nil {
		return err
	}
	content, err := runrecord.HashFile(o.PreparedPath())
	o.Record.Output = &runrecord.Content{SHA256: content.SHA256, Size: content.Size}
	if o.Rejected() > 0 {
		rejected, hashErr := runrecord.HashFile(dataset.PartialPath(dataset.RejectedPath(o.path)))
		if o.Record.Beside == nil {
			o.Record.Beside = map[string]runrecord.Content{}
		}
		o.Record.Beside[dataset.RejectedPath("")] = runrecord.Content{SHA256: rejected.SHA256, Size: rejected.Size}
		err = errors.Join(err, hashErr)
	}
	if err = errors.Join(err, o.Record.Write(o.partial())); err != nil {
		return errors.Join(err, o.Abort())
	}
	if err := wholefile.RemoveIfThere(runrecord.Path(o.path)); err != nil {
		return err
	}
	if err := o.Output.Commit(); err != nil {
		return err
	}
	return settleRecord(o.path)
}

// settleRecord gives the record of a finished output its name; where there is one, another is left of a run that died.
func settleRecord(path string) error {
	left := runrecord.Path(dataset.PartialPath(path))
	if _, err := os.Stat(runrecord.Path(path)); err == nil {
		return wholefile.RemoveIfThere(left)
	}
	return os.Rename(left, runrecord.Path(path))
}

// Abort keeps the rows there are under OUT.partial, and the record only with them.
func (o *Output) Abort() error {
	err := o.Output.Abort()
	if _, gone := os.Stat(o.partial()); gone != nil {
		err = errors.Join(err, wholefile.RemoveIfThere(runrecord.Path(o.partial())))
	}
	return err
}

// End is Commit, or Discard where there was an error.
func (o *Output) End(err error) error {
	if err != nil {
		return errors.Join(err, o.Discard())
	}
	return o.Commit()
}

// Discard leaves nothing of the output.
func (o *Output) Discard() error {
	return errors.Join(o.Output.Abort(), wholefile.RemoveIfThere(o.partial()),
		wholefile.RemoveIfThere(runrecord.Path(o.partial())))
}

// Stopped is the error of a run that ended with why before its input did, and says how it goes on; the record beside
// OUT.partial says so too. find is a Stage's Stop; where it gives nil, why itself is the error. meter gives the usage
// for the record. Both may be nil, and so may o.
func (o *Output) Stopped(why error, find func(error) *Stop, meter func() (any, error), counts Counts) error {
	var stop *Stop
	if find != nil {
		stop = find(why)
	}
	if stop == nil {
		return why
	}
	var usage any
	var fault error
	if meter != nil {
		usage, fault = meter()
	}
	rows := counts[CountRows]
	text := "stopped after " + words.Plural(rows, "row", "rows")
	if o != nil && rows > 0 {
		verb := "are"
		if rows == 1 {
			verb = "is"
		}
		text += fmt.Sprintf(", which %s in %s", verb, o.partial())
	}
	err := exit.With(stop.Code, fmt.Errorf("%s: %w\n%s", text, why, stop.GoOn))
	if o == nil {
		return errors.Join(err, fault)
	}
	o.Record.Stopped, o.Record.Counts, o.Record.Usage = stop.Reason, counts, usage
	return errors.Join(err, o.Record.Write(o.partial()), fault)
}

// ClearOutput removes what an earlier run left of an output, if dataset.Create would not refuse the output and owns
// accepts the earlier run's record.
func ClearOutput(out string, overwrite bool, owns func(*runrecord.Record) bool, inputs ...string) error {
	if out == Stdio || out == "" {
		return nil
	}
	if err := dataset.CheckOutput(out, overwrite, inputs...); err != nil {
		return err
	}
	partial := dataset.PartialPath(out)
	old, err := runrecord.Read(partial)
	if err != nil || !owns(old) {
		return nil // not ours to remove: whoever creates the output says what to do
	}
	if err := dataset.RemovePartial(out); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return wholefile.RemoveIfThere(runrecord.Path(partial))
}
