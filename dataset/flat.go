package dataset

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// Flat formats have one cell a column. Nested columns become dotted ones, and back:
//
//	diagnosis.labels, .not_judged      names joined by "; "
//	diagnosis.probabilities.<Label>    number
//	diagnosis.truncated.<field>        number
//	diagnosis.read                     JSON
//	diagnosis.model, .taxonomy, .status, .reason
//	scores.<dimension>.value           number; .status, .reason are texts
//	scores.<dimension>.<other>         JSON, as of .runs
//	issues.ids                         ids joined by "; "
//	issues.severity, .score            number; .unsorted true or false
//	issues.status, .reason, .analysis, .quote, .evaluation, .evidence are texts
//	issues.other                       JSON
//	labels                             names joined by "; "; stays a text when read, which Row.Labels takes
//
// A diagnosis, scores or issues of another shape stay one cell of JSON.
const (
	columnScores = "scores"
	columnIssues = "issues"
	separator    = "; "

	// columnApostrophe lists, as JSON, the row's columns that got an apostrophe in front, so that no
	// spreadsheet takes them for formulas. It is there only where there is such a cell, and reading
	// takes the apostrophes off and the column away.
	columnApostrophe = "erreval.apostrophe"
)

// nestedColumn is a column that flat formats split.
type nestedColumn struct {
	name  string
	parts []columnPart // in their order; nil is any number of scores, each of scoreParts
}

// columnPart is a part of one, and the jsontext.Kind of what it holds; or one of the kinds below.
type columnPart struct{ key, kind string }

const (
	kindNames   = "names joined"
	kindNumbers = "an object of numbers, each with a cell of its own"
	kindJSON    = "a list or an object"
)

var nestedColumns = []nestedColumn{
	{ColumnDiagnosis, []columnPart{{"labels", kindNames}, {"not_judged", kindNames}, {"probabilities", kindNumbers},
		{"model", "a text"}, {"taxonomy", "a text"}, {"truncated", kindNumbers}, {"read", "an object"},
		{"status", "a text"}, {"reason", "a text"}}}, // in the order of Diagnosis
	{columnScores, nil},
	{columnIssues, []columnPart{{"status", "a text"}, {"ids", kindNames}, {"reason", "a text"},
		{"unsorted", "true or false"}, {"analysis", "a text"}, {"quote", "a text"}, {"severity", "a number"},
		{"score", "a number"}, {"evaluation", "a text"}, {"evidence", "a text"}, {"other", "an object"}}},
	// in the order of package issues of room discover
}

// scoreParts are those of a dimension whose kind is not kindJSON.
var scoreParts = []columnPart{{"value", "a number"}, {"status", "a text"}, {"reason", "a text"}}

// nestedAt is the place of a column in nestedColumns; -1 where it is none of them.
func nestedAt(name string) int {
	return slices.IndexFunc(nestedColumns, func(n nestedColumn) bool { return n.name == name })
}

// place is that of a part; -1 where there is none, as of scores.
func (n *nestedColumn) place(key string) int {
	return slices.IndexFunc(n.parts, func(p columnPart) bool { return p.key == key })
}

// isDeep tells whether the part of a key is an object whose members have cells of their own.
func (n *nestedColumn) isDeep(key string) bool {
	i := n.place(key)
	return n.parts == nil || i >= 0 && n.parts[i].kind == kindNumbers
}

// kind is what the cell behind the column's name and a dot holds; "" is no part of it.
func (n *nestedColumn) kind(cell string) string {
	top, key, deep := strings.Cut(cell, ".")
	switch i := n.place(top); {
	case deep != n.isDeep(top) || deep && n.parts != nil && key == "":
		return ""
	case n.parts == nil:
		if j := slices.IndexFunc(scoreParts, func(p columnPart) bool { return p.key == key }); j >= 0 {
			return scoreParts[j].kind
		}
		return kindJSON
	case deep:
		return "a number"
	case i >= 0:
		return n.parts[i].kind
	}
	return ""
}

// flatten splits a row's nested columns.
func flatten(columns []column) []column {
	out := make([]column, 0, len(columns))
	for _, c := range columns {
		var parts []column
		ok := false
		if i := nestedAt(c.name); i >= 0 {
			parts, ok = nestedColumns[i].flatten(c.value)
		} else if c.name == ColumnLabels {
			if text, joined := joinLabels(c.value); joined {
				parts, ok = []column{{c.name, text}}, true
			}
		}
		if !ok {
			parts = []column{c}
		}
		out = append(out, parts...)
	}
	return out
}

// joinLabels joins a list of names, unless that could not be undone.
func joinLabels(raw json.RawMessage) (json.RawMessage, bool) {
	var names []string
	if raw[0] != '[' || json.Unmarshal(raw, &names) != nil {
		return nil, false
	}
	for _, n := range names {
		if n == "" || strings.Contains(n, ";") || strings.TrimSpace(n) != n {
			return nil, false
		}
	}
	return jsontext.Quote(strings.Join(names, separator)), true
}

// flatten gives the cells of a value; it tells false where these could not be read back as that.
func (n *nestedColumn) flatten(raw json.RawMessage) ([]column, bool) {
	keys, err := parseObject(raw)
	if err != nil || len(keys) == 0 || len(keys) == 1 && string(keys[0].value) == "[]" { // all cells would be empty
		return nil, false
	}
	out := make([]column, 0, len(keys)+11)
	for _, key := range keys {
		parts := []column{key}
		if n.isDeep(key.name) {
			parts, err = parseObject(key.value)
			if err != nil || len(parts) == 0 || n.parts == nil && (strings.Contains(key.name, ".") || key.name == "") {
				return nil, false
			}
			for i := range parts {
				parts[i].name = key.name + "." + parts[i].name
			}
		}
		for _, p := range parts {
			value, ok := flatCell(n.kind(p.name), p)
			if !ok {
				return nil, false
			}
			out = append(out, column{n.name + "." + p.name, value})
		}
	}
	return out, true
}

// flatCell is a part as a cell of its kind, if it is of that kind and can be told from an empty cell. The labels of a
// diagnosis may be empty beside other parts.
func flatCell(kind string, part column) (json.RawMessage, bool) {
	is := jsontext.Kind(part.value)
	switch kind {
	case kindNames:
		text, ok := joinLabels(part.value)
		return text, ok && (part.name == "labels" || string(part.value) != "[]")
	case kindJSON:
		return part.value, is == "a list" || is == "an object"
	}
	return part.value, is == kind && string(part.value) != `""`
}
