package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/erreval/erreval/taxonomy"
)

// FileName is the name of a reviewer's file of answers. Two names never share a file, whatever is in them.
func FileName(reviewer string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(reviewer))
	if plain == reviewer && plain != "" && len(plain) <= longestName {
		return plain + ".jsonl"
	}
	sum := sha256.Sum256([]byte(reviewer))
	return fmt.Sprintf("%s-%x.jsonl", plain[:min(len(plain), longestName)], sum[:4])
}

const (
	longestName  = 40    // bytes of a reviewer's name in a file name
	longestNotes = 20000 // bytes; the page takes 5000 characters
)

// rules say what an answer may be.
type rules struct {
	batch    string
	taxonomy *taxonomy.Taxonomy
	hashes   map[string]string // item to the hash of its text
}

// check puts the labels in the taxonomy's order, or says what is wrong.
func (r *rules) check(a *Answer) error {
	hash, ok := r.hashes[a.ItemID]
	switch {
	case !ok:
		return fmt.Errorf("item %q is not in batch %s", a.ItemID, r.batch)
	case a.TextSHA256 != hash:
		return fmt.Errorf("item %s: the text was another one when it was answered", a.ItemID)
	case len(a.Notes) > longestNotes:
		return fmt.Errorf("item %s: the notes are longer than %d bytes", a.ItemID, longestNotes)
	case a.Skipped && len(a.Labels) > 0:
		return fmt.Errorf("item %s is skipped, but has labels", a.ItemID)
	}
	labels, err := r.order(a.Labels)
	if err != nil {
		return fmt.Errorf("item %s: %w", a.ItemID, err)
	}
	if len(labels) == 0 && !a.Skipped && r.taxonomy.NoErrorIndex() >= 0 {
		return fmt.Errorf("item %s: no label; give %s, or skip it", a.ItemID, r.taxonomy.Types[r.taxonomy.NoErrorIndex()].Name)
	}
	a.Labels = labels
	return nil
}

func (r *rules) order(given []string) ([]string, error) {
	labels := []string{}
	for _, y := range r.taxonomy.Types {
		if slices.Contains(given, y.Name) {
			labels = append(labels, y.Name)
		}
	}
	for i, g := range given {
		switch {
		case !slices.Contains(labels, g):
			return nil, fmt.Errorf("%s has no label %q", r.taxonomy.ID(), g)
		case slices.Contains(given[:i], g):
			return nil, fmt.Errorf("label %q is given twice", g)
		}
	}
	if i := r.taxonomy.NoErrorIndex(); i >= 0 && len(labels) > 1 && slices.Contains(labels, r.taxonomy.Types[i].Name) {
		return nil, fmt.Errorf("%q contradicts the other labels, %s", r.taxonomy.Types[i].Name, strings.Join(labels, ", "))
	}
	return labels, nil
}

// entry is one line of the file.
type entry struct {
	answer Answer
	at     int64 // where the line begins
}

// answers is a reviewer's file of answers. The file is the whole truth: an answer is a line at its end, the last one for an
// item counts, and to undo is to take the last line away.
type answers struct {
	mu    sync.Mutex
	file  *os.File
	rules *rules
	log   []entry
	size  int64 // bytes of whole lines
}

// openAnswers opens or makes the file and keeps other processes out of it until it is closed. A last line that was cut
// off, by a full disk or a loss of power, was never an answer and is taken away.
func openAnswers(path string, r *rules) (_ *answers, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	// A file system without locks is no reason to refuse work.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s is in use by another review; end that one, or review under another name with --reviewer", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	log, size, err := readLog(path, data, r)
	if err != nil {
		return nil, err
	}
	a := &answers{file: f, rules: r, log: log, size: size}
	if err := a.cut(size); err != nil {
		return nil, err
	}
	return a, syncFolder(filepath.Dir(path))
}

// readLog reads whole lines, and says how many bytes they are.
func readLog(path string, data []byte, r *rules) (log []entry, size int64, err error) {
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			return log, size, nil
		}
		var a Answer
		if err = json.Unmarshal(line, &a); err == nil {
			err = r.check(&a)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w; mend the line or take it away", path, n, err)
		}
		log = append(log, entry{a, size})
		size += int64(len(line)) + 1
		data = rest
	}
}

// cut takes away what stands behind size, on the disk too.
func (a *answers) cut(size int64) error {
	if err := a.file.Truncate(size); err != nil {
		return err
	}
	return a.file.Sync()
}

// syncFolder puts the name of a new file on the disk.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// add checks the answer and puts it on the disk.
func (a *answers) add(given Answer) error {
	if err := a.rules.check(&given); err != nil {
		return &refusal{err}
	}
	line, err := json.Marshal(given)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err = a.file.WriteAt(line, a.size)
	if err == nil {
		err = a.file.Sync()
	}
	if err != nil {
		return errors.Join(err, a.cut(a.size))
	}
	a.log = append(a.log, entry{given, a.size})
	a.size += int64(len(line))
	return nil
}

// refusal is an answer that cannot be, as opposed to one that could not be written.
type refusal struct{ error }

// undo takes the last answer back and gives it; ok is false where there is none.
func (a *answers) undo() (last Answer, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.log) - 1
	if n < 0 {
		return Answer{}, false, nil
	}
	if err := a.cut(a.log[n].at); err != nil {
		return Answer{}, false, err
	}
	last, a.size = a.log[n].answer, a.log[n].at
	a.log = a.log[:n]
	return last, true, nil
}

// current are the answers that count, by item.
func (a *answers) current() map[string]*Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := make(map[string]*Answer, len(a.log))
	for i := range a.log {
		m[a.log[i].answer.ItemID] = &a.log[i].answer
	}
	return m
}

func (a *answers) close() error { return a.file.Close() }
