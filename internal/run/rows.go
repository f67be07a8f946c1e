package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/taxonomy"
)

// Rows is how files of rows with the taxonomy's fields are read.
type Rows struct {
	Files             *Files
	Taxonomy          *taxonomy.Taxonomy
	RecordedID        []string // columns of the id in files whose records name none, where Reading names none either
	Joined            *Joined  // columns of another file that rows get, or nil
	runrecord.Reading          // with the limit of each file
	CopiesSaid        bool     // as in dataset.Options
	RepeatedIDs       bool     // as there
	// of the file that ReadJoined reads: only rows with these values, in those of the columns that it has
	JoinedWhere map[string]string
	// of that file, said where it lacks a column or has an id twice; "" is that of ratings
	JoinedForm string
	Wanted     func(*dataset.Row) bool // as in dataset.Options
	Recorded   map[string]string       // as there, of a file without a record
}

func (in *Rows) options() dataset.Options {
	return dataset.Options{Taxonomy: in.Taxonomy, Map: in.Columns, ID: in.ID, RecordedID: in.RecordedID, Limit: in.Limit,
		RepeatedIDs: in.RepeatedIDs, CopiesSaid: in.CopiesSaid, Wanted: in.Wanted, Recorded: in.Recorded}
}

// TakeRows takes the rows of a file, which read gives until io.EOF.
type TakeRows func(ctx context.Context, file string, read func() (*dataset.Row, error)) error

// noteMissing says of a tagged file that people may have changed in another program that it has no record.
func (in *Rows) noteMissing(p *Process, file string, first *dataset.Row) {
	_, tagged := first.Get(dataset.ColumnDiagnosis)
	if !tagged || !in.Files.Format(file).IsEdited() || storage.IsURL(file) {
		return
	}
	if _, err := runrecord.Read(file); errors.Is(err, fs.ErrNotExist) {
		p.Note([]string{file + ": " + runrecord.Missing})
	}
}

// Read opens a file ("-" is standard input) and hands its rows to take.
func (in *Rows) Read(ctx context.Context, p *Process, file string, take TakeRows) error {
	reader, closeRows, err := in.Files.OpenRows(ctx, p, file, in.options())
	if err != nil {
		return err
	}
	defer closeRows()
	noted := false
	if in.Joined != nil {
		in.Joined.begin()
		if err := in.learn(ctx, p, file); err != nil {
			return err
		}
	}
	return take(ctx, file, func() (*dataset.Row, error) {
		row, err := reader.Read()
		if err == nil && !noted {
			in.noteMissing(p, file, row)
		}
		if err == nil && !noted || errors.Is(err, io.EOF) {
			noted = true
			p.Note(reader.Notes())
			if in.Joined != nil {
				in.Joined.fields = in.fieldColumns(reader)
			}
		}
		if in.Joined != nil {
			in.Joined.ended = errors.Is(err, io.EOF)
		}
		if err == nil && in.Joined != nil {
			err = in.Joined.set(row)
		}
		return row, err
	})
}

// fieldColumns are where a file has the texts of its rows, in the taxonomy's order; known after the first of them.
func (in *Rows) fieldColumns(reader *dataset.Reader) []string {
	names, other := in.Taxonomy.FieldNames(), reader.Columns()
	for i, name := range names {
		names[i] = cmp.Or(other[name], name)
	}
	return names
}

// HasTexts tells of the fields whether one of a file's first rows has a text there; nil where that cannot be known
// before it is read, or there are no rows.
func (in *Rows) HasTexts(ctx context.Context, p *Process, file string) (texts []bool) {
	if file == Stdio {
		return nil
	}
	reader, closeRows, err := in.Files.OpenRows(ctx, p, file, in.options())
	if err != nil {
		return nil
	}
	defer closeRows()
	for range dataset.LookAhead {
		row, err := dataset.First(reader.Read)
		if err != nil || row == nil {
			break
		}
		texts = append(texts, make([]bool, len(row.Values)-len(texts))...)
		for i, text := range row.Values {
			texts[i] = texts[i] || text != ""
		}
	}
	return texts
}

// Each calls f for every row of a file ("-" is standard input) and returns the lines that are none.
func (in *Rows) Each(ctx context.Context, p *Process, file string, f func(*dataset.Row) error) ([]error, error) {
	var faults []error
	err := in.Read(ctx, p, file, func(ctx context.Context, _ string, read func() (*dataset.Row, error)) (err error) {
		faults, err = dataset.EachRow(ctx, read, f)
		return err
	})
	return faults, err
}

// All reads the rows of a file into memory. Lines that are none are left out; a file without rows is an error.
func (in *Rows) All(ctx context.Context, p *Process, file string) (rows []*dataset.Row, err error) {
	faults, err := in.Each(ctx, p, file, func(row *dataset.Row) error {
		rows = append(rows, row)
		return nil
	})
	if err == nil && len(rows) == 0 {
		err = errors.Join(fmt.Errorf("%s: there are no rows", file), errors.Join(faults...))
	}
	return rows, err
}

// EachFit is Each, but a row that f refuses is among the lines returned, and does not keep f from the others.
func (in *Rows) EachFit(ctx context.Context, p *Process, file string, f func(*dataset.Row) error) ([]error, error) {
	var unfit []error
	faults, err := in.Each(ctx, p, file, func(r *dataset.Row) error {
		if err := f(r); err != nil {
			unfit = append(unfit, &dataset.LineError{File: r.Source, Line: r.Line, Err: err})
		}
		return nil
	})
	return append(faults, unfit...), err
}

// Create starts an output of rows made of those of inputs.
func (in *Rows) Create(path string, overwrite bool, record *runrecord.Record, inputs ...string) (*Output, error) {
	if err := in.Files.CheckOutput(path); err != nil {
		return nil, err
	}
	out, err := Create(path, overwrite, record, inputs...)
	if err == nil {
		out.Format, out.Options = in.Files.Format(path), in.Files.SinkOptions(nil)
	}
	return out, err
}

// NewRecord begins the record of a run that reads all of inputs before it writes.
func (in *Rows) NewRecord(command string, options any, inputs ...string) (*runrecord.Record, error) {
	if err := CheckInputs(inputs); err != nil {
		return nil, err
	}
	r := newRecord(command, options, in.Taxonomy)
	for _, file := range inputs {
		input := runrecord.Input{File: Stdio, Size: -1} // nothing is left of it to hash
		if file != Stdio {
			var err error
			if input, err = runrecord.HashFile(file); err != nil {
				return nil, err
			}
		}
		r.Inputs = append(r.Inputs, input)
	}
	return r, nil
}

// CheckColumns finds inputs without a column that every row needs, before a model is loaded or anything is written.
// What can be read only once, such as standard input, is left out: there, reading ends with the same error.
func (in *Rows) CheckColumns(ctx context.Context, p *Process, inputs ...string) error {
	var errs []error
	for _, file := range inputs {
		if _, err := in.First(ctx, p, file); LacksColumns(err) { // whoever reads it says what else is wrong
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// First is the first row of a file; nil where there is none, or the file can be read only once.
func (in *Rows) First(ctx context.Context, p *Process, file string) (*dataset.Row, error) {
	if file == Stdio {
		return nil, nil
	}
	if info, err := stat(ctx, file); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	rows, closeRows, err := in.Files.OpenRows(ctx, p, file, in.options())
	if err != nil {
		return nil, err
	}
	defer closeRows()
	return dataset.First(rows.Read)
}

// LacksColumns tells whether err is a file without columns that every row needs.
func LacksColumns(err error) bool {
	var missing *dataset.ColumnsError
	return errors.As(err, &missing)
}
