package xlsx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// TestRowLimits: a row that expands to too much is left out, and those around it are read.
func TestRowLimits(t *testing.T) {
	const limit = 400 << 10
	x := strings.Repeat("x", 300<<10)
	shared := "<sst><si><t>" + x + "</t></si><si><t>" + x + x + "</t></si><si><t>y</t></si></sst>"
	good := `<row><c t="s"><v>2</v></c></row>`
	for name, c := range map[string]struct{ row, want string }{
		"fits":         {`<row><c t="s"><v>0</v></c></row>`, ""},
		"fits, CDATA":  {`<row><c t="str"><v><![CDATA[` + x + `]]></v></c></row>`, ""},
		"shared twice": {`<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>`, "the record takes more than 409600 bytes"},
		"shared long":  {`<row>` + strings.Repeat(`<c t="s"><v>1</v></c>`, 3) + `</row>`, "the record takes more than"},
		"inline": {`<row><c t="inlineStr"><is><t>` + x + "&amp;" + x + `</t></is></c></row>`,
			"the record takes more than"},
		"CDATA": {`<row><c t="str"><v><![CDATA[` + x + `>ö]]` + x + `]]></v></c></row>`, "the record takes more than"},
		"nesting": {`<row><c>` + strings.Repeat("<a>", 9999) + strings.Repeat("</a>", 9999) + `</c></row>`,
			"the record takes more than"},
		"cells":   {`<row>` + strings.Repeat("<c/>", maxColumns+1) + `</row>`, "more than 16384 columns"},
		"comment": {`<row><c t="s"><!--` + x + x + `<a> --><v>0</v></c></row>`, ""},
	} {
		data := zipOf(t, append(partsWith(good+c.row+good), "xl/sharedStrings.xml", shared)...)
		r, err := NewReader(bytes.NewReader(data), int64(len(data)), Options{Max: limit})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for row, want := range []string{"", c.want, ""} {
			_, err := r.Next()
			var bad *RowError
			if errors.As(err, &bad) != (want != "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: row %d: %.100v, want %q", name, row+1, err, want)
			}
			if r.Row() != row+1 {
				t.Errorf("%s: row %d is counted as %d", name, row+1, r.Row())
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v behind the last row", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDamagedParts: what nests too deep outside rows, in a tag without end or in a document type is not read.
func TestDamagedParts(t *testing.T) {
	for want, rows := range map[string]string{
		"nest more than 64 deep":    strings.Repeat("<a>", 100),
		"a tag of more than":        "<a b='" + strings.Repeat("x", maxTag) + "'/>",
		"a document type":           "<!DOCTYPE a>",
		"its end tags do not match": "<row><c></row>",
		"unexpected EOF":            "<row><!--",
	} {
		if _, _, err := read(zipOf(t, partsWith(rows)...), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.100v, want %s", err, want)
		}
	}
	parts := partsWith("")
	for i, name := range parts {
		if name == "xl/workbook.xml" {
			parts[i+1] = "<workbook>" + strings.Repeat("<a>", 100)
		}
	}
	if _, _, err := read(zipOf(t, parts...), Options{}); err == nil || !strings.Contains(err.Error(), "64 deep") {
		t.Errorf("xl/workbook.xml: %v", err)
	}
}

// TestManyTexts: a workbook with more shared texts than any has is not read on.
func TestManyTexts(t *testing.T) {
	for most, want := range map[int64]string{3: "", 2: "it has more than 2 shared texts; save the sheet"} {
		texts := &textStore{most: most, long: map[int64]bool{}}
		for _, file := range []**os.File{&texts.data, &texts.index} {
			var err error
			if *file, err = bounded.TempFile(t.TempDir()); err != nil {
				t.Fatal(err)
			}
		}
		err := texts.readTexts(strings.NewReader("<sst><si/><si><t>x</t></si><si/></sst>"), 100)
		if (err != nil) != (want != "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d: %v", most, err)
		}
		if err := texts.close(); err != nil {
			t.Error(err)
		}
	}
}

// FuzzMeter: what the meter lets through is XML that a decoder takes, if the whole of it was.
func FuzzMeter(f *testing.F) {
	f.Add("<a><row>x&amp;<c/><![CDATA[>]]></row><!-- --></a>", 20)
	f.Add("<row><c><c><c></c></c></c></row>", 10)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		m := newMeter(strings.NewReader(text), "row", limit)
		out, err := io.ReadAll(m)
		if len(out) > len(text)+12*(len(text)/maxTag+1)+strings.Count(text, cdata)*12 {
			t.Fatal(fmt.Sprintf("%d bytes of %d", len(out), len(text)), err)
		}
	})
}
