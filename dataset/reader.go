package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/idset"
	"github.com/erreval/erreval/taxonomy"
)

// Options say how a file's columns become rows.
type Options struct {
	Taxonomy *taxonomy.Taxonomy // names the fields; nil reads rows without fields, whose made ids say nothing
	// field to the column that holds it; absent means a column of the field's name, or a guess (Notes)
	Map       map[string]string
	MapOption string            // what names such a column in messages, up to FIELD=COLUMN; "" is "--map "
	Recorded  map[string]string // Map of the run that made the file, for fields without Map (Notes)
	// a file without a column of Map, but with one of the field's name, is read by that (Notes)
	OwnNames bool
	// each record is read by itself, for workers that answer it before they see the next: no column is guessed, a record
	// without one that it needs is no row, and rows of one id are not told apart
	Alone bool
	// rows may have the same id: no note says so
	RepeatedIDs bool
	// who reads says what becomes of a row that is the same as one before: no note does
	CopiesSaid bool
	// tells of a record that is no row, by its columns, whether it would be looked at: nothing is said of others
	Wanted func(*Row) bool
	// columns that the id is read from, their values joined by "|"; nil is ColumnID, where there is one, and NoID alone
	// makes ids of the fields
	ID         []string
	RecordedID []string // ID of the run that made the file, where ID is nil and the file has these columns

	Limit  int    // stop after so many rows; 0 reads all
	Format Format // of the file; NewReader reads JSON Lines whatever it says
	Sheet  string // of a workbook; "" is the first with rows
	// Sheet is that of one of several files: a workbook without it is read all the same (Notes)
	SheetOfOne bool
	Delimiter  rune     // between the cells of CSV; 0 takes the commonest of comma, semicolon and tab in the header
	Encoding   string   // of text, as ParseEncoding gives it; "" is UTF-8, or what the file shows (Notes)
	TempDir    string   // for what must not stand in memory; "" is the system's
	MaxRecord  int      // bytes that a record may take, with what it expands to; 0 is 16 MiB
	Clip       bool     // rows are to be looked at: large ones are cut (Reader.ClipNote)
	Notes      []string // what else is known of the file
}

func (o *Options) mapOption() string { return cmp.Or(o.MapOption, "--map ") }

// inAddress tells whether options are parameters of an address, as a server's are.
func (o *Options) inAddress() bool { return strings.HasPrefix(o.MapOption, "?") }

func (o Options) maxRecord() int { return cmp.Or(o.MaxRecord, bounded.MaxRecord) }

// Source gives rows: io.EOF at the end; a *LineError means that this record is no row and the next
// Read goes on behind it; any other error is final.
type Source interface {
	Read() (*Row, error)
	Close() error
}

// Rows gives the rows that read gives, as a Source's Read, until io.EOF; reject takes the lines that could not be read,
// which without it (nil) are errors. An error, of any of them or of ctx, comes last, without a row. A loop that is left
// goes on in the next one.
func Rows(ctx context.Context, read func() (*Row, error), reject func(*LineError) error) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		for ctx.Err() == nil {
			row, err := read()
			if ctx.Err() != nil {
				break
			}
			if errors.Is(err, io.EOF) {
				return
			}
			fault, isFault := errors.AsType[*LineError](err)
			if isFault && reject != nil {
				err = reject(fault)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !isFault && !yield(row, nil) {
				return
			}
		}
		yield(nil, ctx.Err())
	}
}

// Each calls f for every row of Rows. An error ends it.
func Each(ctx context.Context, read func() (*Row, error), reject func(*LineError) error, f func(*Row) error) error {
	for row, err := range Rows(ctx, read, reject) {
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// First gives the first row that read gives, as a Source's Read, among as many records as are looked at for columns;
// nil where there is none.
func First(read func() (*Row, error)) (*Row, error) {
	for range LookAhead {
		row, err := read()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if _, fault := errors.AsType[*LineError](err); !fault {
			return row, err
		}
	}
	return nil, nil
}

// Skip rejects nothing: lines that could not be read are left out.
func Skip(*LineError) error { return nil }

// EachRow calls f for every row that read gives, as a Source's Read, until io.EOF. It returns the lines that are no
// rows, each a *LineError. An error of f ends it, with the row's place in front.
func EachRow(ctx context.Context, read func() (*Row, error), f func(*Row) error) (faults []error, err error) {
	keep := func(fault *LineError) error { faults = append(faults, fault); return nil }
	err = Each(ctx, read, keep, func(row *Row) error {
		if err := f(row); err != nil {
			return fmt.Errorf("%s:%d: %w", row.Source, row.Line, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return faults, nil
}

// LineError is a line, sheet row or item that is no row. Reading may go on after it.
type LineError struct {
	File string
	Line int    // 1-based
	Unit string // what Line counts: "row" of a sheet or a Parquet file, "item" of a JSON list; "" is a line
	Raw  []byte // the line without its end; of formats without lines, the columns as a JSON object
	Err  error  // what is wrong and what to do
}

func (e *LineError) Error() string {
	if e.Unit == "" {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %s %d: %v", e.File, e.Unit, e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// record is what a format gives: columns in order, and their place. One without columns is no row whatever they mean.
type record struct {
	columns []column
	place   int                  // line, or whatever the format counts
	raw     []byte               // as it stands in the file; nil where that is no text
	err     error                // why it is no row
	header  string               // of a sheet: where its columns are named
	shown   map[string]someTexts // of a sheet: cells so far that Excel shows otherwise than they are read, by column
}

// records is one format's reader. An error ends it, and does not have the file's name.
type records interface {
	next() (record, error)
	notes() []string // what was assumed or left out
	close() error
}

// noNotes and noClose are embedded in formats that need none.
type (
	noNotes struct{}
	noClose struct{}
)

func (noNotes) notes() []string { return nil }
func (noClose) close() error    { return nil }

// Reader makes rows of records. It holds one record at a time, and little for each id.
type Reader struct {
	in       records
	file     string
	opt      Options
	fields   []string
	optional map[string]bool      // fields that a row may lack
	column   map[string]string    // field to column, after guessing
	said     []string             // notes of the guess
	shown    map[string]someTexts // record.shown of the last row
	oneWord  map[string]string    // a text of the fields that every row needs and of which all texts are one word
	noText   map[string]someTexts // by field, that are none
	same     sameTexts
	failed   someTexts            // messages of calls that failed
	beside   someTexts            // questions with more than these
	options  map[string]someTexts // by field, that are names of options
	short    someTexts            // rows whose passage is no longer than their question
	began    bool
	ended    bool
	filled   bool       // something was read, be it no row, or it was said that there is nothing
	ahead    []lookedAt // read already, but not given out
	rows     int

	id          []string   // columns that the id is read from; known after the first record
	recordedID  []string   // these, where Options.RecordedID gave them
	ids         *idset.Set // how often each id came
	repeated    int        // rows whose given id came before
	firstRepeat string     // where that was first, for Notes
	// rows whose id columns are empty, and where that was first
	unnamed      int
	firstUnnamed string
	whole        map[uint64]bool // hashes of rows without an id, mostCompared at most
	copies       int             // rows that are the same as one before in every column
	firstCopy    string
	clipped      int        // rows that were cut
	likelyIDs    []likelyID // columns that may be the id, for Notes

	chats        bool   // the first record holds a conversation
	turnsLeftOut string // where turns of a conversation were first left out, for Notes
	otherParts   string // where a conversation first had pictures, sounds or files, for Notes
	cut, lastCut int    // how many conversations have such turns, and the line of the last one
}

// NewReader reads JSON Lines from r; file stands in messages and in Row.Source.
func NewReader(r io.Reader, file string, o Options) *Reader {
	o.Format = Format{}
	return newReader(newLines(r, o.maxRecord()), file, o)
}

func newReader(in records, file string, o Options) *Reader {
	rd := &Reader{in: in, file: file, opt: o, column: map[string]string{}, ids: idset.New(o.TempDir),
		said: slices.Clone(o.Notes)}
	if o.Taxonomy != nil {
		rd.fields = o.Taxonomy.FieldNames()
		rd.optional, rd.noText, rd.options = map[string]bool{}, map[string]someTexts{}, map[string]someTexts{}
		for _, f := range o.Taxonomy.Fields {
			rd.optional[f.Name] = f.Optional
		}
	}
	for _, f := range rd.fields {
		rd.column[f] = f
		if c := o.Map[f]; c != "" {
			rd.column[f] = c
		}
	}
	return rd
}

// Read implements Source. A *ColumnsError is final.
func (r *Reader) Read() (*Row, error) {
	for {
		if row, err := r.read(); !errors.Is(err, errUnwanted) {
			r.ended = errors.Is(err, io.EOF)
			return row, err
		}
	}
}

// errUnwanted says that a record is passed over.
var errUnwanted = errors.New("unwanted")

func (r *Reader) read() (*Row, error) {
	if r.opt.Limit > 0 && r.rows >= r.opt.Limit {
		return nil, io.EOF
	}
	rec, err := r.takeRecord()
	if errors.Is(err, io.EOF) && !r.filled {
		r.said = append(r.said, "there is no row in it")
	}
	r.filled = true
	if errors.Is(err, io.EOF) {
		return nil, err
	}
	rec.readRejection()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	if !r.began && !rec.isFault() {
		r.began = true
		if err := r.guessColumns(rec); err != nil {
			return nil, err
		}
	}
	row, err := r.makeRow(rec)
	if err != nil {
		if rec.columns != nil && r.opt.Wanted != nil && !r.opt.Wanted(r.rowWithoutValues(rec)) {
			return nil, errUnwanted
		}
		return nil, &LineError{File: r.file, Line: rec.place, Unit: r.unit(), Raw: rec.text(), Err: err}
	}
	if r.opt.Clip && r.clip(row) {
		r.clipped++
	}
	r.watchWords(row)
	r.rows++
	return row, nil
}

// isFault tells whether it is no row whatever its columns mean.
func (rec *record) isFault() bool { return rec.err != nil && rec.columns == nil }

// unit is what LineError.Unit is in the file.
func (r *Reader) unit() string { return r.opt.Format.storage().unit }

// Close frees what reading took; what the reader reads from stays open, unless it opened it itself.
func (r *Reader) Close() error {
	err := errors.Join(r.in.close(), r.ids.Close())
	for _, l := range r.likelyIDs {
		err = errors.Join(err, l.seen.Close())
	}
	return err
}

// text is the record as it stands in the file, or its columns as an object.
func (rec *record) text() []byte {
	if rec.raw != nil {
		return rec.raw
	}
	return appendObject(nil, rec.columns)
}

// rowWithoutValues is a record as a row without values and ID.
func (r *Reader) rowWithoutValues(rec record) *Row {
	return &Row{Line: rec.place, Source: r.file, columns: rec.columns, Values: make([]string, len(r.fields))}
}

func (r *Reader) makeRow(rec record) (*Row, error) {
	row, err := r.rowWithoutValues(rec), rec.err
	if err != nil {
		return nil, err
	}
	r.shown = rec.shown
	for i, field := range r.fields {
		if row.Values[i], err = r.fieldText(row, field); err != nil {
			return nil, err
		}
	}
	return row, errors.Join(r.watchLikelyIDs(row), r.setID(row))
}
