package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// csvScanner reads CSV records. encoding/csv takes carriage returns out of quoted cells, and cannot
// give a bad record as it stood or go on behind one, so this one is used.
type csvScanner struct {
	in      *lineReader
	comma   rune
	pending []byte // lines to read again, from again on
	again   int
	line    int    // 1-based number of the last line taken
	start   int    // line on which the last record began
	raw     []byte // that record
}

var errQuote = errors.New("quote")

// takeLine gives the next physical line, with its end.
func (s *csvScanner) takeLine() ([]byte, error) {
	if s.again < len(s.pending) {
		line := s.pending[s.again:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 { // the file's last line may have none
			line = line[:end+1]
		}
		s.again += len(line)
		s.line++
		return line, nil
	}
	line, err := s.in.next()
	if line != nil {
		s.line = s.in.line
	}
	return line, err
}

// readRecord gives the cells of the next record that is not a blank line. On an error that wraps
// errQuote or is a bounded.TooLongError the next call goes on behind the record's first line.
func (s *csvScanner) readRecord() ([]string, error) {
	for {
		line, err := s.takeLine()
		s.start, s.raw = s.line, line
		if err != nil {
			return nil, err
		}
		if len(trimEnd(line)) == 0 {
			continue
		}
		return s.splitCells(line)
	}
}

// splitCells splits a record whose first line is at hand, and takes more lines while a quote is open.
func (s *csvScanner) splitCells(line []byte) ([]string, error) {
	p := csvRecord{s: s, line: line, taken: line[:len(line):len(line)], first: len(line), comma: []byte(string(s.comma))}
	for {
		var more bool
		var err error
		if len(p.line) == 0 || p.line[0] != '"' {
			more, err = p.takeBare()
		} else {
			more, err = p.takeQuoted()
		}
		if err != nil {
			return nil, err
		}
		if len(p.cells) > bounded.MaxColumns {
			return nil, p.failed("%w", bounded.ErrColumns)
		}
		if !more {
			s.raw = p.taken
			return p.cells, nil
		}
	}
}

// csvRecord is a record while it is split.
type csvRecord struct {
	s     *csvScanner
	line  []byte // what is left of the line
	taken []byte // all its lines
	first int    // length of the first
	comma []byte
	cells []string
}

// failed gives all lines but the first back, and says what is wrong.
func (p *csvRecord) failed(what string, args ...any) error {
	if p.s.again < len(p.s.pending) { // all of them came from there
		p.s.again -= len(p.taken) - p.first
	} else {
		p.s.pending, p.s.again = p.taken[p.first:], 0
	}
	p.s.line, p.s.raw = p.s.start, p.taken[:p.first]
	return fmt.Errorf("%w: "+what, append([]any{errQuote}, args...)...)
}

// takeBare takes a cell without quotes. more tells whether another one follows.
func (p *csvRecord) takeBare() (more bool, err error) {
	i := bytes.Index(p.line, p.comma)
	cell := trimEnd(p.line)
	if i >= 0 {
		cell = p.line[:i]
	}
	if bytes.IndexByte(cell, '"') >= 0 {
		return false, p.failed(`cell %d has a quote inside; put the whole cell in quotes, and write each quote in it twice`,
			len(p.cells)+1)
	}
	if bytes.IndexByte(cell, 0) >= 0 {
		return false, p.failed(`cell %d holds a NUL byte; the file is damaged, or not text`, len(p.cells)+1)
	}
	p.cells = append(p.cells, string(cell))
	if i < 0 {
		return false, nil
	}
	p.line = p.line[i+len(p.comma):]
	return true, nil
}

// takeQuoted takes a cell in quotes, which may go on over lines. more tells whether another one follows.
func (p *csvRecord) takeQuoted() (more bool, err error) {
	var cell []byte
	for p.line = p.line[1:]; ; {
		i := bytes.IndexByte(p.line, '"')
		if i >= 0 && i+1 < len(p.line) && p.line[i+1] == '"' {
			cell, p.line = append(cell, p.line[:i+1]...), p.line[i+2:]
			continue
		}
		if i >= 0 {
			cell, p.line = append(cell, p.line[:i]...), p.line[i+1:]
			break
		}
		cell = append(cell, p.line...)
		next, err := p.s.takeLine()
		if err == nil {
			p.taken, p.line = append(p.taken, next...), next
		}
		if len(p.taken) > p.s.in.max || errors.Is(err, io.EOF) || bounded.IsTooLong(err) {
			return false, p.failed("the quote that opens cell %d is never closed", len(p.cells)+1)
		}
		if err != nil {
			return false, err
		}
	}
	p.cells = append(p.cells, string(cell))
	switch {
	case len(trimEnd(p.line)) == 0:
		return false, nil
	case bytes.HasPrefix(p.line, p.comma):
		p.line = p.line[len(p.comma):]
		return true, nil
	}
	return false, p.failed("behind the closing quote of cell %d stands %.20q; write a quote inside a cell twice",
		len(p.cells), trimEnd(p.line))
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// table reads CSV and TSV: cells are texts.
type table struct {
	scan   *csvScanner
	file   string
	flat   *flatHeader
	said   []string
	header int // number of columns
}

func newTable(r io.Reader, file string, comma rune, limit int) (*table, error) {
	t := &table{scan: &csvScanner{in: newLineReader(r, limit), comma: comma}, file: file}
	if comma == 0 {
		if err := t.guessComma(); err != nil {
			return nil, err
		}
	}
	names, err := t.scan.readRecord()
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

// guessComma looks at the header for what stands between its cells.
func (t *table) guessComma() error {
	t.scan.comma = ','
	head, err := t.scan.in.in.Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	for _, c := range ",;\t" {
		if bytes.ContainsRune(line, c) {
			t.scan.comma = c
			break
		}
	}
	if t.scan.comma != ',' {
		t.said = append(t.said, fmt.Sprintf("the header has no comma; cells are split at %q (--delimiter names another)",
			t.scan.comma))
	}
	return nil
}

func (t *table) next() (record, error) {
	if t.flat == nil {
		return record{}, io.EOF
	}
	cells, err := t.scan.readRecord()
	raw := trimEnd(t.scan.raw)
	if errors.Is(err, errQuote) || bounded.IsTooLong(err) {
		return record{}, &LineError{File: t.file, Line: t.scan.start, Raw: raw, Err: plainQuote(err)}
	}
	if err != nil {
		return record{}, err
	}
	var columns []column
	if limit := t.scan.in.max; len(raw) > limit/6 && quotedLen(raw) > limit {
		err = &bounded.TooLongError{Max: limit}
	} else {
		columns, err = t.columns(cells)
	}
	if err != nil {
		return record{}, &LineError{File: t.file, Line: t.scan.start, Raw: raw, Err: err}
	}
	return record{columns: columns, place: t.scan.start, raw: raw}, nil
}

// quotedLen is the most bytes that text takes in JSON, where a control character takes six.
func quotedLen(text []byte) int {
	n := len(text)
	for _, c := range text {
		switch {
		case c == '\n' || c == '\r' || c == '\t' || c == '\\':
			n++
		case c < ' ':
			n += 5
		}
	}
	return n
}

func (t *table) columns(cells []string) ([]column, error) {
	if len(cells) != t.header {
		return nil, fmt.Errorf("%d cells where the header has %d; put cells with a %q inside in quotes", len(cells),
			t.header, t.scan.comma)
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
			return &encodingError{place: fmt.Sprintf("cell %d%s", i+1, where)}
		}
	}
	return nil
}

// plainQuote is the error without the text of errQuote.
func plainQuote(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), errQuote.Error()+": "))
}

func (t *table) unit() string    { return "" }
func (t *table) notes() []string { return t.said }
func (t *table) close() error    { return nil }
