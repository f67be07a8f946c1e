package dataset

import (
	"bytes"
	"errors"
	"io"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/textfile"
)

// lines reads JSON Lines.
type lines struct {
	in   *textfile.LineReader
	file string
}

func newLines(r io.Reader, file string, limit int) *lines {
	return &lines{textfile.NewLineReader(r, limit), file}
}

func (l *lines) next() (record, error) {
	for {
		line, err := l.in.Next()
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
		return record{columns: columns, place: l.in.Line, raw: line}, nil
	}
}

func (l *lines) fault(raw []byte, err error) error {
	return &LineError{File: l.file, Line: l.in.Line, Raw: raw, Err: err}
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
