package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/erreval/erreval/dataset/internal/parquetrows"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A row group ends at so many rows or bytes, whichever comes first: it stands in memory.
const (
	groupRows  = 100000
	groupBytes = 64 << 20
)

// parquetWriter writes one column a cell.
type parquetWriter struct {
	out     *parquet.GenericWriter[any]
	columns []headerColumn
	nodes   []parquet.Node
	row     parquet.Row
	size    int
}

// orderedGroup is a schema's root whose columns stand in their order; parquet.Group sorts them by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

type orderedField struct {
	parquet.Node
	name string
}

func (f orderedField) Name() string                           { return f.name }
func (f orderedField) Value(base reflect.Value) reflect.Value { return base }

func newParquetWriter(w io.Writer, h *header, o SinkOptions) (_ cellWriter, err error) {
	defer func() { err = unwritten(err, recover()) }()
	p := &parquetWriter{columns: h.columns}
	root := orderedGroup{}
	for _, c := range h.columns {
		node := p.node(c, o.Schema, c.values == h.rows)
		p.nodes = append(p.nodes, node)
		root.fields = append(root.fields, orderedField{node, c.name})
	}
	pages := parquet.Compression(&parquet.Zstd)
	if o.Brotli {
		pages = parquet.Compression(&parquet.Brotli)
	}
	p.out = parquet.NewGenericWriter[any](w, parquet.NewSchema("rows", root), parquet.MaxRowsPerRowGroup(groupRows),
		pages, parquet.CreatedBy("erreval", "", ""))
	return p, nil
}

func unwritten(err error, panicked any) error {
	if panicked == nil {
		return err
	}
	return fmt.Errorf("the Parquet file cannot hold these rows: %v; write JSON Lines instead", panicked)
}

// node is the type of a column: that of the source where its values fit, else the narrowest of text,
// truth value, 64-bit integer, double and JSON that holds them all.
func (p *parquetWriter) node(c headerColumn, source *Schema, full bool) parquet.Node {
	if source != nil {
		if n, ok := source.nodes[c.name]; ok && parquetrows.IsKept(n) && fits(c.kinds, n) {
			if full && n.Required() {
				return parquet.Required(parquet.Leaf(n.Type()))
			}
			return parquet.Optional(parquet.Leaf(n.Type()))
		}
	}
	return parquet.Optional(parquet.Leaf(c.parquetType()))
}

func (c *headerColumn) parquetType() parquet.Type {
	numeric := strings.HasPrefix(c.name, ColumnDiagnosis+".probabilities.") ||
		strings.HasPrefix(c.name, columnScores+".") && strings.HasSuffix(c.name, ".value")
	switch k := c.kinds; {
	case k == kindText || k == 0:
		return parquet.String().Type()
	case k == kindBool:
		return parquet.Leaf(parquet.BooleanType).Type()
	case (k == kindInt || k == kindInt|kindBig) && !numeric:
		return parquet.Int64Type
	case k&^(kindInt|kindFloat) == 0:
		return parquet.DoubleType
	}
	return parquet.JSON().Type()
}

// fits tells whether values of these kinds can stand in a column of the node's type.
func fits(k kinds, node parquet.Node) bool {
	switch parquetrows.Annotation(node).(type) {
	case *format.JsonType:
		return true
	case *format.StringType, *format.EnumType, *format.DateType, *format.TimestampType:
		return k&^kindText == 0
	}
	switch node.Type().Kind() {
	case parquet.Boolean:
		return k&^kindBool == 0
	case parquet.Float, parquet.Double:
		return k&^(kindInt|kindFloat) == 0
	}
	return k&^(kindInt|kindBig) == 0
}

func (p *parquetWriter) write(cells []json.RawMessage) (err error) {
	defer func() { err = unwritten(err, recover()) }()
	p.row = p.row[:0]
	for i, raw := range cells {
		v := parquet.NullValue()
		if raw != nil && !isNull(raw) {
			if v, err = parquetrows.ValueOf(raw, p.nodes[i]); err != nil {
				return fmt.Errorf("column %q: %.40s does not fit the column's type: %w", p.columns[i].name, raw, err)
			}
			p.size += len(raw)
		}
		level := 0
		if p.nodes[i].Optional() && !v.IsNull() {
			level = 1
		}
		p.row = append(p.row, v.Level(0, level, i))
	}
	if _, err := p.out.WriteRows([]parquet.Row{p.row}); err != nil {
		return err
	}
	if p.size < groupBytes {
		return nil
	}
	p.size = 0
	return p.out.Flush()
}

func (p *parquetWriter) close() (err error) {
	defer func() { err = unwritten(err, recover()) }()
	return errors.Join(p.out.Close())
}
