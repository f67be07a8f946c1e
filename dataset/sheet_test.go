package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// TestSheets: rows in a later sheet are found, and a header below titles; titles are never rows.
func TestSheets(t *testing.T) {
	titles := []any{"Results of the pilot"}
	table := [][]any{{"Nr", "Context", "Generated question", "answer"}, {1, "p", "q", "a"}, {2, "p", "q", "a"}}
	for _, c := range []struct {
		name   string
		sheets [][][]any
		opt    Options
		rows   int
		want   string // note of the sheet or the header, or the error
	}{
		{"later sheet", [][][]any{{}, table}, Options{}, 2,
			`reading the sheet "Sheet2", as those before it have no row, or not the columns; the workbook also has ["Sheet1"]`},
		{"header alone", [][][]any{table[:1], table}, Options{}, 2, `reading the sheet "Sheet2", as those before`},
		{"wide cover", [][][]any{{titles, {"Author", "H"}, {"Date", "d"}}, {{"Nr", "Foo", "Bar"}, {1, "p", "q"}}}, Options{}, 0,
			`no columns "question", "passage" in row 1 of the sheet "Sheet2" (the workbook also has ["Sheet1"]`},
		{"wide cover above the columns", [][][]any{{titles, {"Author", "H"}, {"Date", "today"}}, table}, Options{}, 2,
			`(--sheet names another)|wide cover above the columns: reading question`},
		{"cover", [][][]any{{titles, {"ask before changing"}}, table}, Options{}, 2, `reading the sheet "Sheet2", as those before`},
		{"mapped on a later sheet", [][][]any{{{"F", "old"}, {"q", "p"}}, {{"F", "T"}, {"q", "p"}}},
			Options{Map: map[string]string{"question": "F", "passage": "T"}}, 1, `reading the sheet "Sheet2", as those before`},
		{"mapped nowhere", [][][]any{{{"F", "old"}, {"q", "p"}}, {{"F", "T"}, {"q", "p"}}},
			Options{Map: map[string]string{"question": "F", "passage": "X"}}, 0, `no column "X" in row 1 of the sheet "Sheet1"`},
		{"named", [][][]any{{}, table}, Options{Sheet: "Sheet1"}, 0, "there is no row in it"},
		{"titles", [][][]any{{titles, {}, {"made on", 45000}, table[0], table[1]}}, Options{}, 1,
			"the header is row 4; what stands above it is left out"},
		{"mapped", [][][]any{{titles, {"k", "text", "F"}, {1, "p", "q"}}}, Options{Map: map[string]string{"question": "F"}}, 1,
			"the header is row 2; "},
		{"unknown names", [][][]any{{titles, {"Nr", "Foo", "Bar"}, {1, "p", "q"}}, table}, Options{}, 0,
			`unknown names: no columns "question", "passage" in row 2 of the sheet "Sheet1" (the workbook also has ["Sheet2"]; ` +
				"--sheet names another); the columns are Nr, Foo, Bar; name those that hold them, as in: --map "},
		{"wide title", [][][]any{{{"Quiz", "v3", "2026", "draft"}, {"No", "F", "T"}, {1, "q", "p"}}},
			Options{Map: map[string]string{"question": "F", "passage": "T"}}, 1, "the header is row 2; "},
		{"groups of columns", [][][]any{{titles, {"", "Item", "", "", "Marks"}, {"Nr", "Foo\n(all)", "Bar", "x", "y"},
			{1, "q", "p", 2, 3}}}, Options{}, 0, `in row 3 of the sheet "Sheet1"; the columns are Nr, Foo (all), Bar, x, y; `},
		{"heading of two lines", [][][]any{{{"Nr", "Quiz \nquestion", "Wall\ntext"}, {1, "q", "p"}}},
			Options{Map: map[string]string{"passage": "Wall text"}}, 1, `reading question from "Quiz question"`},
		{"line break in the name", [][][]any{{{"Nr", "Quiz \nquestion", "Wall\ntext"}, {1, "q", "p"}}}, Options{
			ID: []string{"Nr"}, Map: map[string]string{"question": "Quiz \nquestion", "passage": "Wall\ntext"}}, 1, "|<nil>"},
		{"line break in the record", [][][]any{{{"My\nid", "F", "Wall\ntext"}, {1, "q", "p"}}}, Options{
			RecordedID: []string{"My\nid"}, Recorded: map[string]string{"question": "F", "passage": "Wall\ntext"}}, 1, "|<nil>"},
		{"table whose cells are names", [][][]any{{{"Frage", "Absatz"}, {"question", "passage"}}}, Options{}, 0,
			`table whose cells are names: no columns "question", "passage" in row 1 of the sheet "Sheet1"; the columns are Frage, `},
	} {
		c.opt.Taxonomy, c.opt.Format = questions(t), Format{Name: XLSX}
		data := workbookOf(t, func(f *excelize.File) error { return putSheets(f, c.sheets) })
		r, err := NewSource(bytes.NewReader(data), c.name, c.opt)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		rows, bad, err := readErr(r)
		got := fmt.Sprint(strings.Join(r.Notes(), "|"), "|", err)
		if rows != c.rows || len(bad) > 0 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d rows, %v\ngot  %s\nwant %s", c.name, rows, bad, got, c.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSheetWithoutPart: a later sheet that cannot be opened is no fault of the others.
func TestSheetWithoutPart(t *testing.T) {
	for name, sheets := range map[string][][][]any{
		"cover": {{{"Author", "H"}, {"Date", "d"}}, {{"x"}}, {{"Nr", "question", "passage"}, {1, "q", "p"}}},
		"table": {{{"question", "note"}, {"q", "n"}}, {{"x"}}},
	} {
		data := workbookOf(t, func(f *excelize.File) error { return putSheets(f, sheets) })
		in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range in.File {
			if f.Name != "xl/worksheets/sheet2.xml" {
				err = errors.Join(err, w.Copy(f))
			}
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		r, err := NewSource(bytes.NewReader(out.Bytes()), name, Options{Taxonomy: questions(t), Format: Format{Name: XLSX}})
		if err != nil {
			t.Fatal(err)
		}
		rows, _, err := readErr(r)
		if missing := new(ColumnsError); (name == "cover") != (rows == 1) || (name == "table") != errors.As(err, &missing) {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
	}
}

// TestMergedTitle: a title over several columns is no loss.
func TestMergedTitle(t *testing.T) {
	data := workbookOf(t, func(f *excelize.File) error {
		return errors.Join(putSheets(f, [][][]any{{{"Results"}, {"question", "passage"}, {"q", "p"}}}),
			f.MergeCell("Sheet1", "A1", "B1"))
	})
	r, err := NewSource(bytes.NewReader(data), "f", Options{Taxonomy: questions(t), Format: Format{Name: XLSX}})
	if err != nil {
		t.Fatal(err)
	}
	rows, bad, err := readErr(r)
	if rows != 1 || len(bad) > 0 || err != nil || strings.Contains(strings.Join(r.Notes(), "|"), "merged") {
		t.Errorf("%d rows, %v, %v: %s", rows, bad, err, r.Notes())
	}
}

// TestMarkedLabels: labels stand on yellow where an error was not judged, beside its name; the probabilities are folded.
func TestMarkedLabels(t *testing.T) {
	full := &Row{columns: []column{{"question", json.RawMessage(`"q"`)}}}
	left := &Row{columns: slices.Clone(full.columns)}
	d := &Diagnosis{Labels: []string{"No Error"}, Probabilities: Probabilities{{"No Error", 0.9}}, Model: "m@1"}
	err := full.SetDiagnosis(d)
	empty := &Row{columns: append(slices.Clone(full.columns), column{"diagnosis.labels", json.RawMessage(`"Vague"`)},
		column{"diagnosis.not_judged", json.RawMessage(`""`)})}
	d.NotJudged = []string{"Off Target Answer"}
	if err = errors.Join(err, left.SetDiagnosis(d)); err != nil {
		t.Fatal(err)
	}
	f, err := excelize.OpenReader(bytes.NewReader(write(t, []*Row{full, left, empty}, Format{Name: XLSX}, SinkOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.GetRows("rows")
	want := [][]string{{"question", "diagnosis.labels", "diagnosis.not_judged", "diagnosis.probabilities.No Error",
		"diagnosis.model"}, {"q", "No Error", "", "0.9", "m@1"}, {"q", "No Error", "Off Target Answer", "0.9", "m@1"},
		{"q", "Vague", "", "0.9", "m@1"}}
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, %v", got, err)
	}
	for cell, marked := range map[string]bool{"B2": false, "C2": false, "A3": false, "B3": true, "C3": true, "D3": false,
		"B4": false, "C4": false} {
		style, err := f.GetCellStyle("rows", cell)
		if fill := f.Styles.CellXfs.Xf[style].FillID; err != nil || (*fill > 0) != marked {
			t.Errorf("%s has fill %d, %v", cell, *fill, err)
		}
	}
	for column, want := range map[string]bool{"B": true, "C": true, "D": false, "E": false} {
		if seen, err := f.GetColVisible("rows", column); err != nil || seen != want {
			t.Errorf("column %s: seen %v, %v", column, seen, err)
		}
	}
}

// TestMergedCells: what people merged over rows is in all of them, and no title or header becomes a row's value.
func TestMergedCells(t *testing.T) {
	titles, head := []any{"Pilot", nil, nil, nil, "of it"}, []any{"Nr", "passage", "question", "answer", "system"}
	data := workbookOf(t, func(f *excelize.File) error {
		err := putSheets(f, [][][]any{{titles, {}, head, {1, "p1", "q1", "a", "A"}, {2, nil, "q2", "a"},
			{3, "p3", "q3", "a"}}})
		for _, merge := range [][2]string{{"A1", "C1"}, {"E1", "E2"}, {"B4", "B5"}, {"D3", "D9"}, {"E4", "E6"}} {
			err = errors.Join(err, f.MergeCell("Sheet1", merge[0], merge[1]))
		}
		return err
	})
	r, err := NewSource(bytes.NewReader(data), "in.xlsx", Options{Taxonomy: questions(t), Format: Format{Name: XLSX}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	rows, _ := readAll(t, r)
	for _, row := range rows {
		system, _ := row.Get("system")
		got = append(got, strings.Join(row.Values, " ")+" "+string(system))
	}
	want := []string{`q1  p1 "A"`, `q2  p1 "A"`, `q3  p3 "A"`}
	if notes := strings.Join(r.Notes(), "|"); !slices.Equal(got, want) ||
		!strings.Contains(notes, "merged cells are filled: 3 cells") || !strings.Contains(notes, "the header is row 3") {
		t.Errorf("got %q, want %q\nnotes %s", got, want, notes)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// putSheets makes the sheets Sheet1, Sheet2 … those given.
func putSheets(f *excelize.File, sheets [][][]any) error {
	for range 3 {
		if err := f.RemoveRow("Sheet1", 1); err != nil {
			return err
		}
	}
	for i, rows := range sheets {
		name := fmt.Sprintf("Sheet%d", i+1)
		if _, err := f.NewSheet(name); err != nil {
			return err
		}
		for j, row := range rows {
			if err := f.SetSheetRow(name, fmt.Sprintf("A%d", j+1), &row); err != nil {
				return err
			}
		}
	}
	return nil
}

// A sheet that another file of the same command has is not asked of this one.
func TestSheetOfOne(t *testing.T) {
	var b bytes.Buffer
	sink, err := NewSink(&b, Format{Name: XLSX}, SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	row, err := RowOf(map[string]string{"id": "a"})
	if err := errors.Join(err, sink.Write(row), sink.Close()); err != nil {
		t.Fatal(err)
	}
	for _, ofOne := range []bool{false, true} {
		in, err := NewSource(bytes.NewReader(b.Bytes()), "x", Options{Format: Format{Name: XLSX}, Sheet: "scores",
			SheetOfOne: ofOne})
		if !ofOne {
			if err == nil || !strings.Contains(err.Error(), `there is no sheet "scores"; the sheets are ["rows"]`) {
				t.Errorf("no refusal: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if row, err := in.Read(); err != nil || row.GivenID() != "a" {
			t.Errorf("%v, %v", row, err)
		}
		notes := strings.Join(in.Notes(), "; ")
		if !strings.Contains(notes, `it has no sheet "scores", and is read without`) {
			t.Errorf("notes %q", notes)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestShownOtherwise: Excel shows a percentage, a unit and marks between thousands otherwise than they are read, which is
// said of fields alone.
func TestShownOtherwise(t *testing.T) {
	said := func(read string) string {
		return "in.xlsx: Excel shows 1 cell of the answer by number formats: the first, B2, is read as " + read +
			"; make such cells texts in Excel, to have read what it shows"
	}
	for _, c := range []struct {
		column, format string
		value          float64
		want           string
	}{
		{"B", "0%", 0.4, said("0.4")}, {"D", "0%", 0.4, ""}, {"B", "#,##0", 2140, said("2140")}, {"B", "#,##0", 14, ""},
		{"B", `0" metres"`, 14, said("14")}, {"B", `"$"0.00`, 12.5, said("12.5")}, {"B", "0", 14, ""},
		{"B", "General", 2140, ""}, {"B", "@", 2140, ""}, {"B", "[$€-407]#,##0", 14, said("14")},
	} {
		data := workbookOf(t, func(f *excelize.File) error {
			style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &c.format})
			return errors.Join(err, f.SetCellValue("Sheet1", "D1", "done"), f.SetCellValue("Sheet1", c.column+"2", c.value),
				f.SetCellStyle("Sheet1", c.column+"2", c.column+"2", style))
		})
		r, err := NewSource(bytes.NewReader(data), "in.xlsx", Options{Format: Format{Name: XLSX}, Taxonomy: questions(t)})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = readErr(r); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Notes(), "|"); got != c.want {
			t.Errorf("%s in column %s: got %q, want %q", c.format, c.column, got, c.want)
		}
	}
}

// TestHiddenRows: rows that a filter hides are read, which is said.
func TestHiddenRows(t *testing.T) {
	data := workbookOf(t, func(f *excelize.File) error { return f.SetRowVisible("Sheet1", 2, false) })
	r, err := NewSource(bytes.NewReader(data), "in.xlsx", Options{Format: Format{Name: XLSX}, Taxonomy: questions(t)})
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := readErr(r)
	const want = "in.xlsx: 1 row is hidden, as by a filter, and read all the same: copy what is shown"
	if notes := strings.Join(r.Notes(), "|"); err != nil || rows != 2 || !strings.Contains(notes, want) {
		t.Errorf("%v, %d rows, %s", err, rows, notes)
	}
}
