package dataset

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/parquetcheck"
)

// Schema are the types of a Parquet file's columns, for a Parquet file made of its rows.
type Schema struct {
	nodes map[string]parquet.Node // of columns that are no groups
	lost  []string                // columns whose types are not kept, with their types
}

// Notes say which types a Parquet file made of the rows does not keep.
func (s *Schema) Notes() []string {
	if s == nil || len(s.lost) == 0 {
		return nil
	}
	return []string{"columns whose Parquet types become text or JSON: " + strings.Join(s.lost, ", ")}
}

// Schema gives the types of a Parquet file's columns, or nil for other formats.
func (r *Reader) Schema() *Schema {
	in := r.in
	for {
		o, ok := in.(*closingRecords)
		if !ok {
			break
		}
		in = o.records
	}
	if p, ok := in.(*parquetFile); ok {
		return p.schema
	}
	return nil
}

// parquetFile reads a Parquet file row by row.
type parquetFile struct {
	in     io.ReaderAt
	parts  *parquet.File
	file   string
	max    int          // bytes of a row
	group  int          // the next one
	rows   *parquetRows // of the group at hand, or nil
	root   []parquetColumn
	flat   *flatHeader
	schema *Schema
	row    int
	leaves int
	said   []string
}

// parquetColumn is a top column or a part of one.
type parquetColumn struct {
	name  string
	node  parquet.Node
	leaf  int // index of its first leaf
	parts []parquetColumn
}

func newParquet(r io.ReaderAt, size int64, file string, limit int) (p *parquetFile, err error) {
	defer func() { err = recovered(err, recover()) }()
	var f *parquet.File
	if err = parquetcheck.CheckFooter(r, size); err == nil {
		f, err = parquet.OpenFile(r, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	}
	if err != nil {
		//nolint:errorlint // may be EOF
		return nil, fmt.Errorf("not a Parquet file, or cut (%v); write or fetch it again", err)
	}
	if err := parquetcheck.CheckPages(r, size, f.Metadata(), bounded.MaxUnpacked); err != nil {
		return nil, err
	}
	p = &parquetFile{in: r, parts: f, file: file, max: limit, schema: &Schema{nodes: map[string]parquet.Node{}}}
	var names []string
	p.root = p.numberLeaves(f.Schema())
	for _, c := range p.root {
		names = append(names, c.name)
		if c.node.Leaf() && !c.node.Repeated() {
			p.schema.nodes[c.name] = c.node
		}
		if !kept(c.node) {
			p.schema.lost = append(p.schema.lost, fmt.Sprintf("%s (%s)", c.name, typeName(c.node)))
		}
	}
	if p.leaves > bounded.MaxColumns {
		return nil, bounded.ErrColumns
	}
	p.flat, err = newFlatHeader(names)
	return p, err
}

// numberLeaves numbers a node's leaves.
func (p *parquetFile) numberLeaves(node parquet.Node) []parquetColumn {
	var parts []parquetColumn
	for _, f := range node.Fields() {
		c := parquetColumn{name: f.Name(), node: f, leaf: p.leaves}
		if f.Leaf() {
			p.leaves++
		} else {
			c.parts = p.numberLeaves(f)
		}
		parts = append(parts, c)
	}
	return parts
}

// recovered turns a panic of the Parquet library on a damaged file into an error.
func recovered(err error, panicked any) error {
	if panicked == nil {
		return err
	}
	return fmt.Errorf("the Parquet file is damaged (%v); write or fetch it again", panicked)
}

func (p *parquetFile) next() (record, error) {
	long, err := p.readRow()
	if err != nil {
		return record{}, err
	}
	p.row++
	rec := record{place: p.row}
	raw := "{}"
	if long {
		err = &bounded.TooLongError{Max: p.max}
	} else if rec.columns, err = p.columns(); err != nil && !bounded.IsTooLong(err) {
		raw = fmt.Sprintf("%q", fmt.Sprint(slices.Concat(p.rows.values...)))
	}
	if err == nil && rec.size() > p.max {
		err = &bounded.TooLongError{Max: p.max}
	}
	if err != nil {
		return record{}, &LineError{File: p.file, Line: p.row, Unit: p.unit(), Raw: []byte(raw), Err: err}
	}
	return rec, nil
}

// readRow reads the values of the next row.
func (p *parquetFile) readRow() (long bool, err error) {
	defer func() { err = recovered(err, recover()) }()
	for {
		if p.rows == nil {
			groups := p.parts.RowGroups()
			for p.group < len(groups) && groups[p.group].NumRows() == 0 { // pyarrow writes such, whose chunks the library cannot open
				p.group++
			}
			if p.group == len(groups) {
				return false, io.EOF
			}
			p.rows = newParquetRows(p.parts, p.in, p.group, p.max)
			p.group++
		}
		long, err = p.rows.next()
		var full *roomError
		switch {
		case errors.As(err, &full):
			return false, fmt.Errorf("after row %d: %w", p.row, err)
		case err != nil && !errors.Is(err, io.EOF):
			//nolint:errorlint // may be EOF
			return false, fmt.Errorf("after row %d the Parquet file is damaged (%v); write or fetch it again", p.row, err)
		case err == nil:
			return long, nil
		}
		if err := p.rows.close(); err != nil {
			return false, err
		}
		p.rows = nil
	}
}

func (p *parquetFile) columns() (columns []column, err error) {
	defer func() { err = recovered(err, recover()) }()
	a := &assembler{leaves: slices.Clone(p.rows.values), max: p.max, left: p.max}
	cells := make([]any, len(p.root))
	for i, c := range p.root {
		raw, err := a.node(c, 0, 0)
		if err != nil && !bounded.IsTooLong(err) {
			err = fmt.Errorf("column %q: %w", c.name, err)
		}
		if err != nil {
			return nil, err
		}
		cells[i] = raw
	}
	return p.flat.nest(cells)
}

// assembler makes JSON of one row's values, as described in Dremel's section 4.3
// (https://research.google/pubs/pub36632/): each leaf's values in order, with their levels.
type assembler struct {
	leaves [][]parquet.Value
	max    int // bytes that the JSON may take
	left   int // bytes that it may still take
}

// charge takes n bytes of those that the row may take.
func (a *assembler) charge(n int) error {
	if a.left -= n; a.left < 0 {
		return &bounded.TooLongError{Max: a.max}
	}
	return nil
}

// node gives the JSON of a column at definition level def and repetition level rep.
func (a *assembler) node(c parquetColumn, rep, def int) (json.RawMessage, error) {
	if c.node.Optional() {
		if a.level(c) <= def {
			return json.RawMessage("null"), a.skip(c)
		}
		return a.required(c, rep, def+1)
	}
	if c.node.Repeated() {
		return a.repeated(c, rep, def, func(rep, def int) (json.RawMessage, error) { return a.required(c, rep, def) })
	}
	return a.required(c, rep, def)
}

func (a *assembler) required(c parquetColumn, rep, def int) (json.RawMessage, error) {
	switch {
	case c.node.Leaf():
		v, err := a.pop(c.leaf)
		if err != nil {
			return nil, err
		}
		return a.leaf(v, c.node)
	case logical(c.node) == "LIST" && len(c.parts) == 1 && c.parts[0].node.Repeated():
		inner := c.parts[0]
		return a.repeated(inner, rep, def, func(rep, def int) (json.RawMessage, error) {
			if !inner.node.Leaf() && len(inner.parts) == 1 && inner.name != "array" && inner.name != c.name+"_tuple" {
				return a.node(inner.parts[0], rep, def)
			}
			return a.required(inner, rep, def)
		})
	case logical(c.node) == "MAP" && len(c.parts) == 1 && len(c.parts[0].parts) == 2:
		return a.object(c.parts[0], rep, def)
	}
	out := []column{}
	for _, part := range c.parts {
		v, err := a.node(part, rep, def)
		if err == nil {
			err = a.charge(len(part.name))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, column{part.name, v})
	}
	return appendObject(nil, out), nil
}

// leaf gives the JSON of a value. A text of control characters, which take six bytes each there, is looked at first.
func (a *assembler) leaf(v parquet.Value, node parquet.Node) (json.RawMessage, error) {
	if k := v.Kind(); (k == parquet.ByteArray || k == parquet.FixedLenByteArray) && 6*len(v.ByteArray()) > a.left {
		n := 0
		for _, b := range v.ByteArray() {
			if n++; b < ' ' && b != '\n' && b != '\r' && b != '\t' {
				n += len("\\u000")
			}
		}
		if n > a.left {
			return nil, &bounded.TooLongError{Max: a.max}
		}
	}
	raw, err := leafJSON(v, node)
	if err != nil {
		return nil, err
	}
	return raw, a.charge(len(raw))
}

// repeated gives a list of what item gives.
func (a *assembler) repeated(c parquetColumn, rep, def int, item func(rep, def int) (json.RawMessage,
	error)) (json.RawMessage, error) {
	out := []byte{'['}
	if a.level(c) <= def {
		return json.RawMessage("[]"), a.skip(c)
	}
	for first := true; first || a.again(c, rep+1); first = false {
		v, err := item(rep+1, def+1)
		if err != nil {
			return nil, err
		}
		if !first {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']'), nil
}

// object gives the object of a map's keys and values.
func (a *assembler) object(c parquetColumn, rep, def int) (json.RawMessage, error) {
	var out []column
	_, err := a.repeated(c, rep, def, func(rep, def int) (json.RawMessage, error) {
		k, err := a.node(c.parts[0], rep, def)
		if err != nil {
			return nil, err
		}
		v, err := a.node(c.parts[1], rep, def)
		name, ok := unquote(k)
		if !ok {
			name = string(k)
		}
		if slices.ContainsFunc(out, func(d column) bool { return d.name == name }) {
			return nil, errors.Join(err, fmt.Errorf("the key %q is there twice", name))
		}
		out = append(out, column{name, v})
		return nil, err
	})
	return appendObject(nil, out), err
}

// level is the definition level of the next value under c.
func (a *assembler) level(c parquetColumn) int {
	if values := a.leaves[c.leaf]; len(values) > 0 {
		return values[0].DefinitionLevel()
	}
	return -1
}

// again tells whether the next value under c is one more item of the list that is being read.
func (a *assembler) again(c parquetColumn, rep int) bool {
	values := a.leaves[c.leaf]
	return len(values) > 0 && values[0].RepetitionLevel() == rep
}

// skip takes one value from each leaf under c.
func (a *assembler) skip(c parquetColumn) error {
	if c.node.Leaf() {
		_, err := a.pop(c.leaf)
		return err
	}
	for _, part := range c.parts {
		if err := a.skip(part); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembler) pop(leaf int) (parquet.Value, error) {
	values := a.leaves[leaf]
	if len(values) == 0 {
		return parquet.Value{}, errors.New("a value is missing; the file is damaged")
	}
	a.leaves[leaf] = values[1:]
	return values[0], nil
}

// logical is the name of a node's logical type, or of the older converted type, without parameters.
func logical(node parquet.Node) string {
	t := node.Type()
	if l := t.LogicalType(); l != nil {
		name, _, _ := strings.Cut(l.String(), "(")
		return name
	}
	return ""
}

// leafJSON is a value as JSON: texts, numbers and truth values as they are, dates and times in ISO 8601,
// bytes that are no text in base64. NaN and infinity have no JSON, and are refused.
func leafJSON(v parquet.Value, node parquet.Node) (json.RawMessage, error) {
	if v.IsNull() {
		return json.RawMessage("null"), nil
	}
	if raw, err, ok := logicalJSON(v, node); ok {
		return raw, err
	}
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.AppendBool(nil, v.Boolean()), nil
	case parquet.Int32:
		return strconv.AppendInt(nil, int64(v.Int32()), 10), nil
	case parquet.Int64:
		return strconv.AppendInt(nil, v.Int64(), 10), nil
	case parquet.Float:
		return floatJSON(float64(v.Float()), 32)
	case parquet.Double:
		return floatJSON(v.Double(), 64)
	}
	if v.Kind() == parquet.ByteArray && utf8.Valid(v.ByteArray()) {
		return quote(string(v.ByteArray())), nil
	}
	return quote(base64.StdEncoding.EncodeToString(v.Bytes())), nil
}

// floatJSON always has a point or an exponent, so that the column's type can be told.
func floatJSON(f float64, bits int) (json.RawMessage, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no number that JSON has; write null for unknown", f)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e16) {
		format = 'e'
	}
	text := strconv.FormatFloat(f, format, -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text), nil
}

func (p *parquetFile) unit() string    { return "row" }
func (p *parquetFile) notes() []string { return p.said }

func (p *parquetFile) close() error {
	if p.rows == nil {
		return nil
	}
	return p.rows.close()
}
