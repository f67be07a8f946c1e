package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// zipOf is a ZIP file of parts: name, content, name, content …
func zipOf(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err == nil {
			_, err = io.WriteString(w, parts[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// partsWith are the parts of a workbook with one sheet of the rows given as XML.
func partsWith(rows string) (parts []string) {
	for _, p := range workbookParts {
		parts = append(parts, p.name, p.content)
	}
	return append(parts, "xl/worksheets/sheet1.xml", sheetHead+"<sheetData>"+rows+"</sheetData></worksheet>")
}

// excel is a workbook of the witness, with two rows and what change does to them.
func excel(t testing.TB, change func(*excelize.File) error) []byte {
	t.Helper()
	f := excelize.NewFile()
	err := errors.Join(f.SetSheetRow("Sheet1", "A1", &[]any{"a", "b", "c"}), f.SetSheetRow("Sheet1", "A2",
		&[]any{"x", "y", "z"}))
	var out bytes.Buffer
	if err = errors.Join(err, change(f), f.Write(&out)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read gives all rows of a sheet as texts, errors of cells among them, and the error that ended it.
func read(data []byte, o Options) (rows [][]string, notes []string, err error) {
	r, err := NewReader(bytes.NewReader(data), int64(len(data)), o)
	if err != nil {
		return nil, nil, err
	}
	for {
		cells, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, r.Notes(), r.Close()
		}
		if err != nil {
			return rows, r.Notes(), errors.Join(err, r.Close())
		}
		var row []string
		for _, c := range cells {
			switch v := c.Value.(type) {
			case json.RawMessage:
				row = append(row, string(v))
			case nil:
				row = append(row, fmt.Sprint(c.Err))
			default:
				row = append(row, fmt.Sprintf("%q", v))
			}
		}
		rows = append(rows, row)
	}
}

// TestFaults: files that are no workbooks, or damaged ones.
func TestFaults(t *testing.T) {
	whole := zipOf(t, partsWith("")...)
	for name, c := range map[string]struct {
		data []byte
		o    Options
		want string
	}{
		"cut": {whole[:len(whole)/2], Options{},
			"not a workbook, or cut (zip: not a valid zip file); open and save it in Excel, or fetch it again"},
		"zip":   {zipOf(t, "x.txt", "x"), Options{}, "the workbook has no part xl/workbook.xml; it is damaged, or none of Excel"},
		"sheet": {whole, Options{Sheet: "x"}, `there is no sheet "x"; the sheets are ["SHEET"]`},
		"bomb": {zipOf(t, partsWith(strings.Repeat(" ", bounded.MaxUnpacked+1))...), Options{},
			"the part xl/worksheets/sheet1.xml unpacks to "},
		"xml": {zipOf(t, partsWith("<row><c></row>")...), Options{}, "row 1: after row 1 the sheet is damaged ("},
		"text": {zipOf(t, append(partsWith(""), "xl/sharedStrings.xml", "<sst><si></x>")...), Options{},
			"its shared texts are damaged: "},
	} {
		if _, _, err := read(c.data, c.o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// TestCellFaults: a cell that cannot be read leaves the others of its row.
func TestCellFaults(t *testing.T) {
	rows, _, err := read(zipOf(t,
		partsWith(`<row><c t="e"><v>#N/A</v></c><c><v>1</v></c></row><row><c t="s"><v>7</v></c></row>`+
			`<row/><row><c><f>1/0</f></c><c><f>A1</f><v></v></c><c><f>A1</f><v/></c><c t="str"><f>A1</f><v></v></c></row><row r="9"><c r="B9"><v>one</v></c></row>`)...), Options{})
	want := [][]string{{"the cell A1 holds the error #N/A; mend it in Excel", "1"},
		{"the workbook has no text 7; it is damaged"},
		{"the cell A4 is a formula without its result; open and save the workbook in Excel",
			"the cell B4 is a formula without its result; open and save the workbook in Excel",
			"the cell C4 is a formula without its result; open and save the workbook in Excel", `""`},
		{`the cell B9 holds "one", which is no number; mend it in Excel`}}
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("got %q, %v", rows, err)
	}
}

func TestNotes(t *testing.T) {
	for want, data := range map[string][]byte{
		`reading the sheet "Sheet1"; the workbook also has ["other"] (--sheet names another)`: excel(t,
			func(f *excelize.File) error {
				_, err := f.NewSheet("other")
				return err
			}),
		`the hidden sheets ["other"] are not read (--sheet names one)|` +
			`reading the sheet "Sheet1"; the workbook also has ["other"] (--sheet names another)`: excel(t,
			func(f *excelize.File) error {
				_, err := f.NewSheet("other")
				return errors.Join(err, f.SetSheetVisible("other", false))
			}),
		`the sheet "Sheet1" is hidden; its rows are read all the same|` +
			`reading the sheet "Sheet1"; the workbook also has ["other"] (--sheet names another)`: excel(t,
			func(f *excelize.File) error {
				i, err := f.NewSheet("other")
				f.SetActiveSheet(i)
				return errors.Join(err, f.SetSheetVisible("Sheet1", false, true))
			}),
		"1 merged range is not filled: only the first cell of each has its value; unmerge them and fill the others in Excel": excel(t,
			func(f *excelize.File) error { return f.MergeCell("Sheet1", "B1", "C1") }),
		"": excel(t, func(f *excelize.File) error { return f.MergeCell("Sheet1", "C1", "C2") }),
		"the workbook has macros; they are not run, and not kept in outputs": zipOf(t,
			append(partsWith(""), "xl/vbaProject.bin", "x")...),
	} {
		if _, notes, err := read(data, Options{}); err != nil || strings.Join(notes, "|") != want {
			t.Errorf("got %q, %v, want %q", notes, err, want)
		}
	}
}

// TestExcelReadsOurs: excelize, which is not ours, sees the texts, and no formula; and so do we.
func TestExcelReadsOurs(t *testing.T) {
	names, values := []string{}, []any{Quoted("=1+1"), "a\r\nb", "\x01", "_x0041_", " a ", Number("1.5"), true, nil,
		Marked("12345678901234567890")}
	for i := range values {
		names = append(names, fmt.Sprint("c", i))
	}
	names[1] = "=c1"
	var out bytes.Buffer
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i] = Column{Name: name, Width: 40 * i, Quoted: name == "=c1", Folded: name == "c6"}
	}
	w, err := NewWriter(&out, "mine", columns)
	if err == nil {
		err = errors.Join(w.Write(values), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := excelize.OpenReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.GetRows("mine", excelize.Options{RawCellValue: true})
	want := [][]string{names, {"=1+1", "a\r\nb", "\x01", "_x0041_", " a ", "1.5", "1", "", "12345678901234567890"}}
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
	formula, err := f.GetCellFormula("mine", "A2")
	style, err2 := f.GetCellStyle("mine", "A2")
	if formula != "" || errors.Join(err, err2) != nil || style != styleQuoted {
		t.Errorf("formula %q in style %d, %v", formula, style, err)
	}
	for cell, want := range map[string]int{"A1": styleHeader, "B1": styleQuoted, "B2": stylePlain, "I2": styleMarked} {
		if style, err := f.GetCellStyle("mine", cell); err != nil || style != want {
			t.Errorf("%s has style %d, %v, want %d", cell, style, err, want)
		}
	}
	for column, want := range map[string]float64{"A": 10, "B": 40, "C": 60} {
		if width, err := f.GetColWidth("mine", column); err != nil || width != want {
			t.Errorf("the column %s is %v wide, %v, want %v", column, width, err, want)
		}
	}
	for column, want := range map[string]bool{"F": false, "G": true, "H": false} {
		seen, err := f.GetColVisible("mine", column)
		level, err2 := f.GetColOutlineLevel("mine", column)
		if errors.Join(err, err2) != nil || seen == want || (level == 1) != want {
			t.Errorf("the column %s is visible: %v, at level %d, %v", column, seen, level, err)
		}
	}
	for _, style := range []int{stylePlain, styleHeader, styleQuoted, styleMarked} {
		if a := f.Styles.CellXfs.Xf[style].Alignment; a == nil || !a.WrapText || a.Vertical != "top" {
			t.Errorf("style %d: texts are not wrapped: %+v", style, a)
		}
	}
	if fill := f.Styles.Fills.Fill[*f.Styles.CellXfs.Xf[styleMarked].FillID]; fill.PatternFill.FgColor.RGB != "FFFFEB9C" {
		t.Errorf("no yellow: %+v", fill.PatternFill.FgColor)
	}
	if quoted, err := f.GetStyle(styleQuoted); err != nil || quoted.Font != nil && quoted.Font.Bold ||
		f.Styles.CellXfs.Xf[styleQuoted].QuotePrefix == nil || !*f.Styles.CellXfs.Xf[styleQuoted].QuotePrefix {
		t.Errorf("no apostrophe: %+v, %v", quoted, err)
	}
	rows, _, err := read(out.Bytes(), Options{})
	ours := []string{`"=1+1"`, `"a\r\nb"`, `"\x01"`, `"_x0041_"`, `" a "`, "1.5", "true", `"12345678901234567890"`}
	if err != nil || len(rows) != 2 || !slices.Equal(rows[1], ours) {
		t.Errorf("got %q, %v", rows, err)
	}
}

// TestUnwritable: what Excel does not take is an error.
func TestUnwritable(t *testing.T) {
	for want, do := range map[string]func(*Writer) error{
		`column "a" has 32768 characters, but a cell of Excel holds 32767`: func(w *Writer) error { return w.Write([]any{strings.Repeat("x", maxCell+1)}) },
		`column "a" has a int, which is no value of a cell`:                func(w *Writer) error { return w.Write([]any{1}) },
		"a sheet has at most 1048576 rows":                                 func(w *Writer) error { w.row = maxRows; return w.Write([]any{"x"}) },
	} {
		w, err := NewWriter(io.Discard, "", []Column{{Name: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := do(w); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := NewWriter(io.Discard, "a/b", nil); err == nil || !strings.HasPrefix(err.Error(),
		`the sheet name "a/b" is not one`) {
		t.Errorf("got %v", err)
	}
	_, err := NewWriter(io.Discard, "", make([]Column, maxColumns+1))
	if err == nil || !strings.HasPrefix(err.Error(),
		"16385 columns") {
		t.Errorf("got %v", err)
	}
}

// FuzzSheet tries the XML of a sheet, which a fuzzer rarely reaches through the ZIP file around it: no crash, rows in
// order, cells within a sheet, values of the types that Cell names.
func FuzzSheet(f *testing.F) {
	f.Add(`<row r="1"><c r="A1" t="inlineStr"><is><t>question</t></is></c><c t="str"><v>answer</v></c></row><row><c r="B2"><v>1</v></c><c t="b"><v>1</v></c></row></sheetData><mergeCells><mergeCell ref="A1:A2"/></mergeCells>`)
	f.Add(`<row r="1"><c r="A1"><v>1</v></c><c r="C1"><v>3</v></c></row><row r="2"><c r="B2"><v>2</v></c></row><row r="9"><c r="B9"><v>x</v></c></row></sheetData><mergeCells><mergeCell ref="A1:A1048576"/><mergeCell ref="A2:B99999999999"/><mergeCell ref="C1:C9"/><mergeCell ref="C1:C2"/></mergeCells><sheetData>`)
	f.Add(`<row r="1"><c r="A1"><f>1</f></c><c t="e"><v>#N/A</v></c><c t="s"><v>7</v></c></row><row r="9"><c r="XFE9"><v>x</v></c></row>`)
	f.Fuzz(func(t *testing.T, rows string) {
		data := zipOf(t, partsWith(rows)...)
		r, err := NewReader(bytes.NewReader(data), int64(len(data)), Options{})
		if err != nil {
			t.Fatal(err) // the parts around the sheet are whole
		}
		last := 0
		for range 10000 {
			cells, err := r.Next()
			if err != nil {
				break
			}
			if r.Row() <= last || len(cells) == 0 {
				t.Fatalf("row %d with %d cells behind row %d", r.Row(), len(cells), last)
			}
			last = r.Row()
			checkCells(t, cells)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func checkCells(t *testing.T, cells []Cell) {
	t.Helper()
	for _, c := range cells {
		switch v := c.Value.(type) {
		case nil, string:
		case json.RawMessage:
			if !json.Valid(v) {
				t.Errorf("column %d: %q is no JSON", c.Column, v)
			}
		default:
			t.Errorf("column %d: %T", c.Column, v)
		}
		if c.Column < 0 || c.Value != nil && c.Err != nil {
			t.Errorf("%+v", c)
		}
	}
}

// Of two parts of one name, programs read one or the other.
func TestTwoPartsOfOneName(t *testing.T) {
	for _, name := range []string{"xl/worksheets/sheet1.xml", "XL/Worksheets/sheet1.XML"} {
		book := zipOf(t, append(partsWith(""), name, sheetHead+"<sheetData></sheetData></worksheet>")...)
		_, err := openWorkbook(bytes.NewReader(book), int64(len(book)), t.TempDir(), 1<<20)
		if err == nil || !strings.Contains(err.Error(), "two parts of the name") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
