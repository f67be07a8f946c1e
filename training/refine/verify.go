package refine

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/training/review"
)

// hashFiles are size and hash of all files that a step made in a folder, by path; but not of those that version control
// leaves out: models have a manifest, and tagged rows a record, with their own.
func hashFiles(dir string) (map[string]runrecord.Content, error) {
	hashes := map[string]runrecord.Content{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); isLeftOut(rel) {
			return nil
		}
		is, err := runrecord.HashFile(file)
		hashes[rel] = runrecord.Content{SHA256: is.SHA256, Size: is.Size}
		return err
	})
	return hashes, err
}

// isLeftOut tells whether a file of a workspace has hashes of its own, can be made again, or is the user's to change.
func isLeftOut(rel string) bool {
	if rel == ConfigFile || rel == LogFile || rel == lockFile || strings.Contains(path.Base(rel), ".tagged.jsonl") {
		return true
	}
	parts := strings.Split(rel, "/")
	return len(parts) > 3 && (parts[0] == IterationDir &&
		slices.Contains([]string{"model", "verifier", "checkpoint"}, parts[2]) ||
		parts[0] == BatchesDir && strings.HasPrefix(parts[2], review.ConflictsStem))
}

// newEntry is that of a step which ends now, and whose files are in a folder.
func newEntry(step, command, dir string, made []string) (Entry, error) {
	e := Entry{Time: time.Now().UTC().Truncate(time.Second), Step: step, Command: command, Made: made}
	var err error
	if e.Files, err = hashFiles(dir); err == nil {
		e.Checksum, err = e.sum()
	}
	return e, err
}

// sum is the checksum of an entry.
func (e Entry) sum() (string, error) {
	e.Checksum = ""
	data, err := json.Marshal(e)
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// Verify compares the files that the steps of the workspace in dir made, and the log that says so, with the hashes in
// it. It finishes no step. The error joins all that differs, is missing, or has no hash since an older program made it.
func Verify(dir string) (steps int, err error) {
	w := &Workspace{Dir: dir}
	entries, err := w.Log()
	if err != nil {
		return 0, err
	}
	if w.decided() {
		err = fmt.Errorf("a step has not ended; erreval refine status %s finishes it", dir)
	}
	for _, e := range entries {
		err = errors.Join(err, w.verifyStep(e))
	}
	return len(entries), err
}

func (w *Workspace) verifyStep(e Entry) error {
	if e.Checksum == "" {
		return fmt.Errorf("%s: step %q is of an older program and has no hashes, so that nothing says whether its files "+
			"were changed", w.Path(LogFile), e.Step)
	}
	sum, err := e.sum()
	if err != nil || sum != e.Checksum {
		return errors.Join(err, fmt.Errorf("%s: step %q was changed since it was written: its checksum is another",
			w.Path(LogFile), e.Step))
	}
	for _, file := range slices.Sorted(maps.Keys(e.Files)) {
		was := e.Files[file]
		if file == PoolFile {
			if grown, hashErr := hashBegin(w.Path(file), was.Size); hashErr == nil && grown == was.SHA256 {
				continue // rows may be added to the pool
			}
		}
		err = errors.Join(err, was.Differs(w.Path(file)))
	}
	return err
}

// hashBegin is the SHA-256 of the first bytes of a file.
func hashBegin(path string, bytes int64) (string, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.CopyN(sum, f, bytes)
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}
