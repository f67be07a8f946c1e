package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
)

// Ratings are those of a file with one rating a row: which row is rated, by whom, in which dimension, and how; or with
// all of one rater, a dimension a column. The rows of that id get a column for each of their ratings in a dimension.
type Ratings struct {
	file       string
	item       string // column; "" where the row's id is that of what is rated
	who        string
	dimension  string
	value      string
	asked      []string          // columns of dimensions, in the place of the two before
	dimensions []*ratedDimension // in the file's order
	raters     map[string]bool
	read       func(*dataset.Row, json.RawMessage) json.RawMessage // as RatingsFile.Value
	lines      map[[4]string]int                                   // by id, system, dimension and rater
}

// ratedDimension is one as the file names it.
type ratedDimension struct {
	name    string
	column  string // of the file
	columns []int  // of Joined: of the first rating of a row, of the second …
	lines   []int  // of values that the check refuses
	fault   error  // of the first
}

// Names of the columns of such files, as simpleName has them.
var (
	itemNames      = []string{"item", "row", "example", "sample", "instance"}
	raterNames     = []string{"rater", "annotator", "evaluator", "judge", "coder", "worker"}
	dimensionNames = []string{"dimension", "criterion", "criteria", "metric", "aspect"}
	valueNames     = []string{"score", "rating", "value"}
)

// simpleName is a column's name in lower case, its letters alone and without "id" at the end.
func simpleName(column string) string { return strings.TrimSuffix(plainName(column), "id") }

// plainName is a column's name in lower case, its letters alone.
func plainName(column string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, column)
}

// newRatings finds the columns of a file with one rating a row; nil if it has another form.
func newRatings(file string, columns []string) *Ratings {
	find := func(names []string) string { return cmp.Or(append(named(columns, names), "")...) }
	r := &Ratings{file: file, item: find(itemNames), who: RaterIn(columns), dimension: find(dimensionNames),
		value: find(valueNames), raters: map[string]bool{}, lines: map[[4]string]int{}}
	if r.who == "" || r.dimension == "" || r.value == "" {
		return nil
	}
	return r
}

// named are the columns that have one of some names.
func named(columns, names []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return !slices.Contains(names, simpleName(c)) })
}

// RaterIn is the column that says who rated; "" where there is none, or one for each rater.
func RaterIn(columns []string) string {
	if found := named(columns, raterNames); len(found) == 1 {
		return found[0]
	}
	return ""
}

// newRaters is newRatings for a file in which a row has what one rater says in the columns asked for.
func newRaters(file string, columns, asked []string) *Ratings {
	who := RaterIn(columns)
	if who == "" || slices.ContainsFunc(asked, func(c string) bool { return !slices.Contains(columns, c) }) {
		return nil
	}
	return &Ratings{file: file, who: who, asked: asked, raters: map[string]bool{}, lines: map[[4]string]int{}}
}

// RatingsFile is a file with what people say of rows.
type RatingsFile struct {
	File    string
	Columns []string // asked for; in a file with one rating a row, dimensions
	May     []string // those that a file with one row for all people may have besides
	Asked   []string // columns that may say which row is meant, as plainName has them, where none looks like an id
	// what it says of a value that is none goes on behind the column's name; nil takes any
	Check func(json.RawMessage) error
	// Value is that of one person's row; nil: as it stands
	Value func(of *dataset.Row, raw json.RawMessage) json.RawMessage
}

// ReadRatings is ReadJoined for what people say, whose file may also have one rating a row, or all that one person
// says. Then ratings say which columns rows get; else they are nil. A file that has one of the columns asked for, and
// no column that says whose they are, is read as ReadJoined does.
func (in Rows) ReadRatings(ctx context.Context, p *Process, f RatingsFile) (*Joined, *Ratings, error) {
	j := newJoined(f.File, f.Columns, f.May, f.Check)
	j.items = append(j.items, f.Asked...)
	var ratings *Ratings
	err := in.readJoined(ctx, p, j, func(row *dataset.Row) error {
		all := row.Columns()
		if j.all == nil {
			if ratings = f.ratingsIn(all); ratings != nil {
				j.columns = nil
			}
			if ratings != nil && ratings.asked == nil {
				ratings.chooseID(row, in.ID != nil)
			}
			if ratings != nil && ratings.item == "" {
				j.findID(row)
			}
		}
		if ratings == nil {
			return j.addRow(row)
		}
		j.all = all
		return ratings.add(j, row)
	})
	switch {
	case err != nil && ratings == nil:
		if long := newRatings(f.File, j.all); long != nil {
			err = fmt.Errorf("%w; if the file has one rating a row, give --human one of the values in its column %q", err,
				long.dimension)
		}
	case err == nil && ratings != nil:
		form := fmt.Sprintf("one rating a row (columns %s, %s, %s)", ratings.who, ratings.dimension, ratings.value)
		if ratings.asked != nil {
			form = fmt.Sprintf("one rater a row (column %s)", ratings.who)
		}
		p.Note([]string{fmt.Sprintf("%s: read as %s: %s, %s", f.File, form,
			words.Plural(len(ratings.raters), "rater", "raters"),
			words.Plural(len(ratings.dimensions), "dimension", "dimensions"))})
	}
	return j, ratings, err
}

// ratingsIn are those of a file with these columns; nil if a row has what all people say.
func (f *RatingsFile) ratingsIn(all []string) *Ratings {
	r := newRatings(f.File, all)
	if r == nil && len(f.Columns) > 0 {
		r = newRaters(f.File, all, f.Columns)
	} else if slices.ContainsFunc(f.Columns, func(c string) bool { return slices.Contains(all, c) }) {
		r = nil
	}
	if r != nil {
		r.read = f.Value
	}
	return r
}

// chooseID takes a row's id for that of what is rated, if somebody named its columns or no column such as item_id is
// there: beside one, id may be the rating's number.
func (r *Ratings) chooseID(first *dataset.Row, named bool) {
	if first.GivenID() != "" && (named || !strings.HasSuffix(strings.ToLower(r.item), "id")) {
		r.item = ""
	}
}

// add adds a rating, or those of a rater, to those of its row.
func (r *Ratings) add(j *Joined, row *dataset.Row) error {
	id, who, err := r.whose(j, row)
	if err != nil {
		j.addFault(row.Line, err)
		return nil
	}
	if r.asked == nil {
		name, err := r.text(row, r.dimension)
		if err != nil {
			return err
		}
		return r.addValue(j, row, id, who, name, r.value)
	}
	for _, column := range r.asked {
		if err := r.addValue(j, row, id, who, column, column); err != nil {
			return err
		}
	}
	return nil
}

// addValue adds what a rater says in a column of a row in a dimension.
func (r *Ratings) addValue(j *Joined, row *dataset.Row, id, who, name, column string) error {
	d := r.find(name)
	if d == nil {
		d = &ratedDimension{name: name, column: column}
		r.dimensions = append(r.dimensions, d)
	}
	key := [4]string{id, row.SystemName().String(), d.name, who}
	if line := r.lines[key]; line > 0 {
		return fmt.Errorf("%s rated %q in %s in line %d already: leave one of the two out", words.Printable(who), id, d.name,
			line)
	}
	r.raters[who], r.lines[key] = true, row.Line
	raw, ok := row.Get(column)
	if !ok {
		raw = json.RawMessage("null")
	}
	if r.read != nil {
		raw = r.read(row, raw)
	}
	if err := j.check(raw); err != nil {
		d.lines, d.fault = append(d.lines, row.Line), cmp.Or(d.fault, err)
	}
	j.addRating(id, row, d, bytes.Clone(raw))
	return nil
}

// whose rating of what a row is.
func (r *Ratings) whose(j *Joined, row *dataset.Row) (id, who string, err error) {
	if r.item == "" {
		id = j.idOf(row)
		err = j.checkID(id, 0)
	} else {
		id, err = r.text(row, r.item)
	}
	if err == nil {
		who, err = r.text(row, r.who)
	}
	return id, who, err
}

// text is that of a cell, which may not be empty.
func (r *Ratings) text(row *dataset.Row, column string) (string, error) {
	raw, _ := row.Get(column)
	text := strings.TrimSpace(dataset.PlainText(raw))
	if text == "" || string(raw) == "null" {
		return "", fmt.Errorf("column %q is empty; in a file with one rating a row it has to say whose rating of what "+
			"it is", column)
	}
	return text, nil
}

// find is the dimension of a name, in upper or lower case; nil if there is none.
func (r *Ratings) find(name string) *ratedDimension {
	i := slices.IndexFunc(r.dimensions, func(d *ratedDimension) bool { return strings.EqualFold(d.name, name) })
	if i < 0 {
		return nil
	}
	return r.dimensions[i]
}

// addRating gives the rows of an id a rating more.
func (j *Joined) addRating(id string, row *dataset.Row, d *ratedDimension, raw json.RawMessage) {
	of := j.rows[id].of(row.SystemName())
	if of == nil {
		of = j.newRow(id, row)
		_ = j.add(of) // the first of its id and system
	}
	isFree := func(c int) bool { return c >= len(of.values) || of.values[c] == nil }
	place := slices.IndexFunc(d.columns, isFree)
	if place < 0 {
		place = len(d.columns)
		d.columns = append(d.columns, len(j.columns))
		column := fmt.Sprintf("%s (rating %d)", d.name, place+1)
		j.columns, j.there[column] = append(j.columns, column), true
	}
	for len(of.values) <= d.columns[place] {
		of.values = append(of.values, nil)
	}
	of.values[d.columns[place]] = raw
	of.system, of.texts = row.SystemName(), j.textsOf(row)
}

// Dimensions are the names of those that were rated, as the file has them.
func (r *Ratings) Dimensions() []string {
	var names []string
	for _, d := range r.dimensions {
		names = append(names, d.name)
	}
	return names
}

// Columns are those of dimensions that rows get. A value that is no rating is an error that says how many are none.
func (r *Ratings) Columns(j *Joined, dimensions ...string) (columns []string, err error) {
	for _, name := range dimensions {
		of, err := r.columnsOf(j, name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, of...)
	}
	return columns, nil
}

func (r *Ratings) columnsOf(j *Joined, dimension string) (columns []string, err error) {
	d := r.find(dimension)
	if d == nil {
		return nil, fmt.Errorf("%s: no rating of the dimension %q; its dimensions are %s", r.file, dimension,
			strings.Join(r.Dimensions(), ", "))
	}
	if d.fault != nil {
		more := ""
		if n := len(d.lines); n > 1 {
			more = fmt.Sprintf("; in %s %d values are none, the next one in line %d", d.name, n, d.lines[1])
		}
		return nil, fmt.Errorf("%s:%d: column %q %w%s", r.file, d.lines[0], d.column, d.fault, more)
	}
	for _, c := range d.columns {
		columns = append(columns, j.columns[c])
	}
	return columns, nil
}
