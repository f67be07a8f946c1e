package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Filter lets rows through that have certain values in certain columns. Its zero value lets every row through.
type Filter struct {
	Where map[string]string // column to the value that a row must have there, as CleanName has both

	seen map[string][]string // the first values of these columns, for NoMatch
}

// seenValues is how many values of a column NoMatch names.
const seenValues = 8

// Match tells whether the row has every value of Where.
func (f *Filter) Match(r *Row) bool {
	ok := true
	for column, want := range f.Where {
		raw, has := r.Find(column)
		value := NameIn(raw)
		if has {
			f.countValue(column, value)
		}
		ok = ok && has && value == CleanName(want)
	}
	return ok
}

func (f *Filter) countValue(column, value string) {
	if f.seen == nil {
		f.seen = map[string][]string{}
	}
	if len(f.seen[column]) < seenValues && !slices.Contains(f.seen[column], value) {
		f.seen[column] = append(f.seen[column], value)
	}
}

// NoMatch says that no row of a file passed, and which values there are.
func (f *Filter) NoMatch(file string) error {
	var wanted []string
	for _, column := range slices.Sorted(maps.Keys(f.Where)) {
		values := "no such column"
		if len(f.seen[column]) > 0 {
			values = "values are " + strings.Join(f.seen[column], ", ")
		}
		wanted = append(wanted, fmt.Sprintf("%s=%s (%s)", column, f.Where[column], values))
	}
	return fmt.Errorf("%s: no row has %s", file, strings.Join(wanted, " and "))
}

// NameIn is the name, such as that of a system or an author, that stands in a column.
func NameIn(raw json.RawMessage) string { return CleanName(PlainText(raw)) }

// CleanName is a name without what nobody sees: space around it, as people leave it in tables, and letters that are put
// together of several, as Macs write them.
func CleanName(name string) string { return norm.NFC.String(strings.TrimSpace(name)) }

// FoldSpace is a text with one blank for each white space inside, and its letters as CleanName has them: what programs
// that write it otherwise leave of it.
func FoldSpace(text string) string { return norm.NFC.String(strings.Join(strings.Fields(text), " ")) }

// PlainText is the text of a column that holds one, and any other column's JSON.
func PlainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && !isNull(raw) {
		return s
	}
	return string(raw)
}
