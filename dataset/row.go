// Package dataset reads and writes rows: the records that every stage of erreval takes and gives.
// A row keeps all its columns, in order and verbatim; the taxonomy says which of them are the
// task's fields.
package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/taxonomy"
)

// Columns that erreval itself reads and writes.
const (
	ColumnID        = "id"
	ColumnLabels    = "labels"    // gold: a list of names or codes
	ColumnDiagnosis = "diagnosis" // what a model found
	ColumnSystem    = "system"    // the name of the system that wrote the row
	ColumnVerdicts  = "verdicts"  // of a pair: package pairwise/verdicts
)

// Row is one record.
type Row struct {
	ID     string   // given in columns (Options.ID), or made from the fields; unique within a Reader
	Values []string // the task's fields, in the taxonomy's order
	Line   int      // 1-based place in Source: line (JSONL, CSV), row (XLSX, Parquet) or item (JSON list)
	Source string   // file it came from
	// its texts are not known: an Index takes it for the row of its id, whatever text that has
	AnyText bool

	columns []column
	given   string // see GivenID
}

type column struct {
	name  string
	value json.RawMessage
}

// RowOf makes a row, without an ID, of what marshals to a JSON object.
func RowOf(v any) (*Row, error) {
	data, err := jsontext.Marshal(v)
	if err != nil {
		return nil, err
	}
	columns, err := parseObject(data)
	return &Row{columns: columns}, err
}

// Size is the bytes that the row's columns and values take, about.
func (r *Row) Size() int {
	n := 0
	for _, c := range r.columns {
		n += len(c.name) + len(c.value)
	}
	for _, v := range r.Values {
		n += len(v)
	}
	return n
}

// Get gives a column's JSON as it stands in the file. Do not change it. A name may have the line breaks that its cell
// in the header has.
func (r *Row) Get(name string) (json.RawMessage, bool) {
	i := indexOf(r.columns, name)
	if i < 0 {
		i = indexOf(r.columns, heading(name))
	}
	if i < 0 {
		return nil, false
	}
	return r.columns[i].value, true
}

// indexOf is where the column of that name stands; -1 where there is none.
func indexOf(columns []column, name string) int {
	return slices.IndexFunc(columns, func(c column) bool { return c.name == name })
}

// put replaces a column in its place, or appends it.
func put(columns []column, name string, value json.RawMessage) []column {
	if i := indexOf(columns, name); i >= 0 {
		columns[i].value = value
		return columns
	}
	return append(columns, column{name, value})
}

// Set replaces a column in its place, or appends it.
func (r *Row) Set(name string, value any) error {
	data, err := jsontext.Marshal(value)
	if err != nil {
		return fmt.Errorf("row %s: column %q: %w", r.ID, name, err)
	}
	r.columns = put(r.columns, name, data)
	return nil
}

// Columns are the names of the row's columns, in order.
func (r *Row) Columns() []string {
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.name
	}
	return names
}

// columnList says for a message which columns there are.
func (r *Row) columnList() string {
	if len(r.columns) == 0 {
		return "the row has no columns"
	}
	return "the columns are " + strings.Join(r.Columns(), ", ")
}

// NoLabel stands in a cell for "nothing is wrong" where the taxonomy has no label for it.
const NoLabel = "(none)"

// Labels is LabelsIn the gold column "labels".
func (r *Row) Labels(t *taxonomy.Taxonomy) ([]string, error) { return r.LabelsIn(ColumnLabels, t) }

// LabelsIn reads a gold column, as FindAnyCase does: a list of names or codes, or one text that joins them by
// semicolons, or NoLabel. It gives the taxonomy's names, in its order. An absent or null column, and an empty text, is
// an error, since unknown is not the same as none.
func (r *Row) LabelsIn(column string, t *taxonomy.Taxonomy) ([]string, error) {
	raw, ok := r.FindAnyCase(column)
	if !ok || isNull(raw) {
		return nil, fmt.Errorf("row %s: no column %q with gold labels; %s", r.ID, column, r.columnList())
	}
	given, err := labelList(raw)
	if err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", r.ID, column, err)
	}
	var text string
	if t.NoErrorIndex() < 0 && json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("row %s: column %q is empty; write %q for a row in which nothing is wrong", r.ID, column,
			NoLabel)
	}
	labels, err := CanonicalLabels(given, t)
	if err == nil {
		err = checkEachOnce(given, func(name string) string {
			if i, ok := t.Index(name); ok {
				return t.Types[i].Name
			}
			return name // NoLabel: CanonicalLabels knows each
		})
	}
	if err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", r.ID, column, err)
	}
	return labels, nil
}

func besideNoError(name string) error {
	return fmt.Errorf("%q stands beside other labels; it means that there is none", name)
}

// checkEachOnce finds a label that is there twice; full gives the name of what may be a code. Blank ones do not count.
func checkEachOnce(labels []string, full func(string) string) error {
	seen := map[string]bool{}
	for _, given := range labels {
		given = strings.TrimSpace(given)
		if given == "" {
			continue
		}
		name := full(given)
		if seen[name] {
			return fmt.Errorf("the label %q is there twice; keep one of them", name)
		}
		seen[name] = true
	}
	return nil
}

func labelList(raw json.RawMessage) ([]string, error) {
	var joined string
	if json.Unmarshal(raw, &joined) == nil {
		if joined = strings.TrimSpace(joined); !strings.HasPrefix(joined, "[") || !json.Valid([]byte(joined)) {
			return strings.FieldsFunc(joined, func(r rune) bool { return r == ';' || r == '\n' }), nil
		}
		raw = json.RawMessage(joined) // a list in a cell
	}
	var list []*string
	err := json.Unmarshal(raw, &list)
	if err != nil || slices.Contains(list, nil) {
		return nil, errors.New(`want a list of label names, as in ["Vague","Factual Error"], or one text "Vague; Factual Error"`)
	}
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = *name
	}
	return names, nil
}

// CanonicalLabels turns names and codes into the taxonomy's names, in its order, each once; blank ones are left out. It
// refuses an unknown name (and suggests the nearest), the no-error label beside another, and no label where there is a
// no-error label. Where there is none, NoLabel stands for no label.
func CanonicalLabels(given []string, t *taxonomy.Taxonomy) ([]string, error) {
	found := make([]bool, len(t.Types))
	n, no, none := 0, t.NoErrorIndex(), false
	for _, g := range given {
		g = strings.TrimSpace(g)
		if g == "" {
			continue
		}
		if no < 0 && g == NoLabel {
			none = true
			continue
		}
		i, ok := t.Index(g)
		if !ok {
			several := ""
			if strings.Contains(g, ",") {
				several = " Several labels are written with semicolons between them."
			}
			return nil, fmt.Errorf("%s has no label %q; did you mean %s?%s", t.ID(), g,
				quotedOr(spelling.Nearest(g, t.Labels(), 2)), several)
		}
		if !found[i] {
			n++
		}
		found[i] = true
	}
	switch {
	case none && n > 0:
		return nil, besideNoError(NoLabel)
	case no >= 0 && found[no] && n > 1:
		return nil, besideNoError(t.Types[no].Name)
	case no >= 0 && n == 0:
		return nil, fmt.Errorf("no label; write %q for a row in which nothing is wrong", t.Types[no].Name)
	}
	labels := make([]string, 0, n)
	for i, y := range t.Types {
		if found[i] {
			labels = append(labels, y.Name)
		}
	}
	return labels, nil
}

// quotedOr is "a" or "b".
func quotedOr(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return strings.Join(quoted, " or ")
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// Object is what erreval set in a column: an object, be it as the text of a cell of a flat file; nil where it set none.
func (r *Row) Object(column string) (json.RawMessage, error) {
	raw, _ := r.Get(column)
	if text := ""; !bytes.HasPrefix(raw, []byte("{")) && json.Unmarshal(raw, &text) == nil { // of null, too
		raw = json.RawMessage(strings.TrimSpace(text))
	}
	switch {
	case len(raw) == 0:
		return nil, nil
	case raw[0] != '{':
		return nil, fmt.Errorf("row %s: column %q: it is not as erreval writes it; a column of the file's own needs "+
			"another name", r.ID, column)
	}
	return raw, nil
}

// OwnText says that a column which erreval is to set holds a text of the file's own, which is lost; "" where it does
// not.
func (r *Row) OwnText(column string) string {
	if _, err := r.Object(column); err == nil {
		return ""
	}
	raw, _ := r.Get(column)
	text := strings.TrimSpace(PlainText(raw))
	return fmt.Sprintf("%s: the column %q is the file's own, and holds %q in row %s; the output has erreval's in its "+
		"place: rename it to keep it", r.Source, column, beginning(text, 40), r.ID)
}

// appendMissing appends the columns that are not there yet.
func appendMissing(columns, more []column) []column {
	there := make(map[string]bool, len(columns))
	for _, c := range columns {
		there[c.name] = true
	}
	for _, c := range more {
		if !there[c.name] {
			columns = append(columns, c)
		}
	}
	return columns
}

// TextHash is the TextSHA256 of the row's fields. Two rows are the same text exactly where it is equal.
func (r *Row) TextHash() string { return TextSHA256(r.Values) }

// TextSum is TextHash in bytes.
func (r *Row) TextSum() [sha256.Size]byte { return textSum(r.Values) }

// TextSHA256 is the SHA-256 of a task's fields (in the taxonomy's order), each with its length in front, in hex: the id
// that a row gets where it has none of its own.
func TextSHA256(values []string) string {
	sum := textSum(values)
	return hex.EncodeToString(sum[:])
}

func textSum(values []string) (sum [sha256.Size]byte) {
	h := sha256.New()
	var size [8]byte
	for _, v := range values {
		binary.BigEndian.PutUint64(size[:], uint64(len(v)))
		h.Write(size[:])
		io.WriteString(h, v)
	}
	h.Sum(sum[:0])
	return sum
}
