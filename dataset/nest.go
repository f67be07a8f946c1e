package dataset

import (
	"encoding/json"
	"errors"
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
	parts      []flatPart // by column
	apostrophe int        // index of columnApostrophe, or -1
}

// flatPart is what a column of a flat file is of a nested one.
type flatPart struct {
	at        int    // place in nestedColumns; -1 where it is of none
	key, kind string // "": it is the whole of one
}

// lineBreak is where a heading goes on in a new line of its cell.
var lineBreak = regexp.MustCompile(`[ \t]*[\r\n]+[ \t]*`)

// heading is a column's name on one line.
func heading(cell string) string {
	if !strings.ContainsAny(cell, "\r\n") {
		return cell
	}
	return lineBreak.ReplaceAllString(cell, " ")
}

// newFlatHeader checks the names, and makes line breaks within them blanks. Where apostrophes were written, the names'
// own are taken off. places are those of the columns, from 0, where some have no name.
func newFlatHeader(names []string, places ...int) (*flatHeader, error) {
	h := &flatHeader{names: slices.Clone(names), apostrophe: slices.Index(names, columnApostrophe)}
	at := map[string]int{}
	place := func(i int) int {
		if places != nil {
			i = places[i]
		}
		return i + 1
	}
	for i, name := range h.names {
		name = heading(name)
		if h.names[i] = name; h.apostrophe >= 0 && FormulaLike(strings.TrimLeft(name, "'")) {
			h.names[i] = strings.TrimPrefix(name, "'")
		}
		if first, twice := at[h.names[i]]; twice && name == "" {
			return nil, fmt.Errorf("the columns %d and %d have no name; write one in the header, or delete a title above it",
				place(first), place(i))
		} else if twice {
			return nil, fmt.Errorf("the header has the column %q twice (columns %d and %d); rename one", name,
				place(first), place(i))
		}
		at[h.names[i]] = i
		h.parts = append(h.parts, partOf(h.names[i]))
	}
	return h, nil
}

func partOf(name string) flatPart {
	group, key, dotted := strings.Cut(name, ".")
	p := flatPart{at: nestedAt(group), key: key}
	if dotted && p.at >= 0 {
		if p.kind = nestedColumns[p.at].kind(key); p.kind == "" {
			p.at = -1
		}
	}
	return p
}

// nest makes a row of its cells, one for each column: a string, a json.RawMessage (a value with its type), or nil
// for an empty cell of a format that knows the difference.
func (h *flatHeader) nest(cells []any) ([]column, error) {
	if h.isAgain(cells) {
		return nil, errors.New("the row is the header again, as where tables were put below each other; delete it")
	}
	quoted, err := h.quoted(cells)
	if err != nil {
		return nil, err
	}
	out := make([]column, 0, len(cells))
	groups := make([]nested, len(nestedColumns))
	for i, name := range h.names {
		cell := cells[i]
		if text, ok := cell.(string); ok && slices.Contains(quoted, name) {
			cell = strings.TrimPrefix(text, "'")
		}
		switch p := h.parts[i]; {
		case i == h.apostrophe:
		case p.at >= 0 && p.kind != "":
			groups[p.at].nestedColumn = &nestedColumns[p.at]
			out, err = groups[p.at].addPart(out, p, cell)
		case p.at >= 0:
			out = appendWhole(out, name, value(cell))
		default:
			out = append(out, column{name, value(cell)})
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
	}
	for i := range groups {
		if out, err = groups[i].insertInto(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isAgain tells whether every cell is its column's name.
func (h *flatHeader) isAgain(cells []any) bool {
	for i, name := range h.names {
		if text, ok := cells[i].(string); !ok || heading(text) != name {
			return false
		}
	}
	return len(h.names) > 1
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
	*nestedColumn // nil where there are none
	parts         []column
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// addPart adds a part unless its cell is empty, and keeps the nested column's place in the row.
func (n *nested) addPart(out []column, part flatPart, cell any) ([]column, error) {
	if !slices.ContainsFunc(out, n.isPlace) {
		out = append(out, column{n.name, nil})
	}
	raw := value(cell)
	if isNull(raw) || string(raw) == `""` && part.key != "labels" {
		return out, nil
	}
	raw, err := typeOfKind(part.kind, raw)
	n.parts = append(n.parts, column{part.key, raw})
	return out, err
}

// isPlace tells whether the nested value comes to stand there.
func (n *nested) isPlace(c column) bool { return c.name == n.name && c.value == nil }

// commaNumber is a number as Excel writes it in many countries; 1,234 may be another one, and is none here.
var commaNumber = regexp.MustCompile(`^-?(0,[0-9]+|[1-9][0-9]*,([0-9]{1,2}|[0-9]{4,})|[1-9],[0-9]+[eE][-+]?[0-9]+)$`)

// typeOfKind gives a cell the type of its kind.
func typeOfKind(kind string, raw json.RawMessage) (json.RawMessage, error) {
	text, isText := jsontext.Unquote(raw)
	if isText && kind == "a number" && commaNumber.MatchString(text) {
		text = strings.Replace(text, ",", ".", 1)
	}
	switch numeric := kind == "a number"; {
	case numeric && isText && !number.MatchString(text):
		return nil, fmt.Errorf("%.40q is no number", text)
	case numeric && isText:
		return json.RawMessage(text), nil
	case numeric && jsontext.Kind(raw) != "a number":
		return nil, fmt.Errorf("%.40s is no number", raw)
	case numeric:
		return json.RawMessage(strings.TrimSuffix(string(raw), ".0")), nil
	case isText && kind == "true or false":
		if text = strings.ToLower(text); text != "true" && text != "false" {
			return nil, fmt.Errorf("%.40q is neither true nor false", text)
		}
		return json.RawMessage(text), nil
	case isText && kind == kindNames:
		return splitLabels(text), nil
	case isText && (kind == kindJSON || kind == "an object"):
		if !json.Valid([]byte(text)) || strings.IndexByte("[{n", strings.TrimLeft(text, jsontext.Space)[0]) < 0 {
			return nil, fmt.Errorf("%.40q is neither a JSON list nor an object", text)
		}
		return json.RawMessage(text), nil
	}
	return raw, nil
}

// insertInto puts the nested value into its place, which is removed where all cells were empty.
func (n *nested) insertInto(out []column) ([]column, error) {
	if n.nestedColumn == nil {
		return out, nil
	}
	i := slices.IndexFunc(out, n.isPlace)
	v := n.value()
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

// value is the nested column of its parts, in their order, or nil if there is none.
func (n *nested) value() json.RawMessage {
	var keys []column
	members := map[string][]column{}
	for _, p := range n.parts {
		top, key, deep := strings.Cut(p.name, ".")
		if !deep || members[top] == nil {
			keys = append(keys, column{top, p.value})
		}
		if deep {
			members[top] = append(members[top], column{key, p.value})
		}
	}
	for i, k := range keys {
		if m := members[k.name]; m != nil {
			keys[i].value = appendObject(nil, m)
		}
	}
	slices.SortStableFunc(keys, func(a, b column) int { return n.place(a.name) - n.place(b.name) })
	if i := indexOf(keys, "labels"); i >= 0 && string(keys[i].value) == "[]" && n.name == ColumnDiagnosis &&
		(len(keys) == 1 || indexOf(keys, "status") >= 0) { // an empty cell of a row without diagnosis, or untagged
		keys = slices.Delete(keys, i, i+1)
	}
	if len(keys) == 0 {
		return nil
	}
	return appendObject(nil, keys)
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
