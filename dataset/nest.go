package dataset

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// flatHeader knows what the columns of a flat file mean.
type flatHeader struct {
	names      []string
	apostrophe int // index of columnApostrophe, or -1
}

// newFlatHeader checks the names. Where apostrophes were written, the names' own are taken off.
func newFlatHeader(names []string) (*flatHeader, error) {
	h := &flatHeader{names: slices.Clone(names), apostrophe: slices.Index(names, columnApostrophe)}
	at := map[string]int{}
	for i, name := range h.names {
		if h.apostrophe >= 0 && FormulaLike(strings.TrimLeft(name, "'")) {
			h.names[i] = strings.TrimPrefix(name, "'")
		}
		if first, twice := at[h.names[i]]; twice && name == "" {
			return nil, fmt.Errorf("the columns %d and %d have no name; write one in the header", first+1, i+1)
		} else if twice {
			return nil, fmt.Errorf("the header has the column %q twice (columns %d and %d); rename one", name, first+1, i+1)
		}
		at[h.names[i]] = i
	}
	return h, nil
}

// nest makes a row of its cells, one for each column: a string, a json.RawMessage (a value with its type), or nil
// for an empty cell of a format that knows the difference.
func (h *flatHeader) nest(cells []any) ([]column, error) {
	quoted, err := h.quoted(cells)
	if err != nil {
		return nil, err
	}
	out := make([]column, 0, len(cells))
	diagnosis, scores := &nested{name: ColumnDiagnosis, at: -1}, &nested{name: columnScores, at: -1}
	issues := &nested{name: columnIssues, at: -1}
	for i, name := range h.names {
		cell := cells[i]
		if text, ok := cell.(string); ok && slices.Contains(quoted, name) {
			cell = strings.TrimPrefix(text, "'")
		}
		group, key, _ := strings.Cut(name, ".")
		switch {
		case i == h.apostrophe:
		case group == ColumnDiagnosis && knownDiagnosis(key):
			out, err = diagnosis.addPart(out, key, cell)
		case group == columnScores && strings.Contains(key, "."):
			out, err = scores.addPart(out, key, cell)
		case group == columnIssues && slices.Contains(issueKeys, key):
			out, err = issues.addPart(out, key, cell)
		case name == ColumnDiagnosis || name == columnScores || name == columnIssues:
			out = appendWhole(out, name, value(cell))
		default:
			out = append(out, column{name, value(cell)})
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
	}
	if out, err = diagnosis.insertInto(out, diagnosisValue); err != nil {
		return nil, err
	}
	if out, err = scores.insertInto(out, scoresValue); err != nil {
		return nil, err
	}
	return issues.insertInto(out, issuesValue)
}

// issuesValue is the column issues of its parts, or nil if there are none.
func issuesValue(parts []column) json.RawMessage {
	var out []column
	for _, key := range issueKeys {
		for _, p := range parts {
			if p.name != key {
				continue
			}
			if text, ok := jsontext.Unquote(p.value); ok && key == "ids" {
				p.value = splitLabels(text)
			}
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return appendObject(nil, out)
}

// appendWhole takes a diagnosis or scores that stands in one cell, if it is not empty.
func appendWhole(out []column, name string, raw json.RawMessage) []column {
	text, isText := jsontext.Unquote(raw)
	if isText && json.Valid([]byte(text)) {
		raw = json.RawMessage(text)
	}
	if isNull(raw) || isText && text == "" {
		return out
	}
	return oneLine(append(out, column{name, raw}))
}

func (h *flatHeader) quoted(cells []any) (names []string, err error) {
	if h.apostrophe < 0 {
		return nil, nil
	}
	text, _ := cells[h.apostrophe].(string)
	if text != "" && json.Unmarshal([]byte(text), &names) != nil {
		return nil, fmt.Errorf("the column %q holds %.40q, not a list of columns; leave that column as erreval wrote it, "+
			"or delete it", columnApostrophe, text)
	}
	return names, nil
}

func knownDiagnosis(key string) bool {
	top, sub, deep := strings.Cut(key, ".")
	if top == "probabilities" || top == "truncated" {
		return deep && sub != ""
	}
	return !deep && slices.Contains(diagnosisKeys, top)
}

// value is a cell as JSON.
func value(cell any) json.RawMessage {
	switch v := cell.(type) {
	case string:
		return jsontext.Quote(v)
	case json.RawMessage:
		return v
	}
	return json.RawMessage("null")
}

// nested gathers the dotted columns of one nested column.
type nested struct {
	name  string
	at    int // where the column stands, or -1
	parts []column
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// addPart adds a part unless its cell is empty, and keeps the nested column's place in the row.
func (n *nested) addPart(out []column, key string, cell any) ([]column, error) {
	if n.at < 0 {
		n.at = len(out)
		out = append(out, column{n.name, nil})
	}
	raw := value(cell)
	empty := isNull(raw) || string(raw) == `""`
	if key == "labels" && n.name == ColumnDiagnosis {
		if !isNull(raw) {
			n.parts = append(n.parts, column{key, raw})
		}
		return out, nil
	}
	if empty {
		return out, nil
	}
	raw, err := n.typeOfKey(key, raw)
	n.parts = append(n.parts, column{key, raw})
	return out, err
}

// typeOfKey gives a cell the type of its key.
func (n *nested) typeOfKey(key string, raw json.RawMessage) (json.RawMessage, error) {
	top, last := key, key
	if i := strings.IndexByte(key, '.'); i >= 0 {
		top, last = key[:i], key[i+1:]
	}
	text, isText := jsontext.Unquote(raw)
	numeric := n.name == ColumnDiagnosis && (top == "probabilities" || top == "truncated") ||
		n.name == columnScores && last == "value" || n.name == columnIssues && issueKind(key) == "a number"
	switch {
	case numeric && isText && !number.MatchString(text):
		return nil, fmt.Errorf("%.40q is no number", text)
	case numeric && isText:
		return json.RawMessage(text), nil
	case numeric && jsontext.Kind(raw) != "a number":
		return nil, fmt.Errorf("%.40s is no number", raw)
	case numeric:
		return json.RawMessage(strings.TrimSuffix(string(raw), ".0")), nil
	case isText && (n.name == columnScores && last != "status" && last != "reason" ||
		n.name == ColumnDiagnosis && key == "read" || n.name == columnIssues && issueKind(key) == "an object"):
		var list []json.RawMessage
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &list) == nil || json.Unmarshal([]byte(text), &object) == nil {
			return json.RawMessage(text), nil
		}
		return nil, fmt.Errorf("%.40q is neither a JSON list nor an object", text)
	}
	return raw, nil
}

// insertInto puts the nested value into its place, which is removed where all cells were empty.
func (n *nested) insertInto(out []column, value func([]column) json.RawMessage) ([]column, error) {
	if n.at < 0 {
		return out, nil
	}
	i := slices.IndexFunc(out, func(c column) bool { return c.name == n.name && c.value == nil })
	v := value(n.parts)
	if v == nil {
		return slices.Delete(out, i, i+1), nil
	}
	if slices.ContainsFunc(out, func(c column) bool { return c.name == n.name && c.value != nil }) {
		return nil, fmt.Errorf("the %s stands both in the column %q and in columns that begin with it; empty one of them",
			n.name, n.name)
	}
	out[i].value = v
	return out, nil
}

// diagnosisValue is the diagnosis of its parts, in the order of Diagnosis, or nil if there is none.
func diagnosisValue(parts []column) json.RawMessage {
	var top []column
	for _, key := range diagnosisKeys {
		var sub []column
		for _, p := range parts {
			if rest, ok := strings.CutPrefix(p.name, key+"."); ok {
				sub = append(sub, column{rest, p.value})
			} else if p.name == key {
				top = append(top, p)
			}
		}
		if sub != nil {
			top = append(top, column{key, appendObject(nil, sub)})
		}
	}
	if len(top) == 1 && top[0].name == "labels" && string(top[0].value) == `""` {
		return nil // every cell is empty
	}
	untagged := slices.ContainsFunc(top, func(c column) bool { return c.name == "status" })
	for i, c := range top {
		if c.name == "not_judged" {
			text, _ := jsontext.Unquote(c.value)
			top[i].value = splitLabels(text)
		}
	}
	for i, c := range top {
		if c.name == "labels" {
			text, _ := jsontext.Unquote(c.value)
			if text == "" && untagged {
				top = slices.Delete(top, i, i+1)
				break
			}
			top[i].value = splitLabels(text)
		}
	}
	if len(top) == 0 {
		return nil
	}
	return appendObject(nil, top)
}

func splitLabels(text string) json.RawMessage {
	names := []string{}
	for _, n := range strings.Split(text, ";") {
		if n = strings.TrimSpace(n); n != "" {
			names = append(names, n)
		}
	}
	list, _ := jsontext.Marshal(names) // strings always marshal
	return list
}

// scoresValue is the scores of their parts, dimension by dimension, or nil if there are none.
func scoresValue(parts []column) json.RawMessage {
	var dimensions []column
	of := map[string][]column{}
	for _, p := range parts {
		d, key, _ := strings.Cut(p.name, ".")
		if of[d] == nil {
			dimensions = append(dimensions, column{name: d})
		}
		of[d] = append(of[d], column{key, p.value})
	}
	if len(dimensions) == 0 {
		return nil
	}
	for i, d := range dimensions {
		dimensions[i].value = appendObject(nil, of[d.name])
	}
	return appendObject(nil, dimensions)
}

// FormulaLike tells whether a spreadsheet may take a text for a formula: East Asian ones also by full-width signs.
// Plain numbers are none.
func FormulaLike(text string) bool {
	if text == "" {
		return false
	}
	if text[0] >= utf8.RuneSelf {
		sign, _ := utf8.DecodeRuneInString(text)
		return strings.ContainsRune("＝＋－＠", sign)
	}
	return strings.IndexByte("=+-@\t\r\n", text[0]) >= 0 && !number.MatchString(strings.TrimPrefix(text, "+"))
}
