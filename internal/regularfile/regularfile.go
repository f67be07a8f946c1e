// Package regularfile opens files whose names or content somebody else may have chosen. Such are configurations and
// records beside rows. What is no regular file is refused before it is opened, so that a pipe keeps nobody waiting and
// a device such as /dev/zero fills no memory; what is read whole has a limit.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Limits of Read, in bytes.
const (
	Max          = 16 << 20  // of a file that people or erreval write beside rows
	MaxManifest  = 1 << 20   // of a model's manifest.json, or a checkpoint's config.json
	MaxTokenizer = 64 << 20  // of a tokenizer's file
	MaxRows      = 256 << 20 // of a file of rows that is held in memory
)

// Open opens a file to read. A link is followed to a regular file alone. Errors are *fs.PathError.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, refusal(path, err)
	}
	if err := check(path, info); err != nil { // opening a device may change it
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // #nosec G304 G703 -- a pipe may have taken its place
	if err != nil {
		return nil, err
	}
	if err := checkOpened(path, f); err != nil {
		return nil, err
	}
	return f, nil
}

// OpenFS is Open in fsys.
func OpenFS(fsys fs.FS, name string) (fs.File, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, refusal(name, err)
	}
	if err := check(name, info); err != nil {
		return nil, err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	if err := checkOpened(name, f); err != nil {
		return nil, err
	}
	return f, nil
}

// Read reads a file of at most limit bytes; a larger one is an error.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

// ReadFS is Read in fsys.
func ReadFS(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := OpenFS(fsys, name)
	if err != nil {
		return nil, err
	}
	return readAll(f, name, limit)
}

// ReadAll reads the rest of r, which stands at path, or an error where it has over limit bytes.
func ReadAll(r io.Reader, path string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path,
			Err: fmt.Errorf("it has more than %d MiB, the most that is read of such a file", limit>>20)}
	}
	return data, err
}

func readAll(f io.ReadCloser, path string, limit int64) ([]byte, error) {
	data, err := ReadAll(f, path, limit)
	return data, errors.Join(err, f.Close())
}

// checkOpened closes f where something else took the file's place.
func checkOpened(path string, f fs.File) error {
	info, err := f.Stat()
	if err == nil {
		err = check(path, info)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

func check(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return refusal(path, syscall.EISDIR)
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "a socket or the like"
	}
	return refusal(path, fmt.Errorf("it is %s, and only a regular file is read here; write a file, and name that", what))
}

// refusal is an error of opening path, whatever call found it.
func refusal(path string, err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}
