package review

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Answer is one line of answers/REVIEWER.jsonl: what a reviewer says of an item.
type Answer struct {
	ItemID     string    `json:"item_id"`
	Reviewer   string    `json:"reviewer"`
	Labels     []string  `json:"labels"` // the taxonomy's names, in its order; empty for a skipped item, or where nothing is wrong and there is no label for that
	Notes      string    `json:"notes"`
	Skipped    bool      `json:"skipped"`       // seen, and not decided
	Time       time.Time `json:"time,omitzero"` // of the last change, UTC; absent where the tool does not say
	TextSHA256 string    `json:"text_sha256"`   // of the text that the reviewer saw
	Place      string    `json:"-"`             // where it was read: "file:line" or a cell
}

func (a *Answer) keys() keys {
	return keys{"item_id": &a.ItemID, "reviewer": &a.Reviewer, "labels": &a.Labels, "notes": &a.Notes, "skipped": &a.Skipped,
		"time": &a.Time, "text_sha256": &a.TextSHA256}
}

// Check puts the labels into the taxonomy's form, and says what contradicts itself in the answer.
func (a *Answer) Check(t *taxonomy.Taxonomy) error {
	if err := CheckReviewer(a.Reviewer); err != nil {
		return err
	}
	if a.Skipped {
		if len(a.Labels) > 0 {
			return fmt.Errorf("item %s is skipped and has labels (%s); keep one of the two", a.ItemID, strings.Join(a.Labels, ", "))
		}
		a.Labels = []string{}
		return nil
	}
	labels, err := dataset.CanonicalLabels(a.Labels, t)
	if err != nil {
		return fmt.Errorf("item %s: %w", a.ItemID, err)
	}
	a.Labels = labels
	return nil
}

var reviewerName = regexp.MustCompile(`^[\pL\pN][\pL\pN._-]{0,63}$`)

// CheckReviewer tells whether a name can be a reviewer's: it is a file's name too.
func CheckReviewer(name string) error {
	if !reviewerName.MatchString(name) {
		return fmt.Errorf("%q is no reviewer's name; it has 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first", name)
	}
	return nil
}

// AnswersPath is the file of a reviewer's answers in a batch's folder.
func AnswersPath(batchDir, reviewer string) string {
	return filepath.Join(batchDir, AnswersDir, reviewer+answersType)
}

// ReadAnswers reads a file of answers strictly; file stands in messages. The error joins every fault found, each with
// file:line. Ids and texts are not compared with a batch: Frozen.Fits does.
func ReadAnswers(r io.Reader, file string, t *taxonomy.Taxonomy) ([]Answer, error) {
	var answers []Answer
	seen := map[string]int{}
	err := eachLine(r, file, func(row *dataset.Row) (keys, func() error) {
		a := &Answer{Place: fmt.Sprintf("%s:%d", file, row.Line)}
		return a.keys(), func() error {
			if err := a.Check(t); err != nil {
				return err
			}
			if first := seen[a.ItemID]; first > 0 {
				return fmt.Errorf("item %s is answered already on line %d; keep one of the two", a.ItemID, first)
			}
			seen[a.ItemID] = row.Line
			answers = append(answers, *a)
			return nil
		}
	})
	return answers, err
}

// LoadAnswers reads a reviewer's answers in the batch, in the order of the items; none is no error. Of several answers to an
// item the last one counts, as the review page writes them.
func (f *Frozen) LoadAnswers(reviewer string) ([]Answer, error) {
	if err := CheckReviewer(reviewer); err != nil {
		return nil, err
	}
	path := AnswersPath(f.Dir, reviewer)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := f.readLog(path, reviewer, wholeLines(data))
	return f.counting(entries), err
}

// SaveAnswers replaces a reviewer's file, whole or not at all, in the order of the items. A review that is going on under that
// name is an error.
func (f *Frozen) SaveAnswers(reviewer string, answers []Answer) error {
	if err := CheckReviewer(reviewer); err != nil {
		return err
	}
	path := AnswersPath(f.Dir, reviewer)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	lock, err := lockAnswers(path)
	if err != nil {
		return err
	}
	return errors.Join(f.writeAnswers(reviewer, answers), lock.Close())
}

func (f *Frozen) writeAnswers(reviewer string, answers []Answer) error {
	sorted := slices.Clone(answers)
	slices.SortStableFunc(sorted, func(a, b Answer) int { return f.index[a.ItemID] - f.index[b.ItemID] })
	data, err := marshalLines(sorted)
	if err != nil {
		return err
	}
	return replaceFile(AnswersPath(f.Dir, reviewer), data)
}

// Reviewers are those with a file of answers, in the order of their names.
func (f *Frozen) Reviewers() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(f.Dir, AnswersDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), answersType)
		if ok && CheckReviewer(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// Fits says why an answer cannot be one of this batch: an unknown item, or another text than the item's.
func (f *Frozen) Fits(a *Answer) error {
	i, ok := f.index[a.ItemID]
	if !ok {
		return fmt.Errorf("%s: the batch %s has no item %q", a.Place, f.ID, a.ItemID)
	}
	if a.TextSHA256 != f.All[i].TextSHA256 {
		return fmt.Errorf("%s: item %s: the reviewer saw another text than the batch has; answer it again on a new export", a.Place, a.ItemID)
	}
	return nil
}
