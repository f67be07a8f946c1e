// Package bounded limits what reading a file of rows holds in memory.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxRecord is the most bytes that one record may take where nobody says otherwise, and MaxColumns the most columns
// that it may have, so that a damaged or malicious file cannot fill the memory.
const (
	MaxRecord  = 16 << 20
	MaxColumns = 16384 // as of a workbook
)

// A part of a file that is compressed is refused where it unpacks to more than anybody wrote: to more than MaxUnpacked
// bytes, which are more than MaxRatio times its size.
const (
	MaxUnpacked = 256 << 20
	MaxRatio    = 300
)

// TooLongError is the error of a record that takes more than Max bytes.
type TooLongError struct{ Max int }

func (e *TooLongError) Error() string {
	size := fmt.Sprintf("%d bytes", e.Max)
	if e.Max%(1<<20) == 0 {
		size = fmt.Sprintf("%d MiB", e.Max>>20)
	}
	return "the record takes more than " + size + "; mend it, or allow more with --max-record"
}

// IsTooLong tells whether err is a TooLongError.
func IsTooLong(err error) bool {
	var long *TooLongError
	return errors.As(err, &long)
}

// ErrColumns is the error of a record with more than MaxColumns.
var ErrColumns = fmt.Errorf("more than %d columns; keep the ones that are needed", MaxColumns)

// Reader reads Left bytes at most from In; then it fails with a TooLongError of Max. Whoever reads records sets Left
// anew for each.
type Reader struct {
	In        io.Reader
	Max, Left int
}

// NewReader reads records of limit bytes at most.
func NewReader(in io.Reader, limit int) *Reader { return &Reader{In: in, Max: limit, Left: limit} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.Left <= 0 {
		return 0, &TooLongError{r.Max}
	}
	n, err := r.In.Read(p[:min(len(p), r.Left)])
	r.Left -= n
	return n, err
}

// TempFile makes a file in a folder, "" being the system's, that is removed when it is closed or when the process dies.
func TempFile(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "erreval-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w; TMPDIR names another folder", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
