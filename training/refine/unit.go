package refine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/review"
)

// Hidden names: a step's files gather in tempDir, which becomes commitDir in one rename. From then on the step is
// decided, and whoever opens the workspace next finishes moving the files to their places.
const (
	tempDir   = ".tmp"
	commitDir = ".commit"
	undoDir   = ".undo"   // as commitDir, for a step that is taken back
	undoneDir = ".undone" // what was taken back, by number
	lockFile  = ".lock"
	planFile  = "unit.json" // in commitDir and undoDir: the Entry
	filesDir  = "files"     // likewise: what moves
)

// What steps are called, with the name of what they make behind it: "batch B001", "merge B001", "train 00".
const (
	StepBatch = "batch "
	StepMerge = "merge "
	StepTrain = "train "
)

// ErrBusy says that another process is at a step of the same workspace.
var ErrBusy = errors.New("another erreval is at work in this workspace; wait for it to end")

// Unit is a step on its way: its files become part of the workspace together, or not at all.
type Unit struct {
	w    *Workspace
	lock *os.File
	step string
	done bool
}

// Begin starts a step, such as StepBatch+"B001"; until it ends, no other process can begin one. The error is ErrBusy if
// one has.
func (w *Workspace) Begin(step string) (*Unit, error) {
	lock, err := w.lock(syscall.LOCK_NB)
	if err != nil {
		return nil, err
	}
	u := &Unit{w: w, lock: lock, step: step}
	// for those who ask what keeps them waiting; a file system that is full is no matter of theirs
	_ = lock.Truncate(0)
	_, _ = lock.WriteString(step)
	// A step that was killed before it was decided leaves files that nobody wants.
	if err := errors.Join(w.finish(), os.RemoveAll(w.Path(tempDir)), os.MkdirAll(w.Path(tempDir, filesDir),
		0o777)); err != nil {
		return nil, errors.Join(err, u.Discard())
	}
	return u, nil
}

// doStep has fill write the files of a step, and commits it.
func (w *Workspace) doStep(step, command string, fill func(*Unit) error) (err error) {
	u, err := w.Begin(step)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.Discard()) }()
	if err := fill(u); err != nil {
		return err
	}
	return u.Commit(command)
}

// RemoveLeft removes what a killed step left, unless another process is at one, and names it; "" is nothing.
func (w *Workspace) RemoveLeft() (removed string, err error) {
	temp := w.Path(tempDir)
	if _, err := os.Lstat(temp); err != nil {
		return "", nil //nolint:nilerr // there is none
	}
	lock, err := w.lock(syscall.LOCK_NB)
	if errors.Is(err, ErrBusy) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return temp, errors.Join(os.RemoveAll(temp), lock.Close())
}

// Path is where a file is to be written that will stand at the same place in the workspace. Its folder is made.
func (u *Unit) Path(elem ...string) (string, error) {
	path := u.w.Path(append([]string{tempDir, filesDir}, elem...)...)
	return path, os.MkdirAll(filepath.Dir(path), 0o777)
}

// Write writes a file that will stand at a place in the workspace.
func (u *Unit) Write(data []byte, elem ...string) error {
	path, err := u.Path(elem...)
	if err != nil {
		return err
	}
	return wholefile.Write(path, data)
}

// removeFiles removes the files that are there.
func removeFiles(paths ...string) (err error) {
	for _, path := range paths {
		err = errors.Join(err, wholefile.RemoveIfThere(path))
	}
	return err
}

// Commit puts the step's files in their places and into the log. command is the line that can be typed to do it again.
func (u *Unit) Commit(command string) error {
	files := u.w.Path(tempDir, filesDir)
	made, err := u.w.made(files, ".")
	if err != nil {
		return err
	}
	if len(made) == 0 {
		return fmt.Errorf("%s: the step made nothing", u.step)
	}
	entry, err := newEntry(u.step, command, files, made)
	if err != nil {
		return err
	}
	if err := u.decide(entry); err != nil {
		return err
	}
	return errors.Join(u.w.finish(), u.Discard())
}

func (u *Unit) decide(entry Entry) error {
	if err := u.w.writePlan(entry); err != nil {
		return err
	}
	if err := syncTree(u.w.Path(tempDir)); err != nil {
		return err
	}
	return os.Rename(u.w.Path(tempDir), u.w.Path(commitDir))
}

// writePlan says in tempDir which step is decided.
func (w *Workspace) writePlan(entry Entry) error {
	return review.WriteJSON(w.Path(tempDir, planFile), entry)
}

// Discard ends a step; what was not committed is gone. It may be called after Commit.
func (u *Unit) Discard() error {
	if u.done {
		return nil
	}
	u.done = true
	return errors.Join(os.RemoveAll(u.w.Path(tempDir)), u.lock.Close())
}

// made lists what a folder adds to the workspace: the outermost files and folders that are not there yet. One that is
// there already is an error.
func (w *Workspace) made(from, rel string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(from, rel))
	var out []string
	for _, entry := range entries {
		path := filepath.Join(rel, entry.Name())
		info, statErr := os.Lstat(w.Path(path))
		switch {
		case errors.Is(statErr, fs.ErrNotExist):
			out = append(out, filepath.ToSlash(path))
		case statErr != nil:
			return nil, statErr
		case entry.IsDir() && info.IsDir():
			below, err := w.made(from, path)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		default:
			return nil, fmt.Errorf("%s is there already: another process was faster; run the line again, which goes on "+
				"from there (where it stands says: erreval refine status %s)", w.Path(path), words.Quote(w.Dir))
		}
	}
	return out, err
}

// lock keeps other processes from beginning a step until the file is closed. It ends with the process, however that
// ends.
func (w *Workspace) lock(how int) (*os.File, error) {
	f, err := wholefile.OpenUnlinked(w.Path(lockFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|how); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s: %w", w.Dir, ErrBusy), f.Close())
	}
	return f, nil // a file system without locks is no reason to refuse work
}

// recover finishes what a killed process had decided on.
func (w *Workspace) recover() error {
	if !w.decided() {
		return nil
	}
	lock, err := w.lock(0) // a living process that is at it ends soon
	if err != nil {
		return err
	}
	return errors.Join(w.finish(), lock.Close())
}

func (w *Workspace) decided() bool {
	_, commit := os.Lstat(w.Path(commitDir))
	_, undo := os.Lstat(w.Path(undoDir))
	return commit == nil || undo == nil
}

// finish moves the files of a decided step or undoing. Each part of it may have been done before.
func (w *Workspace) finish() error {
	if err := w.finishCommit(); err != nil {
		return err
	}
	return w.finishUndo()
}

func (w *Workspace) plan(folder string) (entry Entry, ok bool, err error) {
	data, err := regularfile.Read(w.Path(folder, planFile), regularfile.Max)
	if errors.Is(err, fs.ErrNotExist) {
		return entry, false, nil
	}
	if err != nil {
		return entry, false, err
	}
	if err := entry.parse(data); err != nil {
		return entry, false, fmt.Errorf("%s: %w", w.Path(folder, planFile), err)
	}
	return entry, true, nil
}

func (w *Workspace) finishCommit() error {
	entry, ok, err := w.plan(commitDir)
	if err != nil {
		return err
	}
	if !ok { // nothing, or its last part: the folder is being removed
		return os.RemoveAll(w.Path(commitDir))
	}
	for _, path := range entry.Made {
		if err := moveIfThere(w.Path(commitDir, filesDir, path), w.Path(path)); err != nil {
			return err
		}
	}
	entries, err := w.Log()
	if err != nil {
		return err
	}
	if len(entries) == 0 || !same(entries[len(entries)-1], entry) {
		if err := w.writeLog(append(entries, entry)); err != nil {
			return err
		}
	}
	// the plan goes first: without it there is nothing to finish
	return errors.Join(os.Remove(w.Path(commitDir, planFile)), os.RemoveAll(w.Path(commitDir)))
}

func same(a, b Entry) bool {
	return a.Step == b.Step && a.Time.Equal(b.Time) && slices.Equal(a.Made, b.Made)
}

func moveIfThere(from, to string) error {
	_, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o777)); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// syncTree makes a folder's files safe from a power cut before anything refers to them.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path) // #nosec G122 -- it is only synced, whatever took its place
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
