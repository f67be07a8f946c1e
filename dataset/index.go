package dataset

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
)

// Index finds the rows of one file in others, by id. Where rows of the indexed file share a given id, the text tells
// which one is meant, whatever order the files have and whichever rows they lack.
type Index struct {
	rows  map[string]indexed // the first row of each id
	equal map[equalRows]rowNumbers
}

// indexed is a row in an Index.
type indexed struct {
	at, n  int // how many ids came before; the caller's number
	text   [sha256.Size]byte
	system SystemName
	shared bool // its id is that of further rows: all are in equal
	any    bool // Row.AnyText
}

// equalRows are those that share id and text, and which system they name; "" is any.
type equalRows struct {
	id     string
	text   [sha256.Size]byte
	system string
}

// NewIndex starts without rows.
func NewIndex() *Index { return &Index{rows: map[string]indexed{}, equal: map[equalRows]rowNumbers{}} }

// indexID is the id that rows of several files have in common.
func (r *Row) indexID() string { return cmp.Or(r.given, r.ID) }

// Add adds a row under a number of the caller's; a negative one is that of a row which others of the same id and text
// come before.
func (x *Index) Add(row *Row, n int) {
	id, text := row.indexID(), row.foldedSum()
	first, there := x.rows[id]
	if !there {
		x.rows[id] = indexed{at: len(x.rows), n: n, text: text, system: row.SystemName(), any: row.AnyText}
		return
	}
	if !first.shared {
		first.shared = true
		x.rows[id] = first
		x.addEqual(id, first.text, first.system, first.n)
	}
	x.addEqual(id, text, row.SystemName(), n)
}

func (x *Index) addEqual(id string, text [sha256.Size]byte, system SystemName, n int) {
	for _, name := range slices.Compact([]string{"", system.name}) {
		key := equalRows{id, text, name}
		all, there := x.equal[key]
		if !there {
			all.system = system
		}
		x.equal[key] = all.with(n)
	}
}

// rowNumbers are those of rows that share id and text.
type rowNumbers struct {
	list   []int
	left   int        // how many more are negative
	system SystemName // of the first
}

func (all rowNumbers) with(n int) rowNumbers {
	if n < 0 {
		all.left++
	} else {
		all.list = append(all.list, n)
	}
	return all
}

// Match finds the rows of one other file in an Index, each at most once.
type Match struct {
	in    *Index
	state []matched         // by indexed.at: of ids that are not shared
	found map[equalRows]int // how many of them
}

type matched byte

const (
	notMatched matched = iota
	matchedOtherText
	matchedSameText
)

// foldedSum is equal for rows whose texts differ in white space alone.
func (r *Row) foldedSum() [sha256.Size]byte {
	texts := make([]string, len(r.Values))
	for i, text := range r.Values {
		texts[i] = FoldSpace(text)
	}
	return textSum(texts)
}

// NewMatch starts with the first row of another file.
func (x *Index) NewMatch() *Match {
	return &Match{in: x, state: make([]matched, len(x.rows)), found: map[equalRows]int{}}
}

// Find gives the number under which a row was added, and whether its text is the same. A row that was found with
// another text is found again by one with its own, where rows of the other file share the id. If one with another text
// comes again, it is not ok, and n is still the number: then it is not known which of them is meant. Else n is -1, as
// for a row with another text that says to be of another system.
func (m *Match) Find(row *Row) (n int, same, ok bool) {
	id := row.indexID()
	first, there := m.in.rows[id]
	if !there {
		return -1, false, false
	}
	text := row.foldedSum()
	if first.shared {
		key := equalRows{id, text, row.SystemName().name}
		if _, named := m.in.equal[key]; !named {
			key.system = ""
		}
		rows, i := m.in.equal[key], m.found[key]
		if i >= len(rows.list)+rows.left || rows.system.IsOther(row.SystemName()) {
			return -1, false, false
		}
		m.found[key]++
		if i >= len(rows.list) {
			return -1, true, true
		}
		return rows.list[i], true, true
	}
	same = text == first.text || first.any
	if text != first.text && first.system.IsOther(row.SystemName()) {
		return -1, false, false
	}
	switch s := m.state[first.at]; {
	case s == matchedSameText:
		return -1, false, false
	case s == matchedOtherText && !same:
		return first.n, false, false
	}
	m.state[first.at] = matchedOtherText
	if same {
		m.state[first.at] = matchedSameText
	}
	return first.n, same, true
}

// SystemName is what a row says of the system whose output it is, in its column "system" or else "model"; the zero
// value is nothing.
type SystemName struct{ column, name string }

// SystemColumns may name a row's system, the likelier first.
var SystemColumns = []string{ColumnSystem, "model"}

// SystemName reads it.
func (r *Row) SystemName() SystemName {
	for _, column := range SystemColumns {
		if name := r.NameBy(column); name != "" {
			return SystemName{column, name}
		}
	}
	return SystemName{}
}

// NameBy is what a column, in any case, or what a path leads to, names; "" is nothing.
func (r *Row) NameBy(name string) string {
	i := slices.IndexFunc(r.columns, func(c column) bool { return strings.EqualFold(strings.TrimSpace(c.name), name) })
	if i >= 0 && !isNull(r.columns[i].value) {
		return NameIn(r.columns[i].value)
	}
	if !strings.Contains(name, ".") {
		return ""
	}
	if raw, ok := r.Find(name); ok && !isNull(raw) {
		return NameIn(raw)
	}
	return ""
}

// NamesBy joins what several columns name, whose names stand with commas between them.
func (r *Row) NamesBy(columns string) string {
	var names []string
	for column := range strings.SplitSeq(columns, ",") {
		if name := r.NameBy(column); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// String is the name; "" is none.
func (s SystemName) String() string { return s.name }

// In is the name as if it stood in another column.
func (s SystemName) In(column string) SystemName {
	if s.column != "" {
		s.column = column
	}
	return s
}

// Column says where the name stands.
func (s SystemName) Column() string { return s.column }

// IsOther tells whether two rows say, in columns of one name, that they are of different systems.
func (s SystemName) IsOther(other SystemName) bool {
	return s.column != "" && s.column == other.column && s.name != other.name
}
