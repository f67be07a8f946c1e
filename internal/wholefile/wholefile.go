// Package wholefile writes files that appear whole or not at all.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes or replaces the file at path, for all to read: under a temporary name beside it, synced, then renamed.
// Whatever happens, a reader finds what was there before or all of data.
func Write(path string, data []byte) error {
	return Fill(path, func(w io.Writer) error {
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// Fill is Write for content that fill writes piece by piece. It returns an error of fill unchanged.
func Fill(path string, fill func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // the user does not know the temporary name
	}
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err = errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
