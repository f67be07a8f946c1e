package xlsx

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// readCell reads a cell's value: <v>, or the runs of <is>.
func (s *Reader) readCell(c *rawCell) error {
	return readText(s.dec, "c", &c.text, func(element string) {
		c.formula = c.formula || element == "f"
		c.result = c.result || element == "v"
	})
}

// readText reads up to the end of an element. It collects the text of <v> and <t>, but not that of <rPh>, which says
// how Japanese words are spoken; started is called with the name of each element that begins.
func readText(dec *xml.Decoder, end string, text *strings.Builder, started func(element string)) error {
	inside, spoken := false, 0
	for {
		token, err := dec.RawToken()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = t.Name.Local == "v" || t.Name.Local == "t"
			started(t.Name.Local)
			if t.Name.Local == "rPh" {
				spoken++
			}
		case xml.EndElement:
			inside = false
			switch t.Name.Local {
			case "rPh":
				spoken--
			case end:
				return nil
			}
		case xml.CharData:
			if inside && spoken == 0 {
				text.Write(t)
			}
		}
	}
}

// cellValue is what Cell says.
func (s *Reader) cellValue(c *rawCell) (any, error) {
	text := c.text.String()
	at := func() string { return CellName(c.column, s.row) }
	switch {
	case c.formula && (!c.result || text == "" && c.kind != "str"): // programs without a calculator leave <v> empty
		return nil, fmt.Errorf("the cell %s is a formula without its result; open and save the workbook in Excel", at())
	case c.kind == "inlineStr" || c.kind == "str":
		return unescapeExcel(text), nil
	case text == "":
		return nil, nil
	case c.kind == "s":
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the cell %s names the text %q, which is not there; the workbook is damaged", at(), text)
		}
		return s.sharedText(i)
	case c.kind == "b":
		return json.RawMessage(strconv.FormatBool(text == "1")), nil
	case c.kind == "e":
		return nil, fmt.Errorf("the cell %s holds the error %s; mend it in Excel", at(), text)
	case c.kind == "d":
		return text, nil
	case !isNumber(text):
		return nil, fmt.Errorf("the cell %s holds %.40q, which is no number; mend it in Excel", at(), text)
	case s.book.dates[c.style]:
		return s.book.formatDate(text)
	}
	return json.RawMessage(text), nil
}

// sharedText is a shared text, which the row is charged for.
func (s *Reader) sharedText(i int64) (any, error) {
	n, err := s.book.texts.textLen(i)
	if err != nil {
		return nil, err
	}
	if n > s.left {
		s.left = -1
		return nil, &bounded.TooLongError{Max: s.max}
	}
	s.left -= n
	return s.book.texts.textAt(i)
}

// isNumber tells whether text is a number as JSON writes it.
func isNumber(text string) bool {
	return json.Valid([]byte(text)) && strings.IndexByte("-0123456789", strings.TrimLeft(text, " \t\r\n")[0]) >= 0
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// columnIndex is the 0-based column of a cell's name like "AB12", or -1.
func columnIndex(name string) int {
	i := 0
	for _, r := range name {
		if r < 'A' || r > 'Z' {
			break
		}
		if i = i*26 + int(r-'A') + 1; i > maxColumns {
			return -1
		}
	}
	return i - 1
}
