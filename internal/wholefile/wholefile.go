// Package wholefile writes files that appear whole or not at all.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes or replaces the file at path, for all to read: under a temporary name beside it, synced, then renamed.
// Whatever happens, a reader finds what was there before or all of data.
func Write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: failed.Op, Path: path, Err: failed.Err} // the temporary name tells nobody anything
	}
	if err != nil {
		var fault *fs.PathError
		if errors.As(err, &fault) {
			fault.Path = path // and not the temporary name
		}
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
