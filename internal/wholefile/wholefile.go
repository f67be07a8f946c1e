// Package wholefile writes files and folders that appear whole or not at all. It opens others without following planted
// links.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// RemoveIfThere removes a file that may be missing. It looks first: a file system that cannot be written to refuses to
// remove what is not there, too.
func RemoveIfThere(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// OpenUnlinked opens a file to write, and follows no symbolic link but to a device such as /dev/full: in a folder that
// others can write to, a link may lead to a file of the user's. mode is that of a file that is made.
func OpenUnlinked(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW, mode) // #nosec G703 -- the file that the user named
	if !errors.Is(err, syscall.ELOOP) {
		return f, err
	}
	f, err = os.OpenFile(path, flag&^(os.O_CREATE|os.O_TRUNC), 0) // #nosec G703 -- it is written to if it is a device
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.Mode()&fs.ModeDevice != 0 {
			return f, nil
		}
		err = errors.Join(err, f.Close())
	}
	return nil, errors.Join(linkError(path), err)
}

// RefuseLink is an error if path is a symbolic link: for a file that a library opens by its name.
func RefuseLink(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return linkError(path)
	}
	return nil // what else is wrong, who opens it finds
}

// RefuseIrregular is an error if there is something at path, or behind a link there, that a file must not take the
// place of: a device, a pipe or a socket, and a name of the process's streams such as /dev/stdout. A folder is not its
// matter.
func RefuseIrregular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // as above
	}
	stream := strings.HasPrefix(filepath.Clean(path), "/dev/std") // whatever it leads to
	if stream || !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	return nil
}

func linkError(path string) error {
	return fmt.Errorf("%s is a symbolic link, which is not written through; remove it, or give another name", path)
}
