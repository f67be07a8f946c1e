package review

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/erreval/erreval/internal/plainjson"
)

// Log is a reviewer's file of answers while it grows: a line for every answer, the last one for an item counts, and to
// undo is to take the last line away. Each is on the disk before the call returns. It is safe for several goroutines.
type Log struct {
	frozen   *Frozen
	reviewer string
	mu       sync.Mutex
	file     *lineFile
	entries  []entry
}

// entry is one line.
type entry struct {
	Answer
	at int64 // where it begins
}

// longestStem is how many bytes of a reviewer's name stand in that of a file.
const longestStem = 40

// AnswersPath is where the answers of a reviewer are, in a batch's folder. Two names never share a file, whatever is in
// them.
func AnswersPath(batchDir, reviewer string) string {
	stem := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(reviewer))
	if stem != reviewer || len(stem) > longestStem {
		sum := sha256.Sum256([]byte(reviewer))
		stem = fmt.Sprintf("%s-%x", stem[:min(len(stem), longestStem)], sum[:4])
	}
	return filepath.Join(batchDir, AnswersDir, stem+".jsonl")
}

// refused is what is wrong with an answer that cannot be, as opposed to one that could not be written.
type refused struct{ error }

// Refused tells whether Log.Add found fault with the answer itself.
func Refused(err error) bool {
	_, ok := errors.AsType[refused](err)
	return ok
}

// OpenLog opens or makes the reviewer's file, and keeps other processes out of it until Close. A last line that was cut
// off, by a full disk or a loss of power, was never an answer and is taken away.
func (f *Frozen) OpenLog(reviewer string) (*Log, error) {
	if err := CheckReviewer(reviewer); err != nil {
		return nil, err
	}
	path := AnswersPath(f.Dir, reviewer)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	l := &Log{frozen: f, reviewer: reviewer}
	file, err := openLineFile(path, func(lines []byte) (err error) {
		l.entries, err = f.readLog(path, reviewer, lines)
		return err
	})
	if errors.Is(err, errInUse) {
		return nil, fmt.Errorf("%s is in use by another review; end that one, or give another name with --reviewer", path)
	}
	l.file = file
	return l, err
}

func (f *Frozen) readLog(path, reviewer string, data []byte) ([]entry, error) {
	var entries []entry
	starts := []int64{0} // of the lines
	for line := range bytes.Lines(data) {
		starts = append(starts, starts[len(starts)-1]+int64(len(line)))
	}
	err := eachAnswer(data, path, f.Taxonomy, func(a Answer) {
		entries = append(entries, entry{a, starts[a.Place.Line-1]})
	})
	faults := []error{err}
	for i := range entries {
		faults = append(faults, f.Fits(&entries[i].Answer))
		if entries[i].Reviewer != reviewer {
			faults = append(faults, entries[i].fault("an answer of %q in the file of %q; take the line to that reviewer's",
				entries[i].Reviewer, reviewer))
		}
	}
	return entries, errors.Join(faults...)
}

// counting are the answers that count, in the order of the items.
func (f *Frozen) counting(entries []entry) []Answer {
	last := make(map[string]*Answer, len(entries))
	for i := range entries {
		last[entries[i].ItemID] = &entries[i].Answer
	}
	var answers []Answer
	for _, it := range f.All {
		if a := last[it.ItemID]; a != nil {
			answers = append(answers, *a)
		}
	}
	return answers
}

// Add checks the answer (see Refused) and saves it. Its reviewer, the hash of its text, and whether it decides between
// others are filled in.
func (l *Log) Add(a Answer) error {
	a.Reviewer, a.Resolves = l.reviewer, l.frozen.Decides
	if i, ok := l.frozen.Find(a.ItemID); ok {
		a.TextSHA256 = l.frozen.All[i].TextSHA256
	}
	if err := l.frozen.Fits(&a); err != nil {
		return refused{err}
	}
	if err := a.Check(l.frozen.Taxonomy); err != nil {
		return refused{err}
	}
	line, err := plainjson.Marshal(a, "")
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.frozen.checkOpen(); err != nil {
		return err
	}
	at := l.file.size
	if err := l.file.add(line); err != nil {
		return err
	}
	l.entries = append(l.entries, entry{a, at})
	return nil
}

// Undo takes the last answer back and gives it; ok is false where there is none.
func (l *Log) Undo() (last Answer, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.entries) - 1
	if n < 0 {
		return Answer{}, false, nil
	}
	e := l.entries[n]
	if err := errors.Join(l.file.checkPlace(), l.frozen.checkOpen()); err != nil {
		return Answer{}, false, err
	}
	if err := l.file.cut(e.at); err != nil {
		return Answer{}, false, err
	}
	l.entries = l.entries[:n]
	return e.Answer, true, nil
}

// Answers are those that count, in the order of the items.
func (l *Log) Answers() []Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen.counting(l.entries)
}

// Close leaves one line an item in the file, so that other programs need not know that the last one counts. Lines stay
// in their order in time, by which Undo goes.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := make(map[string]int, len(l.entries))
	for i := range l.entries {
		last[l.entries[i].ItemID] = i
	}
	if len(last) == len(l.entries) {
		return l.file.close(nil)
	}
	var answers []Answer
	for i, e := range l.entries {
		if last[e.ItemID] == i {
			answers = append(answers, e.Answer)
		}
	}
	data, err := Lines(answers)
	return errors.Join(err, l.file.close(data))
}
