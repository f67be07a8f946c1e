package run

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
)

// said is what a row says in a column, of whichever blanks.
type said struct{ column, text string }

// textsOf is what a row says besides the columns that others get: it tells whether a row of the same id is the one that
// the file's row speaks of.
func (j *Joined) textsOf(row *dataset.Row) (texts []said) {
	for _, name := range row.Columns() {
		raw, _ := row.Get(name)
		if text := dataset.FoldSpace(dataset.PlainText(raw)); text != "" && string(raw) != "null" &&
			!slices.Contains(j.columns, name) {
			texts = append(texts, said{name, text})
		}
	}
	return texts
}

// otherText finds a text that a row of the file has and the row has not: its place in the row's Values.
func (j *Joined) otherText(of *joinedRow, row *dataset.Row) (other said, field int) {
	for _, s := range of.texts {
		if raw, own := row.Get(s.column); own && j.copied[s.column] && dataset.FoldSpace(dataset.PlainText(raw)) != s.text {
			return s, 0
		}
		field := j.fieldIn(s.column, row)
		if field < 0 || field >= len(row.Values) {
			continue
		}
		fold, text := j.foldIn(s.column), row.Values[field]
		if said := fold(s.text); fold(text) != said && fold(dataset.AsAsked(text)) != said {
			return s, field
		}
	}
	return said{}, -1
}

// letters are those of a text, and its digits, in small letters: what is left where it was tokenized, or cleaned.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, dataset.FoldSpace(text))
}

// fieldIn is the place in a row's Values of the text that a column of the file has; -1 of none.
func (j *Joined) fieldIn(column string, row *dataset.Row) int {
	if field := slices.Index(j.fields, column); field >= 0 {
		return field
	}
	for _, c := range j.textID {
		if c.name == column {
			return c.field
		}
	}
	if _, own := row.Get(column); own {
		return -1
	}
	if slices.Contains(j.judged, plainName(column)) {
		return 0
	}
	return slices.Index(j.likely, column)
}

// A column of the file holds a field's texts if it is filled in so many of its rows, and so many of these texts are
// those of rows that get columns, in several words: others may have changed. Of one that is filled in fewer, as with
// better questions, more have to be.
const (
	mostlyFilled = 0.9
	someFound    = 0.1
	mostFound    = 0.5
)

// learn finds by what they say the columns of the file that hold texts of the rows under names of their own.
func (in *Rows) learn(ctx context.Context, p *Process, file string) error {
	j := in.Joined
	j.likely, j.loosely, j.copied = nil, map[string]bool{}, map[string]bool{}
	if file == Stdio || len(in.Taxonomy.Fields) == 0 || !j.hasTexts() && !j.namesSystems() {
		return j.nameByTexts()
	}
	rows, closeRows, err := in.Files.OpenRows(ctx, p, file, in.options())
	if err != nil {
		return err
	}
	defer closeRows()
	seed, sets := maphash.MakeSeed(), make([]map[uint64]bool, len(in.Taxonomy.Fields)) // texts, and their letters
	for i := range sets {
		sets[i] = map[uint64]bool{}
	}
	own := map[string]map[uint64]bool{} // texts of further columns
	named, column := map[string]bool{}, ""
	var first *dataset.Row
	_, err = dataset.EachRow(ctx, rows.Read, func(row *dataset.Row) error {
		first = cmp.Or(first, row)
		if system := row.SystemName(); system.Column() != "" && len(named) < mostSystems {
			named[system.String()], column = true, system.Column()
		}
		for _, name := range j.all {
			if raw, there := row.Get(name); there && raw[0] == '"' {
				if own[name] == nil {
					own[name] = map[uint64]bool{}
				}
				own[name][maphash.String(seed, dataset.FoldSpace(dataset.PlainText(raw)))] = true
			}
		}
		for i, text := range row.Values {
			if text = dataset.FoldSpace(text); strings.Contains(text, " ") {
				sets[i][maphash.String(seed, text)], sets[i][maphash.String(seed, letters(text))] = true, true
			}
		}
		return nil
	})
	if err != nil || first == nil {
		return nil // who reads it then says so
	}
	j.nameSystemsAs(column, named)
	j.fields = in.fieldColumns(rows)
	j.findLikely(p, in.Taxonomy.FieldNames(), first, func(i int, text string) bool {
		return sets[i][maphash.String(seed, text)]
	})
	if err := j.nameByTexts(); err != nil {
		return err
	}
	for column, texts := range own {
		if j.fieldIn(column, first) < 0 {
			j.copied[column] = j.isCopied(column, func(text string) bool { return texts[maphash.String(seed, text)] })
		}
	}
	if column := j.unknownTexts(first); column != "" {
		p.Note([]string{fmt.Sprintf("%s: its column %s holds texts, none of which is one of the rows': rows are joined by "+
			"id alone; are the ids those of the same rows?", j.File, words.Printable(column))})
	}
	return nil
}

// findLikely finds the column of each field; has tells whether a row has a text, or one of these letters, there.
func (j *Joined) findLikely(p *Process, fields []string, first *dataset.Row, has func(i int, text string) bool) {
	j.likely = make([]string, len(fields))
	for i, field := range fields {
		if !slices.ContainsFunc(j.mayID, func(c textColumn) bool { return c.field == i }) {
			continue // an answer may be the reader's own
		}
		if j.likely[i] = j.likelyColumn(i, first, func(text string) bool { return has(i, text) }); j.likely[i] == "" {
			j.likely[i] = j.likelyColumn(i, first, func(text string) bool { return has(i, letters(text)) })
			j.loosely[j.likely[i]] = j.likely[i] != ""
		}
		if j.likely[i] != "" {
			p.Note([]string{fmt.Sprintf("%s: its column %s is taken for the %s: what it says is of a row with that text alone",
				j.File, words.Printable(j.likely[i]), field)})
		}
	}
}

// nameByTexts takes texts in the likely column for the ids of a file that has none.
func (j *Joined) nameByTexts() error {
	if len(j.rows) > 0 {
		return nil
	}
	if len(j.likely) == 0 || j.likely[0] == "" {
		return j.nameless()
	}
	rows := j.order
	j.textID, j.order = []textColumn{{name: j.likely[0]}}, nil
	for _, r := range rows {
		i := slices.IndexFunc(r.texts, func(s said) bool { return s.column == j.likely[0] })
		if i < 0 {
			j.addFault(r.line, errNameless)
			continue
		}
		r.id = j.foldIn(j.likely[0])(r.texts[i].text)
		if err := j.add(r); err != nil {
			return &dataset.LineError{File: j.File, Line: r.line, Err: err}
		}
	}
	return nil
}

// foldIn is what texts in a column are compared by.
func (j *Joined) foldIn(column string) func(string) string {
	if j.loosely[column] {
		return letters
	}
	return dataset.FoldSpace
}

// mostSystems are looked for in the column of another name.
const mostSystems = 1000

// namesSystems tells whether the file names the system of a row.
func (j *Joined) namesSystems() bool {
	for _, r := range j.order {
		if r.system.Column() != "" {
			return true
		}
	}
	return false
}

// nameSystemsAs takes what the file says of systems for what rows say in another column, if that names one of them.
func (j *Joined) nameSystemsAs(column string, named map[string]bool) {
	for _, one := range j.order {
		if named[one.system.String()] {
			for _, r := range j.order {
				r.system = r.system.In(column)
			}
			return
		}
	}
}

// isCopied tells whether texts of several words in a column of the file are mostly those that rows have there.
func (j *Joined) isCopied(column string, has func(text string) bool) bool {
	filled, found := 0, 0
	for _, r := range j.order {
		for _, s := range r.texts {
			if s.column == column && strings.Contains(s.text, " ") {
				filled++
				if has(s.text) {
					found++
				}
			}
		}
	}
	return found > 0 && float64(found) >= mostFound*float64(filled)
}

// unknownTexts is a column of the file that holds texts of several words, where none is known to hold those of rows; ""
// is none.
func (j *Joined) unknownTexts(first *dataset.Row) string {
	filled := map[string]int{}
	for _, r := range j.order {
		for _, s := range r.texts {
			if j.fieldIn(s.column, first) >= 0 {
				return ""
			}
			if _, own := first.Get(s.column); !own && strings.Count(s.text, " ") > 1 {
				filled[s.column]++
			}
		}
	}
	for _, column := range slices.Sorted(maps.Keys(filled)) {
		if float64(filled[column]) >= mostlyFilled*float64(len(j.order)) && !ofOthers.MatchString(column) {
			return column
		}
	}
	return ""
}

// hasTexts tells whether the file says anything in several words besides the columns that rows get.
func (j *Joined) hasTexts() bool {
	for _, r := range j.order {
		if slices.ContainsFunc(r.texts, func(s said) bool { return strings.Contains(s.text, " ") }) {
			return true
		}
	}
	return false
}

// likelyColumn is the column of the file whose name tells nothing, and whose texts are those of a field; "" is none, or
// one that is known by its name.
func (j *Joined) likelyColumn(field int, first *dataset.Row, has func(text string) bool) (likely string) {
	filled, found, most := map[string]int{}, map[string]int{}, 0
	for _, r := range j.order {
		for _, s := range r.texts {
			if j.fieldIn(s.column, first) == field {
				return ""
			}
			filled[s.column]++
			if has(s.text) {
				found[s.column]++
			}
		}
	}
	for column, n := range found {
		_, own := first.Get(column)
		isFilled := float64(filled[column]) >= mostlyFilled*float64(len(j.order))
		found := float64(n) / float64(filled[column])
		isText := (found >= mostFound || isFilled && found >= someFound) && !ofOthers.MatchString(column)
		if !own && isText && (n > most || n == most && column < likely) {
			most, likely = n, column
		}
	}
	return likely
}

// ofOthers are words of headings of texts that people write for those of rows, many of which are alike.
var ofOthers = regexp.MustCompile(`(?i)correct|improve|better|revis|fixed|suggest|rewrit|rephras|edited|reference|gold|target`)

// textColumn is a column of the file with the texts of a field, whose place is in Row.Values.
type textColumn struct {
	names []string // in plain form
	name  string
	field int
}

// textColumns are those of the judged text, and of what rows of a group share.
func (in *Rows) textColumns() (all []textColumn) {
	for i, field := range in.Taxonomy.FieldNames() {
		if i == 0 || field == in.Taxonomy.GroupField() {
			all = append(all, textColumn{names: append(dataset.ColumnNames(field), plainName(in.Columns[field])), field: i})
		}
	}
	return all
}

// findTextID takes the texts of a file without ids for these, if it has that under evaluation.
func (j *Joined) findTextID(columns []string) {
	if j.id != "" {
		return
	}
	for _, c := range j.mayID {
		i := slices.IndexFunc(columns, func(name string) bool {
			return slices.Contains(c.names, plainName(name)) && !slices.Contains(j.columns, name)
		})
		if i >= 0 {
			c.name = columns[i]
			j.textID = append(j.textID, c)
		}
	}
	if len(j.textID) > 0 && j.textID[0].field > 0 {
		j.textID = nil
	}
}

// textIDOf is the id that a row's texts make.
func (j *Joined) textIDOf(row *dataset.Row) string {
	parts := make([]string, len(j.textID))
	for i, c := range j.textID {
		fold := j.foldIn(c.name)
		if raw, _ := row.Get(c.name); c.field < len(row.Values) {
			parts[i] = fold(dataset.AsAsked(row.Values[c.field]))
		} else if string(raw) != "null" {
			parts[i] = fold(dataset.PlainText(raw))
		}
	}
	if parts[0] == "" {
		return ""
	}
	return strings.Join(parts, " | ")
}

// textIDNote says which texts make ids.
func (j *Joined) textIDNote() string {
	names := make([]string, len(j.textID))
	for i, c := range j.textID {
		names[i] = words.Quote(c.name)
	}
	return fmt.Sprintf("%s: rows without an id are joined by what they say in %s (--id COLUMN names an id)", j.File,
		strings.Join(names, " and "))
}
