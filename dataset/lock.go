package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/erreval/erreval/internal/wholefile"
)

// openPartial opens the file that an output is written to, and keeps other processes out of it until it is closed:
// two runs on one output would mix their rows. The lock ends with the process, however it ends.
func openPartial(path string, flag int) (*os.File, error) {
	f, err := wholefile.OpenUnlinked(PartialPath(path), os.O_RDWR|flag, 0o666)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s is being written by another run; wait for it, or choose another name with -o",
			f.Name()), f.Close())
	}
	// A run that ended meanwhile has given the file its name: it is the output of that run.
	opened, statErr := f.Stat()
	now, err := os.Lstat(PartialPath(path))
	if err = errors.Join(statErr, err); err != nil || !os.SameFile(opened, now) {
		return nil, errors.Join(fmt.Errorf("%s was finished by another run meanwhile", path), err, f.Close())
	}
	return f, nil // a file system without locks is no reason to refuse work
}

// RemovePartial removes what an earlier run left of an output, but not what another run is writing.
func RemovePartial(path string) error {
	f, err := openPartial(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(f.Name()), f.Close())
}
