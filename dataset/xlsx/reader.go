// Package xlsx reads and writes sheets of Excel workbooks, cell by cell and in one pass, however large they are.
//
// excelize is not used for that: its streaming reader gives formatted texts, without their types, errors and formulas,
// and its limits bound the sum of the parts, not what is made of them. Peak and time on two cores, excelize 2.10.1 with
// UnzipXMLSizeLimit of 1 MiB beside this package: an ordinary workbook of 100,000 rows 27 MiB and 3.1 s beside 21 MiB
// and 2.6 s; 28 rows that name one shared text of 100 MiB 774 MiB and 5.0 s beside 65 MiB and 0.3 s. Tests compare with
// it.
package xlsx

import (
	"archive/zip"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/internal/words"
)

// Options say what is read.
type Options struct {
	Sheet   string // name; "" is the first
	TempDir string // for the workbook's shared texts; "" is the system's
	Max     int    // bytes that a row may take, with the shared texts that its cells name; 0 is 16 MiB
}

// Cell is a cell of a row.
type Cell struct {
	Column int   // from 0
	Value  any   // a string, a json.RawMessage with a number or true or false; nil for an empty cell and where Err is set
	Err    error // why the cell cannot be read
	Shown  bool  // Excel shows Value otherwise: as a date or a percentage, with a unit, with marks between thousands
	Merged int   // row of the cell that this one has Value and Err of, as both are merged; 0: they are its own
}

// Reader reads one sheet of a workbook, row by row.
type Reader struct {
	Head int // row of the header: merged ranges above it are no loss

	book   *workbook
	max    int
	left   int // bytes of the row at hand that its texts may still take
	meter  *meter
	dec    *xml.Decoder
	part   io.Closer
	sheet  int  // place of the sheet at hand
	named  bool // it is the one that Options names
	row    int  // 1-based
	merged *merged
	ranges int  // of merged cells, met behind the rows
	hidden int  // rows that nobody sees
	ended  bool // no row is left
}

// rawCell is a cell's text with its type as in the file.
type rawCell struct {
	column  int // 0-based
	kind    string
	style   int
	text    strings.Builder
	formula bool
	result  bool // of the formula is there, be it an empty text
}

// NewReader opens a workbook of size bytes. A file that is no workbook, is damaged or unpacks to far too much is an
// error, and so is a sheet that the workbook does not have. Close leaves r open.
func NewReader(r io.ReaderAt, size int64, o Options) (*Reader, error) {
	limit := cmp.Or(o.Max, bounded.MaxRecord)
	book, err := openWorkbook(r, size, o.TempDir, limit)
	if err != nil {
		return nil, err
	}
	s := &Reader{book: book, named: o.Sheet != "", max: limit}
	i, err := book.sheetIndex(o.Sheet)
	if err == nil {
		err = s.startSheet(i)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// startSheet opens a sheet of which all rows are read.
func (s *Reader) startSheet(i int) error {
	ranges, err := s.book.readMerged(s.book.parts[i])
	if err == nil {
		err = s.openSheet(i)
	}
	s.merged = ranges
	return err
}

// openSheet opens a sheet, whose merged cells stay as they are in the file.
func (s *Reader) openSheet(i int) error {
	in, err := s.book.openPart(s.book.parts[i])
	if err != nil {
		return err
	}
	s.sheet, s.row, s.ranges, s.hidden, s.merged = i, 0, 0, 0, &merged{}
	s.part, s.meter = in, newMeter(in, "row", s.max)
	s.dec = xml.NewDecoder(s.meter)
	return nil
}

// Sheets is the number of sheets that may be read; 1 where Options names one.
func (s *Reader) Sheets() int {
	if s.named {
		return 1
	}
	return min(len(s.book.names), maxSheets)
}

// GoTo begins with a sheet again, by its place, which is below Sheets.
func (s *Reader) GoTo(i int) error {
	if s.named {
		i = s.sheet
	}
	if s.part != nil { // nil behind a sheet that cannot be opened
		if err := s.part.Close(); err != nil {
			return err
		}
		s.part = nil
	}
	return s.startSheet(i)
}

// SheetsWith gives the names of the sheets, hidden ones too, in whose first row that is not empty a cell has the text.
// A sheet that cannot be read has none. Errors and o are those of NewReader; o.Sheet does not matter. r stays open.
func SheetsWith(r io.ReaderAt, size int64, o Options, text string) (found []string, err error) {
	limit := cmp.Or(o.Max, bounded.MaxRecord)
	book, err := openWorkbook(r, size, o.TempDir, limit)
	if err != nil {
		return nil, err
	}
	for i, name := range book.names[:min(len(book.names), maxSheets)] {
		s := &Reader{book: book, max: limit}
		if s.openSheet(i) != nil {
			continue
		}
		cells, err := s.Next()
		if err == nil && slices.ContainsFunc(cells, func(c Cell) bool { return c.Value == any(text) }) {
			found = append(found, name)
		}
		_ = s.part.Close() // of a sheet that is not read on
	}
	return found, book.close()
}

// maxSheets is how many sheets are looked into; people who review have a few.
const maxSheets = 256

// Next gives the cells of the next row that is not empty; io.EOF behind the last. A row that is too long, nests too
// deep or has too many cells is a *RowError, behind which the next call goes on.
func (s *Reader) Next() ([]Cell, error) {
	for {
		start, err := s.findElement("row", "mergeCell")
		if s.ended = errors.Is(err, io.EOF); err != nil {
			return nil, err
		}
		if start.Name.Local == "mergeCell" {
			if r := parseRange(attribute(start, "ref")); r.first >= s.Head || r.last > r.first {
				s.ranges++
			}
			continue
		}
		s.left = s.max
		s.row++
		if r, err := strconv.Atoi(attribute(start, "r")); err == nil && r >= s.row {
			s.row = r
		}
		cells, filled, err := s.readRow()
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", s.row, err)
		}
		switch {
		case s.meter.cut || s.left < 0:
			return nil, &RowError{&bounded.TooLongError{Max: s.max}}
		case len(cells) > maxColumns:
			return nil, &RowError{bounded.ErrColumns}
		case !filled:
			continue
		}
		if h := attribute(start, "hidden"); h == "1" || h == "true" {
			s.hidden++
		}
		cells, size := s.merged.fill(s.row, s.max, cells)
		if size > s.left {
			return nil, &RowError{&bounded.TooLongError{Max: s.max}}
		}
		return cells, nil
	}
}

// RowError is why a row cannot be given; those behind it can.
type RowError struct{ Err error }

func (e *RowError) Error() string { return e.Err.Error() }

func (e *RowError) Unwrap() error { return e.Err }

// Row is the number, from 1, of the row that Next gave last.
func (s *Reader) Row() int { return s.row }

// findElement reads on to the start of one of the elements.
func (s *Reader) findElement(names ...string) (xml.StartElement, error) {
	for {
		token, err := s.dec.RawToken()
		if err != nil {
			return xml.StartElement{}, s.damaged(err)
		}
		if start, ok := token.(xml.StartElement); ok && slices.Contains(names, start.Name.Local) {
			return start, nil
		}
	}
}

func (s *Reader) damaged(err error) error {
	var syntax *xml.SyntaxError
	var wrong errDamaged
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &syntax), errors.As(err, &wrong), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat):
		return fmt.Errorf("after row %d the sheet is damaged (%v); open and save the workbook in Excel, or fetch it again",
			s.row, err) //nolint:errorlint // EOF must not be seen through
	}
	return err
}

// readRow reads the cells of a row, and tells whether anything is in one of them.
func (s *Reader) readRow() (cells []Cell, filled bool, err error) {
	column := 0
	for {
		token, err := s.dec.RawToken()
		if err != nil {
			return nil, false, notEOF(s.damaged(err))
		}
		switch t := token.(type) {
		case xml.EndElement:
			if t.Name.Local == "row" {
				return cells, filled, nil
			}
		case xml.StartElement:
			if t.Name.Local != "c" {
				continue
			}
			if i := columnIndex(attribute(t, "r")); i >= column {
				column = i
			}
			c := &rawCell{column: column, kind: attribute(t, "t")}
			c.style, _ = strconv.Atoi(attribute(t, "s"))
			if err := s.readCell(c); err != nil {
				return nil, false, notEOF(s.damaged(err))
			}
			if len(cells) > maxColumns {
				continue
			}
			filled = filled || c.text.Len() > 0 || c.formula || c.kind == "inlineStr"
			number := c.kind == "" || c.kind == "n"
			cell := Cell{Column: column, Shown: number && s.book.isShown(c)}
			if value, err := s.cellValue(c); err != nil {
				cell.Err = err
			} else {
				cell.Value = value
			}
			cells = append(cells, cell)
			column++
		}
	}
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the sheet ends in its middle; fetch the workbook again")
	}
	return err
}

// Notes say what was left out or guessed so far.
func (s *Reader) Notes() []string {
	notes := append(slices.Clone(s.book.said), s.book.hiddenNotes(s.sheet)...)
	if others := s.otherSheets(); len(others) > 0 && !s.named {
		why := ""
		if s.sheet > 0 {
			why = ", as those before it have no row, or not the columns"
		}
		notes = append(notes, fmt.Sprintf("reading the sheet %q%s; the workbook also has %q (--sheet names another)",
			s.book.names[s.sheet], why, others))
	}
	if s.hidden > 0 && s.ended {
		notes = append(notes, words.Plural(s.hidden, "row is hidden", "rows are hidden")+", as by a filter, and read all "+
			"the same: copy what is shown to another sheet, to have that alone read")
	}
	if n := s.ranges - s.merged.known; n > 0 {
		notes = append(notes, fmt.Sprintf("%s not filled: only the first cell of each has its value; unmerge them "+
			"and fill the others in Excel", words.Plural(n, "merged range is", "merged ranges are")))
	}
	return notes
}

// Sheet is the name of the sheet at hand.
func (s *Reader) Sheet() string { return s.book.names[s.sheet] }

// SheetName is that name, and of what option names another, for a message.
func (s *Reader) SheetName() string {
	name := fmt.Sprintf("the sheet %q", s.book.names[s.sheet])
	if others := s.otherSheets(); len(others) > 0 {
		name += fmt.Sprintf(" (the workbook also has %q; --sheet names another)", others)
	}
	return name
}

func (s *Reader) otherSheets() []string {
	return slices.Delete(slices.Clone(s.book.names), s.sheet, s.sheet+1)
}

// Close ends reading.
func (s *Reader) Close() error {
	var err error
	if s.part != nil {
		err = s.part.Close()
	}
	return errors.Join(err, s.book.close())
}
