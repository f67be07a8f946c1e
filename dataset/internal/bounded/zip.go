package bounded

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
)

// maxList is the most bytes of the list of entries at a ZIP file's end, which is held in memory.
const maxList = 16 << 20

// listReader reads what a ZIP file's reader asks for at first, its list of entries; ready ends its bound.
type listReader struct {
	io.ReaderAt
	left  int
	ready bool
}

// ReadAt implements io.ReaderAt.
func (l *listReader) ReadAt(p []byte, at int64) (int, error) {
	if l.left -= len(p); l.left < 0 && !l.ready {
		return 0, errors.New("its list of parts is too long")
	}
	return l.ReaderAt.ReadAt(p, at)
}

// OpenZip reads the list of a ZIP file's entries, unless it is too long.
func OpenZip(r io.ReaderAt, size int64) (*zip.Reader, error) {
	list := &listReader{ReaderAt: r, left: maxList}
	z, err := zip.NewReader(list, size)
	list.ready = true
	return z, err
}

// BombError is the error of an entry that unpacks to more than MaxUnpacked bytes and Ratio times its size.
type BombError struct{ Ratio uint64 }

func (e *BombError) Error() string {
	return fmt.Sprintf("unpacks to %d times its size: a ZIP bomb; it is not read", e.Ratio)
}

// OpenEntry opens an entry, unless it unpacks to too much.
func OpenEntry(f *zip.File) (io.ReadCloser, error) {
	if ratio := f.UncompressedSize64 / max(f.CompressedSize64, 1); f.UncompressedSize64 > MaxUnpacked &&
		ratio > MaxRatio {
		return nil, &BombError{ratio}
	}
	return f.Open()
}
