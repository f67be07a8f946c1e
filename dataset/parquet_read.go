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
			for p.group < len(groups) && groups[p.group].NumRows() == 0 {
				p.group++ // pyarrow writes such, whose chunks the library cannot open
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
		case errors.As(err, &full), errors.Is(err, parquetcheck.ErrLZ4):
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
