package dataset

import (
	"bufio"
	"fmt"
	"io"
)

// Writer writes rows as JSON Lines: every column in the row's order, values it did not change verbatim.
type Writer struct {
	out *bufio.Writer
}

// NewWriter writes to w; call Flush at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{bufio.NewWriterSize(w, 64<<10)} }

// Write writes one row and its line end.
func (w *Writer) Write(r *Row) error {
	for i, c := range r.columns {
		name, err := marshal(c.name)
		if err != nil {
			return fmt.Errorf("row %s: column %q: %w", r.ID, c.name, err)
		}
		w.out.WriteByte("{,"[min(i, 1)]) // bufio keeps the first error for Flush
		w.out.Write(name)
		w.out.WriteByte(':')
		w.out.Write(c.value)
	}
	if len(r.columns) == 0 {
		w.out.WriteByte('{')
	}
	_, err := w.out.WriteString("}\n")
	return err
}

// Flush writes what is buffered, and gives the first error of any Write.
func (w *Writer) Flush() error { return w.out.Flush() }
