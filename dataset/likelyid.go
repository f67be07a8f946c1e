package dataset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/erreval/erreval/dataset/internal/idset"
	"github.com/erreval/erreval/internal/words"
)

// maxLikelyIDs is how many columns are watched, each with a set of its values.
const maxLikelyIDs = 4

// likelyID is a column that looks like an id by its name, and the values that it had so far.
type likelyID struct {
	column string
	seen   *idset.Set
}

// findLikelyIDs finds columns that may hold the id of a file without one, and hold no field. A file that was tagged
// keeps the ids it has, and a server takes no others.
func (r *Reader) findLikelyIDs(first *Row) {
	if len(r.opt.RecordedID) > 0 || r.opt.inAddress() || slices.Contains(first.Columns(), ColumnDiagnosis) {
		return
	}
	for _, c := range first.Columns() {
		if len(r.likelyIDs) < maxLikelyIDs && namesID(c) && !strings.Contains(c, ",") {
			r.likelyIDs = append(r.likelyIDs, likelyID{c, idset.New(r.opt.TempDir)})
		}
	}
}

// LikelyID is the first of some columns that looks like an id by its name; "" where none does.
func LikelyID(columns []string) string {
	if i := slices.IndexFunc(columns, namesID); i >= 0 {
		return columns[i]
	}
	return ""
}

// idWords are the last words of the names of columns that hold an id, besides compounds such as Zeilennummer.
var idWords = strings.Fields("id nr no num number numero número numéro index idx key uuid guid qid n°")

// namesID tells whether a column's name is like "Frage Nr.", "Question #", "item_no" or "questionId".
func namesID(name string) bool {
	name = strings.TrimRight(name, " .:")
	if strings.HasSuffix(name, "#") || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "ID") {
		return true
	}
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '°'
	})
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	return slices.Contains(idWords, last) || strings.HasSuffix(last, "nummer")
}

// watchLikelyIDs drops the columns that hold a field, and those whose value is none of an id, or came before.
func (r *Reader) watchLikelyIDs(row *Row) (err error) {
	holdsField := func(column string) bool {
		return slices.ContainsFunc(r.fields, func(f string) bool { return r.column[f] == column })
	}
	r.likelyIDs = slices.DeleteFunc(r.likelyIDs, func(l likelyID) bool {
		id, idErr := r.idPart(row, l.column)
		n := 0
		if id != "" && idErr == nil && err == nil && !holdsField(l.column) {
			sum := sha256.Sum256([]byte(id))
			n, err = l.seen.Count(idset.Hash(sum[:16]))
		}
		if n != 1 {
			err = cmp.Or(err, l.seen.Close())
		}
		return n != 1
	})
	return err
}

// likelyIDNote proposes a column for the id.
func (r *Reader) likelyIDNote() string {
	column := r.likelyIDs[0].column
	return fmt.Sprintf("no column %q; %q looks like one (--id %s takes it)", ColumnID, column, words.Quote(column))
}
