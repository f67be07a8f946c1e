package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

var bom = []byte("\xef\xbb\xbf")

// lineReader gives physical lines of any length up to max.
type lineReader struct {
	in   *bufio.Reader
	max  int // bytes
	line int // 1-based number of the last one
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next gives a line with its end, or its first part and a bounded.TooLongError. At the end of the file it gives io.EOF
// alone.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > l.max {
				l.line++
				return bytes.Clone(line[:1<<10]), errors.Join(&bounded.TooLongError{Max: l.max}, l.skip())
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("after line %d: %w", l.line, err)
		case len(line) == 0:
			return nil, io.EOF
		}
		l.line++
		if len(line) > l.max {
			return line[:min(len(line), 1<<10)], &bounded.TooLongError{Max: l.max}
		}
		if l.line == 1 {
			line = bytes.TrimPrefix(line, bom)
		}
		return line, nil
	}
}

// skip reads on to the end of the line.
func (l *lineReader) skip() error {
	for {
		_, err := l.in.ReadSlice('\n')
		if err == nil || errors.Is(err, io.EOF) {
			return nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// lines reads JSON Lines.
type lines struct {
	in   *lineReader
	file string
}

func newLines(r io.Reader, file string, limit int) *lines {
	return &lines{newLineReader(r, limit), file}
}

func (l *lines) next() (record, error) {
	for {
		line, err := l.in.next()
		line = bytes.TrimRight(line, "\r\n")
		if bounded.IsTooLong(err) {
			return record{}, l.fault(line, err)
		}
		if err != nil {
			return record{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		columns, err := parseObject(line)
		if err != nil {
			return record{}, l.fault(line, hintCR(line, err))
		}
		return record{columns: columns, place: l.in.line, raw: line}, nil
	}
}

func (l *lines) fault(raw []byte, err error) error {
	return &LineError{File: l.file, Line: l.in.line, Raw: raw, Err: err}
}

// hintCR explains a file whose lines end with carriage returns alone, which is one line to everybody else.
func hintCR(line []byte, err error) error {
	if bytes.Contains(line, []byte("}\r{")) {
		return errors.New(`the lines end with lone carriage returns; convert them first, as in: tr '\r' '\n' < FILE`)
	}
	return err
}

func (l *lines) unit() string    { return "" }
func (l *lines) notes() []string { return nil }
func (l *lines) close() error    { return nil }
