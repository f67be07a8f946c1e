package run

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/storage"
	"github.com/erreval/erreval/internal/words"
)

// FileOptions say how files of rows are stored.
type FileOptions struct {
	Format     string   // of standard input and output, and of files whose names do not tell
	Sheet      string   // of a workbook; "" is the first with rows
	SheetOfOne bool     // see dataset.Options
	Delimiter  string   // one character, "tab" or "\t"; "" looks at the header
	Encoding   string   // of text that is read; "" is UTF-8, or what the file shows
	Inputs     []string // that are of Format whatever their names say; they may be patterns
	MaxRecord  string   // bytes that a record may take, as in "16MiB"; "" is 16 MiB
}

// Files reads and writes files of rows.
type Files struct {
	named      dataset.Format
	inputs     []string
	sheet      string
	sheetOfOne bool
	delimiter  rune
	encoding   string
	maxRecord  int
}

// Open checks the options.
func (o FileOptions) Open() (*Files, error) {
	f := &Files{sheet: o.Sheet, sheetOfOne: o.SheetOfOne, inputs: o.Inputs}
	if o.Format != "" {
		var err error
		if f.named, err = dataset.ParseFormat(o.Format); err != nil {
			return nil, exit.Usagef("--format: %w", err)
		}
	}
	if o.Encoding != "" {
		var err error
		if f.encoding, err = dataset.ParseEncoding(o.Encoding); err != nil {
			return nil, exit.Usagef("--encoding: %w", err)
		}
	}
	size, err := words.ParseSize(o.MaxRecord)
	if err != nil {
		return nil, exit.Usagef("--max-record %w", err)
	}
	f.maxRecord = int(size)
	text := strings.NewReplacer("tab", "\t", `\t`, "\t").Replace(o.Delimiter)
	if text == "" {
		return f, nil
	}
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) || strings.ContainsRune("\"\r\n\ufffd", r) {
		return nil, exit.Usagef("--delimiter %q: give one character, as in --delimiter ';' or --delimiter tab", o.Delimiter)
	}
	f.delimiter = r
	return f, nil
}

// Format is what a file's name says, else what --format says.
func (f *Files) Format(path string) dataset.Format {
	if format, ok := dataset.FormatOf(storage.Base(path)); ok && path != Stdio {
		return format
	}
	return f.named
}

// CheckOutput refuses a name of an output whose extension is that of no format, where no other option names one.
func (f *Files) CheckOutput(path string) error {
	extension := filepath.Ext(storage.Base(path))
	if _, known := dataset.FormatOf(storage.Base(path)); known || path == Stdio || extension == "" || f.named.Name != "" {
		return nil
	}
	return exit.Usagef("-o %s: no format of rows has the extension %s; end the name with %s, or give --format", path,
		extension, dataset.Extensions())
}

// randomAccess is a file, or an object.
type randomAccess interface {
	io.Reader
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// Reader reads rows of an opened input through r, which counts and hashes what is read of it.
func (f *Files) Reader(r io.Reader, input io.Reader, path string, o dataset.Options) (*dataset.Reader, error) {
	o.Format, o.Sheet, o.Delimiter, o.Encoding = f.Format(path), f.sheet, f.delimiter, f.encoding
	o.SheetOfOne = f.sheetOfOne
	isPath := func(input string) bool {
		matches, err := filepath.Match(input, path)
		return input == path || matches && err == nil
	}
	if slices.ContainsFunc(f.inputs, isPath) {
		o.Format = f.named
	}
	var reading runrecord.Reading
	if made := runrecord.ReadOptions(path, &reading); made != nil && path != Stdio {
		fields, id := made.ReadFrom(&reading)
		if o.Recorded = fields; id != nil {
			o.RecordedID = id
		}
		if !made.IsOf(path) {
			o.Notes = append(o.Notes, runrecord.Changed)
		}
	}
	o.MaxRecord = f.maxRecord
	if file, ok := input.(randomAccess); ok && o.Format.RandomAccess() && o.Format.Compression == "" {
		_, local := input.(*os.File)
		info, err := file.Stat()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case r == input:
			return dataset.NewSource(file, path, o)
		case local: // read in place, once it is hashed; an object is fetched once, into a temporary file
			if _, err := io.Copy(io.Discard, r); err != nil {
				return nil, err
			}
			return dataset.NewSource(file, path, o)
		}
	}
	return dataset.NewSource(r, path, o)
}

// LineReader reads rows for a worker, each by itself and as soon as its line has ended.
func (f *Files) LineReader(r io.Reader, path string, o dataset.Options) *dataset.Reader {
	o.Alone, o.MaxRecord = true, f.maxRecord
	return dataset.NewReader(r, path, o)
}

// OpenRows opens a file of rows, or standard input ("-"). close ends both.
func (f *Files) OpenRows(ctx context.Context, p *Process, path string, o dataset.Options) (rows *dataset.Reader,
	closeAll func(), err error) {
	input, _, err := OpenInput(ctx, p, path)
	if err != nil {
		return nil, nil, err
	}
	if rows, err = f.Reader(input, input, path, o); err != nil {
		return nil, nil, errors.Join(err, input.Close())
	}
	// Nothing was written: what closing a file that was only read has to say changes nothing.
	return rows, func() { _ = errors.Join(rows.Close(), input.Close()) }, nil
}

// Maker is what is known of the runs that made a file.
type Maker struct {
	Thresholds dataset.Probabilities // that it was tagged with
	Weak       []string              // what its model is not to be relied on for
	Rejected   int                   // lines that the runs left out
	Recorded   bool                  // the file has a record, which says nothing of one that was replaced since
}

// ReadMaker reads the record of a file, and of the one that it was made of, and so on: identify, score and discover
// make one of another.
func ReadMaker(file string) (m Maker) {
	for range 4 {
		var o struct {
			Thresholds dataset.Probabilities `json:"thresholds"`
		}
		made := runrecord.ReadOptions(file, &o)
		if made == nil || !made.IsOf(file) {
			break
		}
		m.Recorded = true
		m.Rejected += made.Counts[CountRejected]
		if len(m.Thresholds) == 0 {
			m.Thresholds = o.Thresholds
		}
		if len(m.Weak) == 0 {
			m.Weak = made.Weak
		}
		if len(made.Inputs) != 1 {
			break
		}
		file = filepath.Join(filepath.Dir(file), made.Inputs[0].File)
	}
	return m
}

// ReadRecorded is ReadRecordedColumns of the first of some files whose record names columns of fields, and of the first
// that names some of the id: one may have been copied without its record.
func ReadRecorded(files []string) (fields map[string]string, id []string) {
	for _, file := range files {
		of, ids := ReadRecordedColumns(file)
		if fields == nil {
			fields = of
		}
		if id == nil {
			id = ids
		}
	}
	return fields, id
}

// ReadRecordedColumns is Record.ReadFrom of the run that made a file.
func ReadRecordedColumns(file string) (fields map[string]string, id []string) {
	var reading runrecord.Reading
	if made := runrecord.ReadOptions(file, &reading); made != nil && file != Stdio {
		return made.ReadFrom(&reading)
	}
	return nil, nil
}

// SinkOptions say how rows are written.
func (f *Files) SinkOptions(schema *dataset.Schema) dataset.SinkOptions {
	return dataset.SinkOptions{Sheet: f.sheet, Delimiter: f.delimiter, Schema: schema}
}

// OutputNotes say what an output's format does not keep.
func (f *Files) OutputNotes(format dataset.Format, schema *dataset.Schema) []string {
	if format.Name != dataset.Parquet {
		return nil
	}
	return schema.Notes()
}
