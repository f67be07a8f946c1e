package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// Bounds of rows that are read to be looked at (Options.Clip), and of names.
const (
	clipRow     = 1 << 20 // bytes of a row
	clipColumns = 1_000   // columns of a row that nothing names
	maxName     = 4 << 10 // bytes
	shownName   = 200     // bytes of a longer one
	maxNames    = 100     // in a list of names
)

// ownColumns are those that erreval writes.
var ownColumns = []string{ColumnID, ColumnSystem, ColumnLabels, ColumnDiagnosis, columnScores, columnIssues,
	ColumnVerdicts}

// ShortName is a name as it is, if it has no more than 4 KiB; else its beginning, its length and a hash, which tell it
// from other names.
func ShortName(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s… (%d bytes, %x)", beginning(name, shownName), len(name), sum[:8])
}

// AppendName appends a short name to a list, unless it is empty or there, or the list is full.
func AppendName(names []string, name string) []string {
	name = ShortName(name)
	if name == "" || len(names) == maxNames || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// beginning is the most of a text that has no more than so many bytes.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:most], ""))
}

// ClipNote says how many of the rows read so far were cut, since Options.Clip is set; "" is none.
func (r *Reader) ClipNote() string {
	if r.clipped == 0 {
		return ""
	}
	return fmt.Sprintf("cut, and so shown: %d of the rows, which have more than %d MiB or %d columns", r.clipped,
		clipRow>>20, clipColumns)
}

// clip cuts what is too large of a row, and tells whether anything was: columns behind the first ones that neither
// erreval nor an option names, then the ends of the longest texts.
func (r *Reader) clip(row *Row) bool {
	if row.Size() <= clipRow && len(row.columns) <= clipColumns {
		return false
	}
	named := append(slices.Collect(maps.Values(r.column)), ownColumns...)
	named = append(named, r.id...)
	others := 0
	row.columns = slices.DeleteFunc(slices.Clone(row.columns), func(c column) bool {
		if slices.Contains(named, strings.TrimSuffix(strings.TrimSuffix(c.name, "_a"), "_b")) { // also one of a pair
			return false
		}
		others++
		return others > clipColumns || len(c.name) > maxName
	})
	for i, c := range row.columns { // what stays must not hold the whole record
		row.columns[i] = column{strings.Clone(c.name), bytes.Clone(c.value)}
	}
	for most := clipRow / 2; row.Size() > clipRow && most > 0; most /= 2 {
		for i := range row.columns {
			row.columns[i].value = clipValue(row.columns[i].value, most)
		}
		for i := range row.Values {
			row.Values[i] = beginning(row.Values[i], most)
		}
	}
	row.ID, row.given = ShortName(row.ID), ShortName(row.given)
	return true
}

// clipValue is a value, or a text of its beginning.
func clipValue(value json.RawMessage, most int) json.RawMessage {
	if len(value) <= most {
		return value
	}
	cut, err := jsontext.Marshal(beginning(PlainText(value), most) + "…")
	if err != nil {
		return json.RawMessage("null")
	}
	return cut
}
