// Package parquetrows reads Parquet files row by row, each cell as JSON, in bounded memory. It makes Parquet's values
// of JSON, too.
package parquetrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/parquetcheck"
)

// File reads the rows of a Parquet file.
type File struct {
	Columns []Column // the top ones
	Row     int      // the number of the row at hand, from 1
	in      io.ReaderAt
	parts   *parquet.File
	max     int       // bytes of a row
	group   int       // the next one
	rows    *rowGroup // at hand, or nil
	leaves  int
}

// Column is a top column or a part of one.
type Column struct {
	Name  string
	Node  parquet.Node
	leaf  int // index of its first leaf
	parts []Column
}

// Open opens a file of so many bytes, whose rows may take limit bytes each. Errors are that the file is none of
// Parquet, that what it claims of its pages cannot be, or bounded.ErrColumns.
func Open(r io.ReaderAt, size int64, limit int) (p *File, err error) {
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
	p = &File{in: r, parts: f, max: limit}
	p.Columns = p.numberLeaves(f.Schema())
	if p.leaves > bounded.MaxColumns {
		return nil, bounded.ErrColumns
	}
	return p, nil
}

// numberLeaves numbers a node's leaves.
func (p *File) numberLeaves(node parquet.Node) []Column {
	var parts []Column
	for _, f := range node.Fields() {
		c := Column{Name: f.Name(), Node: f, leaf: p.leaves}
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

// Next reads the values of the next row; io.EOF behind the last. Of a row that takes more than it may, long tells, and
// it has no Cells. After any other error nothing more can be read.
func (p *File) Next() (long bool, err error) {
	if long, err = p.readRow(); err == nil {
		p.Row++
	}
	return long, err
}

func (p *File) readRow() (long bool, err error) {
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
			p.rows = openGroup(p.parts, p.in, p.group, p.max)
			p.group++
		}
		long, err = p.rows.next()
		var full *roomError
		switch {
		case errors.As(err, &full), errors.Is(err, parquetcheck.ErrLZ4):
			return false, fmt.Errorf("after row %d: %w", p.Row, err)
		case err != nil && !errors.Is(err, io.EOF):
			//nolint:errorlint // may be EOF
			return false, fmt.Errorf("after row %d the Parquet file is damaged (%v); write or fetch it again", p.Row, err)
		case err == nil:
			return long, nil
		}
		if err := p.rows.close(); err != nil {
			return false, err
		}
		p.rows = nil
	}
}

// Cells are the values of the row at hand, by Columns. An error is a bounded.TooLongError, or names the column.
func (p *File) Cells() (cells []json.RawMessage, err error) {
	defer func() { err = recovered(err, recover()) }()
	a := &assembler{leaves: slices.Clone(p.rows.values), max: p.max, left: p.max}
	cells = make([]json.RawMessage, len(p.Columns))
	for i, c := range p.Columns {
		cells[i], err = a.node(c, 0, 0)
		if err != nil && !bounded.IsTooLong(err) {
			err = fmt.Errorf("column %q: %w", c.Name, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// Describe writes the row at hand for a message, whatever its values are.
func (p *File) Describe() string { return fmt.Sprint(slices.Concat(p.rows.values...)) }

// Close lets go of the row group at hand.
func (p *File) Close() error {
	if p.rows == nil {
		return nil
	}
	return p.rows.close()
}
