package dataset

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/erreval/erreval/taxonomy"
)

// Options say how a file's columns become rows.
type Options struct {
	Taxonomy *taxonomy.Taxonomy // names the fields; nil reads rows without fields, whose made ids say nothing
	Map      map[string]string  // field to the column that holds it; absent means a column of the field's name
	Limit    int                // stop after so many rows; 0 reads all
}

// column is the name of the column that holds a field.
func (o *Options) column(field string) string {
	if c := o.Map[field]; c != "" {
		return c
	}
	return field
}

// LineError is a line that is no row. Reading may go on after it.
type LineError struct {
	File string
	Line int    // 1-based
	Raw  []byte // the line without its end
	Err  error  // what is wrong and what to do
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// DuplicateIDError is the Err of a LineError whose given id came before.
type DuplicateIDError struct {
	ID   string
	Line int // where it came first
}

func (e *DuplicateIDError) Error() string {
	return fmt.Sprintf("the id %q is already that of line %d; give each row its own, or leave the column out", e.ID, e.Line)
}

// Reader reads rows from JSON Lines. It holds one line at a time, and some 40 bytes for each id.
type Reader struct {
	in     *bufio.Reader
	file   string
	opt    Options
	fields []string
	line   int
	rows   int
	given  map[idHash]int // line of each given id
	made   map[idHash]int // how often each made id came
}

// idHash is short enough to keep for every row, and long enough that two ids never meet by chance.
type idHash [16]byte

// NewReader reads from r; file stands in messages and in Row.Source.
func NewReader(r io.Reader, file string, o Options) *Reader {
	rd := &Reader{in: bufio.NewReaderSize(r, 64<<10), file: file, opt: o,
		given: map[idHash]int{}, made: map[idHash]int{}}
	if o.Taxonomy != nil {
		rd.fields = o.Taxonomy.FieldNames()
	}
	return rd
}

// Read gives the next row. At the end it gives io.EOF; a *LineError means that this line is no row
// and the next Read goes on behind it; any other error is one of reading the file and final.
func (r *Reader) Read() (*Row, error) {
	if r.opt.Limit > 0 && r.rows >= r.opt.Limit {
		return nil, io.EOF
	}
	line, err := r.nextLine()
	if err != nil {
		return nil, err
	}
	row, err := r.row(line)
	if err != nil {
		return nil, &LineError{File: r.file, Line: r.line, Raw: line, Err: err}
	}
	r.rows++
	return row, nil
}

// nextLine gives the next line that is not blank, of any length, without its end.
func (r *Reader) nextLine() ([]byte, error) {
	for {
		line, err := r.in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: after line %d: %w", r.file, r.line, err)
		}
		if len(line) == 0 {
			return nil, io.EOF
		}
		r.line++
		if r.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

func (r *Reader) row(line []byte) (*Row, error) {
	columns, err := parseObject(line)
	if err != nil {
		return nil, err
	}
	row := &Row{Line: r.line, Source: r.file, columns: columns, Values: make([]string, len(r.fields))}
	for i, field := range r.fields {
		if row.Values[i], err = r.value(row, field); err != nil {
			return nil, err
		}
	}
	return row, r.identify(row)
}

func (r *Reader) value(row *Row, field string) (string, error) {
	name := r.opt.column(field)
	raw, ok := row.Get(name)
	if !ok {
		return "", fmt.Errorf("no column %q; %s; name the one that holds the %s with --map %s=COLUMN", name, row.columnList(), field, field)
	}
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", fmt.Errorf("the column %q holds %s where a text is expected; %sname another column with --map %s=COLUMN",
			name, kind(raw), quoteHint(raw), field)
	}
	return text, nil
}

func quoteHint(raw json.RawMessage) string {
	if kind(raw) == "a number" {
		return "put it in quotes, or "
	}
	return ""
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

// identify sets the row's ID, which is given or made.
func (r *Reader) identify(row *Row) error {
	raw, ok := row.Get(ColumnID)
	if !ok || isNull(raw) {
		row.ID = r.makeID(row.Values)
		return nil
	}
	switch {
	case raw[0] == '"' && json.Unmarshal(raw, &row.ID) == nil && row.ID != "":
	case wholeNumber.Match(raw):
		row.ID = string(raw)
	default:
		return fmt.Errorf(`the column "id" holds %.40s; an id is a text or a whole number, and may be left out`, raw)
	}
	hash := idHash(short(sha256.Sum256([]byte(row.ID))))
	if first := r.given[hash]; first > 0 {
		return &DuplicateIDError{ID: row.ID, Line: first}
	}
	r.given[hash] = r.line
	return nil
}

// makeID is the SHA-256 of the length-prefixed fields, with #2, #3 … for rows that are equal.
func (r *Reader) makeID(values []string) string {
	h := sha256.New()
	var size [8]byte
	for _, v := range values {
		binary.BigEndian.PutUint64(size[:], uint64(len(v)))
		h.Write(size[:])
		io.WriteString(h, v)
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	hash := short(sum)
	r.made[hash]++
	id := hex.EncodeToString(sum[:])
	if n := r.made[hash]; n > 1 {
		id = fmt.Sprintf("%s#%d", id, n)
	}
	return id
}

func short(sum [sha256.Size]byte) idHash { return idHash(sum[:16]) }
