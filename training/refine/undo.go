package refine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/review"
)

// Undone is a step that was taken back.
type Undone struct {
	Entry
	To      string // the folder that its files are in now
	Rows    int    // labelled ones that it had added
	Answers int    // of reviewers on the page, which were in its files
}

// Undo takes the last step back: what it made goes to .undone/N. The making of the workspace itself cannot be taken
// back. What was taken back is given with an error that came after it.
func (w *Workspace) Undo() (u *Undone, err error) {
	lock, err := w.lock(syscall.LOCK_NB)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := w.finish(); err != nil {
		return nil, err
	}
	entries, err := w.Log()
	if err != nil {
		return nil, err
	}
	if len(entries) < 2 {
		return nil, fmt.Errorf("%s: no step to take back; the workspace is as init made it (to be rid of it, remove "+
			"the folder)", w.Dir)
	}
	u = &Undone{Entry: entries[len(entries)-1]}
	if u.To, err = w.freeUndone(); err != nil {
		return nil, err
	}
	temp := w.Path(tempDir)
	err = errors.Join(os.RemoveAll(temp), os.MkdirAll(filepath.Join(temp, filesDir), 0o777), w.writePlan(u.Entry),
		os.Rename(temp, w.Path(undoDir)))
	if err != nil {
		return nil, err
	}
	return u, errors.Join(w.finishUndo(), u.count())
}

// count counts the lines of what was moved.
func (u *Undone) count() error {
	return filepath.WalkDir(u.To, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		n, err := lines(path)
		switch filepath.Base(filepath.Dir(path)) {
		case review.AnswersDir:
			u.Answers += n
		case TrainDir, RandomDir:
			u.Rows += n
		}
		return err
	})
}

// Text says what was taken back, and what goes with it.
func (u *Undone) Text(w io.Writer) error {
	var with []string
	if u.Rows > 0 {
		with = append(with, words.Plural(u.Rows, "labelled row", "labelled rows"))
	}
	if u.Answers > 0 {
		with = append(with, words.Plural(u.Answers, "answer of the review page", "answers of the review page"))
	}
	_, err := fmt.Fprintf(w, "taken back: %s (%s)%s\nmoved to %s: %s\n", u.Step, u.Command,
		words.Prefixed(", with ", strings.Join(with, " and ")), u.To,
		strings.Join(u.Made, ", "))
	return err
}

func (w *Workspace) freeUndone() (string, error) {
	for n := 1; ; n++ {
		path := w.Path(undoneDir, strconv.Itoa(n))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
}

func (w *Workspace) finishUndo() error {
	entry, ok, err := w.plan(undoDir)
	if err != nil || !ok {
		return err
	}
	for _, path := range entry.Made {
		if err := moveIfThere(w.Path(path), w.Path(undoDir, filesDir, path)); err != nil {
			return err
		}
	}
	entries, err := w.Log()
	if err != nil {
		return err
	}
	if n := len(entries); n > 0 && same(entries[n-1], entry) {
		if err := w.writeLog(entries[:n-1]); err != nil {
			return err
		}
	}
	to, err := w.freeUndone()
	if err != nil {
		return err
	}
	return moveIfThere(w.Path(undoDir), to)
}
