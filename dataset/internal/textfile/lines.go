// Package textfile reads files of text piece by piece: lines, records of CSV, other encodings.
package textfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// BOM is the byte order mark of UTF-8.
var BOM = []byte("\xef\xbb\xbf")

// LineReader gives physical lines of any length up to max.
type LineReader struct {
	In   *bufio.Reader
	Max  int // bytes
	Line int // 1-based number of the last one
}

// NewLineReader reads lines of up to limit bytes.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{In: bufio.NewReaderSize(r, 64<<10), Max: limit}
}

// Next gives a line with its end, or its first part and a bounded.TooLongError. At the end of the file it gives io.EOF
// alone.
func (l *LineReader) Next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.In.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > l.Max {
				l.Line++
				return bytes.Clone(line[:1<<10]), errors.Join(&bounded.TooLongError{Max: l.Max}, l.skip())
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("after line %d: %w", l.Line, err)
		case len(line) == 0:
			return nil, io.EOF
		}
		l.Line++
		if len(line) > l.Max {
			return line[:min(len(line), 1<<10)], &bounded.TooLongError{Max: l.Max}
		}
		if l.Line == 1 {
			line = bytes.TrimPrefix(line, BOM)
		}
		return line, nil
	}
}

// skip reads on to the end of the line.
func (l *LineReader) skip() error {
	for {
		_, err := l.In.ReadSlice('\n')
		if err == nil || errors.Is(err, io.EOF) {
			return nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
