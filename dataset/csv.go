package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/textfile"
)

// table reads CSV and TSV: cells are texts.
type table struct {
	scan   *textfile.CSVScanner
	flat   *flatHeader
	said   []string
	header int // number of columns
	noClose
}

func newTable(r *bufio.Reader, o Options) (records, error) {
	t := &table{scan: &textfile.CSVScanner{In: textfile.NewLineReader(r, o.maxRecord()), Comma: o.Delimiter}}
	if o.Format.is(TSV) {
		t.scan.Comma = '\t'
	}
	if err := t.skipTitles(o); err != nil {
		return nil, err
	}
	if t.scan.Comma == 0 {
		if err := t.guessComma(); err != nil {
			return nil, err
		}
	}
	names, err := t.scan.ReadRecord()
	if errors.Is(err, io.EOF) {
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the header on line 1: %w", plainQuote(err))
	}
	if err := checkCells(names, " of the header on line 1"); err != nil {
		return nil, err
	}
	if strings.Contains(strings.Join(names, ""), "\r") {
		return nil, errors.New(`the lines end with lone carriage returns; convert them first, as in: tr '\r' '\n' < FILE`)
	}
	t.header = len(names)
	t.flat, err = newFlatHeader(names)
	return t, err
}

// separatorLine is the line by which Excel is told what stands between cells.
var separatorLine = regexp.MustCompile(`^(?i:sep)=([,;|\t])\r?$`)

// quotedCell is one in which separators are text.
var quotedCell = regexp.MustCompile(`"[^"]*"`)

// skipTitles goes on to the header where that stands below titles, which are lines of one cell, and names all fields
// that rows need.
func (t *table) skipTitles(o Options) error {
	for i := 0; i < LookAhead && o.Taxonomy != nil && !o.Alone; i++ {
		line, err := t.peekLine(i)
		if err != nil {
			return err
		}
		at := &table{scan: &textfile.CSVScanner{Comma: t.scan.Comma,
			In: textfile.NewLineReader(bytes.NewReader(line), len(line)+1)}}
		if at.scan.Comma == 0 {
			err = at.guessComma()
		}
		names, _ := at.scan.ReadRecord() // what cannot be read is no title
		names = slices.DeleteFunc(names, func(n string) bool { return strings.TrimSpace(n) == "" })
		isHeader := o.nameFields(names)
		if err != nil || i == 0 && (isHeader || len(names) != 1) || i > 0 && len(names) > 1 && !isHeader {
			return err
		}
		if i > 0 && len(names) > 1 {
			for range i {
				_, err = t.scan.In.Next()
			}
			t.said = append(t.said, fmt.Sprintf("the header is line %d; what stands above it is left out", i+1))
			return err
		}
	}
	return nil
}

// mostPeeked is how many bytes are looked at before the first row is read.
const mostPeeked = 64 << 10

// peekLine is the line with so many before it, as far as it is within mostPeeked bytes. Of a stream it waits for no
// more.
func (t *table) peekLine(i int) ([]byte, error) {
	for size := 1; ; {
		head, err := t.scan.In.In.Peek(size)
		lines := bytes.SplitAfterN(head, []byte("\n"), i+2)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case len(lines) > i && (len(lines) > i+1 || err != nil || size == mostPeeked):
			return lines[i], nil
		case err != nil || size == mostPeeked:
			return nil, nil
		}
		size = min(max(size+1, t.scan.In.In.Buffered()), mostPeeked)
	}
}

// guessComma looks at the header for what stands between its cells: a comma, unless there is more of another separator.
func (t *table) guessComma() error {
	t.scan.Comma = ','
	line, err := t.peekLine(0)
	if err != nil {
		return err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	if m := separatorLine.FindSubmatch(line); m != nil {
		t.scan.Comma = rune(m[1][0])
		_, err = t.scan.ReadRecord() // the header is the next line
		return err
	}
	line = quotedCell.ReplaceAll(line, nil)
	commas := bytes.Count(line, []byte(","))
	most := commas
	for _, c := range ";\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			most, t.scan.Comma = n, c
		}
	}
	why := "the header has no comma"
	if commas > 0 {
		why = "the header has fewer commas"
	}
	if t.scan.Comma != ',' {
		t.said = append(t.said, fmt.Sprintf("%s; cells are split at %q (--delimiter names another)", why, t.scan.Comma))
	}
	return nil
}

func (t *table) next() (record, error) {
	if t.flat == nil {
		return record{}, io.EOF
	}
	cells, err := t.scan.ReadRecord()
	rec := record{place: t.scan.Start, raw: textfile.TrimEnd(t.scan.Raw)}
	switch limit := t.scan.In.Max; {
	case errors.Is(err, textfile.ErrQuote) || bounded.IsTooLong(err):
		rec.err = plainQuote(err)
	case err != nil:
		return record{}, err
	case len(rec.raw) > limit/6 && textfile.QuotedLen(rec.raw) > limit:
		rec.err = &bounded.TooLongError{Max: limit}
	default:
		rec.columns, rec.err = t.columns(cells)
	}
	return rec, nil
}

func (t *table) columns(cells []string) ([]column, error) {
	if len(cells) != t.header && t.header == 1 {
		return nil, fmt.Errorf("%d cells where the header has 1; delete a title above the header, or put cells with a %q "+
			"inside in quotes", len(cells), t.scan.Comma)
	}
	if len(cells) != t.header {
		return nil, fmt.Errorf("%d cells where the header has %d; put cells with a %q inside in quotes", len(cells),
			t.header, t.scan.Comma)
	}
	if err := checkCells(cells, ""); err != nil {
		return nil, err
	}
	values := make([]any, len(cells))
	for i, c := range cells {
		values[i] = c
	}
	return t.flat.nest(values)
}

// checkCells refuses what is no text; where stands behind a cell's number.
func checkCells(cells []string, where string) error {
	for i, c := range cells {
		if !utf8.ValidString(c) {
			return &textfile.EncodingError{Place: fmt.Sprintf("cell %d%s", i+1, where)}
		}
	}
	return nil
}

// plainQuote is the error without the text of ErrQuote.
func plainQuote(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), textfile.ErrQuote.Error()+": "))
}

func (t *table) notes() []string { return t.said }
