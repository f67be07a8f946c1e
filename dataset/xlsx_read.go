package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// sheet reads one sheet of a workbook, row by row. excelize's streaming reader gives formatted texts
// without their types, errors and formulas, so this one is used; excelize stays its witness in tests.
type sheet struct {
	book   *workbook
	file   string
	meter  *meteredReader
	dec    *xml.Decoder
	part   io.Closer
	row    int // 1-based
	header []int
	flat   *flatHeader
	said   []string
	merged int
}

// cell of a sheet: text with its type as in the file.
type cell struct {
	column  int // 0-based
	kind    string
	style   int
	text    strings.Builder
	formula bool
	result  bool // of the formula is there, be it an empty text
}

func newSheet(r io.ReaderAt, size int64, file string, o Options) (*sheet, error) {
	book, err := openWorkbook(r, size, o.TempDir)
	if err != nil {
		return nil, err
	}
	s := &sheet{book: book, file: file, said: book.said}
	if err := s.open(o.Sheet); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sheet) open(name string) error {
	part, err := s.book.sheet(name)
	if err != nil {
		return err
	}
	if len(s.book.names) > 1 && name == "" {
		s.said = append(s.said, fmt.Sprintf("reading the sheet %q; the workbook also has %q (--sheet names another)", s.book.names[0], s.book.names[1:]))
	}
	in, err := s.book.open(part)
	if err != nil {
		return err
	}
	s.part, s.meter = in, &meteredReader{in, maxRecord}
	s.dec = xml.NewDecoder(bufio.NewReaderSize(s.meter, 64<<10))
	return s.readHeader()
}

// readHeader takes the first row that is not empty for the columns' names.
func (s *sheet) readHeader() error {
	cells, err := s.cells()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	var names []string
	for _, c := range cells {
		v, err := s.value(c)
		if err != nil {
			return fmt.Errorf("the header in row %d: %w", s.row, err)
		}
		if name := cellText(value(v)); name != "" {
			s.header, names = append(s.header, c.column), append(names, name)
		}
	}
	s.flat, err = newFlatHeader(names)
	return err
}

func (s *sheet) next() (record, error) {
	if s.flat == nil {
		return record{}, io.EOF
	}
	cells, err := s.cells()
	if err != nil {
		return record{}, err
	}
	values := make([]any, len(s.header))
	var fault error
	for _, c := range cells {
		v, err := s.value(c)
		i := slices.Index(s.header, c.column)
		switch {
		case err != nil:
			fault = err
		case i >= 0:
			values[i] = v
		case v != nil && v != "":
			fault = fmt.Errorf("the cell %s%d stands under no column name; write one in the header, or empty it", columnName(c.column), s.row)
		}
	}
	rec := record{place: s.row}
	if fault == nil {
		rec.columns, fault = s.flat.nest(values)
	}
	if fault != nil {
		return record{}, &LineError{File: s.file, Line: s.row, Unit: s.unit(), Raw: s.raw(values), Err: fault}
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

// cells gives the next row that has any cell with something in it.
func (s *sheet) cells() ([]*cell, error) {
	for {
		start, err := s.find("row", "mergeCell")
		if err != nil {
			return nil, err
		}
		if start.Name.Local == "mergeCell" {
			s.merged++
			continue
		}
		s.meter.left = maxRecord
		s.row++
		if r, err := strconv.Atoi(attribute(start, "r")); err == nil && r >= s.row {
			s.row = r
		}
		cells, err := s.readRow()
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", s.row, err)
		}
		if slices.ContainsFunc(cells, func(c *cell) bool { return c.text.Len() > 0 || c.formula || c.kind == "inlineStr" }) {
			return cells, nil
		}
	}
}

// find reads on to the start of one of the elements.
func (s *sheet) find(names ...string) (xml.StartElement, error) {
	for {
		token, err := s.dec.Token()
		if err != nil {
			return xml.StartElement{}, s.damaged(err)
		}
		if start, ok := token.(xml.StartElement); ok && slices.Contains(names, start.Name.Local) {
			return start, nil
		}
	}
}

func (s *sheet) damaged(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrFormat):
		return fmt.Errorf("after row %d the sheet is damaged (%v); open and save the workbook in Excel, or fetch it again", s.row, err) //nolint:errorlint // EOF must not be seen through
	}
	return err
}

func (s *sheet) readRow() ([]*cell, error) {
	var cells []*cell
	column := 0
	for {
		token, err := s.dec.Token()
		if err != nil {
			return nil, notEOF(s.damaged(err))
		}
		switch t := token.(type) {
		case xml.EndElement:
			if t.Name.Local == "row" {
				return cells, nil
			}
		case xml.StartElement:
			if t.Name.Local != "c" {
				continue
			}
			if i := columnIndex(attribute(t, "r")); i >= column {
				column = i
			}
			c := &cell{column: column, kind: attribute(t, "t")}
			c.style, _ = strconv.Atoi(attribute(t, "s"))
			if err := s.readCell(c); err != nil {
				return nil, notEOF(s.damaged(err))
			}
			cells = append(cells, c)
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

// readCell reads a cell's value: <v>, or the runs of <is>.
func (s *sheet) readCell(c *cell) error {
	inside, skip := false, 0
	for {
		token, err := s.dec.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = t.Name.Local == "v" || t.Name.Local == "t"
			c.formula = c.formula || t.Name.Local == "f"
			c.result = c.result || t.Name.Local == "v"
			if t.Name.Local == "rPh" { // how a Japanese word is spoken
				skip++
			}
		case xml.EndElement:
			inside = false
			if t.Name.Local == "rPh" {
				skip--
			}
			if t.Name.Local == "c" {
				return nil
			}
		case xml.CharData:
			if inside && skip == 0 {
				c.text.Write(t)
			}
		}
	}
}

// value is a cell for flatHeader.nest.
func (s *sheet) value(c *cell) (any, error) {
	text := c.text.String()
	at := func() string { return columnName(c.column) + strconv.Itoa(s.row) }
	switch {
	case c.formula && !c.result:
		return nil, fmt.Errorf("the cell %s is a formula without its result; open and save the workbook in Excel", at())
	case c.kind == "inlineStr" || c.kind == "str":
		return unescapeExcel(text), nil
	case text == "":
		return nil, nil
	case c.kind == "s":
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the cell %s names the text %q, which is not there; the workbook is damaged", at(), text)
		}
		return s.book.texts.get(i)
	case c.kind == "b":
		return json.RawMessage(map[bool]string{true: "true", false: "false"}[text == "1"]), nil
	case c.kind == "e":
		return nil, fmt.Errorf("the cell %s holds the error %s; mend it in Excel", at(), text)
	case c.kind == "d":
		return text, nil
	case !json.Valid([]byte(text)) || kind([]byte(text)) != "a number":
		return nil, fmt.Errorf("the cell %s holds %.40q, which is no number; mend it in Excel", at(), text)
	case s.book.dates[c.style]:
		return s.book.date(text)
	}
	return json.RawMessage(text), nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// columnIndex is the 0-based column of a cell's name like "AB12", or -1.
func columnIndex(name string) int {
	i := 0
	for _, r := range name {
		if r < 'A' || r > 'Z' {
			break
		}
		if i = i*26 + int(r-'A') + 1; i > maxColumns {
			return -1
		}
	}
	return i - 1
}

func (s *sheet) unit() string { return "row" }

func (s *sheet) notes() []string {
	if s.merged == 0 {
		return s.said
	}
	return append(slices.Clone(s.said), fmt.Sprintf("%d merged ranges: only the first cell of each has its value; unmerge them and fill the others in Excel", s.merged))
}

func (s *sheet) close() error {
	var err error
	if s.part != nil {
		err = s.part.Close()
	}
	return errors.Join(err, s.book.close())
}

// textStore holds a workbook's shared texts in a temporary file, however many there are.
type textStore struct {
	data, index *os.File // index: 8 bytes a text, where it ends in data
	n           int64
}

func (t *textStore) get(i int64) (string, error) {
	if t == nil || i < 0 || i >= t.n {
		return "", fmt.Errorf("the workbook has no text %d; it is damaged", i)
	}
	var ends [16]byte
	if _, err := t.index.ReadAt(ends[:], i*8); err != nil {
		return "", err
	}
	from, to := int64(binary.LittleEndian.Uint64(ends[:8])), int64(binary.LittleEndian.Uint64(ends[8:]))
	text := make([]byte, to-from)
	_, err := t.data.ReadAt(text, from)
	return string(text), err
}

func (t *textStore) close() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.data.Close(), t.index.Close())
}

// fill reads xl/sharedStrings.xml.
func (t *textStore) fill(r io.Reader) error {
	meter := &meteredReader{r, maxRecord}
	dec := xml.NewDecoder(bufio.NewReaderSize(meter, 64<<10))
	data, index := bufio.NewWriterSize(t.data, 64<<10), bufio.NewWriterSize(t.index, 64<<10)
	var end uint64
	put := func() {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], end)
		index.Write(b[:]) // bufio keeps the error
	}
	put()
	var text strings.Builder
	inside, skip := false, 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return errors.Join(data.Flush(), index.Flush())
		}
		if err != nil {
			return fmt.Errorf("its shared texts are damaged: %w", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inside = e.Name.Local == "t"
			if e.Name.Local == "rPh" {
				skip++
			}
		case xml.CharData:
			if inside && skip == 0 {
				text.Write(e)
			}
		case xml.EndElement:
			inside = false
			switch e.Name.Local {
			case "rPh":
				skip--
			case "si":
				whole := unescapeExcel(text.String())
				text.Reset()
				meter.left = maxRecord
				data.WriteString(whole)
				end += uint64(len(whole))
				t.n++
				put()
			}
		}
	}
}

// workbook is an opened .xlsx file.
type workbook struct {
	zip   *zip.Reader
	names []string // of the sheets, in order
	parts []string // their files
	texts *textStore
	dates map[int]bool // styles of dates
	d1904 bool
	said  []string
}

// Limits against ZIP files that unpack to more than anybody wrote.
const (
	maxRatio = 300       // unpacked to packed, of a part larger than
	bombSize = 256 << 20 // bytes
	maxPart  = 64 << 20  // of a part that is held in memory
)

func openWorkbook(r io.ReaderAt, size int64, tempDir string) (*workbook, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not a workbook, or cut (%v); open and save it in Excel, or fetch it again", err) //nolint:errorlint // may be EOF
	}
	b := &workbook{zip: z, dates: map[int]bool{}}
	if err := errors.Join(b.readSheets(), b.readStyles()); err != nil {
		return nil, err
	}
	if b.find("xl/vbaProject.bin") != nil {
		b.said = append(b.said, "the workbook has macros; they are not run, and not kept in outputs")
	}
	return b, b.readTexts(tempDir)
}

func (b *workbook) find(name string) *zip.File {
	for _, f := range b.zip.File {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

// open opens a part, unless it is a bomb.
func (b *workbook) open(name string) (io.ReadCloser, error) {
	f := b.find(name)
	if f == nil {
		return nil, fmt.Errorf("the workbook has no part %s; it is damaged, or no .xlsx", name)
	}
	if f.UncompressedSize64 > bombSize && f.UncompressedSize64/max(f.CompressedSize64, 1) > maxRatio {
		return nil, fmt.Errorf("the part %s unpacks to %d times its size: a ZIP bomb; it is not read", name, f.UncompressedSize64/max(f.CompressedSize64, 1))
	}
	return f.Open()
}

// decode reads a small part.
func (b *workbook) decode(name string, v any) error {
	in, err := b.open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := xml.NewDecoder(&meteredReader{in, maxPart}).Decode(v); err != nil {
		return fmt.Errorf("the part %s of the workbook is damaged: %v", name, err) //nolint:errorlint // may be EOF
	}
	return nil
}

func (b *workbook) readSheets() error {
	var book struct {
		Pr struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name string     `xml:"name,attr"`
			Attr []xml.Attr `xml:",any,attr"`
		} `xml:"sheets>sheet"`
	}
	var rels struct {
		Rel []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := errors.Join(b.decode("xl/workbook.xml", &book), b.decode("xl/_rels/workbook.xml.rels", &rels)); err != nil {
		return err
	}
	b.d1904 = book.Pr.Date1904 == "1" || book.Pr.Date1904 == "true"
	targets := map[string]string{}
	for _, r := range rels.Rel {
		target := r.Target
		if !strings.HasPrefix(target, "/") {
			target = path.Join("xl", target)
		}
		targets[r.ID] = strings.TrimPrefix(target, "/")
	}
	for _, s := range book.Sheets {
		for _, a := range s.Attr {
			if a.Name.Local == "id" && strings.Contains(targets[a.Value], "worksheets/") {
				b.names, b.parts = append(b.names, s.Name), append(b.parts, targets[a.Value])
			}
		}
	}
	if len(b.names) == 0 {
		return errors.New("the workbook has no sheet of cells")
	}
	return nil
}

func (b *workbook) sheet(name string) (string, error) {
	if name == "" {
		return b.parts[0], nil
	}
	i := slices.Index(b.names, name)
	if i < 0 {
		return "", fmt.Errorf("there is no sheet %q; the sheets are %q", name, b.names)
	}
	return b.parts[i], nil
}

func (b *workbook) readTexts(tempDir string) error {
	if b.find("xl/sharedStrings.xml") == nil {
		return nil
	}
	in, err := b.open("xl/sharedStrings.xml")
	if err != nil {
		return err
	}
	defer in.Close()
	t := &textStore{}
	if t.data, err = tempFile(tempDir); err != nil {
		return err
	}
	if t.index, err = tempFile(tempDir); err != nil {
		return errors.Join(err, t.data.Close())
	}
	b.texts = t
	if err := t.fill(in); err != nil {
		return errors.Join(err, t.close())
	}
	return nil
}

func (b *workbook) close() error { return b.texts.close() }
