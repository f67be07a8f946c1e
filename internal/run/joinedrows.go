package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// begin begins a file of rows that get columns.
func (j *Joined) begin() {
	j.ended = false
	for _, r := range j.order {
		r.text = nil
	}
}

// joinedMatch is what the file has for a row.
type joinedMatch struct {
	id      string
	of      *joinedRow // of that id; nil is none
	isOther bool       // it is of another system
	unknown bool       // rows of the id are of several systems, and this row says none
	said    said       // of a text that it has and the row has not: the place in the row's Values, else -1
	field   int
}

func (j *Joined) match(row *dataset.Row) (m joinedMatch) {
	m.id = cmp.Or(j.idOf(row), row.ID)
	m.of = j.rows[m.id]
	if item, ok := row.Get(j.Item); m.of == nil && ok {
		if m.of = j.rows[dataset.PlainText(item)]; m.of != nil {
			m.id = dataset.PlainText(item)
		}
	}
	m.field = -1
	if first := m.of; first != nil {
		if m.of = first.of(row.SystemName()); m.of == nil {
			m.of, m.isOther = first, true
		}
		m.said, m.field = j.otherText(m.of, row)
		m.unknown = first.next != nil && row.SystemName().Column() == ""
	}
	return m
}

// set gives a row the columns of its partner.
func (j *Joined) set(row *dataset.Row) error {
	m := j.match(row)
	j.last = m
	switch {
	case m.of == nil:
	case m.isOther:
		j.others, m.of.changed = j.others+1, true
	case m.field >= 0:
		j.other, m.of.changed = cmp.Or(j.other, m.said.column), true
	default:
		text := ""
		if len(row.Values) > 0 {
			text = dataset.FoldSpace(row.Values[0])
		}
		switch before := m.of.text; {
		case m.unknown:
			j.spread, j.unsaid = m.id, true
		case before == nil:
		case *before == text:
			j.again = m.id
		default:
			j.spread = m.id
		}
		m.of.found, m.of.text = true, &text
		j.countShared(m.of, row)
		return j.fill(row, m.of)
	}
	j.asked = cmp.Or(j.asked, m.id)
	return j.clear(row)
}

// countShared counts what both files say in columns of one name that hold no texts of fields.
func (j *Joined) countShared(of *joinedRow, row *dataset.Row) {
	for _, s := range of.texts {
		raw, own := row.FindAnyCase(s.column)
		text := dataset.FoldSpace(dataset.PlainText(raw))
		if !own || string(raw) == "null" || text == "" || j.fieldIn(s.column, row) >= 0 {
			continue
		}
		n := j.shared[s.column]
		if n == nil {
			n = new([2]int)
			j.shared[s.column] = n
		}
		if strings.EqualFold(text, s.text) || isNumber(text, s.text) {
			n[0]++
		} else {
			n[1]++
		}
	}
}

// isNumber tells whether two texts are one number, as 1 and 1.0.
func isNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, otherErr := strconv.ParseFloat(b, 64)
	return err == nil && otherErr == nil && x == y
}

// Place is the file, and its line that the row which was read last got columns of; 0 is none.
func (j *Joined) Place() (file string, line int) {
	if j.last.of != nil {
		line = j.last.of.line
	}
	return j.File, line
}

// fill gives a row the columns of a row of the file.
func (j *Joined) fill(row *dataset.Row, of *joinedRow) error {
	for i, raw := range of.values {
		if raw == nil && !j.there[j.columns[i]] {
			continue
		}
		if err := row.Set(j.nameOf(j.columns[i]), raw); err != nil {
			return err
		}
	}
	return nil
}

// AllRows are the rows of the file, where read gives those with the texts, each after set: with the place that they
// have in the file, and behind them the rows without a partner: with the text that the file says where one of their id
// has another, else without known texts.
func (j *Joined) AllRows(read func() (*dataset.Row, error), fields int) func() (*dataset.Row, error) {
	changed := map[*joinedRow]*dataset.Row{}
	var alone []*joinedRow
	var columns []string
	rest := false
	return func() (*dataset.Row, error) {
		for !rest {
			row, err := read()
			if errors.Is(err, io.EOF) {
				alone, rest = j.alone(), true
				break
			}
			if err != nil {
				return nil, err
			}
			m := j.last
			if m.of == nil || m.isOther {
				continue
			}
			row.Source, row.Line, columns = j.File, m.of.line, row.Columns()
			if m.field < 0 {
				return row, nil
			}
			row.Values[m.field], changed[m.of] = m.said.text, row
		}
		if len(alone) == 0 {
			return nil, io.EOF
		}
		of := alone[0]
		alone = alone[1:]
		if row := changed[of]; row != nil {
			of.found = true
			return row, j.fill(row, of)
		}
		return j.withoutTexts(of, fields, columns)
	}
}

// withoutTexts is a row of the file whose texts are not known. It has the columns that others have.
func (j *Joined) withoutTexts(of *joinedRow, fields int, columns []string) (*dataset.Row, error) {
	row, err := dataset.RowOf(map[string]string{dataset.ColumnID: of.id})
	for _, name := range columns {
		if name != dataset.ColumnID {
			err = cmp.Or(err, row.Set(name, nil))
		}
	}
	for _, s := range of.texts {
		raw, _ := json.Marshal(s.text) // a text has no error
		err = cmp.Or(err, row.Set(s.column, raw))
	}
	if err = cmp.Or(err, j.fill(row, of)); err != nil {
		return nil, err
	}
	row.ID, row.Source, row.Line, row.AnyText = of.id, j.File, of.line, true
	row.Values = slices.Repeat([]string{of.id}, fields) // none of them is missing
	return row, nil
}

// alone are the rows of the file that no row is of.
func (j *Joined) alone() []*joinedRow {
	return slices.DeleteFunc(slices.Clone(j.order), func(r *joinedRow) bool { return r.found })
}

func idsOf(rows []*joinedRow) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.id)
	}
	return ids
}

// clear empties the file's columns in a row without a partner: the file says nothing of it.
func (j *Joined) clear(row *dataset.Row) (err error) {
	for _, name := range j.columns {
		if j.there[name] {
			err = errors.Join(err, row.Set(j.nameOf(name), nil))
		}
	}
	return err
}
