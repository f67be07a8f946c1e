// Package wholefile writes files and folders that appear whole or not at all, and opens others without following
// planted links.
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
// Whatever happens, a reader finds what was there before or all of data. Of files it replaces regular ones alone.
func Write(path string, data []byte) error {
	return Fill(path, func(w io.Writer) error {
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// WritePrivate is Write for a file that nobody else may read.
func WritePrivate(path string, data []byte) error {
	return fill(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Fill is Write for content that write writes piece by piece. It returns an error of write unchanged.
func Fill(path string, write func(io.Writer) error) error { return fill(path, 0o644, write) }

func fill(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := RefuseIrregular(path); err != nil {
		return fmt.Errorf("%w; choose another name", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // the user does not know the temporary name
	}
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err = errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// RemoveIfThere removes a file that may be missing.
func RemoveIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
