package xlsx

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// mergeCells is XML that stands behind rows.
func mergeCells(ranges ...string) (text string) {
	for _, r := range ranges {
		text += `</sheetData><mergeCells><mergeCell ref="` + r + `"/></mergeCells><sheetData>`
	}
	return text
}

// TestMerged: the rows of a range have the value of its first cell, but where a cell has its own.
func TestMerged(t *testing.T) {
	const rows = `<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row><row r="3"><c r="B3"><v>4</v></c></row>` +
		`<row r="4"><c r="A4"/><c r="C4"><v>5</v></c></row>`
	for name, c := range map[string]struct {
		ranges []string
		want   string
	}{
		"two columns":     {[]string{"A1:A4", "B1:B2"}, "[[1 2] [4 1] [1 5]]"},
		"a million rows":  {[]string{"A1:A1048576"}, "[[1 2] [4 1] [1 5]]"},
		"beyond all":      {[]string{"A1:A99999999999999999999"}, "[[1 2] [4 1] [1 5]]"},
		"own values":      {[]string{"B1:B9"}, "[[1 2] [4] [<nil> 5 2]]"},
		"overlapping":     {[]string{"B1:B4", "B3:B4", "A1:A3"}, "[[1 2] [4 1] [<nil> 5 4]]"},
		"an empty row":    {[]string{"A2:A4"}, "[[1 2] [4] [<nil> 5]]"},
		"an empty cell":   {[]string{"A3:A4"}, "[[1 2] [4] [<nil> 5]]"},
		"one row":         {[]string{"A1:C1"}, "[[1 2] [4] [<nil> 5]]"},
		"several columns": {[]string{"B1:D4"}, "[[1 2] [4] [<nil> 5 2]]"},
		"no ranges":       {[]string{"", "A", "A0:A3", "1:4", "A4:A1", "ZZZZ1:ZZZZ4"}, "[[1 2] [4] [<nil> 5]]"},
	} {
		got, _, err := read(zipOf(t, partsWith(rows+mergeCells(c.ranges...))...), Options{})
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s: got %v, %v, want %s", name, got, err, c.want)
		}
	}
	const wrong = `<row><c t="e"><v>#N/A</v></c></row><row><c/><c><v>1</v></c></row>`
	got, _, err := read(zipOf(t, partsWith(wrong+mergeCells("A1:A2"))...), Options{})
	const fault = "the cell A1 holds the error #N/A; mend it in Excel"
	if want := [][]string{{fault}, {fault, "1"}}; err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestMergedBounds: what a row is filled with takes no more than a row may, in no more than some columns.
func TestMergedBounds(t *testing.T) {
	const rows = `<row><c r="A1" t="s"><v>0</v></c></row><row><c r="B2" t="s"><v>0</v></c></row>` +
		`<row><c r="C3"><v>1</v></c></row>`
	data := zipOf(t, append(partsWith(rows+mergeCells("A1:A3", "B2:B3")), "xl/sharedStrings.xml",
		"<sst><si><t>"+strings.Repeat("x", 400)+"</t></si></sst>")...)
	for limit, want := range map[int][]int{2000: {1, 2, 3}, 700: {1, 0, 2}} { // no row has 800 bytes, or keeps others back
		r, err := NewReader(bytes.NewReader(data), int64(len(data)), Options{Max: limit})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range want {
			cells, err := r.Next()
			if long := new(*RowError); len(cells) != n || (n == 0) != errors.As(err, long) {
				t.Errorf("%d bytes a row: row %d has %d cells, %v", limit, i+1, len(cells), err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	var begin strings.Builder
	var ranges []string
	for i := range 2 * maxFilling {
		name := CellName(i, 1)
		fmt.Fprintf(&begin, `<c r="%s"><v>1</v></c>`, name)
		ranges = append(ranges, name+":"+CellName(i, maxRows))
	}
	many := "<row>" + begin.String() + `</row><row r="9"><c r="XFD9"><v>1</v></c></row>` + mergeCells(ranges...)
	got, _, err := read(zipOf(t, partsWith(many)...), Options{})
	if err != nil || len(got) != 2 || len(got[1]) != maxFilling+1 {
		t.Errorf("%d rows, %v", len(got), err)
	}
}
