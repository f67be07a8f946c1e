package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// CSVScanner reads CSV records. encoding/csv takes carriage returns out of quoted cells, and cannot
// give a bad record as it stood or go on behind one, so this one is used.
type CSVScanner struct {
	In      *LineReader
	Comma   rune
	pending []byte // lines to read again, from again on
	again   int
	line    int    // 1-based number of the last line taken
	Start   int    // line on which the last record began
	Raw     []byte // that record
}

// ErrQuote says that quotes do not match.
var ErrQuote = errors.New("quote")

// takeLine gives the next physical line, with its end.
func (s *CSVScanner) takeLine() ([]byte, error) {
	if s.again < len(s.pending) {
		line := s.pending[s.again:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 { // the file's last line may have none
			line = line[:end+1]
		}
		s.again += len(line)
		s.line++
		return line, nil
	}
	line, err := s.In.Next()
	if line != nil {
		s.line = s.In.Line
	}
	return line, err
}

// ReadRecord gives the cells of the next record that is not a blank line. On an error that wraps
// ErrQuote or is a bounded.TooLongError the next call goes on behind the record's first line.
func (s *CSVScanner) ReadRecord() ([]string, error) {
	for {
		line, err := s.takeLine()
		s.Start, s.Raw = s.line, line
		if err != nil {
			return nil, err
		}
		if len(TrimEnd(line)) == 0 {
			continue
		}
		return s.splitCells(line)
	}
}

// splitCells splits a record whose first line is at hand, and takes more lines while a quote is open.
func (s *CSVScanner) splitCells(line []byte) ([]string, error) {
	p := csvRecord{s: s, line: line, taken: line[:len(line):len(line)], first: len(line), comma: []byte(string(s.Comma))}
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
			s.Raw = p.taken
			return p.cells, nil
		}
	}
}

// csvRecord is a record while it is split.
type csvRecord struct {
	s     *CSVScanner
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
	p.s.line, p.s.Raw = p.s.Start, p.taken[:p.first]
	return fmt.Errorf("%w: "+what, append([]any{ErrQuote}, args...)...)
}

// takeBare takes a cell without quotes. more tells whether another one follows.
func (p *csvRecord) takeBare() (more bool, err error) {
	i := bytes.Index(p.line, p.comma)
	cell := TrimEnd(p.line)
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
		if len(p.taken) > p.s.In.Max || errors.Is(err, io.EOF) || bounded.IsTooLong(err) {
			return false, p.failed("the quote that opens cell %d is never closed", len(p.cells)+1)
		}
		if err != nil {
			return false, err
		}
	}
	p.cells = append(p.cells, string(cell))
	switch {
	case len(TrimEnd(p.line)) == 0:
		return false, nil
	case bytes.HasPrefix(p.line, p.comma):
		p.line = p.line[len(p.comma):]
		return true, nil
	}
	return false, p.failed("behind the closing quote of cell %d stands %.20q; write a quote inside a cell twice",
		len(p.cells), TrimEnd(p.line))
}

// TrimEnd is a line without its end.
func TrimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// QuotedLen is the most bytes that text takes in JSON, where a control character takes six.
func QuotedLen(text []byte) int {
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
