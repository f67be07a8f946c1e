// Package bounded limits what reading a file of rows holds in memory.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxRow is the most bytes that one row may take, so that a damaged or malicious file cannot fill the memory.
const MaxRow = 128 << 20

// A part of a file that is compressed is refused where it unpacks to more than anybody wrote: to more than MaxUnpacked
// bytes, which are more than MaxRatio times its size.
const (
	MaxUnpacked = 256 << 20
	MaxRatio    = 300
)

// ErrTooLong is the error of a row that takes more than MaxRow.
var ErrTooLong = fmt.Errorf("more than %d MiB without an end; a row that long is a damaged file", MaxRow>>20)

// Reader reads Left bytes at most from In; then it fails with ErrTooLong. Whoever reads rows sets Left anew for each.
type Reader struct {
	In   io.Reader
	Left int
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.Left <= 0 {
		return 0, ErrTooLong
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
