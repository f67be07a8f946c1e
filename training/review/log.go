package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// Log is a reviewer's file of answers while it grows: a line for every answer, the last one for an item counts, and to
// undo is to take the last line away. Each is on the disk before the call returns. It is safe for several goroutines.
type Log struct {
	frozen   *Frozen
	reviewer string
	mu       sync.Mutex
	file     *os.File
	entries  []entry
	size     int64 // bytes of whole lines
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

// errRefused is that of an answer that cannot be, as opposed to one that could not be written.
var errRefused = errors.New("refused")

// Refused tells whether Log.Add found fault with the answer itself.
func Refused(err error) bool { return errors.Is(err, errRefused) }

// refused is err, known as such, in its own words.
type refused struct{ error }

func (r refused) Is(target error) bool { return target == errRefused }

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
	file, err := lockAnswers(path)
	if err != nil {
		return nil, err
	}
	l := &Log{frozen: f, reviewer: reviewer, file: file}
	if err := l.read(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

func lockAnswers(path string) (*os.File, error) {
	file, err := wholefile.OpenUnlinked(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	// A file system without locks is no reason to refuse work.
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s is in use by another review; end that one, or give another name with "+
			"--reviewer", path), file.Close())
	}
	if same, err := isAt(file, path); err != nil || !same { // replaced before the lock was there
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		return lockAnswers(path)
	}
	return file, nil
}

// isAt tells whether the opened file is still the one at path.
func isAt(file *os.File, path string) (bool, error) {
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, there), err
}

func (l *Log) read(path string) error {
	data, err := regularfile.Read(path, regularfile.MaxRows)
	if err != nil {
		return err
	}
	whole := wholeLines(data)
	if l.entries, err = l.frozen.readLog(path, l.reviewer, whole); err != nil {
		return err
	}
	l.size = int64(len(whole))
	if len(whole) > len(data) { // a newline is missing
		if _, err := l.file.WriteAt([]byte{'\n'}, l.size-1); err != nil {
			return err
		}
	}
	return errors.Join(l.cut(l.size), syncFolder(filepath.Dir(path)))
}

// wholeLines are the lines of data, without a last one that was cut off.
func wholeLines(data []byte) []byte {
	end := bytes.LastIndexByte(data, '\n') + 1
	if tornOff(data[end:]) {
		return data[:end]
	}
	return append(slices.Clip(data), '\n') // somebody's editor ends the file so
}

// tornOff tells whether what stands behind the last line end is the beginning of a line, or what a loss of power
// leaves. Anything else is somebody's text, and not ours to drop.
func tornOff(tail []byte) bool {
	if bytes.IndexByte(tail, 0) >= 0 {
		return true
	}
	var v json.RawMessage
	err := json.NewDecoder(bytes.NewReader(tail)).Decode(&v)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (f *Frozen) readLog(path, reviewer string, data []byte) ([]entry, error) {
	var entries []entry
	starts := lineStarts(data)
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

// lineStarts says where each line begins.
func lineStarts(data []byte) []int64 {
	starts := []int64{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, int64(i)+1)
		}
	}
	return starts
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

// cut takes away what stands behind size, on the disk too.
func (l *Log) cut(size int64) error {
	if err := l.file.Truncate(size); err != nil {
		return err
	}
	return l.file.Sync()
}

// syncFolder puts the names of its files on the disk.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
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
	_, err = l.file.WriteAt(line, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return errors.Join(err, l.cut(l.size))
	}
	l.entries = append(l.entries, entry{a, l.size})
	l.size += int64(len(line))
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
	if err := l.cut(e.at); err != nil {
		return Answer{}, false, err
	}
	l.entries, l.size = l.entries[:n], e.at
	return e.Answer, true, nil
}

// Answers are those that count, in the order of the items.
func (l *Log) Answers() []Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frozen.counting(l.entries)
}

// Close leaves one line an item in the file, so that other programs need not know that the last one counts.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if answers := l.frozen.counting(l.entries); len(answers) < len(l.entries) {
		var data []byte
		if data, err = Lines(answers); err == nil {
			err = wholefile.Write(AnswersPath(l.frozen.Dir, l.reviewer), data)
		}
	}
	return errors.Join(err, l.file.Close())
}
