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
	in *textfile.LineReader
	noNotes
	noClose
}

func newLines(r io.Reader, limit int) *lines { return &lines{in: textfile.NewLineReader(r, limit)} }

func (l *lines) next() (record, error) {
	for {
		line, err := l.in.Next()
		line = bytes.TrimRight(line, "\r\n")
		if bounded.IsTooLong(err) {
			return record{place: l.in.Line, raw: line, err: err}, nil
		}
		if err != nil {
			return record{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		columns, err := parseObject(line)
		return record{columns: columns, place: l.in.Line, raw: line, err: hintCR(line, err)}, nil
	}
}

// hintCR explains a file whose lines end with carriage returns alone, which is one line to everybody else.
func hintCR(line []byte, err error) error {
	if err != nil && bytes.Contains(line, []byte("}\r{")) {
		return errors.New(`the lines end with lone carriage returns; convert them first, as in: tr '\r' '\n' < FILE`)
	}
	return err
}
