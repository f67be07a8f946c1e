package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is a folder on its way, which appears whole or not at all.
type Folder struct {
	Dir  string   // hidden, beside the place that it will have; the caller fills it
	Left []string // folders that killed processes left, and that NewFolder removed
	to   string
	held *os.File // Dir, locked as long as this process is at it
}

// NewFolder begins the folder to. Dir's name begins with hidden, by which what a killed process left is found.
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
	if f.Dir, err = os.MkdirTemp(filepath.Dir(to), hidden); err != nil {
		return nil, err
	}
	if f.held, err = os.Open(f.Dir); err == nil {
		_ = syscall.Flock(int(f.held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // without locks nothing is removed
		err = os.Chmod(f.Dir, 0o755)
	}
	if err != nil {
		return nil, errors.Join(err, f.Discard())
	}
	return f, nil
}

// removeLeft removes what killed processes left beside a folder, and names it. What another process is at stays, and so
// does the only copy of the folder, which Publish had moved away.
func removeLeft(to, hidden string) (removed []string, err error) {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(to), hidden+"*"))
	_, missing := os.Lstat(to)
	for _, dir := range left {
		held, openErr := os.Open(dir)
		if openErr != nil {
			continue // it is gone, or somebody else's
		}
		onlyCopy := missing != nil && strings.HasSuffix(dir, oldSuffix)
		if !onlyCopy && syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
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

const oldSuffix = ".old" // behind Dir: what had the folder's name before

func (f *Folder) replace() error {
	old := f.Dir + oldSuffix
	if err := os.Rename(f.to, old); err != nil {
		return err
	}
	if err := os.Rename(f.Dir, f.to); err != nil {
		return errors.Join(err, os.Rename(old, f.to))
	}
	return os.RemoveAll(old)
}

// Discard removes what Publish did not move.
func (f *Folder) Discard() error {
	err := os.RemoveAll(f.Dir)
	if f.held != nil {
		err = errors.Join(err, f.held.Close())
		f.held = nil
	}
	return err
}
