package xlsx

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
)

// What is filled of merged ranges. Beyond these limits cells stay empty, as they are in the file.
const (
	maxMerged  = 1 << 19 // ranges of a sheet
	maxFilling = 256     // ranges that one row is in
)

// mergedRange is the first column of merged cells, of which only the first has a value in the file.
type mergedRange struct{ column, first, last int } // rows from 1

// filling is a range that has begun, and its first cell.
type filling struct {
	mergedRange
	cell Cell
}

// merged gives the empty cells of merged ranges the value of their first one.
type merged struct {
	ranges []mergedRange // that have not begun, by their first row
	known  int           // how many there were
	begun  []filling
}

// readMerged reads the merged ranges of a sheet, which its part has behind all rows. It stops at what is damaged:
// whoever reads the rows says so.
func (b *workbook) readMerged(part string) (*merged, error) {
	in, err := b.openPart(part)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	m := &merged{}
	dec := xml.NewDecoder(newMeter(in, "sheetData", 0)) // without the rows
	for len(m.ranges) < maxMerged {
		token, err := dec.RawToken()
		if err != nil {
			break
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "mergeCell" {
			continue
		}
		if r := parseRange(attribute(start, "ref")); r.column >= 0 && 0 < r.first && r.first < r.last {
			m.ranges = append(m.ranges, r)
		}
	}
	m.known = len(m.ranges)
	slices.SortStableFunc(m.ranges, func(a, b mergedRange) int { return cmp.Compare(a.first, b.first) })
	return m, nil
}

// parseRange reads a range like "B2:C9"; its rows are 0 where it is none.
func parseRange(ref string) mergedRange {
	from, to, _ := strings.Cut(ref, ":")
	row := func(cell string) int {
		n, _ := strconv.Atoi(strings.TrimLeft(cell, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		return n
	}
	return mergedRange{columnIndex(from), row(from), row(to)}
}

// fill fills the cells of a row, which are in order. It tells how many bytes that took.
func (m *merged) fill(row, limit int, cells []Cell) (filled []Cell, size int) {
	m.begun = slices.DeleteFunc(m.begun, func(f filling) bool { return f.last < row })
	m.begin(row, limit, cells)
	filled = cells
	for _, f := range m.begun {
		i, there := findCell(cells, f.column)
		switch {
		case f.first == row || there && !cells[i].empty():
			continue
		case there:
			filled[i] = f.cell
		default:
			filled = append(filled, f.cell)
		}
		size += f.cell.size()
	}
	return filled, size
}

// begin takes the values of the ranges that begin in a row, as far as a row may hold them all.
func (m *merged) begin(row, limit int, cells []Cell) {
	for _, f := range m.begun {
		limit -= f.cell.size()
	}
	for ; len(m.ranges) > 0 && m.ranges[0].first <= row; m.ranges = m.ranges[1:] {
		r := m.ranges[0]
		i, there := findCell(cells, r.column)
		if r.first < row || !there || cells[i].empty() || len(m.begun) == maxFilling || cells[i].size() > limit {
			continue
		}
		cell := cells[i]
		cell.Merged = row
		limit -= cell.size()
		m.begun = slices.DeleteFunc(m.begun, func(f filling) bool { return f.column == r.column }) // of ranges that overlap
		m.begun = append(m.begun, filling{r, cell})
	}
}

func findCell(cells []Cell, column int) (int, bool) {
	return slices.BinarySearchFunc(cells, column, func(c Cell, column int) int { return cmp.Compare(c.Column, column) })
}

func (c *Cell) empty() bool { return c.Value == nil && c.Err == nil }

// size is how many bytes its value takes.
func (c *Cell) size() int {
	switch v := c.Value.(type) {
	case string:
		return len(v)
	case json.RawMessage:
		return len(v)
	}
	return 0
}
