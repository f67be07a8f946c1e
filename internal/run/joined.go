package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	as      map[string]string     // other names that columns have in rows
	id      string                // column that looks like an id, where the rows of the file have none; "" is none
	items   []string              // names of columns that say which row is meant, after those that look like ids
	mayID   []textColumn          // columns whose texts may be the id, by their usual names
	textID  []textColumn          // those that are; nil where another column has it, or the file has none
	rows    map[string]*joinedRow // by id, the first of several systems
	order   []*joinedRow          // all, as the file has them
	again   string                // an id that two rows of one file have
	unsaid  bool                  // of which system the row with the latter is
	spread  string                // such an id, of rows with different texts
	asked   string                // an id of a row without a partner
	last    joinedMatch           // of the row that set had
	ended   bool                  // the rows that get the columns were read to their end

	check   func(json.RawMessage) error // what it says goes on behind the column's name
	may     map[string]bool             // columns that the file need not have
	where   map[string]string           // as Rows.JoinedWhere
	form    string                      // as Rows.JoinedForm
	all     []string                    // the columns of the first row
	there   map[string]bool
	faults  []error            // rows without an id
	twice   int                // rows that stand there again
	unnamed []*joinedRow       // rows without an id
	others  int                // rows of other systems that have an id of the file
	shared  map[string]*[2]int // columns of both files: rows joined that say the same there, and otherwise
	other   string             // the column of the first other text
	judged  []string           // names of the column with the judged text, which rows need not have
	fields  []string           // of the rows that get the columns: where each of their texts stands
	likely  []string           // of the file: as fields, by what they say; "" is none
	copied  map[string]bool    // of the file: whose texts rows have in a column of that name, which is no field's
	loosely map[string]bool    // of these: whose texts have but the letters of the rows'
}

// joinedRow is one of the file; of several ratings, all of an id.
type joinedRow struct {
	id      string
	next    *joinedRow // of the same id and another system; nil is none
	line    int
	values  []json.RawMessage // in the order of Joined.columns; nil is none
	system  dataset.SystemName
	texts   []said
	found   bool    // a row gets its columns
	changed bool    // rows of its id have other texts or systems
	text    *string // the judged one of the row that got them in the file that is read; nil of none
}

// newJoined is without rows; check may be nil.
func newJoined(file string, columns, may []string, check func(json.RawMessage) error) *Joined {
	j := &Joined{File: file, columns: slices.Concat(columns, may), check: check, rows: map[string]*joinedRow{},
		there: map[string]bool{}, may: map[string]bool{}, shared: map[string]*[2]int{}, items: slices.Clone(itemNames)}
	for _, name := range may {
		j.may[name] = true
	}
	if check == nil {
		j.check = func(json.RawMessage) error { return nil }
	}
	return j
}

// ReadJoined reads columns of a file by the ids of its rows, and those of may where it has them. A row without an id,
// and a second one of an id, are errors with the place.
func (in Rows) ReadJoined(ctx context.Context, p *Process, file string, columns []string,
	may ...string) (*Joined, error) {
	j := newJoined(file, columns, may, nil)
	j.form = in.JoinedForm
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
	j.where = in.JoinedWhere
	faults, err := in.Each(ctx, p, j.File, func(row *dataset.Row) error {
		for column, want := range j.where {
			if raw, ok := row.Find(column); ok && dataset.NameIn(raw) != dataset.CleanName(want) {
				return nil
			}
		}
		return add(row)
	})
	j.faults = append(faults, j.faults...)
	byTexts := len(j.rows) == 0 && len(j.unnamed) > 0 && len(j.mayID) > 0 // which are not known yet
	switch {
	case err != nil:
		return err
	case byTexts:
		j.order = j.unnamed
	case len(j.rows) == 0 && len(j.unnamed) > 0:
		return j.nameless()
	case len(j.rows) == 0 && len(j.faults) > 0:
		return j.faults[0]
	case len(j.rows) == 0:
		return fmt.Errorf("%s: there are no rows", j.File)
	default:
		for _, r := range j.unnamed {
			j.addFault(r.line, errNameless)
		}
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
	r := j.newRow(j.idOf(row), row)
	if r.values = values; r.id == "" { // as of a total below the rows
		j.unnamed = append(j.unnamed, r)
		return nil
	}
	return j.add(r)
}

func (j *Joined) newRow(id string, row *dataset.Row) *joinedRow {
	return &joinedRow{id: id, line: row.Line, system: row.SystemName(), texts: j.textsOf(row)}
}

// add adds a row of the file, if it is not there already; another one of the id and system is an error.
func (j *Joined) add(r *joinedRow) error {
	if before := j.rows[r.id].of(r.system); before != nil {
		equal := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
		if slices.Equal(before.texts, r.texts) && slices.EqualFunc(before.values, r.values, equal) {
			j.twice++
			return nil
		}
		return j.checkID(r.id, before.line)
	}
	r.next, j.rows[r.id], j.order = j.rows[r.id], r, append(j.order, r)
	return nil
}

// of is the row of the id that names the system, in whichever column and at last in whichever case; else one that is of
// no other; nil is none.
func (r *joinedRow) of(system dataset.SystemName) *joinedRow {
	name := system.String()
	for _, isSame := range []func(*joinedRow) bool{
		func(r *joinedRow) bool { return name != "" && r.system.String() == name },
		func(r *joinedRow) bool {
			return name != "" && r.system.Column() != system.Column() && strings.EqualFold(r.system.String(), name)
		},
		func(r *joinedRow) bool { return !r.system.IsOther(system) },
	} {
		for same := r; same != nil; same = same.next {
			if isSame(same) {
				return same
			}
		}
	}
	return nil
}

// Has tells whether the file has a column.
func (j *Joined) Has(column string) bool { return slices.Contains(j.all, column) }

// addFault counts a row that nothing is taken from.
func (j *Joined) addFault(line int, err error) {
	j.faults = append(j.faults, &dataset.LineError{File: j.File, Line: line, Err: err})
}

var errNameless = errors.New("the row has no id")

// nameless says what is to be done where no row has an id.
func (j *Joined) nameless() error {
	return &dataset.LineError{File: j.File, Line: j.unnamed[0].line, Err: j.checkID("", 0)}
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
	j.id = cmp.Or(append([]string{dataset.LikelyID(columns)}, named(columns, j.items)...)...)
}

// idOf is the id that a row has, here or in the other file, or what the column that looks like one says; "" is none.
func (j *Joined) idOf(row *dataset.Row) string {
	if j.textID != nil {
		return j.textIDOf(row)
	}
	given := row.GivenID()
	if j.id == "" {
		return given
	}
	raw, ok := row.FindAnyCase(j.id) // the rows may have it besides ids of their own
	if !ok && given == "" {
		raw, ok = row.Get(dataset.LikelyID(row.Columns()))
	}
	if !ok || string(raw) == "null" {
		return given
	}
	return dataset.PlainText(raw)
}

// checkID refuses a row without an id, or with that of the row in another line; 0 is none.
func (j *Joined) checkID(id string, other int) error {
	switch {
	case id == "":
		text := ""
		if len(j.mayID) > 0 && j.textID == nil {
			text = fmt.Sprintf("; rows are joined by their texts where these stand in a column called %s, or most are those "+
				"of the rows", j.mayID[0].names[0])
		}
		return errors.New("there is no id: the rows and this file need it in a column of one name, id or what " +
			"--id COLUMN[,COLUMN] names" + text)
	case other > 0:
		form := cmp.Or(j.form, "write what several people say of a row into several columns, or who says it "+
			"into one called rater")
		if who := RaterIn(j.all); who != "" && j.form == "" {
			form = "with --human DIMENSION=COLUMN rows are read as those of raters, as the column " + who + " says"
		}
		return fmt.Errorf("the id %q is that of %s:%d too: leave one of them out, or name columns that tell the rows apart "+
			"with --id COLUMN,COLUMN; %s", id, j.File, other, form)
	}
	return nil
}

// WithoutFields is a taxonomy by which rows without texts are read.
func WithoutFields(t *taxonomy.Taxonomy) *taxonomy.Taxonomy {
	return &taxonomy.Taxonomy{Name: t.Name, Version: t.Version}
}

// Rename gives rows a column under another name.
func (j *Joined) Rename(column, as string) {
	if j.as == nil {
		j.as = map[string]string{}
	}
	j.as[column] = as
}

func (j *Joined) nameOf(column string) string { return cmp.Or(j.as[column], column) }
