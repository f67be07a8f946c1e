package review

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Column is a text of each item that reviewers read, on the page and in the files of every format.
type Column struct {
	Name       string
	Definition string
	Group      bool // rows may share it, as a passage; the page and the workbook mark in it what the other columns say

	text func(it *Item, source *dataset.Row) string
}

// columnsOf are the columns of a batch: the taxonomy's fields, in its order. A further column stands behind them.
func columnsOf(t *taxonomy.Taxonomy) (list []Column) {
	for k, f := range t.Fields {
		list = append(list, Column{Name: f.Name, Definition: f.Definition, Group: f.Group,
			text: func(_ *Item, source *dataset.Row) string { return source.Values[k] }})
	}
	return list
}

// ColumnAnswered is the further column of Frozen.Differing. In a file that comes back, a text in it says that the row's
// answer decides between others.
const ColumnAnswered = "reviewers answered"

// ConflictsDir is the folder of what the nth merge of a batch left in conflict, within the folder of the batch.
func ConflictsDir(batchDir string, number int) string {
	return filepath.Join(batchDir, MergeName(ConflictsStem, number, ""))
}

// Differing is a batch of the items alone that reviewers answered differently, with what each of them said, and with a
// folder of its own. An answer to it decides.
func (f *Frozen) Differing(e *Earlier) *Frozen {
	d := *f
	d.Dir, d.Decides = ConflictsDir(f.Dir, e.Number), true
	d.nextMerge = filepath.Join(f.Dir, MergeName(MergeStem, e.Number+1, ".json"))
	d.Columns = append(slices.Clip(f.Columns), Column{Name: ColumnAnswered,
		Definition: "what each reviewer answered, with the notes; they differ, and your answer decides; a skip leaves the " +
			"row out for good"})
	d.All, d.Values, d.Differ, d.index = nil, nil, nil, map[string]int{}
	for _, c := range e.Conflicts {
		i, ok := f.index[c.ItemID]
		if !ok {
			continue // somebody changed merge.json
		}
		d.index[c.ItemID] = len(d.All)
		d.All = append(d.All, f.All[i])
		d.Values = append(d.Values, append(slices.Clip(f.Values[i]), said(c.ItemID, e.Answers)))
		d.Differ = append(d.Differ, c)
	}
	return &d
}

// checkOpen finds out whether answers to differing rows still decide: the next merge took those that were there, and
// what is open now is elsewhere.
func (f *Frozen) checkOpen() error {
	if _, err := os.Lstat(f.nextMerge); f.nextMerge == "" || err != nil {
		return nil
	}
	return fmt.Errorf("%s was merged again since this began: end this, and start it again", f.ID)
}

// said is what the reviewers answered to an item, a line each.
func said(itemID string, answers []Answer) string {
	var lines []string
	for i := range answers {
		a := &answers[i]
		if a.ItemID != itemID {
			continue
		}
		line := a.Reviewer + ": " + a.says()
		if a.Resolves {
			line = a.Reviewer + " decided: " + a.says()
		}
		if a.Notes != "" {
			line += " (" + a.Notes + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
