package dataset

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// Writer writes rows as JSON Lines: every column in the row's order, values it did not change verbatim.
type Writer struct {
	out *bufio.Writer
	buf []byte
}

// NewWriter writes to w; call Flush at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{out: bufio.NewWriterSize(w, 64<<10)} }

// Write writes one row and its line end.
func (w *Writer) Write(r *Row) error {
	w.buf = append(appendObject(w.buf[:0], r.columns), '\n')
	if _, err := w.out.Write(w.buf); err != nil {
		return fmt.Errorf("row %s: %w", r.ID, err)
	}
	return nil
}

// JSON is the row as one JSON object, as a Writer writes it.
func (r *Row) JSON() json.RawMessage { return appendObject(nil, r.columns) }

// appendObject appends the columns as one JSON object.
func appendObject(dst []byte, columns []column) []byte {
	dst = append(dst, '{')
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, jsontext.Quote(c.name)...), ':')
		dst = append(dst, c.value...)
	}
	return append(dst, '}')
}

// Flush writes what is buffered, and gives the first error of any Write.
func (w *Writer) Flush() error { return w.out.Flush() }
