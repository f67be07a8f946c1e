package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/dataset/xlsx"
)

// sheet reads rows from a sheet of a workbook, whose first row that is not empty names the columns.
type sheet struct {
	in     *xlsx.Reader
	file   string
	header map[int]int // column of the sheet that has a name, to its place in flat
	flat   *flatHeader
}

func newSheet(r io.ReaderAt, size int64, file string, o Options) (records, error) {
	in, err := xlsx.NewReader(r, size, xlsx.Options{Sheet: o.Sheet, TempDir: o.TempDir, Max: o.maxRecord()})
	if err != nil {
		return nil, err
	}
	s := &sheet{in: in, file: file, header: map[int]int{}}
	if err := s.readHeader(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sheet) readHeader() error {
	cells, err := s.in.Next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, c := range cells {
		if c.Err != nil {
			return fmt.Errorf("the header in row %d: %w", s.in.Row(), c.Err)
		}
		if name := cellText(value(c.Value)); name != "" {
			s.header[c.Column], names = len(names), append(names, name)
		}
	}
	s.flat, err = newFlatHeader(names)
	return err
}

func (s *sheet) next() (record, error) {
	if s.flat == nil {
		return record{}, io.EOF
	}
	cells, err := s.in.Next()
	values := make([]any, len(s.header))
	var fault error
	if bad := (*xlsx.RowError)(nil); errors.As(err, &bad) {
		fault = bad.Err
	} else if err != nil {
		return record{}, err
	}
	for _, c := range cells {
		i, named := s.header[c.Column]
		switch {
		case c.Err != nil:
			fault = c.Err
		case named:
			values[i] = c.Value
		case c.Value != nil && c.Value != "":
			fault = fmt.Errorf("the cell %s stands under no column name; write one in the header, or empty it",
				xlsx.CellName(c.Column, s.in.Row()))
		}
	}
	rec := record{place: s.in.Row()}
	if fault == nil {
		rec.columns, fault = s.flat.nest(values)
	}
	if fault != nil {
		return record{}, &LineError{File: s.file, Line: s.in.Row(), Unit: s.unit(), Raw: s.raw(values), Err: fault}
	}
	return rec, nil
}

// raw is a row that cannot be read, as far as it can.
func (s *sheet) raw(values []any) []byte {
	columns := make([]column, len(values))
	for i, v := range values {
		columns[i] = column{s.flat.names[i], value(v)}
	}
	return appendObject(nil, columns)
}

func (s *sheet) unit() string { return "row" }

func (s *sheet) notes() []string { return s.in.Notes() }

func (s *sheet) close() error { return s.in.Close() }

// sheetWriter writes rows to the one sheet of a workbook.
type sheetWriter struct {
	out   *xlsx.Writer
	cells []any
}

func newSheetWriter(w io.Writer, h *header, o SinkOptions) (cellWriter, error) {
	out, err := xlsx.NewWriter(w, o.Sheet, h.names(), FormulaLike)
	if err != nil {
		return nil, err
	}
	return &sheetWriter{out: out, cells: make([]any, len(h.columns))}, nil
}

func (s *sheetWriter) write(cells []json.RawMessage) error {
	for i, raw := range cells {
		s.cells[i] = sheetCell(raw)
	}
	return s.out.Write(s.cells)
}

// sheetCell is a value, or nil where the row has no such column, as a cell of a workbook.
func sheetCell(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	switch kindOf(raw) {
	case 0:
		return nil
	case kindBool:
		return raw[0] == 't'
	case kindInt, kindFloat:
		return xlsx.Number(raw)
	case kindText:
		text, _ := jsontext.Unquote(raw)
		if FormulaLike(text) {
			return xlsx.Quoted(text)
		}
		return text
	}
	return string(raw) // JSON, and numbers that Excel would round
}

func (s *sheetWriter) close() error { return s.out.Close() }
