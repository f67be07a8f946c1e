package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/dataset/xlsx"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// sheet reads rows from a sheet of a workbook. The columns are named by its first row that is not empty, but people
// write titles above their tables: where a later row has more cells and names the task's fields, by that.
type sheet struct {
	in     *xlsx.Reader
	header map[int]int // column of the sheet that has a name, to its place in flat
	place  string      // of the header
	merged int         // cells that were filled as they are merged with one above them
	flat   *flatHeader
	ahead  []sheetRow // read already, but not given out
	said   []string
	titles string               // what is said of those above the header
	shown  map[string]someTexts // by column: its cells that Excel shows otherwise than they are read
}

// sheetRow is a row of a sheet, or why there is none.
type sheetRow struct {
	cells  []xlsx.Cell
	number int
	err    error
}

func newSheet(r io.ReaderAt, size int64, o Options) (records, error) {
	in, err := xlsx.NewReader(r, size, xlsx.Options{Sheet: o.Sheet, TempDir: o.TempDir, Max: o.maxRecord()})
	s := &sheet{shown: map[string]someTexts{}}
	if o.SheetOfOne && errors.Is(err, xlsx.ErrNoSheet) {
		s.said = append(s.said, fmt.Sprintf("it has no sheet %q, and is read without", o.Sheet))
		in, err = xlsx.NewReader(r, size, xlsx.Options{TempDir: o.TempDir, Max: o.maxRecord()})
	}
	if err != nil {
		return nil, err
	}
	s.in = in
	if err = s.findSheet(o); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// findSheet begins with the first sheet of more columns than rows need, or, where columns were named for all these,
// that has those; else with the first that has rows. Cover sheets have fewer.
func (s *sheet) findSheet(o Options) error {
	best, columns, last, enough := 0, 0, 0, 1
	for _, f := range o.fields() {
		if !f.Optional {
			enough++
		}
	}
	for i := range s.in.Sheets() {
		var err error
		if i > 0 {
			last, err = -1, s.in.GoTo(i)
		}
		if err == nil {
			last, err = i, s.readHeader(o)
		}
		switch {
		case err != nil && columns == 0:
			return err
		case err != nil || s.flat == nil || errors.Is(s.peek(0).err, io.EOF):
		case o.nameFields(s.flat.names):
			return nil
		case min(len(s.flat.names), enough) > columns:
			best, columns = i, min(len(s.flat.names), enough)
		}
		if columns == enough && !o.mapsAll() {
			break
		}
	}
	if best == last && s.flat != nil {
		return nil
	}
	if err := s.in.GoTo(best); err != nil {
		return err
	}
	return s.readHeader(o)
}

func (s *sheet) readHeader(o Options) error {
	at := s.findHeader(o)
	head := s.ahead[at]
	s.header, s.flat, s.ahead = map[int]int{}, nil, s.ahead[at+1:]
	if errors.Is(head.err, io.EOF) {
		s.ahead = []sheetRow{head}
		return nil
	} else if head.err != nil {
		return head.err
	}
	if s.titles = ""; at > 0 {
		s.titles = fmt.Sprintf("the header is row %d; what stands above it is left out", head.number)
	}
	s.place, s.in.Head = fmt.Sprintf(" in row %d of %s", head.number, s.in.SheetName()), head.number
	var names []string
	var places []int
	for _, c := range head.cells {
		if c.Err != nil && c.Merged == 0 {
			return fmt.Errorf("the header in row %d: %w", head.number, c.Err)
		}
		if name := cellText(value(c.Value)); name != "" && c.Merged == 0 {
			s.header[c.Column], names, places = len(names), append(names, name), append(places, c.Column)
		}
	}
	flat, err := newFlatHeader(names, places...)
	s.flat = flat
	return err
}

// findHeader gives the place of the header among the rows ahead: the first that names all fields that rows need; else
// below titles, which are rows of one cell, the first row of several, or the next where that one names groups of
// columns; else the first. It looks at as many rows and bytes as a search for columns does.
func (s *sheet) findHeader(o Options) int {
	s.ahead = nil
	most, several, groups := 0, -1, 0
	mapped := o.mapsAll()
	for i, left := 0, o.maxRecord(); i < LookAhead && left > 0; i++ {
		row := s.peek(i)
		names := row.names()
		left -= len(strings.Join(names, ""))
		if (len(names) > most || mapped) && len(o.fields()) > 0 && o.nameFields(names) {
			return i
		}
		switch {
		case several < 0 && len(names) > 1:
			several, groups = i, len(names)
		case several >= 0 && several == i-1 && s.ahead[several].hasGaps() && len(names) > groups && areHeadings(names):
			several = i
		}
		if most = max(most, len(names)); errors.Is(row.err, io.EOF) || o.Taxonomy == nil || o.Alone {
			break
		}
	}
	return max(several, 0)
}

// names are the texts of a row's cells of its own.
func (r *sheetRow) names() (names []string) {
	for _, c := range r.cells {
		if name := heading(cellText(value(c.Value))); name != "" && c.Merged == 0 {
			names = append(names, name)
		}
	}
	return names
}

// hasGaps tells whether names stand apart, as those of groups of columns do.
func (r *sheetRow) hasGaps() bool {
	last := -1
	for _, c := range r.cells {
		if empty := cellText(value(c.Value)) == ""; !empty && last >= 0 && c.Column > last+1 {
			return true
		} else if !empty {
			last = c.Column
		}
	}
	return false
}

// longestHeading is the length in bytes of what may be the name of a column, where that is a guess.
const longestHeading = 80

// areHeadings tells whether the names may be those of columns: short, and no two the same.
func areHeadings(names []string) bool {
	seen := map[string]bool{}
	for _, n := range names {
		if len(n) > longestHeading || seen[n] {
			return false
		}
		seen[n] = true
	}
	return true
}

// fields are those of the taxonomy, if there is one.
func (o *Options) fields() []taxonomy.Field {
	if o.Taxonomy == nil {
		return nil
	}
	return o.Taxonomy.Fields
}

// mapsAll tells whether a column was named for every field that rows need.
func (o *Options) mapsAll() bool {
	return !slices.ContainsFunc(o.fields(), func(f taxonomy.Field) bool { return !f.Optional && o.Map[f.Name] == "" })
}

// nameFields tells whether the names are those of columns for all fields that rows need.
func (o *Options) nameFields(names []string) bool {
	return !slices.ContainsFunc(o.fields(), func(f taxonomy.Field) bool {
		_, guessed := findColumn(f.Name, names, nil)
		given := cmp.Or(o.Map[f.Name], o.Recorded[f.Name], columnMessages)
		return !f.Optional && !guessed && !slices.Contains(names, heading(given))
	})
}

// peek reads on to the row with so many before it that were not given out.
func (s *sheet) peek(i int) sheetRow {
	for len(s.ahead) <= i {
		cells, err := s.in.Next()
		s.ahead = append(s.ahead, sheetRow{cells, s.in.Row(), err})
	}
	return s.ahead[i]
}

func (s *sheet) next() (record, error) {
	if s.flat == nil {
		return record{}, io.EOF
	}
	row := s.peek(0)
	s.ahead = s.ahead[1:]
	values := make([]any, len(s.header))
	rec := record{place: row.number, header: s.place, shown: s.shown}
	var fault error
	if bad := (*xlsx.RowError)(nil); errors.As(row.err, &bad) {
		fault = bad.Err
	} else if row.err != nil {
		return record{}, row.err
	}
	for _, c := range row.cells {
		i, named := s.header[c.Column]
		switch {
		case c.Merged > 0 && (!named || c.Merged <= s.in.Head):
			continue
		case c.Err != nil:
			fault = c.Err
		case named:
			values[i] = c.Value
			if name := s.flat.names[i]; c.Shown && c.Value != nil {
				s.shown[name] = s.shown[name].and(fmt.Sprintf("%s", c.Value), xlsx.CellName(c.Column, row.number))
			}
			s.merged += min(c.Merged, 1)
		case c.Value != nil && c.Value != "":
			rec.err = fmt.Errorf("the cell %s stands under no column name; write one in the header, or empty it",
				xlsx.CellName(c.Column, row.number))
			rec.raw = s.raw(values)
		}
	}
	if fault == nil {
		rec.columns, fault = s.flat.nest(values)
	}
	if fault != nil {
		rec.raw, rec.err = s.raw(values), fault
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

func (s *sheet) notes() []string {
	notes := append(s.in.Notes(), s.said...)
	if s.titles != "" {
		notes = append(notes, s.titles)
	}
	if s.merged > 0 {
		notes = append(notes, "merged cells are filled: "+words.Plural(s.merged, "cell", "cells"))
	}
	return notes
}

func (s *sheet) close() error { return s.in.Close() }

// sheetWriter writes rows to the one sheet of a workbook.
type sheetWriter struct {
	out    *xlsx.Writer
	cells  []any
	marked []int // columns of what was not judged and of the labels: "No Error" alone would say too much
}

// detailColumns are, by their beginnings, columns of a diagnosis that a workbook folds: most people read none of them.
var detailColumns = []string{"probabilities.", "model", "taxonomy", "truncated.", "read"}

func newSheetWriter(w io.Writer, h *header, o SinkOptions) (cellWriter, error) {
	columns := make([]xlsx.Column, len(h.columns))
	s := &sheetWriter{cells: make([]any, len(h.columns))}
	for i, c := range h.columns {
		part, ofDiagnosis := strings.CutPrefix(c.name, ColumnDiagnosis+".")
		isPart := func(begin string) bool { return ofDiagnosis && strings.HasPrefix(part, begin) }
		columns[i] = xlsx.Column{Name: c.name, Width: c.longest, Quoted: FormulaLike(c.name),
			Folded: slices.ContainsFunc(detailColumns, isPart)}
	}
	if notJudged, ok := h.at[ColumnDiagnosis+".not_judged"]; ok {
		s.marked = []int{notJudged, h.at[ColumnDiagnosis+".labels"]}
	}
	var err error
	s.out, err = xlsx.NewWriter(w, o.Sheet, columns)
	return s, err
}

func (s *sheetWriter) write(cells []json.RawMessage) error {
	for i, raw := range cells {
		s.cells[i] = sheetCell(raw)
	}
	for _, i := range s.marked {
		text, ok := s.cells[i].(string)
		if !ok || text == "" {
			break // all was judged
		}
		s.cells[i] = xlsx.Marked(text)
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
