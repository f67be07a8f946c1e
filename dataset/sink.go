package dataset

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// Sink takes rows. Close writes what is left, and must be called.
type Sink interface {
	Write(*Row) error
	Close() error
}

// SinkOptions say how rows are written.
type SinkOptions struct {
	Sheet     string  // name of the sheet of a workbook; "" is "rows"
	Delimiter rune    // between the cells of CSV; 0 is a comma
	Schema    *Schema // of the Parquet file that the rows come from, which a Parquet file then keeps; or nil
	Brotli    bool    // compresses the pages of a Parquet file, in place of Zstandard
	TempDir   string  // for rows on their way into a format that begins with a list of its columns; "" is the system's
}

// NewSink writes rows to w. JSON Lines and lists are written row by row. The other formats begin with
// their columns, which are known at the end only: rows wait in a temporary file until Close.
func NewSink(w io.Writer, f Format, o SinkOptions) (Sink, error) {
	switch s := f.storage(); {
	case s == nil:
		return nil, fmt.Errorf("there is no format %q", f)
	case s.write == nil:
		return newStream(w, f)
	}
	return newSpool(w, f, o)
}

// stream writes JSON, row by row.
type stream struct {
	pack io.WriteCloser
	rows *Writer
	list bool
	n    int
}

func newStream(w io.Writer, f Format) (*stream, error) {
	pack, err := compressTo(w, f)
	if err != nil {
		return nil, err
	}
	return &stream{pack: pack, rows: NewWriter(pack), list: f.is(JSON)}, nil
}

func (s *stream) Write(r *Row) error {
	s.n++
	if !s.list {
		return s.rows.Write(r)
	}
	before := ",\n"
	if s.n == 1 {
		before = "[\n"
	}
	s.rows.out.WriteString(before) // bufio keeps the error
	_, err := s.rows.out.Write(appendObject(nil, r.columns))
	return err
}

func (s *stream) Close() error {
	if s.list && s.n == 0 {
		s.rows.out.WriteString("[")
	}
	if s.list {
		s.rows.out.WriteString("\n]\n")
	}
	return errors.Join(s.rows.Flush(), s.pack.Close())
}

// Flush writes what is buffered, so that the reader of a pipe gets it at once.
func (s *stream) Flush() error { return s.rows.Flush() }

// spool keeps rows in a temporary file until all columns are known.
type spool struct {
	file *os.File
	rows *Writer
	w    io.Writer
	f    Format
	o    SinkOptions
}

func newSpool(w io.Writer, f Format, o SinkOptions) (*spool, error) {
	file, err := bounded.TempFile(o.TempDir)
	if err != nil {
		return nil, err
	}
	return &spool{file, NewWriter(file), w, f, o}, nil
}

func (s *spool) Write(r *Row) error { return s.rows.Write(r) }

func (s *spool) Close() error {
	err := s.rows.Flush()
	if err == nil {
		err = convert(s.file, s.w, s.f, s.o)
	}
	return errors.Join(err, s.file.Close())
}

// convert writes the JSON Lines of a file in another format.
func convert(lines io.ReadSeeker, w io.Writer, f Format, o SinkOptions) error {
	pack, err := compressTo(w, f)
	if err != nil {
		return err
	}
	if f.storage().write == nil {
		s := &stream{pack: pack, rows: NewWriter(pack), list: f.is(JSON)}
		err := forEachLine(lines, func(columns []column) error { return s.Write(&Row{columns: columns}) })
		return errors.Join(err, s.Close())
	}
	header, err := collectHeader(lines)
	if err != nil {
		return err
	}
	out, err := f.storage().write(pack, header, o)
	if err != nil {
		return err
	}
	cells := make([]json.RawMessage, len(header.columns))
	err = forEachLine(lines, func(columns []column) error {
		clear(cells)
		for _, c := range flatten(columns) {
			cells[header.at[c.name]] = c.value
		}
		return out.write(cells)
	})
	if err != nil {
		return err
	}
	return errors.Join(out.close(), pack.Close())
}

// cellWriter writes one row of cells, in the header's order; nil where the row has no such column.
type cellWriter interface {
	write(cells []json.RawMessage) error
	close() error
}

// forEachLine gives the columns of each line of the file, from its beginning.
func forEachLine(file io.ReadSeeker, f func([]column) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := newLines(file, math.MaxInt) // which were let in
	for {
		rec, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, rec.err); err == nil {
			err = f(rec.columns)
		}
		if err != nil {
			return fmt.Errorf("row %d%s: %w", in.in.Line, idOf(rec.columns), err)
		}
	}
}

// idOf is the row's given id for a message.
func idOf(columns []column) string {
	if i := indexOf(columns, ColumnID); i >= 0 && !isNull(columns[i].value) {
		return fmt.Sprintf(" (id %s)", columns[i].value)
	}
	return ""
}

// header is every column that any row has, in order, with the types of its values.
type header struct {
	columns []headerColumn
	at      map[string]int
	rows    int
}

type headerColumn struct {
	name     string
	kinds    kinds
	values   int  // that are neither absent nor null
	longest  int  // value in bytes
	formulas bool // some text looks like a formula
}

// collectHeader reads all rows for their columns.
func collectHeader(lines io.ReadSeeker) (*header, error) {
	h := &header{at: map[string]int{}}
	err := forEachLine(lines, func(columns []column) error {
		h.rows++
		behind := 0 // a new column stands behind the one it follows
		for _, c := range flatten(columns) {
			i, ok := h.at[c.name]
			if !ok {
				i = behind
				h.insert(i, c.name)
			}
			behind = i + 1
			h.columns[i].addValue(c.value)
		}
		return nil
	})
	return h, err
}

func (h *header) insert(i int, name string) {
	h.columns = slices.Insert(h.columns, i, headerColumn{name: name})
	for j := i; j < len(h.columns); j++ {
		h.at[h.columns[j].name] = j
	}
}

func (c *headerColumn) addValue(raw json.RawMessage) {
	c.kinds |= kindOf(raw)
	c.longest = max(c.longest, len(raw))
	if !isNull(raw) {
		c.values++
	}
	if !c.formulas && raw[0] == '"' {
		text, _ := jsontext.Unquote(raw)
		c.formulas = FormulaLike(text)
	}
}

func (h *header) names() []string {
	names := make([]string, len(h.columns))
	for i, c := range h.columns {
		names[i] = c.name
	}
	return names
}

// tableWriter writes CSV and TSV.
type tableWriter struct {
	out        *bufio.Writer
	comma      string
	names      []string
	apostrophe bool // some cell gets one
}

func writeCSV(w io.Writer, h *header, o SinkOptions) (cellWriter, error) {
	return newTableWriter(w, h, cmp.Or(o.Delimiter, ','))
}

func writeTSV(w io.Writer, h *header, _ SinkOptions) (cellWriter, error) {
	return newTableWriter(w, h, '\t')
}

func newTableWriter(w io.Writer, h *header, comma rune) (cellWriter, error) {
	t := &tableWriter{out: bufio.NewWriterSize(w, 64<<10), comma: string(comma), names: h.names()}
	for _, c := range h.columns {
		if c.name == columnApostrophe {
			return nil, fmt.Errorf("a column is called %q, which is erreval's own name; rename it", c.name)
		}
		t.apostrophe = t.apostrophe || c.formulas || FormulaLike(c.name)
	}
	if len(t.names) == 0 {
		return t, nil
	}
	cells := slices.Clone(t.names)
	if t.apostrophe {
		for i, name := range cells {
			if FormulaLike(strings.TrimLeft(name, "'")) {
				cells[i] = "'" + name
			}
		}
		cells = append(cells, columnApostrophe)
	}
	return t, t.writeLine(cells)
}

func (t *tableWriter) write(values []json.RawMessage) error {
	cells := make([]string, len(values), len(values)+1)
	quoted := []string{}
	for i, raw := range values {
		cells[i] = cellText(raw)
		if raw != nil && raw[0] == '"' && FormulaLike(cells[i]) {
			cells[i], quoted = "'"+cells[i], append(quoted, t.names[i])
		}
	}
	if t.apostrophe {
		list := ""
		if len(quoted) > 0 {
			data, err := jsontext.Marshal(quoted)
			if err != nil {
				return err
			}
			list = string(data)
		}
		cells = append(cells, list)
	}
	if len(cells) == 0 {
		return nil
	}
	return t.writeLine(cells)
}

// cellText is a value as the text of a cell: texts as they are, null as nothing, all others as JSON.
func cellText(raw json.RawMessage) string {
	if raw == nil || isNull(raw) {
		return ""
	}
	if text, ok := jsontext.Unquote(raw); ok {
		return text
	}
	return string(raw)
}

func (t *tableWriter) writeLine(cells []string) error {
	for i, c := range cells {
		if i > 0 {
			t.out.WriteString(t.comma) // bufio keeps the error
		}
		if t.needsNoQuotes(c, len(cells)) {
			t.out.WriteString(c)
			continue
		}
		t.out.WriteByte('"')
		t.out.WriteString(strings.ReplaceAll(c, `"`, `""`))
		t.out.WriteByte('"')
	}
	return t.out.WriteByte('\n')
}

// needsNoQuotes tells whether a cell needs no quotes.
func (t *tableWriter) needsNoQuotes(cell string, cells int) bool {
	return !strings.ContainsAny(cell, "\"\r\n\x00"+t.comma) && (cell != "" || cells > 1) &&
		!strings.HasPrefix(cell, "\ufeff")
}

func (t *tableWriter) close() error { return t.out.Flush() }
