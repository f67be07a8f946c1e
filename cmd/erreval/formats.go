package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// fileOptions are the flags that say how files of rows are stored.
type fileOptions struct {
	Format    string // of standard input and output, and of files whose names do not tell
	Sheet     string // of a workbook; "" is the first
	Delimiter string // one character, "tab" or "\t"; "" looks at the header
	Encoding  string // of text that is read; "" is UTF-8, or what the file shows
}

func fileFlags() []cli.Flag {
	return []cli.Flag{formatFlag(), sheetFlag(), delimiterFlag(), encodingFlag()}
}

func readFileOptions(ctx *cli.Context) fileOptions {
	return fileOptions{Format: ctx.String("format"), Sheet: ctx.String("sheet"), Delimiter: ctx.String("delimiter"),
		Encoding: ctx.String("encoding")}
}

// files reads and writes files of rows.
type files struct {
	named     dataset.Format
	sheet     string
	delimiter rune
	encoding  string
}

func (o fileOptions) open() (*files, error) {
	f := &files{sheet: o.Sheet}
	if o.Format != "" {
		var err error
		if f.named, err = dataset.ParseFormat(o.Format); err != nil {
			return nil, usagef("--format: %w", err)
		}
	}
	if o.Encoding != "" {
		var err error
		if f.encoding, err = dataset.ParseEncoding(o.Encoding); err != nil {
			return nil, usagef("--encoding: %w", err)
		}
	}
	text := strings.NewReplacer("tab", "\t", `\t`, "\t").Replace(o.Delimiter)
	if text == "" {
		return f, nil
	}
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) || strings.ContainsRune("\"\r\n\ufffd", r) {
		return nil, usagef("--delimiter %q: give one character, as in --delimiter ';' or --delimiter tab", o.Delimiter)
	}
	f.delimiter = r
	return f, nil
}

// format is what a file's name says, else what --format says.
func (f *files) format(path string) dataset.Format {
	if format, ok := dataset.FormatOf(path); ok && path != stdio {
		return format
	}
	return f.named
}

// reader reads rows of an opened input through r, which counts and hashes what is read of it.
func (f *files) reader(r io.Reader, input io.Reader, path string, o dataset.Options) (*dataset.Reader, error) {
	o.Format, o.Sheet, o.Delimiter, o.Encoding = f.format(path), f.sheet, f.delimiter, f.encoding
	o.Recorded = recordedColumns(path)
	if file, ok := input.(*os.File); ok && o.Format.RandomAccess() && o.Format.Compression == "" {
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() { // read in place, once it is hashed
			if _, err := io.Copy(io.Discard, r); err != nil {
				return nil, err
			}
			return dataset.NewSource(file, path, o)
		}
	}
	return dataset.NewSource(r, path, o)
}

// openRows opens a file of rows, or standard input ("-"). close ends both.
func (f *files) openRows(ctx context.Context, e *env, path string, o dataset.Options) (rows *dataset.Reader, closeAll func(), err error) {
	input, _, err := openInput(ctx, e, path)
	if err != nil {
		return nil, nil, err
	}
	if rows, err = f.reader(input, input, path, o); err != nil {
		return nil, nil, errors.Join(err, input.Close())
	}
	// Nothing was written: what closing a file that was only read has to say changes nothing.
	return rows, func() { _ = errors.Join(rows.Close(), input.Close()) }, nil
}

// rowInput is how files of rows with the taxonomy's fields are read.
type rowInput struct {
	files    *files
	taxonomy *taxonomy.Taxonomy
	columns  map[string]string // --map
	limit    int               // rows of a file; 0 is all
}

// rowFlags are those that openRowInput reads.
func rowFlags() []cli.Flag { return append(fileFlags(), mapFlag()) }

func openRowInput(ctx *cli.Context, t *taxonomy.Taxonomy) (in rowInput, err error) {
	in = rowInput{taxonomy: t}
	if in.files, err = readFileOptions(ctx).open(); err != nil {
		return in, err
	}
	in.columns, err = parseMap(ctx.StringSlice("map"), t.FieldNames())
	return in, err
}

// takeRows takes the rows of a file, which read gives until io.EOF.
type takeRows func(ctx context.Context, file string, read func() (*dataset.Row, error)) error

// readRows opens a file ("-" is standard input) and hands its rows to take.
func (in *rowInput) readRows(ctx context.Context, e *env, file string, take takeRows) error {
	reader, closeRows, err := in.files.openRows(ctx, e, file, dataset.Options{Taxonomy: in.taxonomy, Map: in.columns, Limit: in.limit})
	if err != nil {
		return err
	}
	defer closeRows()
	noted := false
	return take(ctx, file, func() (*dataset.Row, error) {
		row, err := reader.Read()
		if err == nil && !noted || errors.Is(err, io.EOF) {
			noted = true
			e.note(reader.Notes())
		}
		return row, err
	})
}

// eachRow calls f for every row of a file ("-" is standard input) and returns the lines that are none.
func (in *rowInput) eachRow(ctx context.Context, e *env, file string, f func(*dataset.Row) error) ([]error, error) {
	var faults []error
	err := in.readRows(ctx, e, file, func(ctx context.Context, _ string, read func() (*dataset.Row, error)) (err error) {
		faults, err = dataset.EachRow(ctx, read, f)
		return err
	})
	return faults, err
}

// checkColumns finds inputs without a column that every row needs, before a model is loaded or anything is written.
// What can be read only once, such as standard input, is left out: there, reading ends with the same error.
func (in *rowInput) checkColumns(ctx context.Context, e *env, inputs ...string) error {
	var errs []error
	for _, file := range inputs {
		if info, err := os.Stat(file); file == stdio || err != nil || !info.Mode().IsRegular() {
			continue
		}
		rows, closeRows, err := in.files.openRows(ctx, e, file, dataset.Options{Taxonomy: in.taxonomy, Map: in.columns})
		if err != nil {
			continue // whoever reads it says so
		}
		var line *dataset.LineError
		for range dataset.LookAhead {
			if _, err = rows.Read(); !errors.As(err, &line) {
				break
			}
		}
		closeRows()
		if lacksColumns(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func lacksColumns(err error) bool {
	var missing *dataset.ColumnsError
	return errors.As(err, &missing)
}

// sinkOptions say how rows are written.
func (f *files) sinkOptions(schema *dataset.Schema) dataset.SinkOptions {
	return dataset.SinkOptions{Sheet: f.sheet, Delimiter: f.delimiter, Schema: schema}
}

// outputNotes say what an output's format does not keep.
func (f *files) outputNotes(format dataset.Format, schema *dataset.Schema) []string {
	if format.Name != dataset.Parquet {
		return nil
	}
	return schema.Notes()
}

// expandGlobs replaces patterns that the shell left alone by the files they stand for, sorted.
func expandGlobs(inputs []string) ([]string, error) {
	var out []string
	for _, in := range inputs {
		if _, err := os.Lstat(in); err == nil || in == stdio || !strings.ContainsAny(in, "*?[") {
			out = append(out, in)
			continue
		}
		found, err := filepath.Glob(in)
		if err != nil || len(found) == 0 {
			return nil, usagef("input %s: no file has such a name", in)
		}
		out = append(out, found...)
	}
	return out, nil
}
