package dataset

import (
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/parquetrows"
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
	if p, ok := innermost(r.in).(*parquetFile); ok {
		return p.schema
	}
	return nil
}

// parquetFile reads a Parquet file row by row.
type parquetFile struct {
	in     *parquetrows.File
	max    int // bytes of a row
	flat   *flatHeader
	schema *Schema
	noNotes
}

func newParquet(r io.ReaderAt, size int64, o Options) (records, error) {
	in, err := parquetrows.Open(r, size, o.maxRecord())
	if err != nil {
		return nil, err
	}
	p := &parquetFile{in: in, max: o.maxRecord(), schema: &Schema{nodes: map[string]parquet.Node{}}}
	var names []string
	for _, c := range in.Columns {
		names = append(names, c.Name)
		if c.Node.Leaf() && !c.Node.Repeated() {
			p.schema.nodes[c.Name] = c.Node
		}
		if !parquetrows.IsKept(c.Node) {
			p.schema.lost = append(p.schema.lost, fmt.Sprintf("%s (%s)", c.Name, parquetrows.TypeName(c.Node)))
		}
	}
	p.flat, err = newFlatHeader(names)
	return p, err
}

func (p *parquetFile) next() (record, error) {
	long, err := p.in.Next()
	if err != nil {
		return record{}, err
	}
	rec := record{place: p.in.Row}
	if !long {
		rec.columns, rec.err = p.columns()
	}
	if long || rec.size() > p.max {
		rec.columns, rec.err = nil, &bounded.TooLongError{Max: p.max}
	} else if rec.err != nil && !bounded.IsTooLong(rec.err) {
		rec.raw = fmt.Appendf(nil, "%q", p.in.Describe())
	}
	return rec, nil
}

func (p *parquetFile) columns() ([]column, error) {
	values, err := p.in.Cells()
	if err != nil {
		return nil, err
	}
	cells := make([]any, len(values))
	for i, v := range values {
		cells[i] = v
	}
	return p.flat.nest(cells)
}

func (p *parquetFile) close() error { return p.in.Close() }
