package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// LookAhead is in how many rows of a file without a header a column has to be missing to be one that the file lacks.
const LookAhead = 20

// ColumnsError says that a file lacks columns of fields that every row needs, or one that Options.ID names: one fault
// of the file, in the place of one a row. Reading ends with it.
type ColumnsError struct {
	Fields []string // in the taxonomy's order
	First  *Row     // without Values and ID
	Rows   int      // rows that were looked at; 0: the header holds for all

	id       string            // column of the id; then Fields is empty
	named    []string          // column that each of Fields was looked for in
	optional []string          // fields that First lacks as well, and that rows may lack
	task     string            // the taxonomy's name
	option   string            // Options.MapOption
	header   string            // of a sheet: where its columns are named
	taken    map[string]bool   // columns that hold other fields
	meaning  map[string]string // of the fields
}

func (e *ColumnsError) Error() string {
	if e.id != "" {
		return fmt.Sprintf("%s: no column %q for the id; %s; name the one that holds it with --id %s, or give --id %s",
			e.First.Source, e.id, e.First.columnList(), cmp.Or(spelling.Meant(e.id, e.First.Columns()), "COLUMN"), NoID)
	}
	columns, hold, where := "columns", "those that hold them, as in:", e.header
	if len(e.Fields) == 1 {
		columns, hold = "column", fmt.Sprintf("the one that holds the %s with", e.Fields[0])
	}
	if e.Rows == 1 {
		where = " in the first row"
	} else if e.Rows > 1 {
		where = fmt.Sprintf(" in the first %d rows", e.Rows)
	}
	var quoted, options, unknown []string
	for i, field := range e.Fields {
		own := ""
		if _, there := e.First.Get(field); there {
			own = field
		}
		free := slices.DeleteFunc(e.First.Columns(), func(c string) bool { return e.taken[c] })
		usual, _ := findColumn(field, free, nil)
		meant := cmp.Or(meantColumn(e.named[i], free), own, usual, "COLUMN")
		if meaning := e.meaning[field]; meant == "COLUMN" && meaning != "" {
			unknown = append(unknown, fmt.Sprintf("%s (%s)", field, meaning))
		}
		quoted = append(quoted, strconv.Quote(e.named[i]))
		options = append(options, words.Quote(field+"="+meant))
	}
	next := " " + e.option
	if rest, ok := strings.CutPrefix(e.option, "?"); ok { // the first parameter of an address
		next = "&" + rest
	}
	text := fmt.Sprintf("%s: no %s %s%s; %s; name %s %s%s", e.First.Source, columns, strings.Join(quoted, ", "), where,
		e.First.columnList(), hold, e.option, strings.Join(options, next))
	for _, field := range e.optional {
		text += fmt.Sprintf(" (and, where there is one, %s%s=COLUMN)", strings.TrimLeft(next, " "), field)
	}
	if len(unknown) > 0 {
		text += "; no row is judged without " + strings.Join(unknown, " and ")
	}
	for _, name := range e.First.Columns() {
		raw, _ := e.First.Get(name)
		item, isList := bytes.CutPrefix(raw, []byte("["))
		if isList && bytes.HasPrefix(bytes.TrimSpace(item), []byte("{")) && parseChat(raw) == nil {
			text += fmt.Sprintf("; if rows are the items of the list %q, give a file of that list alone, as jq makes it: jq "+
				"'.[%[1]q]' %s", name, words.Quote(e.First.Source))
		}
	}
	if _, judged := e.First.Get(ColumnVerdicts); judged {
		text += "; of pairs that erreval compare judged, erreval rank and report tell"
	}
	if fit := fitting(e.First); len(fit) > 0 && !slices.Contains(fit, e.task) {
		text += "; the columns are those of another task: --taxonomy " + strings.Join(fit, " or ")
	}
	return text
}

// meantColumn is the column that a field's text may stand in, by its name: not that of an id, such as passage_id, nor
// of what is said about it, nor of what people wrote for comparison.
func meantColumn(field string, columns []string) string {
	texts := slices.DeleteFunc(slices.Clone(columns), func(c string) bool {
		name := plainName(c)
		about := slices.ContainsFunc(abouts, func(word string) bool { return strings.HasSuffix(name, word) })
		return namesID(c) || about && name != plainName(field) ||
			slices.ContainsFunc(compared, func(of string) bool { return strings.HasPrefix(name, of) })
	})
	has := slices.IndexFunc(texts, func(c string) bool { return strings.Contains(plainName(c), plainName(field)) })
	if meant := spelling.Meant(field, texts); meant != "" || has < 0 {
		return meant
	}
	return texts[has]
}

// fitting are the built-in taxonomies of which a row has every field that is needed.
func fitting(row *Row) (names []string) {
	for _, name := range taxonomy.Builtins() {
		t, err := taxonomy.Builtin(name)
		lacks := func(f taxonomy.Field) bool { return !f.Optional && !hasField(row, f.Name) }
		if err == nil && !slices.ContainsFunc(t.Fields, lacks) {
			names = append(names, name)
		}
	}
	return names
}

func hasField(row *Row, field string) bool {
	_, guessed := findColumn(field, row.Columns(), nil)
	return guessed || chatPart(field, row) != ""
}

// ParseMap reads pairs FIELD=COLUMN for Options.Map, whose MapOption is option.
func ParseMap(option string, pairs, fields []string) (map[string]string, error) {
	m := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		field, column, ok := strings.Cut(pair, "=")
		known := slices.Contains(fields, field)
		switch {
		case !ok || field == "" || column == "":
			return nil, fmt.Errorf("%s%q: write it as FIELD=COLUMN, as in %[1]s%[3]s=COLUMN", option, pair, fields[0])
		case !known && slices.Contains(fields, column):
			return nil, fmt.Errorf("%s%q: the taxonomy's field comes first: %[1]s%[3]s", option, pair,
				words.Quote(column+"="+field))
		case !known:
			hint := ""
			if field == ColumnSystem {
				hint = "; the column of systems is what --by or --system names, for refine select: system: in refine.yaml"
			}
			return nil, fmt.Errorf("%s%q: the taxonomy has no field %q; its fields are %s%s", option, pair, field,
				strings.Join(fields, ", "), hint)
		case m[field] != "":
			return nil, fmt.Errorf("%s%q: the field %q is given twice", option, pair, field)
		}
		m[field] = column
	}
	return m, nil
}

// lookedAt is a record that was read ahead, or the error of reading it.
type lookedAt struct {
	rec record
	err error
}

// size is what a record's values take, in bytes.
func (rec *record) size() int {
	n := len(rec.raw)
	for _, c := range rec.columns {
		n += len(c.value)
	}
	return n
}

func (r *Reader) takeRecord() (record, error) {
	if len(r.ahead) == 0 {
		return r.in.next()
	}
	next := r.ahead[0]
	r.ahead = r.ahead[1:]
	return next.rec, next.err
}

// guessColumns guesses columns by the first record. Where one that is needed is missing, the next records tell whether
// all lack it.
func (r *Reader) guessColumns(rec record) error {
	if r.opt.Alone {
		r.takeIDColumns()
		return nil
	}
	e := &ColumnsError{First: r.rowWithoutValues(rec), header: rec.header, taken: map[string]bool{}}
	for _, field := range slices.Sorted(maps.Keys(r.opt.Map)) {
		column := r.opt.Map[field]
		raw, _ := e.First.Find(column)
		if e.taken[column] && parseChat(raw) == nil { // which has several
			r.said = append(r.said, fmt.Sprintf("%q is the %s and another field too", column, field))
		}
		e.taken[column] = true
	}
	if err := r.findIDColumns(e.First); err != nil {
		return err
	}
	r.guessMissing(e.First)
	e.Fields = slices.Clone(r.fields)
	r.dropFound(e, e.First)
	if len(e.Fields) > 0 && !r.opt.Format.storage().table {
		e.Rows = 1
		if err := r.lookAhead(e); err != nil {
			return nil // Read gives the error after the rows before it
		}
	}
	if len(e.Fields) == 0 {
		return nil
	}
	e.task, e.option, e.meaning = r.opt.Taxonomy.Name, r.opt.mapOption(), map[string]string{}
	for _, f := range r.opt.Taxonomy.Fields[1:] { // beside the judged text
		e.meaning[f.Name] = f.Definition
	}
	for _, field := range r.fields {
		_, found := e.First.Find(r.column[field])
		switch {
		case slices.Contains(e.Fields, field):
			e.named = append(e.named, r.column[field])
		case !found && r.optional[field]:
			e.optional = append(e.optional, field)
		}
	}
	return e
}

// lookAhead reads on until every column was seen. The error is one that ends the reading.
func (r *Reader) lookAhead(e *ColumnsError) error {
	return r.eachAhead(func(row *Row) (enough bool) {
		e.Rows++
		r.dropFound(e, row)
		return len(e.Fields) == 0
	})
}

// eachAhead calls f for the rows behind the first one until it has seen enough. The error is one that ends the reading.
func (r *Reader) eachAhead(f func(*Row) (enough bool)) error {
	left := r.opt.maxRecord()
	for i := 0; i < LookAhead-1 && left > 0; i++ {
		if i == len(r.ahead) {
			rec, err := r.in.next()
			r.ahead = append(r.ahead, lookedAt{rec, err})
		}
		next := r.ahead[i]
		left -= next.rec.size()
		switch {
		case errors.Is(next.err, io.EOF):
			return nil
		case next.err != nil:
			return next.err
		case !next.rec.isFault() && f(r.rowWithoutValues(next.rec)):
			return nil
		}
	}
	return nil
}

// dropFound takes the fields that the row has a column for, and those that need none, from those that are missing.
func (r *Reader) dropFound(e *ColumnsError, row *Row) {
	e.Fields = slices.DeleteFunc(e.Fields, func(field string) bool {
		_, found := row.Find(r.column[field])
		return found || r.optional[field] && r.opt.Map[field] == ""
	})
}

func (r *Reader) fieldText(row *Row, field string) (string, error) {
	name, raw, ok := r.findField(row, field)
	// null is an empty cell of a workbook. Rows may lack the column of an optional field, which some row of the file has;
	// of a row by itself it may be a slip.
	if ok && isNull(raw) || !ok && r.optional[field] && (r.opt.Map[field] == "" || !r.opt.Alone) {
		return "", nil
	}
	if !ok {
		return "", fmt.Errorf("no column %q; %s; name the one that holds the %s with %s%s=COLUMN", name,
			row.columnList(), field, r.opt.mapOption(), field)
	}
	if c := conversationOf(r.chatAs(field), raw); c != nil {
		return r.chatText(row, field, c)
	}
	if r.chats && name == columnMessages {
		if response, input := isChatField(field); response || input {
			return "", fmt.Errorf("the column %q holds no conversation: a list of turns, each with its role", name)
		}
	}
	if name != field {
		var list []json.RawMessage
		if !r.optional[field] && raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) > 1 {
			return "", fmt.Errorf("the column %q holds a list of %d, and the %s is one text: join them, or name one, as in "+
				"%s%[3]s=%[1]s.0", name, len(list), field, r.opt.mapOption())
		}
		if raw = firstText(raw); string(raw) == "[]" && r.optional[field] {
			return "", nil
		} else if string(raw) == "[]" {
			return "", fmt.Errorf("the column %q holds no %s: its list is empty; leave such rows out, or give them one", name,
				field)
		}
	}
	// A sheet's cell has no quotes to put it in; elsewhere the text under evaluation has, and an answer may be 1868.
	if kind := jsontext.Kind(raw); r.unit() == "row" || field != r.fields[0] {
		switch kind {
		case "a number":
			return strings.TrimSuffix(string(raw), ".0"), nil // of a data frame's column with empty cells
		case "true or false":
			return string(raw), nil
		}
	}
	text, ok := jsontext.Unquote(raw)
	if !ok {
		return "", fmt.Errorf("the column %q holds %s where a text is expected; %sname another column with %s%s=COLUMN%s",
			name, jsontext.Kind(raw), quoteHint(raw), r.opt.mapOption(), field, partHint(raw, name))
	}
	return text, nil
}

// partHint says how a part of an object is named: a request's conversation, or a reply's text.
func partHint(raw json.RawMessage, column string) string {
	if raw[0] != '{' {
		return ""
	}
	part := ".choices.0.message.content"
	var request struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(raw, &request) == nil && request.Messages != nil {
		part = "." + columnMessages
	}
	return ", or a part of this one by its path, as in " + column + part
}

// findField gives a field's column in a row, and what it holds. Where rows that hold conversations and rows that hold
// fields stand in one file, as where simulated rows were added to conversations, each is read as it is.
func (r *Reader) findField(row *Row, field string) (name string, raw json.RawMessage, ok bool) {
	name = r.column[field]
	if raw, ok = row.Find(name); ok || r.opt.Map[field] != "" {
		return name, raw, ok
	}
	other := ""
	switch {
	case name == columnMessages:
		other = field
	case name == field && chatPart(field, row) != "":
		other = columnMessages
	}
	if raw, ok = row.Get(other); ok {
		name = other
	}
	return name, raw, ok
}

func quoteHint(raw json.RawMessage) string {
	if jsontext.Kind(raw) == "a number" {
		return "put it in quotes, or "
	}
	return ""
}
