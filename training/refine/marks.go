package refine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/training/review"
)

// marksName is how files of marked rows in TrainDir begin.
const marksName = "marks-"

// MergedMarks is what became of marked rows. Its JSON keys are stable.
type MergedMarks struct {
	Name      string         `json:"name"`      // of the file in TrainDir; "" where nothing was added
	Train     int            `json:"train"`     // rows that were added
	Before    int            `json:"before"`    // that were in the training set with these labels
	Measuring int            `json:"measuring"` // never trained on: they measure, or share their group with a development row
	Random    int            `json:"random"`    // left out: rows of random slices that no merge has used yet
	Strange   int            `json:"strange"`   // of Train: rows that are not in the pool
	Overruled int            `json:"overruled"` // merged before, of rows that a later step gave other labels
	Labels    map[string]int `json:"labels"`    // of the added rows
	Changes

	w *Workspace
}

// marksMerging is one run of MergeMarks.
type marksMerging struct {
	w     *Workspace
	out   *MergedMarks
	marks map[string]*review.MarkedRow // by text; a later one of a file goes before an earlier one
	from  map[string]string            // by text: the file
	order []string
}

// MergeMarks puts rows that were marked on the page of erreval serve into the training set, as one step: all of them,
// whichever batch they are in or are not in. Of the pool's rows, found by their texts, it takes all columns. A fault of
// a file ends it, and nothing is changed.
func (w *Workspace) MergeMarks(files []string, command string) (*MergedMarks, error) {
	m := &marksMerging{w: w, out: &MergedMarks{Labels: map[string]int{}, w: w}, marks: map[string]*review.MarkedRow{},
		from: map[string]string{}}
	for _, file := range files {
		if err := m.read(file); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(m.leaveMeasuring(), m.leaveMerged(), m.leaveOverruled()); err != nil {
		return nil, err
	}
	labels := map[string][]string{}
	for text, mark := range m.marks {
		labels[text] = mark.Labels
	}
	var err error
	if m.out.Changes, err = w.changes(labels); err != nil {
		return nil, err
	}
	rows, err := m.rows()
	if err != nil || len(rows) == 0 {
		return m.out, err
	}
	return m.out, m.commit(rows, command)
}

func (m *marksMerging) read(file string) error {
	marks, err := review.ReadMarks(file, m.w.Taxonomy)
	if err != nil {
		return err
	}
	for _, mark := range marks {
		text := mark.Row.TextHash()
		if before := m.marks[text]; before == nil {
			m.order = append(m.order, text)
		} else if m.from[text] != file && !slices.Equal(before.Labels, mark.Labels) { // no later step says which counts
			return fmt.Errorf("%s marks row %s as %s, and %s as %s: take the mark out of one of the two, or merge one "+
				"file after the other, as of two steps the later counts", m.from[text], mark.Row.ID,
				labelsText(before.Labels), file, labelsText(mark.Labels))
		}
		m.from[text] = file
		m.marks[text] = mark
	}
	return nil
}

func labelsText(labels []string) string { return cmp.Or(strings.Join(labels, ", "), dataset.NoLabel) }

// leaveMeasuring takes out the marks of rows that are never trained on.
func (m *marksMerging) leaveMeasuring() error {
	files, err := m.w.RandomFiles()
	for _, file := range append(files, m.w.Path(DevFile), m.w.Path(HeldFile)) {
		err = errors.Join(err, m.w.EachRow(file, func(row *dataset.Row) error {
			m.out.Measuring += m.leave(row.TextHash())
			return nil
		}))
	}
	names, _, _, namesErr := m.w.batchNames()
	for _, name := range names { // rows of random slices that no merge has used yet
		items := m.w.Path(BatchesDir, name, review.ItemsFile)
		err = errors.Join(err, eachRow(context.Background(), items, nil, func(line *dataset.Row) error {
			if review.ColumnText(line, "reason") == review.Random {
				m.out.Random += m.leave(review.ColumnText(line, "text_sha256"))
			}
			return nil
		}))
	}
	return errors.Join(err, namesErr)
}

// leaveMerged takes out those that say what the training set says.
func (m *marksMerging) leaveMerged() error {
	return m.w.EachTraining(func(_ string, row *dataset.Row) error {
		mark := m.marks[row.TextHash()]
		if mark == nil {
			return nil
		}
		labels, err := row.Labels(m.w.Taxonomy)
		if slices.Equal(labels, mark.Labels) {
			m.out.Before += m.leave(row.TextHash())
		}
		return err
	})
}

// leaveOverruled takes out those that were merged before and stand in their file still, though the row has other labels
// by now: they are no new decision.
func (m *marksMerging) leaveOverruled() error {
	log, err := m.w.Log()
	for _, entry := range log {
		name, ok := strings.CutPrefix(entry.Step, StepMerge)
		if !ok || !strings.HasPrefix(name, marksName) {
			continue
		}
		err = errors.Join(err, m.w.EachRow(m.w.Path(TrainDir, name+".jsonl"), func(row *dataset.Row) error {
			mark := m.marks[row.TextHash()]
			if mark == nil || mark.Time.After(entry.Time) {
				return nil
			}
			labels, err := row.Labels(m.w.Taxonomy)
			if slices.Equal(labels, mark.Labels) {
				m.out.Overruled += m.leave(row.TextHash())
			}
			return err
		}))
	}
	return err
}

// marked are the texts that merged marks are about, and when the last mark of each was merged.
func (w *Workspace) marked() (map[string]time.Time, error) {
	texts := map[string]time.Time{}
	log, err := w.Log()
	for _, entry := range log {
		name, ok := strings.CutPrefix(entry.Step, StepMerge)
		if !ok || !strings.HasPrefix(name, marksName) {
			continue
		}
		err = errors.Join(err, w.EachRow(w.Path(TrainDir, name+".jsonl"), func(row *dataset.Row) error {
			texts[row.TextHash()] = entry.Time
			return nil
		}))
	}
	return texts, err
}

// undecided are the conflicts that a batch's last merge left, but for those of rows that were marked since.
func (w *Workspace) undecided(batch string, conflicts []review.Conflict) ([]review.Conflict, error) {
	if len(conflicts) == 0 {
		return nil, nil
	}
	marked, err := w.marked()
	items := w.Path(BatchesDir, batch, review.ItemsFile)
	decided := map[string]bool{}
	err = errors.Join(err, eachRow(context.Background(), items, nil, func(line *dataset.Row) error {
		_, decided[review.ColumnText(line, "item_id")] = marked[review.ColumnText(line, "text_sha256")]
		return nil
	}))
	return slices.DeleteFunc(conflicts, func(c review.Conflict) bool { return decided[c.ItemID] }), err
}

// leave takes out the mark of a text, and counts it.
func (m *marksMerging) leave(text string) int {
	if m.marks[text] == nil {
		return 0
	}
	delete(m.marks, text)
	return 1
}

// rows are the labelled rows, in the order of their marks.
func (m *marksMerging) rows() (rows []*dataset.Row, err error) {
	sources := map[string]*dataset.Row{}
	err = m.w.EachRow(m.w.Path(PoolFile), func(row *dataset.Row) error {
		if text := row.TextHash(); m.marks[text] != nil && sources[text] == nil {
			sources[text] = row
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, text := range m.order {
		mark, source := m.marks[text], sources[text]
		if mark == nil {
			continue
		}
		if source == nil {
			source = mark.Row
			m.out.Strange++
		}
		row, err := mark.Labelled(source, Provenance{Kind: KindReview, By: []string{mark.Reviewer}})
		if err != nil {
			return nil, err
		}
		for _, label := range mark.Labels {
			m.out.Labels[label]++
		}
		rows = append(rows, row)
	}
	m.out.Train = len(rows)
	return rows, nil
}

func (m *marksMerging) commit(rows []*dataset.Row, command string) error {
	files, err := m.w.TrainFiles()
	if err != nil {
		return err
	}
	n := 1
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), marksName) {
			n++
		}
	}
	m.out.Name = fmt.Sprintf("%s%03d", marksName, n)
	return m.w.doStep(StepMerge+m.out.Name, command, func(u *Unit) error {
		return u.Write(rowsText(rows), TrainDir, m.out.Name+".jsonl")
	})
}

// Text writes what was added and what not.
func (m *MergedMarks) Text(w io.Writer) error {
	var out report.Lines
	if m.Train == 0 {
		out.Add("merged", "nothing new")
	} else {
		out.Add("merged", "%s: %s to the training set", m.Name, words.Plural(m.Train, "marked row", "marked rows"))
		out.Add("labels", "%s", labelWords(m.Labels, m.w.Taxonomy))
	}
	m.Changes.add(&out)
	if m.Strange > 0 {
		out.Add("of them", "%d not in the pool", m.Strange)
	}
	out.Add("left out", "%d in the training set with these labels, %d that measure or share a group with development rows",
		m.Before, m.Measuring)
	if m.Random > 0 {
		out.Add("left out", "%d of random slices, which measure: answer those on their batch's page or in its workbook",
			m.Random)
	}
	if m.Overruled > 0 {
		out.Add("left out", "%d merged before, of rows that have other labels by now; mark them again to change that",
			m.Overruled)
	}
	return out.Text(w)
}
