package xlsx

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sheetWith is a workbook of rows, given as XML, and of merged ranges.
func sheetWith(t *testing.T, rows string, ranges ...string) []byte {
	t.Helper()
	for _, r := range ranges {
		rows += `</sheetData><mergeCells><mergeCell ref="` + r + `"/></mergeCells><sheetData>`
	}
	return zipOf(t, partsWith(rows)...)
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
		got, _, err := read(sheetWith(t, rows, c.ranges...), Options{})
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s: got %v, %v, want %s", name, got, err, c.want)
		}
	}
	got, _, err := read(sheetWith(t, `<row><c t="e"><v>#N/A</v></c></row><row><c/><c><v>1</v></c></row>`, "A1:A2"), Options{})
	const fault = "the cell A1 holds the error #N/A; mend it in Excel"
	if want := [][]string{{fault}, {fault, "1"}}; err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestMergedBounds: what a row is filled with takes no more than a row may, in no more than some columns.
func TestMergedBounds(t *testing.T) {
	text := func(column string, n int) string {
		return fmt.Sprintf(`<c r="%s1" t="inlineStr"><is><t>%s</t></is></c>`, column, strings.Repeat("x", n))
	}
	data := sheetWith(t, "<row>"+text("A", 400)+text("B", 400)+`</row><row><c r="C2"><v>1</v></c></row>`, "A1:A2", "B1:B2")
	for limit, want := range map[int]int{2000: 3, 1000: 3} {
		rows, _, err := read(data, Options{Max: limit})
		if err != nil || len(rows) != 2 || len(rows[1]) != want {
			t.Errorf("%d bytes a row: %d rows, %v", limit, len(rows), err)
		}
	}
	var begin strings.Builder
	var ranges []string
	for i := range 2 * maxFilling {
		name := CellName(i, 1)
		fmt.Fprintf(&begin, `<c r="%s"><v>1</v></c>`, name)
		ranges = append(ranges, name+":"+CellName(i, maxRows))
	}
	rows, _, err := read(sheetWith(t, "<row>"+begin.String()+`</row><row r="9"><c r="XFD9"><v>1</v></c></row>`, ranges...),
		Options{})
	if err != nil || len(rows) != 2 || len(rows[1]) != maxFilling+1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
