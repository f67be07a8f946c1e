package refine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/training/review"
)

// savedAnswer is what the review page saved, as far as it is counted.
type savedAnswer struct {
	Item     string `json:"item_id"`
	Reviewer string `json:"reviewer"`
	Skipped  bool   `json:"skipped"`
}

// eachAnswer hands over the answers in a folder, with their files.
func (w *Workspace) eachAnswer(folder string, take func(file string, a savedAnswer)) error {
	files, err := w.files(folder)
	for _, file := range files {
		data, readErr := regularfile.Read(file, regularfile.MaxRows)
		err = errors.Join(err, readErr)
		for line := range bytes.Lines(data) {
			var a savedAnswer
			if json.Unmarshal(line, &a) == nil {
				take(file, a)
			}
		}
	}
	return err
}

// countAnswers counts each reviewer's items; the last answer to an item stands. A torn last line is one not finished.
func (w *Workspace) countAnswers(b *BatchStatus) error {
	answered := map[string]map[string]bool{} // by reviewer and item
	err := w.eachAnswer(filepath.Join(BatchesDir, b.ID, review.AnswersDir), func(file string, a savedAnswer) {
		who := cmp.Or(a.Reviewer, strings.TrimSuffix(filepath.Base(file), ".jsonl"))
		if answered[who] == nil {
			answered[who] = map[string]bool{}
		}
		answered[who][a.Item] = !a.Skipped
	})
	for who, items := range answered {
		b.Answers[who] = 0
		for _, yes := range items {
			b.Answers[who] += count(yes)
			b.Skipped[who] += count(!yes)
		}
	}
	return err
}

// unmerged counts the answers on the page of a merged batch that no merge used. What cannot be read is a fault of the
// next merge.
func (w *Workspace) unmerged(batch string) map[string]int {
	f, err := w.OpenBatch(batch)
	if err != nil {
		return nil
	}
	earlier, err := f.Earlier()
	if err != nil {
		return nil
	}
	return f.Unmerged(earlier)
}
