package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is a folder on its way, which appears whole or not at all.
type Folder struct {
	Dir   string   // the caller fills it, or puts another folder in its place
	Left  []string // what killed processes left, and NewFolder removed
	to    string
	outer string   // hidden, beside to; holds Dir and, while it is replaced, what stood at to
	held  *os.File // outer, locked as long as this process is at it
}

const (
	newName = "new" // Dir, in outer
	oldName = "old" // what stood at to, in outer
)

// NewFolder begins the folder to. The name of what is hidden beside it begins with hidden, by which what a killed
// process left is found.
func NewFolder(to, hidden string) (*Folder, error) {
	to = filepath.Clean(to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, err
	}
	f := &Folder{to: to}
	var err error
	if f.Left, err = removeLeft(to, hidden); err != nil {
		return nil, err
	}
	if f.outer, err = os.MkdirTemp(filepath.Dir(to), hidden); err != nil {
		return nil, err
	}
	f.Dir = filepath.Join(f.outer, newName)
	if f.held, err = lockFolder(f.outer); err == nil {
		err = errors.Join(os.Mkdir(f.Dir, 0o755), os.Chmod(f.Dir, 0o755)) // whatever the umask
	}
	if err != nil {
		return nil, errors.Join(err, f.Discard())
	}
	return f, nil
}

// lockFolder opens a folder and locks it; where a file system knows no locks, nothing is removed that is left.
func lockFolder(dir string) (*os.File, error) {
	held, err := openFolder(dir)
	if err == nil {
		_ = syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	return held, err
}

// openFolder opens a folder, and neither a link nor a pipe that somebody put there.
func openFolder(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

// removeLeft removes what killed processes left beside a folder, and names it. What another process is at stays, and so
// does the only copy of the folder, which Publish had moved away.
func removeLeft(to, hidden string) (removed []string, err error) {
	parent := filepath.Dir(to)
	entries, err := os.ReadDir(parent)
	_, missing := os.Lstat(to)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), hidden) {
			continue
		}
		dir := filepath.Join(parent, entry.Name())
		held, openErr := openFolder(dir)
		if openErr != nil {
			continue // it is gone, or somebody else's
		}
		_, noCopy := os.Lstat(filepath.Join(dir, oldName))
		if (missing == nil || noCopy != nil) && syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			err = errors.Join(err, os.RemoveAll(dir))
			removed = append(removed, dir)
		}
		err = errors.Join(err, held.Close())
	}
	return removed, err
}

// Publish gives the folder its name. An empty folder of that name gives way, any other one where replace says so; it
// comes back where Publish fails.
func (f *Folder) Publish(replace bool) error {
	err := syscall.Rmdir(f.to)
	if errors.Is(err, fs.ErrExist) && replace { // it is not empty
		return f.replace()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "replace", Path: f.to, Err: err}
	}
	return os.Rename(f.Dir, f.to)
}

func (f *Folder) replace() error {
	old := filepath.Join(f.outer, oldName)
	if err := os.Rename(f.to, old); err != nil {
		return err
	}
	err := os.Rename(f.Dir, f.to)
	if err == nil {
		return nil
	}
	if back := os.Rename(old, f.to); back != nil {
		f.outer = f.Dir // Discard leaves the only copy
		return errors.Join(err, fmt.Errorf("what was there is in %s now: %w", old, back))
	}
	return err
}

// Discard removes what Publish did not move.
func (f *Folder) Discard() error {
	err := os.RemoveAll(f.outer)
	if f.held != nil {
		err = errors.Join(err, f.held.Close())
		f.held = nil
	}
	return err
}
