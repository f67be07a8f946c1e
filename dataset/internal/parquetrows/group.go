package parquetrows

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/erreval/erreval/dataset/internal/parquetcheck"
)

// What is held of a row group at the same time, a page and a dictionary of each column, may take pagesPerRecord times
// what a record may take.
const pagesPerRecord = 9

// valueSize is what a value of a list takes in memory at least; half a million of them are 16 MiB.
const valueSize = 32

// rowGroup reads the rows of a row group, one at a time.
type rowGroup struct {
	leaves []*leafValues
	values [][]parquet.Value // of the row at hand, by leaf
	max    int               // bytes of a row
	left   int64             // bytes that may still be held
	room   int64             // bytes that may be held in all
}

// leafValues are the values of one column.
type leafValues struct {
	name   string
	list   bool // a row may have several values
	check  *parquetcheck.Chunk
	pages  parquet.Pages
	page   parquet.Page
	reader parquet.ValueReader
	keep   bool // values point into the page
	held   int64
	buffer []parquet.Value
	at     int // first value of buffer that was not taken
}

// lookAhead is how many values of a column are looked at ahead.
const lookAhead = 64

func openGroup(f *parquet.File, in io.ReaderAt, group int, limit int) *rowGroup {
	room := pagesPerRecord * int64(limit)
	r := &rowGroup{max: limit, room: room, left: room}
	schema, meta := f.Schema(), f.Metadata().RowGroups[group].Columns
	for i, c := range f.RowGroups()[group].ColumnChunks() {
		path := meta[i].MetaData.PathInSchema
		leaf, _ := schema.Lookup(schema.Columns()[i]...)
		kind := c.Type().Kind()
		r.leaves = append(r.leaves, &leafValues{name: strings.Join(path, "."), list: leaf.MaxRepetitionLevel > 0,
			check: parquetcheck.NewChunk(in, &meta[i], leaf), pages: c.Pages(),
			keep: kind == parquet.ByteArray || kind == parquet.FixedLenByteArray})
	}
	r.values = make([][]parquet.Value, len(r.leaves))
	return r
}

// next reads a row into r.values. A row of more bytes than it may take is read over; long says so.
func (r *rowGroup) next() (long bool, err error) {
	left, ended := r.max, 0
	for i, leaf := range r.leaves {
		r.values[i] = r.values[i][:0]
		for first := true; ; first = false {
			v, err := r.peek(leaf)
			if errors.Is(err, io.EOF) {
				if first {
					ended++
				}
				break
			}
			if err != nil {
				return false, err
			}
			if !first && v.RepetitionLevel() == 0 {
				break
			}
			leaf.at++
			if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
				left -= len(v.ByteArray())
			}
			if !first {
				left -= valueSize
			}
			if left >= 0 {
				r.values[i] = append(r.values[i], *v)
			}
			if !leaf.list {
				break
			}
		}
	}
	if ended == len(r.leaves) {
		return false, io.EOF
	}
	return left < 0, nil
}

// peek is the next value of a column; io.EOF behind the last.
func (r *rowGroup) peek(leaf *leafValues) (*parquet.Value, error) {
	for leaf.at == len(leaf.buffer) {
		if leaf.reader == nil {
			if err := r.openPage(leaf); err != nil {
				return nil, err
			}
		}
		if leaf.buffer == nil {
			leaf.buffer = make([]parquet.Value, lookAhead)
		}
		leaf.at = 0
		n, err := leaf.reader.ReadValues(leaf.buffer[:lookAhead])
		leaf.buffer = leaf.buffer[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if n == 0 {
			leaf.closePage()
		}
	}
	return &leaf.buffer[leaf.at], nil
}

// openPage opens a column's next page, if there is room for it beside the pages of the other columns, and beside the
// one before, which the library still holds.
func (r *rowGroup) openPage(leaf *leafValues) error {
	size, err := leaf.check.Next(r.left)
	if errors.Is(err, parquetcheck.ErrTooLarge) {
		return &roomError{leaf.name, r.room}
	} else if errors.Is(err, io.EOF) {
		return io.EOF
	} else if err != nil {
		return fmt.Errorf("column %q: %w", leaf.name, err)
	}
	if leaf.page, err = leaf.pages.ReadPage(); err != nil {
		return err
	}
	r.left += leaf.held - size.Held - size.Dictionary
	leaf.held, leaf.reader = size.Held, leaf.page.Values()
	return nil
}

// roomError is the error of a page for which there is no room.
type roomError struct {
	column string
	room   int64 // bytes
}

func (e *roomError) Error() string {
	return fmt.Sprintf("the pages that must be held at the same time take more than %.4g MiB, with that of the column "+
		"%q; write the file again with smaller row groups or pages, or without columns that are not needed, or allow more "+
		"with --max-record", float64(e.room)/(1<<20), e.column)
}

// closePage lets go of a page. One that values point into is left to the garbage collector.
func (l *leafValues) closePage() {
	if l.page != nil && (!l.keep || l.page.Dictionary() != nil) {
		parquet.Release(l.page)
	}
	l.page, l.reader = nil, nil
}

func (r *rowGroup) close() error {
	var errs []error
	for _, l := range r.leaves {
		l.closePage()
		errs = append(errs, l.pages.Close())
	}
	return errors.Join(errs...)
}
