package xlsx

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// quotedFormat is what stands in a number format without meaning: texts, colours, escaped characters.
var quotedFormat = regexp.MustCompile(`"[^"]*"|\[[^\]]*\]|\\.|_.|\*.`)

// form is how a style shows numbers that are no dates.
type form int

const (
	plainForm   form = iota // as they are read
	groupedForm             // with marks between thousands
	otherForm               // as percentages, with a currency or a unit, with so many decimals
)

var (
	plainFormat   = regexp.MustCompile(`^(general|@|[0#?]*)$`)
	groupedFormat = regexp.MustCompile(`^[0#?]+(,[0#?]+)+$`)
)

// formOf is that of a number format in lower case, by its part for positive numbers.
func formOf(code string) form {
	code, _, _ = strings.Cut(code, ";")
	switch {
	case plainFormat.MatchString(code):
		return plainForm
	case groupedFormat.MatchString(code):
		return groupedForm
	}
	return otherForm
}

// isShown tells whether Excel shows a number otherwise than it is read.
func (b *workbook) isShown(c *rawCell) bool {
	switch b.formats[c.style] {
	case groupedForm:
		whole, _, _ := strings.Cut(strings.TrimPrefix(c.text.String(), "-"), ".")
		return len(whole) > len("999")
	case otherForm:
		return true
	}
	return b.dates[c.style]
}

// readStyles finds the cell styles whose numbers are dates, and how the others show them.
func (b *workbook) readStyles() error {
	if b.findPart("xl/styles.xml") == nil {
		return nil
	}
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := b.decode("xl/styles.xml", maxPart, &styles); err != nil {
		return err
	}
	date, forms := map[int]bool{}, map[int]form{3: groupedForm}
	for _, id := range []int{2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 37, 38, 39, 40, 41, 42, 43, 44, 48} {
		forms[id] = otherForm
	}
	for _, id := range []int{14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47} { // ECMA-376, part 1, 18.8.30
		date[id] = true
	}
	for _, f := range styles.Formats {
		code := quotedFormat.ReplaceAllString(strings.ToLower(f.Code), "")
		if date[f.ID] = strings.ContainsAny(code, "ymdhs"); !date[f.ID] {
			forms[f.ID] = formOf(strings.ToLower(f.Code))
		}
	}
	for i, c := range styles.Cells {
		b.dates[i], b.formats[i] = date[c.Format], forms[c.Format]
	}
	return nil
}

// formatDate is a day number as an ISO 8601 text: with a time if it has one, and a time alone from 0 to 1. Days before
// 1900, which other programs than Excel write, are negative. What is no day of the years 1 to 9999 stays a number.
func (b *workbook) formatDate(number string) (any, error) {
	days, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return nil, err
	}
	if days < -693593 || days >= 2958466 {
		return json.RawMessage(number), nil
	}
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case b.d1904:
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case 0 <= days && days < 60: // Excel's 1900 has a 29 February
		epoch = epoch.AddDate(0, 0, 1)
	}
	whole := math.Floor(days)
	part := days - whole
	t := epoch.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*86400e3)) * time.Millisecond)
	switch {
	case whole == 0:
		return t.Format("15:04:05.999"), nil
	case part == 0:
		return t.Format("2006-01-02"), nil
	}
	return t.Format("2006-01-02T15:04:05.999"), nil
}
