package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// Joined is columns of another file, such as people's ratings, whose rows need no texts: they belong to rows of the
// same id.
type Joined struct {
	File    string
	givenID []string // columns that somebody named
	noID    bool     // somebody said that no column has the id
	Item    string   // column of the rows of pairs that says what was asked, which the file's ids may be; "" is none
	columns []string
	as      map[string]string            // other names that columns have in rows
	id      string                       // column that looks like an id, where the rows of the file have none; "" is none
	mayID   []textColumn                 // columns whose texts may be the id, by their usual names
	textID  []textColumn                 // those that are; nil where another column has it, or the file has none
	rows    map[string][]json.RawMessage // by id: values in the order of columns; nil is none
	ids     []string                     // in the file's order
	found   map[string]bool
	again   string            // an id that two rows of one file have
	spread  string            // such an id, of rows with different texts
	seen    map[string]string // ids of the file that is read, and the judged text
	asked   string            // an id of a row without a partner
	ended   bool              // the rows that get the columns were read to their end

	check    func(json.RawMessage) error // what it says goes on behind the column's name
	may      map[string]bool             // columns that the file need not have
	where    map[string]string           // as Rows.JoinedWhere
	form     string                      // as Rows.JoinedForm
	all      []string                    // the columns of the first row
	there    map[string]bool
	lines    map[string]int // by id
	faults   []error        // rows without an id
	twice    int            // rows that stand there again
	nameless error          // what is to be done where no row has an id
	// by id: what rows say of their system, and how many rows of another one have the id
	systems map[string]dataset.SystemName
	others  int
	other   string            // the column of the first other text
	changed map[string]bool   // ids of rows with other texts or systems
	judged  []string          // names of the column with the judged text, which rows need not have
	fields  []string          // of the rows that get the columns: where each of their texts stands
	likely  []string          // of the file: as fields, by what they say; "" is none
	copied  map[string]bool   // of the file: whose texts rows have in a column of that name, which is no field's
	loosely map[string]bool   // of these: whose texts have but the letters of the rows'
	texts   map[string][]said // by id
}

// newJoined is without rows.
func newJoined(file string, columns []string, check func(json.RawMessage) error) *Joined {
	return &Joined{File: file, columns: columns, check: check, rows: map[string][]json.RawMessage{},
		found: map[string]bool{}, there: map[string]bool{}, lines: map[string]int{},
		systems: map[string]dataset.SystemName{}, texts: map[string][]said{},
		changed: map[string]bool{}}
}

// ReadJoined reads columns of a file by the ids of its rows, and those of may where it has them. A row without an id,
// and a second one of an id, are errors with the place.
func (in Rows) ReadJoined(ctx context.Context, p *Process, file string, columns []string,
	may ...string) (*Joined, error) {
	j := newJoined(file, slices.Concat(columns, may), func(json.RawMessage) error { return nil })
	j.may, j.where, j.form = map[string]bool{}, in.JoinedWhere, in.JoinedForm
	for _, name := range may {
		j.may[name] = true
	}
	return j, in.readJoined(ctx, p, j, j.addRow)
}

// readJoined hands the rows of j's file to add.
func (in Rows) readJoined(ctx context.Context, p *Process, j *Joined, add func(*dataset.Row) error) error {
	if len(in.Taxonomy.Fields) > 0 {
		name := in.Taxonomy.Fields[0].Name
		name = plainName(cmp.Or(in.Columns[name], name))
		j.judged = []string{name, "generated" + name, "predicted" + name}
		j.mayID = in.textColumns()
	}
	if j.noID = dataset.IsNoID(in.ID); !j.noID {
		j.givenID = in.ID
	}
	in.Taxonomy, in.Columns, in.Limit, in.RepeatedIDs = WithoutFields(in.Taxonomy), nil, 0, true
	faults, err := in.Each(ctx, p, j.File, add)
	j.faults = append(faults, j.faults...)
	switch {
	case err != nil:
		return err
	case len(j.rows) == 0 && len(j.faults) > 0:
		return cmp.Or(j.nameless, j.faults[0])
	case len(j.rows) == 0:
		return fmt.Errorf("%s: there are no rows", j.File)
	}
	if j.textID != nil {
		p.Note([]string{j.textIDNote()})
	}
	if j.id != "" {
		p.Note([]string{fmt.Sprintf("%s: no column %q: its ids are read from its column %q; rows without ids "+
			"are joined by their column %[3]q, or by one that looks like an id (--id COLUMN names another)",
			j.File, dataset.ColumnID, j.id)})
	}
	for _, name := range j.columns {
		if !j.there[name] && !j.may[name] {
			err := fmt.Errorf("%s: no column %q; the columns are %s", j.File, name, strings.Join(j.all, ", "))
			if j.form != "" {
				err = fmt.Errorf("%w: %s", err, j.form)
			}
			return err
		}
	}
	if j.twice > 0 {
		p.Note([]string{fmt.Sprintf("%s: %s the same as one before, and counted once", j.File,
			words.Plural(j.twice, "row is", "rows are"))})
	}
	_ = p.WarnFaults(j.faults) // LeftOut counts them
	return nil
}

// addRow takes the columns of a row.
func (j *Joined) addRow(row *dataset.Row) error {
	if j.all == nil {
		j.all = row.Columns()
		j.findID(row)
	}
	for column, want := range j.where {
		if raw, ok := row.Find(column); ok && dataset.NameIn(raw) != dataset.CleanName(want) {
			return nil
		}
	}
	id := j.idOf(row)
	if err := j.checkID(row, id, 0, j.form); err != nil { // as of a total below the rows
		j.nameless = cmp.Or(j.nameless, error(&dataset.LineError{File: row.Source, Line: row.Line, Err: err}))
		j.addFault(row, errors.New("the row has no id"))
		return nil
	}
	values := make([]json.RawMessage, len(j.columns))
	for i, name := range j.columns {
		if raw, ok := row.FindAnyCase(name); ok {
			values[i], j.there[name] = bytes.Clone(raw), true
		}
		if values[i] == nil {
			continue
		}
		if err := j.check(values[i]); err != nil {
			return fmt.Errorf("column %q %w", name, err)
		}
	}
	if line := j.lines[id]; line > 0 {
		equal := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
		if slices.Equal(j.texts[id], j.textsOf(row)) && slices.EqualFunc(j.rows[id], values, equal) {
			j.twice++
			return nil
		}
		return j.checkID(row, id, line, j.form)
	}
	j.rows[id], j.ids, j.lines[id] = values, append(j.ids, id), row.Line
	j.systems[id], j.texts[id] = row.SystemName(), j.textsOf(row)
	return nil
}

// addFault counts a row that nothing is taken from.
func (j *Joined) addFault(row *dataset.Row, err error) {
	j.faults = append(j.faults, &dataset.LineError{File: row.Source, Line: row.Line, Err: err})
}

// findID takes a column that looks like an id, where the first row of the file has none; else those of the texts.
func (j *Joined) findID(first *dataset.Row) {
	lacks := func(column string) bool { _, there := first.FindAnyCase(column); return !there }
	if id := j.givenID; first.GivenID() != "" || !j.noID && (id == nil && !lacks(dataset.ColumnID) ||
		id != nil && !slices.ContainsFunc(id, lacks)) {
		return
	}
	columns := first.Columns()
	defer j.findTextID(columns)
	if j.noID {
		return
	}
	isItem := func(name string) bool { return slices.Contains(itemNames, simpleName(name)) }
	if j.id = dataset.LikelyID(columns); j.id == "" && slices.ContainsFunc(columns, isItem) {
		j.id = columns[slices.IndexFunc(columns, isItem)]
	}
}

// idOf is the id that a row has, here or in the other file, or what the column that looks like one says; "" is none.
func (j *Joined) idOf(row *dataset.Row) string {
	if j.textID != nil {
		return j.textIDOf(row)
	}
	if given := row.GivenID(); given != "" || j.id == "" {
		return given
	}
	raw, ok := row.Get(j.id)
	if !ok {
		raw, ok = row.Get(dataset.LikelyID(row.Columns()))
	}
	if !ok || string(raw) == "null" {
		return ""
	}
	return dataset.PlainText(raw)
}

// checkID refuses a row without an id, or with that of the row in another line; 0 is none. form is Rows.JoinedForm.
func (j *Joined) checkID(row *dataset.Row, id string, other int, form string) error {
	switch {
	case id == "":
		text := ""
		if len(j.mayID) > 0 && j.textID == nil {
			text = fmt.Sprintf("; rows are joined by their texts where these stand in a column called %s", j.mayID[0].names[0])
		}
		return errors.New("there is no id: the rows and this file need it in a column of one name, id or what " +
			"--id COLUMN[,COLUMN] names" + text)
	case other > 0 && j.systems[id].IsOther(row.SystemName()):
		return fmt.Errorf("the id %q is that of %s:%d too, of another system: tell them apart with --id %s,%s", id,
			row.Source, other, dataset.ColumnID, row.SystemName().Column())
	case other > 0:
		form = cmp.Or(form, "write what several people say of a row into several columns")
		return fmt.Errorf("the id %q is that of %s:%d too: leave one of them out, or name columns that tell the rows apart "+
			"with --id COLUMN,COLUMN; %s", id, row.Source, other, form)
	}
	return nil
}

// WithoutFields is a taxonomy by which rows without texts are read.
func WithoutFields(t *taxonomy.Taxonomy) *taxonomy.Taxonomy {
	return &taxonomy.Taxonomy{Name: t.Name, Version: t.Version}
}

// set gives a row the columns of its partner.
func (j *Joined) set(row *dataset.Row) error {
	id := cmp.Or(j.idOf(row), row.ID)
	_, there := j.rows[id]
	if item, ok := row.Get(j.Item); !there && ok {
		if _, there = j.rows[dataset.PlainText(item)]; there {
			id = dataset.PlainText(item)
		}
	}
	other, field := j.otherText(id, row)
	switch {
	case there && j.isOther(id, row):
		j.others, j.changed[id] = j.others+1, true
		there = false
	case there && field >= 0:
		j.other, j.changed[id] = cmp.Or(j.other, other.column), true
		there = false
	}
	if !there {
		j.asked = cmp.Or(j.asked, id)
		return j.clear(row)
	}
	text := ""
	if len(row.Values) > 0 {
		text = dataset.FoldSpace(row.Values[0])
	}
	if before, there := j.seen[id]; there && before == text {
		j.again = id
	} else if there {
		j.spread = id
	}
	j.found[id], j.seen[id] = true, text
	return j.fill(row, id)
}

// fill gives a row the columns of the file's row of an id.
func (j *Joined) fill(row *dataset.Row, id string) error {
	for i, raw := range j.rows[id] {
		if raw == nil && !j.there[j.columns[i]] {
			continue
		}
		if err := row.Set(j.nameOf(j.columns[i]), raw); err != nil {
			return err
		}
	}
	return nil
}

// AllRows are the rows of the file, where read gives those with the texts: with the place that they have in the file,
// and behind them the rows without a partner: with the text that the file says where one of their id has another, else
// without known texts.
func (j *Joined) AllRows(read func() (*dataset.Row, error), fields int) func() (*dataset.Row, error) {
	changed := map[string]*dataset.Row{}
	var alone, columns []string
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
			id := cmp.Or(j.idOf(row), row.ID)
			line := j.lines[id]
			if line == 0 || j.isOther(id, row) {
				continue
			}
			row.Source, row.Line, columns = j.File, line, row.Columns()
			other, field := j.otherText(id, row)
			if field < 0 {
				return row, nil
			}
			row.Values[field], changed[id] = other.text, row
		}
		if len(alone) == 0 {
			return nil, io.EOF
		}
		id := alone[0]
		alone = alone[1:]
		if row := changed[id]; row != nil {
			j.found[id] = true
			return row, j.fill(row, id)
		}
		return j.withoutTexts(id, fields, columns)
	}
}

// withoutTexts is a row of the file whose texts are not known. It has the columns that others have.
func (j *Joined) withoutTexts(id string, fields int, columns []string) (*dataset.Row, error) {
	row, err := dataset.RowOf(map[string]string{dataset.ColumnID: id})
	for _, name := range columns {
		if name != dataset.ColumnID {
			err = cmp.Or(err, row.Set(name, nil))
		}
	}
	for _, s := range j.texts[id] {
		raw, _ := json.Marshal(s.text) // a text has no error
		err = cmp.Or(err, row.Set(s.column, raw))
	}
	if err = cmp.Or(err, j.fill(row, id)); err != nil {
		return nil, err
	}
	row.ID, row.Source, row.Line, row.AnyText = id, j.File, j.lines[id], true
	row.Values = slices.Repeat([]string{id}, fields) // none of them is missing
	return row, nil
}

// alone are the ids that no row had.
func (j *Joined) alone() []string {
	return slices.DeleteFunc(slices.Clone(j.ids), func(id string) bool { return j.found[id] })
}

// Rename gives rows a column under another name.
func (j *Joined) Rename(column, as string) {
	if j.as == nil {
		j.as = map[string]string{}
	}
	j.as[column] = as
}

func (j *Joined) nameOf(column string) string { return cmp.Or(j.as[column], column) }

// clear empties the file's columns in a row without a partner: the file says nothing of it.
func (j *Joined) clear(row *dataset.Row) (err error) {
	for _, name := range j.columns {
		if j.there[name] {
			err = errors.Join(err, row.Set(j.nameOf(name), nil))
		}
	}
	return err
}
