package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/json"
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

// sheetWriter writes a workbook of one sheet, in one pass. excelize would cut long texts and put
// U+FFFD for control characters, without a word.
type sheetWriter struct {
	zip   *zip.Writer
	out   *bufio.Writer
	names []string
	row   int
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// Styles: 0 plain, 1 the bold header, 2 a text that Excel must not take for a formula (its own
// apostrophe, which is no part of the text).
var workbookParts = []struct{ name, content string }{
	{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="SHEET" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`},
	{"xl/styles.xml", `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/></cellXfs></styleSheet>`},
}

const sheetHead = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`

func newSheetWriter(w io.Writer, h *header, o SinkOptions) (*sheetWriter, error) {
	if len(h.columns) > maxColumns {
		return nil, fmt.Errorf("%d columns, but a sheet has at most %d; write Parquet or JSON Lines instead", len(h.columns), maxColumns)
	}
	sheet := o.Sheet
	if sheet == "" {
		sheet = "rows"
	}
	if len(utf16.Encode([]rune(sheet))) > maxName || strings.ContainsAny(sheet, `[]:*?/\`) {
		return nil, fmt.Errorf(`the sheet name %q is not one that Excel takes: at most %d characters, none of []:*?/\`, sheet, maxName)
	}
	s := &sheetWriter{zip: zip.NewWriter(w), names: h.names()}
	for _, p := range workbookParts {
		part, err := s.zip.Create(p.name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(part, xmlHead+strings.Replace(p.content, "SHEET", escapeXML(sheet), 1)); err != nil {
			return nil, err
		}
	}
	part, err := s.zip.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewWriterSize(part, 64<<10)
	s.out.WriteString(xmlHead + sheetHead)
	s.row = 1
	s.out.WriteString(`<row r="1">`)
	for i, name := range s.names {
		if err := s.text(i, name, 1); err != nil {
			return nil, err
		}
	}
	_, err = s.out.WriteString("</row>")
	return s, err
}

func (s *sheetWriter) write(cells []json.RawMessage) error {
	if s.row++; s.row > maxRows {
		return fmt.Errorf("a sheet has at most %d rows; write CSV, Parquet or JSON Lines instead", maxRows)
	}
	fmt.Fprintf(s.out, `<row r="%d">`, s.row) // bufio keeps the error
	for i, raw := range cells {
		if err := s.cell(i, raw); err != nil {
			return err
		}
	}
	_, err := s.out.WriteString("</row>")
	return err
}

func (s *sheetWriter) cell(i int, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	switch k := kindOf(raw); {
	case k == 0:
		return nil
	case k == kindBool:
		fmt.Fprintf(s.out, `<c r="%s" t="b"><v>%d</v></c>`, s.at(i), map[bool]int{true: 1}[raw[0] == 't'])
	case k == kindInt || k == kindFloat:
		fmt.Fprintf(s.out, `<c r="%s"><v>%s</v></c>`, s.at(i), raw)
	case k == kindText:
		text, _ := unquote(raw)
		style := 0
		if formulaLike(text) {
			style = 2
		}
		return s.text(i, text, style)
	default: // JSON, and numbers that Excel would round
		return s.text(i, string(raw), 0)
	}
	return nil
}

func (s *sheetWriter) text(i int, text string, style int) error {
	if n := utf16Len(text); n > maxCell {
		return fmt.Errorf("column %q has %d characters, but a cell of Excel holds %d; write CSV, Parquet or JSON Lines instead", s.names[i], n, maxCell)
	}
	fmt.Fprintf(s.out, `<c r="%s" t="inlineStr"`, s.at(i))
	if style > 0 {
		fmt.Fprintf(s.out, ` s="%d"`, style)
	}
	_, err := fmt.Fprintf(s.out, `><is><t xml:space="preserve">%s</t></is></c>`, escapeXML(text))
	return err
}

func utf16Len(text string) int {
	n := 0
	for _, r := range text {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// at is the name of the current row's cell, as in "AB12".
func (s *sheetWriter) at(i int) string { return columnName(i) + strconv.Itoa(s.row) }

func columnName(i int) string {
	var name []byte
	for i++; i > 0; i = (i - 1) / 26 {
		name = append([]byte{byte('A' + (i-1)%26)}, name...)
	}
	return string(name)
}

func (s *sheetWriter) close() error {
	s.out.WriteString("</sheetData></worksheet>")
	return errors.Join(s.out.Flush(), s.zip.Close())
}

// escapeXML writes text for a workbook: characters that XML does not have as _xHHHH_, which Excel reads
// back (ECMA-376, part 1, 22.9.2.19), and a text that looks like that with its first character so.
func escapeXML(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r < 0x20 && r != '\t' && r != '\n', r == 0xfffe, r == 0xffff:
			fmt.Fprintf(&b, "_x%04X_", r)
		case r == '_' && excelEscape(text[i:]) >= 0:
			b.WriteString("_x005F_")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// excelEscape is the character that a text's leading _xHHHH_ stands for, or -1.
func excelEscape(text string) rune {
	if len(text) < 7 || text[1] != 'x' || text[6] != '_' {
		return -1
	}
	r, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil || utf16.IsSurrogate(rune(r)) {
		return -1
	}
	return rune(r)
}

func unescapeExcel(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	var b strings.Builder
	for text != "" {
		i := strings.Index(text, "_x")
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		if r := excelEscape(text); r >= 0 {
			b.WriteRune(r)
			text = text[7:]
		} else {
			b.WriteString(text[:2])
			text = text[2:]
		}
	}
	return b.String() + text
}
