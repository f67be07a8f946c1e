package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/idset"
	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/internal/words"
)

// NoID says, in the place of a column in Options.ID, that no column holds the id.
const NoID = "none"

// wholeNumber is one, also as pandas writes it where some row has none: 7.0.
var wholeNumber = regexp.MustCompile(`^(-?[0-9]+)(\.0+)?$`)

// joinedID keeps the values of several columns apart in one id.
var joinedID = strings.NewReplacer(`\`, `\\`, `|`, `\|`)

// GivenID is the id as the row's columns have it, or "" where it was made of the fields. Unlike Row.ID it may be that
// of several rows.
func (r *Row) GivenID() string { return r.given }

// HasTextID tells whether the id was made of the row's texts, now or when the row was given it, be it with a number
// behind it.
func (r *Row) HasTextID() bool {
	if r.given == "" {
		return true
	}
	hash, _, _ := strings.Cut(r.given, "#")
	return len(hash) == 2*sha256.Size && hash == r.TextHash()
}

// RepeatedIDs is the number of rows read so far whose given id is that of a row before them.
func (r *Reader) RepeatedIDs() int { return r.repeated }

func (r *Reader) repeatNote() string {
	text := fmt.Sprintf("%s an id that came before: a number is put behind it (first in %s)",
		words.Plural(r.repeated, "row has", "rows have"), r.firstRepeat)
	if !r.opt.inAddress() {
		text += "; --id COLUMN,COLUMN names columns that tell the rows apart, --id none makes ids of their texts"
	}
	return text
}

// RecordedID are the columns of the id that Options.RecordedID gave; nil where others were taken.
func (r *Reader) RecordedID() []string { return r.recordedID }

// findIDColumns decides by the first row which columns hold the id. The error is a *ColumnsError.
func (r *Reader) findIDColumns(first *Row) error {
	r.id = []string{ColumnID}
	lacks := func(column string) bool {
		_, there := first.Get(column)
		return !there
	}
	switch given, recorded := spelledIn(first, r.opt.ID), r.opt.RecordedID; {
	case given == nil && (IsNoID(recorded) || len(recorded) > 0 && !slices.ContainsFunc(recorded, lacks)):
		r.id, r.recordedID = recorded, recorded
	case given == nil && lacks(ColumnID):
		r.takeSpelledID(first)
	case given == nil:
	case IsNoID(given) || !slices.ContainsFunc(given, lacks):
		r.id = given
	case r.opt.OwnNames:
		r.said = append(r.said, fmt.Sprintf("no column %q; taking %q", given[slices.IndexFunc(given, lacks)], ColumnID))
	case r.opt.Format.storage().table || !r.isAhead(given):
		return &ColumnsError{First: first, id: given[slices.IndexFunc(given, lacks)]}
	default:
		r.id = given
	}
	if IsNoID(r.id) {
		r.id = nil
	}
	return nil
}

// spelledIn are columns as a row has them, where they differ in case alone.
func spelledIn(row *Row, columns []string) []string {
	columns = slices.Clone(columns)
	for i, name := range columns {
		if _, there := row.Get(name); there {
			continue
		}
		if k := slices.IndexFunc(row.Columns(), func(c string) bool { return strings.EqualFold(c, name) }); k >= 0 {
			columns[i] = row.Columns()[k]
		}
	}
	return columns
}

// isAhead tells whether one of the next rows has all of some columns.
func (r *Reader) isAhead(columns []string) (found bool) {
	_ = r.eachAhead(func(row *Row) bool { // Read gives the error after the rows before it
		found = !slices.ContainsFunc(columns, func(c string) bool { _, there := row.Get(c); return !there })
		return found
	})
	return found
}

// takeSpelledID takes a column such as ID.
func (r *Reader) takeSpelledID(first *Row) {
	i := slices.IndexFunc(first.Columns(), func(c string) bool { return strings.EqualFold(c, ColumnID) })
	if i < 0 {
		r.findLikelyIDs(first)
		return
	}
	r.id = []string{first.Columns()[i]}
	r.said = append(r.said, fmt.Sprintf("no column %q; taking %q for it (--id none takes none)", ColumnID, r.id[0]))
}

// takeIDColumns takes those that were given, or the usual one, be they there or not.
func (r *Reader) takeIDColumns() {
	switch {
	case r.opt.ID == nil:
		r.id = []string{ColumnID}
	case !IsNoID(r.opt.ID):
		r.id = r.opt.ID
	}
}

// IsNoID tells whether somebody said of columns of an id that there is none.
func IsNoID(columns []string) bool { return len(columns) == 1 && columns[0] == NoID }

// setID sets the row's ID, which is given or made. Of rows with the same one, those behind the first get #2, #3 ….
func (r *Reader) setID(row *Row) (err error) {
	if row.given, err = r.givenID(row); err != nil {
		return err
	}
	if row.given == "" {
		if r.unnamed++; r.unnamed == 1 {
			r.firstUnnamed = r.placeOf(row)
		}
	}
	if r.opt.Alone {
		if row.ID = row.given; row.ID == "" {
			row.ID = row.TextHash()
		}
		return nil
	}
	if row.given == "" {
		sum := row.TextSum()
		r.countCopy(row)
		row.ID, err = r.uniqueID(hex.EncodeToString(sum[:]))
		return err
	}
	row.ID, err = r.uniqueID(row.given)
	if err != nil || row.ID == row.given {
		return err
	}
	if r.repeated++; r.repeated == 1 {
		r.firstRepeat = fmt.Sprintf("%s: %q", r.placeOf(row), row.ID)
	}
	return nil
}

var copySeed = maphash.MakeSeed()

// mostCompared is how many rows without an id are compared in every column: hashes of them stand in memory.
const mostCompared = 100_000

// countCopy counts a row that is the same as one before it in every column.
func (r *Reader) countCopy(row *Row) {
	if len(r.whole) == mostCompared {
		return
	}
	var h maphash.Hash
	h.SetSeed(copySeed)
	for _, c := range row.columns {
		maphash.WriteComparable(&h, c.name)
		maphash.WriteComparable(&h, len(c.value))
		_, _ = h.Write(c.value)
	}
	if r.whole == nil {
		r.whole = map[uint64]bool{}
	}
	if !r.whole[h.Sum64()] {
		r.whole[h.Sum64()] = true
	} else if r.copies++; r.copies == 1 {
		r.firstCopy = r.placeOf(row)
	}
}

// placeOf says where a row stands, as in "line 3".
func (r *Reader) placeOf(row *Row) string {
	return fmt.Sprintf("%s %d", cmp.Or(r.unit(), "line"), row.Line)
}

// uniqueID is id, or what becomes of it where it came before. What the number makes of it may have come, too.
func (r *Reader) uniqueID(id string) (string, error) {
	for {
		sum := sha256.Sum256([]byte(id))
		n, err := r.ids.Count(idset.Hash(sum[:16]))
		if err != nil || n == 1 {
			return id, err
		}
		id = fmt.Sprintf("%s#%d", id, n)
	}
}

// givenID is what the columns of the id hold, or "" where they hold nothing.
func (r *Reader) givenID(row *Row) (string, error) {
	if len(r.id) == 1 {
		return r.idPart(row, r.id[0])
	}
	parts, empty := make([]string, len(r.id)), true
	for i, name := range r.id {
		part, err := r.idPart(row, name)
		if err != nil {
			return "", err
		}
		parts[i], empty = joinedID.Replace(part), empty && part == ""
	}
	if empty {
		return "", nil
	}
	return strings.Join(parts, "|"), nil
}

// idPart is the text or whole number in a column, or "" where there is none.
func (r *Reader) idPart(row *Row, name string) (part string, err error) {
	raw, ok := row.Get(name)
	switch {
	case !ok || isNull(raw) || r.flatEmpty(raw):
		return "", nil
	case raw[0] == '"' && jsontext.ReadString(raw, &part) == nil:
		return part, nil
	}
	if m := wholeNumber.FindSubmatch(raw); m != nil {
		return string(m[1]), nil
	}
	return "", fmt.Errorf("the column %q holds %.40s; an id is a text or a whole number, and may be left out", name, raw)
}

// flatEmpty tells whether raw is an empty cell of a format that has no null.
func (r *Reader) flatEmpty(raw json.RawMessage) bool {
	return r.opt.Format.is(CSV, TSV) && string(raw) == `""`
}
