package review

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/taxonomy"
)

// Mark is what a person says of a row that is no item of a batch.
type Mark struct {
	Labels []string  // right ones, as the taxonomy names them, in its order; nil takes an earlier mark away
	Notes  string    // at most LongestNotes
	Time   time.Time // of the last change, UTC
}

// LongestNotes is how many bytes notes have that somebody types.
const LongestNotes = 20000

// maxMarks is how many bytes a file of marks has, in which a changed mark counts twice until Close.
const maxMarks = 64 << 20

// Columns of a mark's line besides its id and the task's fields.
const (
	columnNotes    = "notes"
	columnReviewer = "reviewer"
	columnTime     = "time"
	columnText     = "text_sha256"
)

// Marks is a file of marks while it grows: a line for each with the row's id and texts, labels, notes and reviewer, so
// that it is a file of labelled rows as well. A mark is of a row's texts, whatever id they have; the last line of them
// counts, and is on the disk before Set returns. It is safe for several goroutines.
type Marks struct {
	path     string
	taxonomy *taxonomy.Taxonomy
	reviewer string

	mu    sync.Mutex
	file  *lineFile // nil: none yet
	rows  []*marked // in the order of their first marks
	byKey map[string]*marked
	lines int
}

// marked is a row with its mark.
type marked struct {
	id       string
	values   []string // of the taxonomy's fields
	reviewer string
	Mark
}

func (m *marked) key() string { return dataset.TextSHA256(m.values) }

// OpenMarks reads the marks at path, and keeps other processes out of them until Close. Where there is no file, the
// first Set makes it.
func OpenMarks(path, reviewer string, t *taxonomy.Taxonomy) (*Marks, error) {
	for _, name := range []string{dataset.ColumnID, dataset.ColumnLabels, columnNotes, columnReviewer, columnTime,
		columnText} {
		if slices.ContainsFunc(t.FieldNames(), func(field string) bool { return strings.EqualFold(field, name) }) {
			return nil, fmt.Errorf("rows cannot be marked: %s has a field %q, and marks have a column of that name", t.ID(),
				name)
		}
	}
	m := &Marks{path: path, taxonomy: t, reviewer: reviewer, byKey: map[string]*marked{}}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	return m, m.open()
}

func (m *Marks) open() (err error) {
	m.file, err = openLineFile(m.path, m.read)
	return err
}

func (m *Marks) read(lines []byte) error {
	return eachLine(lines, m.path, func(*dataset.Row) (keys, func() error) {
		line := &marked{values: make([]string, len(m.taxonomy.Fields))}
		text := ""
		to := keys{dataset.ColumnID: &line.id, dataset.ColumnLabels: &line.Labels, columnNotes: &line.Notes,
			columnReviewer: &line.reviewer, columnTime: &line.Time, columnText: &text}
		for i, name := range m.taxonomy.FieldNames() {
			to[name] = &line.values[i]
		}
		return to, func() error {
			if text != dataset.TextSHA256(line.values) {
				return fmt.Errorf("the text is not that of %q; put it back, or take the line away", columnText)
			}
			return m.take(line)
		}
	})
}

// take has the line count, in the place of an earlier one for its row.
func (m *Marks) take(line *marked) (err error) {
	if line.Labels != nil {
		if line.Labels, err = dataset.CanonicalLabels(line.Labels, m.taxonomy); err != nil {
			return err
		}
	}
	m.lines++
	if before := m.byKey[line.key()]; before != nil {
		*before = *line
		return nil
	}
	m.rows, m.byKey[line.key()] = append(m.rows, line), line
	return nil
}

// ReadMarks reads the marks at path, which a server may have open: the rows with their texts and right labels.
func ReadMarks(path string, t *taxonomy.Taxonomy) ([]*MarkedRow, error) {
	data, err := regularfile.Read(path, maxMarks)
	if err != nil {
		return nil, err
	}
	m := &Marks{path: path, taxonomy: t, byKey: map[string]*marked{}}
	if err := m.read(wholeLines(data)); err != nil { // a line that is being written is no mark yet
		return nil, err
	}
	var out []*MarkedRow
	for _, line := range m.rows {
		if line.Labels == nil {
			continue
		}
		row, err := m.row(line)
		if err != nil {
			return nil, err
		}
		out = append(out, &MarkedRow{Row: row, Labels: line.Labels, Reviewer: line.reviewer, Time: line.Time})
	}
	return out, nil
}

// MarkedRow is a row that somebody marked.
type MarkedRow struct {
	Row      *dataset.Row // its id and texts
	Labels   []string     // right ones, in the taxonomy's order
	Reviewer string
	Time     time.Time // of the last change, UTC
}

// Labelled is the training row of a source with these labels, which the person gave; provenance says who.
func (m *MarkedRow) Labelled(source *dataset.Row, provenance any) (*dataset.Row, error) {
	return labelled(source, source.ID, m.Labels, provenance)
}

// Of is the mark of a row with the taxonomy's fields; nil is none.
func (m *Marks) Of(row *dataset.Row) *Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.byKey[(&marked{id: row.ID, values: row.Values}).key()]
	if found == nil || found.Labels == nil {
		return nil
	}
	mark := found.Mark
	return &mark
}

// Set saves a row's mark. That it is refused, as for an unknown label, is an error for which Refused holds.
func (m *Marks) Set(row *dataset.Row, mark Mark) error {
	line := &marked{id: row.ID, values: slices.Clone(row.Values), reviewer: m.reviewer, Mark: mark}
	if len(mark.Notes) > LongestNotes {
		return refused{fmt.Errorf("the notes are longer than %d bytes", LongestNotes)}
	}
	if mark.Labels != nil {
		var err error
		if line.Labels, err = dataset.CanonicalLabels(mark.Labels, m.taxonomy); err != nil {
			return refused{err}
		}
	}
	data, err := m.format(line)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		if err := m.open(); err != nil {
			return err
		}
	}
	if m.file.size+int64(len(data)) > maxMarks {
		return refused{fmt.Errorf("%s is full (%d MiB); end the server, merge its marks and move the file away", m.path,
			maxMarks>>20)}
	}
	if err := m.file.add(data); err != nil {
		return err
	}
	if err := m.take(line); err != nil || m.lines == len(m.rows) && mark.Labels != nil {
		return err
	}
	err = m.close()
	m.file, m.rows, m.byKey, m.lines = nil, nil, map[string]*marked{}, 0
	return errors.Join(err, m.open())
}

// format is a row's line.
func (m *Marks) format(line *marked) ([]byte, error) {
	row, err := m.row(line)
	err = errors.Join(err, row.Set(dataset.ColumnLabels, line.Labels), row.Set(columnNotes, line.Notes),
		row.Set(columnReviewer, line.reviewer), row.Set(columnTime, line.Time),
		row.Set(columnText, dataset.TextSHA256(line.values)))
	return append(row.JSON(), '\n'), err
}

// row has a line's id and texts.
func (m *Marks) row(line *marked) (*dataset.Row, error) {
	row := &dataset.Row{ID: line.id, Values: line.values}
	err := row.Set(dataset.ColumnID, line.id)
	for i, name := range m.taxonomy.FieldNames() {
		err = errors.Join(err, row.Set(name, line.values[i]))
	}
	return row, err
}

// Close lets other processes have the file.
func (m *Marks) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	return m.close()
}

// close leaves one line a marked row in the file, so that other programs need not know that the last one counts.
func (m *Marks) close() error {
	counting := []byte{}
	n := 0
	for _, line := range m.rows {
		if line.Labels == nil {
			continue
		}
		data, err := m.format(line)
		if err != nil {
			return errors.Join(err, m.file.close(nil))
		}
		counting = append(counting, data...)
		n++
	}
	if n == m.lines {
		counting = nil
	}
	return m.file.close(counting)
}
