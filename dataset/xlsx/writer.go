package xlsx

import (
	"archive/zip"
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// What Excel takes: https://support.microsoft.com/office/excel-specifications-and-limits.
const (
	maxCell    = 32767   // UTF-16 units of a cell's text
	maxRows    = 1048576 // of a sheet
	maxColumns = 16384
	maxName    = 31 // of a sheet
)

// Values of cells, beside nil for an empty one, bool and string.
type (
	// Number is a number as JSON writes it, which a float64 holds.
	Number string
	// Quoted is a text that Excel must not take for a formula.
	Quoted string
	// Marked is a text on yellow.
	Marked string
)

// Writer writes a workbook of one sheet, in one pass. excelize would cut long texts and replace control characters by
// U+FFFD, and say nothing.
type Writer struct {
	zip     *zip.Writer
	out     *bufio.Writer
	columns []Column
	row     int
}

// Column is a column of a sheet that is written.
type Column struct {
	Name   string
	Width  int  // of its longest value in characters, roughly; a wide column is cut to one that a screen holds
	Quoted bool // the name is written as Quoted, without bold letters
	Folded bool // hidden behind a "+" above the sheet
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// Styles of cells, in the order of styles.xml.
const (
	stylePlain  = iota
	styleHeader // bold
	styleQuoted // with Excel's own apostrophe in front, which is no part of the text
	styleMarked // Excel's "Neutral"
)

// wrapped is how cells lie in rows that a long text makes high.
const wrapped = `<alignment vertical="top" wrapText="1"/>`

// Widths of columns in characters: as wide as the longest value, but texts in lines that are easy to read.
const (
	minWidth = 10
	maxWidth = 60
)

// workbookParts are the files of a workbook beside that of its sheet.
var workbookParts = []struct{ name, content string }{
	{"[Content_Types].xml",
		`<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="SHEET" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/_rels/workbook.xml.rels",
		`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`},
	{"xl/styles.xml", `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill><fill><patternFill patternType="solid"><fgColor rgb="FFFFEB9C"/></patternFill></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" applyAlignment="1">` + wrapped + `</xf><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1" applyAlignment="1">` + wrapped + `</xf><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1" applyAlignment="1">` + wrapped + `</xf><xf numFmtId="0" fontId="0" fillId="2" borderId="0" xfId="0" applyFill="1" applyAlignment="1">` + wrapped + `</xf></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`},
}

const sheetHead = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="15" outlineLevelCol="1"/>`

// NewWriter begins a workbook with one sheet, called rows where sheet is "", and writes the names of its columns. More
// columns or a longer name than Excel takes are an error.
func NewWriter(out io.Writer, sheet string, columns []Column) (*Writer, error) {
	if len(columns) > maxColumns {
		return nil, fmt.Errorf("%d columns, but a sheet has at most %d; write Parquet or JSON Lines instead", len(columns),
			maxColumns)
	}
	sheet = cmp.Or(sheet, "rows")
	if utf16Len(sheet) > maxName || strings.ContainsAny(sheet, `[]:*?/\`) {
		return nil, fmt.Errorf(`the sheet name %q is not one that Excel takes: at most %d characters, none of []:*?/\`, sheet,
			maxName)
	}
	w := &Writer{zip: zip.NewWriter(out), columns: columns}
	for _, p := range workbookParts {
		part, err := w.zip.Create(p.name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(part, xmlHead+strings.Replace(p.content, "SHEET", escapeXML(sheet), 1)); err != nil {
			return nil, err
		}
	}
	part, err := w.zip.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewWriterSize(part, 64<<10)
	w.out.WriteString(xmlHead + sheetHead)
	return w, w.writeHeader()
}

// writeHeader writes the widths and names of the columns.
func (w *Writer) writeHeader() error {
	open, end := "", "" // Excel takes an empty <cols> for damage
	if len(w.columns) > 0 {
		open, end = "<cols>", "</cols>"
	}
	w.out.WriteString(open)
	for i, c := range w.columns {
		folded := ""
		if c.Folded {
			folded = ` outlineLevel="1" hidden="1"`
		}
		fmt.Fprintf(w.out, `<col min="%d" max="%[1]d" width="%d" customWidth="1"%s/>`, i+1,
			min(max(c.Width, min(len(c.Name), maxWidth/3), minWidth), maxWidth), folded)
	}
	w.out.WriteString(end)
	w.row = 1
	w.out.WriteString(`<sheetData><row r="1">`) // bufio keeps the error
	for i, c := range w.columns {
		style := styleHeader
		if c.Quoted {
			style = styleQuoted
		}
		if err := w.writeText(i, c.Name, style); err != nil {
			return err
		}
	}
	_, err := w.out.WriteString("</row>")
	return err
}

// Write appends a row of cells, each nil, a bool, a Number, a string, a Quoted or a Marked.
func (w *Writer) Write(cells []any) error {
	if w.row++; w.row > maxRows {
		return fmt.Errorf("a sheet has at most %d rows; write CSV, Parquet or JSON Lines instead", maxRows)
	}
	fmt.Fprintf(w.out, `<row r="%d">`, w.row) // bufio keeps the error
	for i, value := range cells {
		if err := w.writeCell(i, value); err != nil {
			return err
		}
	}
	_, err := w.out.WriteString("</row>")
	return err
}

func (w *Writer) writeCell(i int, value any) error {
	switch v := value.(type) {
	case nil:
	case bool:
		digit := '0'
		if v {
			digit = '1'
		}
		fmt.Fprintf(w.out, `<c r="%s" t="b"><v>%c</v></c>`, CellName(i, w.row), digit)
	case Number:
		fmt.Fprintf(w.out, `<c r="%s"><v>%s</v></c>`, CellName(i, w.row), v)
	case string:
		return w.writeText(i, v, stylePlain)
	case Quoted:
		return w.writeText(i, string(v), styleQuoted)
	case Marked:
		return w.writeText(i, string(v), styleMarked)
	default:
		return fmt.Errorf("column %q has a %T, which is no value of a cell", w.columns[i].Name, value)
	}
	return nil
}

func (w *Writer) writeText(i int, text string, style int) error {
	if n := utf16Len(text); n > maxCell {
		return fmt.Errorf("column %q has %d characters, but a cell of Excel holds %d; "+
			"write CSV, Parquet or JSON Lines instead", w.columns[i].Name, n, maxCell)
	}
	fmt.Fprintf(w.out, `<c r="%s" t="inlineStr"`, CellName(i, w.row))
	if style > 0 {
		fmt.Fprintf(w.out, ` s="%d"`, style)
	}
	_, err := fmt.Fprintf(w.out, `><is><t xml:space="preserve">%s</t></is></c>`, escapeXML(text))
	return err
}

func utf16Len(text string) int {
	n := 0
	for _, r := range text {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// CellName is what Excel calls the cell in a column, from 0, and a row, from 1, as in "AB12".
func CellName(column, row int) string {
	var name []byte
	for column++; column > 0; column = (column - 1) / 26 {
		name = append([]byte{byte('A' + (column-1)%26)}, name...)
	}
	return string(name) + strconv.Itoa(row)
}

// Close writes what is left. The underlying writer stays open.
func (w *Writer) Close() error {
	w.out.WriteString("</sheetData>")
	if n := len(w.columns); n > 0 {
		fmt.Fprintf(w.out, `<autoFilter ref="A1:%s"/>`, CellName(n-1, w.row))
	}
	w.out.WriteString("</worksheet>")
	return errors.Join(w.out.Flush(), w.zip.Close())
}
