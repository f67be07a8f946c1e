package exchange

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/internal/wordmatch"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// WorkbookFile is the name of the workbook of a batch.
const WorkbookFile = "review.xlsx"

// Sheets of the workbook, and widths of its columns in characters.
const (
	reviewSheet      = "review"
	definitionsSheet = "definitions"

	contextWidth = 70 // of the field that rows share, as a passage
	fieldWidth   = 36
	labelWidth   = 11
	notesWidth   = 40
	maxCell      = 32767 // UTF-16 units that a cell holds
	mostHint     = 255   // and its hint
)

// workbook writes the cells; the first error stays.
type workbook struct {
	*excelize.File
	f      *review.Frozen
	l      layout
	o      Options
	styles map[string]int
	column int // the next one, from 1
	err    error
}

func (w *workbook) note(err error) {
	if w.err == nil {
		w.err = err
	}
}

func exportWorkbook(f *review.Frozen, o Options) ([]File, error) {
	w := &workbook{File: excelize.NewFile(), f: f, l: layoutOf(f), o: o, styles: map[string]int{}}
	w.note(w.SetSheetName("Sheet1", reviewSheet))
	w.makeStyles()
	w.items()
	w.definitions()
	var b bytes.Buffer
	if w.err == nil {
		w.note(w.Write(&b))
	}
	if err := errors.Join(w.err, w.Close()); err != nil {
		return nil, fmt.Errorf("workbook: %w", err)
	}
	return []File{{WorkbookFile, b.Bytes()}}, nil
}

func (w *workbook) makeStyles() {
	text := &excelize.Alignment{WrapText: true, Vertical: "top"}
	centre := &excelize.Alignment{Horizontal: "center", Vertical: "top"}
	border := []excelize.Border{{Type: "left", Style: 1, Color: "BFBFBF"}, {Type: "right", Style: 1, Color: "BFBFBF"},
		{Type: "top", Style: 1, Color: "BFBFBF"}, {Type: "bottom", Style: 1, Color: "BFBFBF"}}
	open := &excelize.Protection{Locked: false}
	styles := map[string]*excelize.Style{
		"head": {Font: &excelize.Font{Bold: true}, Alignment: text, Border: border, Fill: excelize.Fill{Type: "pattern",
			Pattern: 1, Color: []string{"E7E6E6"}}},
		"text": {Alignment: text, NumFmt: 49},
		"answer": {Alignment: centre, Protection: open, Border: border, Fill: excelize.Fill{Type: "pattern", Pattern: 1,
			Color: []string{"FFF8E1"}}},
		"notes": {Alignment: text, Protection: open, Border: border, NumFmt: 49},
	}
	for _, name := range slices.Sorted(maps.Keys(styles)) { // the same workbook each time
		id, err := w.NewStyle(styles[name])
		w.note(err)
		w.styles[name] = id
	}
}

// items writes the sheet that reviewers fill in.
func (w *workbook) items() {
	context := contextField(w.f.Taxonomy)
	w.add(w.l.item, 12, "text", false, func(i int) string { return w.f.All[i].ItemID })
	for k, name := range w.l.shown {
		width := fieldWidth
		if k == context {
			width = contextWidth
		}
		w.add(name, width, "text", false, func(i int) string { return w.f.Values[i][k] })
		if k == context {
			w.highlight(w.column, k)
		}
	}
	if w.o.Proposals != review.ShowNothing {
		w.add(w.l.proposed, fieldWidth/2, "text", false, func(i int) string { return proposal(&w.f.All[i], w.o.Proposals) })
	}
	for k, name := range w.l.types {
		w.add(name, labelWidth, "answer", false, nil)
		w.choice(name, definition(w.f.Taxonomy, k))
	}
	w.add(w.l.skipped, labelWidth, "answer", false, nil)
	w.choice(w.l.skipped, "yes: you saw the row and cannot decide")
	w.add(w.l.notes, notesWidth, "notes", false, nil)
	if w.o.Reviewer != "" {
		w.add(w.l.reviewer, 12, "text", false, func(int) string { return w.o.Reviewer })
	}
	w.add(w.l.batch, 8, "text", true, func(int) string { return w.f.ID })
	w.add(w.l.text, 8, "text", true, func(i int) string { return w.f.All[i].TextSHA256 })
	w.finish()
}

// contextField is the field that rows share, else the last: that in which the others are looked for.
func contextField(t *taxonomy.Taxonomy) int {
	if i := slices.Index(t.FieldNames(), t.GroupField()); i >= 0 {
		return i
	}
	return len(t.Fields) - 1
}

// add writes a column; value gives the text of an item, nil leaves the cells empty.
func (w *workbook) add(name string, width int, style string, hidden bool, value func(i int) string) {
	w.column++
	column, err := excelize.ColumnNumberToName(w.column)
	w.note(err)
	w.note(w.SetColWidth(reviewSheet, column, column, float64(width)))
	w.note(w.SetCellStr(reviewSheet, column+"1", name))
	w.note(w.SetCellStyle(reviewSheet, column+"1", column+"1", w.styles["head"]))
	if last := len(w.f.All) + 1; last > 1 {
		w.note(w.SetCellStyle(reviewSheet, column+"2", fmt.Sprint(column, last), w.styles[style]))
	}
	for i := range w.f.All {
		if value == nil {
			break
		}
		text := printable(value(i))
		if len(utf16.Encode([]rune(text))) > maxCell {
			w.note(fmt.Errorf("item %s: the column %q is longer than the %d characters that a cell holds; export another format",
				w.f.All[i].ItemID, name, maxCell))
			return
		}
		w.note(w.SetCellStr(reviewSheet, fmt.Sprint(column, i+2), text))
	}
	if hidden {
		w.note(w.SetColVisible(reviewSheet, column, false))
	}
}

// highlight marks in the context where it says another field word for word, such as an answer.
func (w *workbook) highlight(column, context int) {
	for i, values := range w.f.Values {
		others := slices.Delete(slices.Clone(values), context, context+1)
		pieces := wordmatch.Cut(printable(values[context]), others)
		if !slices.ContainsFunc(pieces, func(p wordmatch.Piece) bool { return p.Mark }) {
			continue
		}
		cell, err := excelize.CoordinatesToCellName(column, i+2)
		w.note(err)
		w.note(w.SetCellRichText(reviewSheet, cell, runs(pieces)))
	}
}

func runs(pieces []wordmatch.Piece) (out []excelize.RichTextRun) {
	for _, p := range pieces {
		run := excelize.RichTextRun{Text: p.Text}
		if p.Mark {
			run.Font = &excelize.Font{Bold: true, Color: "C00000"}
		}
		out = append(out, run)
	}
	return out
}

// definition of the kth choice.
func definition(t *taxonomy.Taxonomy, k int) string {
	if k < len(t.Types) {
		return t.Types[k].Definition
	}
	return "Nothing is wrong; never together with another label."
}

// choice gives the last column's cells a drop-down and a hint.
func (w *workbook) choice(name, hint string) {
	column, err := excelize.ColumnNumberToName(w.column)
	w.note(err)
	if len(w.f.All) == 0 {
		return
	}
	v := excelize.NewDataValidation(true)
	v.Sqref = fmt.Sprintf("%s2:%[1]s%d", column, len(w.f.All)+1)
	w.note(v.SetDropList([]string{"yes", "no"}))
	v.SetError(excelize.DataValidationErrorStyleStop, "yes or no", "Write yes, or no, or leave the cell empty.")
	v.SetInput(cut(name, 32), cut(hint, mostHint))
	w.note(w.AddDataValidation(reviewSheet, v))
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// finish freezes what must stay in sight and locks what is not to be changed. There is no password: it keeps from
// slips.
func (w *workbook) finish() {
	w.note(w.SetPanes(reviewSheet, &excelize.Panes{Freeze: true, XSplit: 1, YSplit: 1, TopLeftCell: "B2",
		ActivePane: "bottomRight"}))
	w.note(w.ProtectSheet(reviewSheet, &excelize.SheetProtectionOptions{SelectLockedCells: true, SelectUnlockedCells: true,
		FormatColumns: true, FormatRows: true, FormatCells: true, AutoFilter: true}))
	landscape, wide := "landscape", 1
	w.note(w.SetPageLayout(reviewSheet, &excelize.PageLayoutOptions{Orientation: &landscape, FitToWidth: &wide}))
}

// definitions writes the sheet to look things up in.
func (w *workbook) definitions() {
	_, err := w.NewSheet(definitionsSheet)
	w.note(err)
	t := w.f.Taxonomy
	rows := [][]string{{"label", "short", "group", "definition"}}
	for _, y := range t.Types {
		rows = append(rows, []string{y.Name, y.Code, y.Category, y.Definition})
	}
	if t.NoErrorIndex() < 0 {
		rows = append(rows, []string{None, "", "", definition(t, len(t.Types))})
	}
	rows = append(rows, nil, []string{"column", "", "", "what it holds"})
	for k, c := range w.f.Columns {
		rows = append(rows, []string{w.l.shown[k], "", "", c.Definition})
	}
	rows = append(rows, nil,
		[]string{"How to answer", "", "", "Choose yes under every label that the row has, and under " + clean(t) +
			" if it has none. Empty means no. A row without any yes is not answered yet."},
		[]string{"", "", "", "Where you cannot decide, choose yes under " + w.l.skipped +
			". Write what others should know under " + w.l.notes + "."},
		[]string{"Batch", "", "", w.f.ID + ", " + t.ID()})
	for i, cells := range rows {
		for k, text := range cells {
			cell, err := excelize.CoordinatesToCellName(k+1, i+1)
			w.note(err)
			w.note(w.SetCellStr(definitionsSheet, cell, text))
			w.note(w.SetCellStyle(definitionsSheet, cell, cell, w.styles["text"]))
		}
	}
	for column, width := range map[string]float64{"A": 26, "B": 8, "C": 20, "D": 100} {
		w.note(w.SetColWidth(definitionsSheet, column, column, width))
	}
	w.note(w.ProtectSheet(definitionsSheet, &excelize.SheetProtectionOptions{SelectLockedCells: true, FormatColumns: true,
		FormatRows: true}))
}

// clean is the choice that stands for "nothing wrong".
func clean(t *taxonomy.Taxonomy) string { return cmp.Or(t.NoError(), None) }
