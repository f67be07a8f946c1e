// Package hostiletest makes files of rows that are small, and that a careless reader expands until the memory is full.
// Tests read them; scripts/hostile.sh measures what each costs.
package hostiletest

import (
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// File is one kind of hostile file.
type File struct {
	Name  string // with the extension that says its format
	Quick bool   // made and read in about a second
	Write func(io.Writer) error
}

const mib = 1 << 20

// Files are all kinds.
func Files() []File {
	return slices.Concat(textFiles(), tagged(), workbooks(), encodings(), columns(), pages())
}

// Named is the file of a name; it panics where there is none.
func Named(name string) File {
	for _, f := range Files() {
		if f.Name == name {
			return f
		}
	}
	panic(name)
}

// part is a text and how often it stands there.
type part struct {
	text  string
	times int
}

func one(text string) part { return part{text, 1} }

func writeParts(w io.Writer, parts []part) error {
	for _, p := range parts {
		for range p.times {
			if _, err := io.WriteString(w, p.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// gzipped and zstandard are files of parts.
func gzipped(name string, quick bool, parts ...part) File {
	return File{name + ".gz", quick, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(writeParts(z, parts), z.Close())
	}}
}

func zstandard(name string, quick bool, window int, parts ...part) File {
	return File{name + ".zst", quick, func(w io.Writer) error {
		z, err := zstd.NewWriter(w, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		return errors.Join(writeParts(z, parts), z.Close())
	}}
}

const (
	goodJSON = `{"question":"Who?","answer":"Ann","passage":"Ann did."}` + "\n"
	goodCSV  = "Who?,Ann,Ann did.\n"
	headCSV  = "question,answer,passage\n"
	longJSON = `{"answer":"a","passage":"p","question":"`
)

func textFiles() []File {
	x := strings.Repeat("x", mib)
	near := []part{}
	for range 6 {
		near = append(near, one(longJSON), part{x, 15}, one("\"}\n"))
	}
	line := []part{one(goodJSON + longJSON), {x, 600}, one("\"}\n" + goodJSON)}
	return []File{
		gzipped("line.jsonl", false, line...),
		gzipped("rows-of-15-MiB.jsonl", true, near...),
		gzipped("control-characters.jsonl", true, one(goodJSON), one(longJSON), part{strings.Repeat(`\u0001`, mib), 2},
			one("\"}\n"+goodJSON)),
		gzipped("item.json", false, one("["+goodJSON+","+longJSON), part{x, 600}, one("\"},"+goodJSON+"]")),
		gzipped("cell.csv", false, one(headCSV+goodCSV), part{x, 600}, one("\n"+goodCSV)),
		gzipped("quoted-cell.csv", false, one(headCSV+goodCSV+`a,"`), part{strings.Repeat("\n", mib), 15}, one("\",b\n"+goodCSV)),
		gzipped("commas.csv", false, one(headCSV+goodCSV), part{strings.Repeat(",", mib), 15}, one("\n"+goodCSV)),
		zstandard("window-of-128-MiB.jsonl", true, 128*mib, line...),
		zstandard("window-of-512-MiB.jsonl", false, 512*mib, line...),
	}
}

// The parts of a workbook beside its sheet and its shared texts.
var bookParts = [][2]string{
	{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="review" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>`},
}

// book is a file of the parts of a workbook, and more of them by name.
func book(name string, quick bool, more map[string][]part) File {
	return File{name + ".xlsx", quick, func(w io.Writer) error {
		z := zip.NewWriter(w)
		all := map[string][]part{}
		for _, p := range bookParts {
			all[p[0]] = []part{one(p[1])}
		}
		maps.Copy(all, more)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			part, err := z.Create(name)
			if err == nil {
				err = writeParts(part, all[name])
			}
			if err != nil {
				return err
			}
		}
		return z.Close()
	}}
}

// workbook is a file of a header with the fields, rows as XML, and shared texts as XML.
func workbook(name string, quick bool, rows, texts []part) File {
	names := row("item_id", "question", "answer", "passage")
	if len(texts) > 0 { // who wants the header must look for a shared text
		names = strings.Replace(row("item_id", "question", "answer"), "</row>", `<c t="s"><v>0</v></c></row>`, 1)
		texts = append([]part{one("<si><t>passage</t></si>")}, texts...)
	}
	head := one(`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + names)
	parts := map[string][]part{"xl/worksheets/sheet1.xml": slices.Concat([]part{head}, rows,
		[]part{one("</sheetData></worksheet>")})}
	if len(texts) > 0 {
		parts["xl/sharedStrings.xml"] = slices.Concat([]part{one("<sst>")}, texts, []part{one("</sst>")})
	}
	return book(name, quick, parts)
}

// row is a row of texts.
func row(cells ...string) string {
	var b strings.Builder
	for _, c := range cells {
		fmt.Fprintf(&b, `<c t="inlineStr"><is><t>%s</t></is></c>`, c)
	}
	return "<row>" + b.String() + "</row>"
}

func workbooks() []File {
	x := part{strings.Repeat("x", mib), 1}
	good := one(row("1", "Who?", "Ann", "Ann did."))
	text := func(n int) []part { return []part{one("<si><t>"), {x.text, n}, one("</t></si>")} }
	shared := func(n int) part { return part{`<row>` + strings.Repeat(`<c t="s"><v>1</v></c>`, 3) + `</row>`, n} }
	return []File{
		workbook("shared-text-of-100-MiB", true, []part{good, shared(28), good}, text(100)),
		workbook("shared-text-of-15-MiB", true, []part{good, shared(8), good}, text(15)),
		workbook("empty-shared-texts", false, []part{good}, []part{{strings.Repeat("<si/>", mib/5), 250}}),
		book("sheets", false, map[string][]part{"xl/workbook.xml": {one("<workbook><sheets>"),
			{strings.Repeat("<sheet a='' b='' c=''/>", mib/23), 16}}}),
		book("styles", false, map[string][]part{"xl/styles.xml": {one("<styleSheet><cellXfs>"),
			{strings.Repeat("<xf numFmtId='14'/>", mib/20), 16}, one("</cellXfs></styleSheet>")}}),
		book("relationships", false, map[string][]part{"xl/_rels/workbook.xml.rels": {one("<Relationships>"),
			{strings.Repeat("<Relationship/>", mib/15), 15}, one("</Relationships>")}}),
		workbook("cells", false, []part{good, one("<row>"), {strings.Repeat("<c/>", mib), 60}, one("</row>"), good}, nil),
		workbook("cell", false, []part{good, one(`<row><c t="inlineStr"><is><t>`), {x.text, 240},
			one("</t></is></c></row>"), good}, nil),
		workbook("nesting", false, []part{good, one("<row><c>"), {strings.Repeat("<a>", mib), 34},
			{strings.Repeat("</a>", mib), 34}, one("</c></row>"), good}, nil),
	}
}
