package review

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/taxonomy"
)

// Answer is one line of a file of answers: what a reviewer says of an item.
type Answer struct {
	ItemID   string `json:"item_id"`
	Reviewer string `json:"reviewer"`
	// the taxonomy's names, in its order; empty for a skipped item, or where nothing is wrong and there is no label for
	// that
	Labels     []string  `json:"labels"`
	Notes      string    `json:"notes"`
	Skipped    bool      `json:"skipped"`       // seen, and not decided
	Time       time.Time `json:"time,omitzero"` // of the last change, UTC; absent where the tool does not say
	TextSHA256 string    `json:"text_sha256"`   // of the text that the reviewer saw
	// it decides between reviewers who differ, and goes before their answers
	Resolves bool  `json:"resolves,omitempty"`
	Place    Place `json:"-"` // where it was read
	onPage   bool  // it was given on the review page
}

func (a *Answer) keys() keys {
	return keys{"item_id": &a.ItemID, "reviewer": &a.Reviewer, "labels": &a.Labels, "notes": &a.Notes,
		"skipped": &a.Skipped,
		"time":    &a.Time, "text_sha256": &a.TextSHA256, "resolves": &a.Resolves}
}

// fault is what is wrong with the answer.
func (a *Answer) fault(format string, args ...any) *Fault {
	return &Fault{Place: a.Place, ItemID: a.ItemID, Reason: fmt.Sprintf(format, args...)}
}

// Check puts the labels into the taxonomy's form, and says what contradicts itself in the answer.
func (a *Answer) Check(t *taxonomy.Taxonomy) error {
	if err := CheckReviewer(a.Reviewer); err != nil {
		return a.fault("%v", err)
	}
	if a.Skipped {
		if len(a.Labels) > 0 {
			return a.fault("it is skipped and has labels (%s); keep one of the two", strings.Join(a.Labels, ", "))
		}
		a.Labels = []string{}
		return nil
	}
	labels, err := dataset.CanonicalLabels(a.Labels, t)
	if err != nil {
		return a.fault("%v", err)
	}
	a.Labels = labels
	return nil
}

const longestReviewer = 100 // bytes

// CheckReviewer tells whether a text can be a reviewer's name.
func CheckReviewer(name string) error {
	switch {
	case name == "":
		return errors.New("no reviewer is named; say who answered, as in: erreval refine merge DIR anna=FILE")
	case len(name) > longestReviewer || strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%.120q is no reviewer's name; it has up to %d bytes, no blanks around it and no line breaks", name,
			longestReviewer)
	}
	return nil
}

// Account is the name of the user's account on this machine, or "".
func Account() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return filepath.Base(u.Username) // Windows puts a domain in front
}

// ReadAnswers reads a file of answers strictly; file stands in messages. The last answer of a reviewer to an item
// counts, as the review page writes them, and beside it the last one that decides between reviewers. A last line
// without its end was cut off in writing and is no answer. The error joins every fault found. Ids and texts are not
// compared with a batch: Frozen.Fits does.
func ReadAnswers(data []byte, file string, t *taxonomy.Taxonomy) ([]Answer, error) {
	var answers []Answer
	at := map[answerKey]int{}
	err := eachAnswer(wholeLines(data), file, t, func(a Answer) {
		k := keyOf(&a)
		if i, again := at[k]; again {
			answers[i] = a
			return
		}
		at[k] = len(answers)
		answers = append(answers, a)
	})
	return answers, err
}

// eachAnswer gives the answers of a file's lines, each checked.
func eachAnswer(data []byte, file string, t *taxonomy.Taxonomy, f func(Answer)) error {
	return eachLine(data, file, func(row *dataset.Row) (keys, func() error) {
		a := &Answer{Place: Place{File: file, Line: row.Line}}
		return a.keys(), func() error {
			err := a.Check(t)
			if err == nil {
				f(*a)
			}
			return err
		}
	})
}

// Answers reads answers/*.jsonl of the batch and of its conflicts: what was answered on the review page. Of what
// somebody decided twice the later one is given. None is no error.
func (f *Frozen) Answers() ([]Answer, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, err
	}
	all, err := f.answersIn(f.Dir)
	at := map[answerKey]int{} // of decisions in all
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), ConflictsStem) {
			continue
		}
		answers, readErr := f.answersIn(filepath.Join(f.Dir, e.Name()))
		err = errors.Join(err, readErr)
		for _, a := range answers {
			if i, again := at[keyOf(&a)]; !again {
				at[keyOf(&a)] = len(all)
				all = append(all, a)
			} else if !all[i].Time.After(a.Time) {
				all[i] = a
			}
		}
	}
	return all, err
}

func (f *Frozen) answersIn(dir string) ([]Answer, error) {
	entries, err := os.ReadDir(filepath.Join(dir, AnswersDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Answer
	var faults []error
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".jsonl" {
			answers, err := f.readAnswers(filepath.Join(dir, AnswersDir, e.Name()))
			all, faults = append(all, answers...), append(faults, err)
		}
	}
	return all, errors.Join(faults...)
}

// readAnswers reads a file of answers to this batch; none is no error.
func (f *Frozen) readAnswers(path string) ([]Answer, error) {
	data, err := regularfile.Read(path, regularfile.MaxRows)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	answers, err := ReadAnswers(data, path, f.Taxonomy)
	faults := []error{err}
	for i := range answers {
		answers[i].onPage = true
		faults = append(faults, f.Fits(&answers[i]))
	}
	return answers, errors.Join(faults...)
}

// Fits says why an answer cannot be one of this batch: an unknown item, or another text than the item's.
func (f *Frozen) Fits(a *Answer) error {
	i, ok := f.index[a.ItemID]
	if !ok {
		return a.fault("the batch %s has no such item%s", f.ID, f.likely(a.ItemID))
	}
	if a.TextSHA256 != f.All[i].TextSHA256 {
		return a.fault("the reviewer saw another text than the batch has; answer it again on a new export")
	}
	return nil
}

// likely says what an unknown id may have been meant to be.
func (f *Frozen) likely(id string) string {
	same := func(it Item) bool { return strings.EqualFold(strings.TrimSpace(id), it.ItemID) }
	if i := slices.IndexFunc(f.All, same); i >= 0 {
		return fmt.Sprintf("; did you mean %q?", f.All[i].ItemID)
	}
	return ""
}

// Unmerged counts the answers on the review page, by reviewer, that no merge used.
func (f *Frozen) Unmerged(e *Earlier) map[string]int {
	stored, last := e.stored(), map[answerKey]*Answer{}
	all, _ := f.Answers() // a line that cannot be read is a fault of the next merge
	for i := range all {
		last[keyOf(&all[i])] = &all[i]
	}
	n := map[string]int{}
	for k, a := range last {
		decision := stored[answerKey{k.item, k.reviewer, true}] // a correction of it
		used := func(old *Answer) bool { return old != nil && old.same(a) }
		if (!k.resolves || decision != nil) && !used(stored[k]) && !used(decision) {
			n[k.reviewer]++
		}
	}
	return n
}
