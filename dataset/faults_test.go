package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// fault is a damaged file: what reading it says, and how many rows come out of it all the same.
type fault struct {
	name string // of the file; its extension is the format
	data []byte
	rows int    // that are read
	bad  int    // lines rejected
	want string // the message, whole or its beginning: of the first bad line, or of the failure
}

const head = "question,answer,passage\n"

func repeated(text string, n int) string { return strings.Repeat(text, n) }

// faults of files, kind by kind. Those of JSON lines one by one are in TestBadLines.
func faults(t *testing.T) []fault {
	utf16 := []byte("\xff\xfe{\x00")
	lines := repeated(good+"\n", 300)
	return []fault{
		// Nothing is wrong with these, and nothing may be said.
		{"bom.jsonl", []byte("\ufeff" + good + "\n" + good), 2, 0, ""},
		{"bom.json", []byte("\ufeff[" + good + "]"), 1, 0, ""},
		{"bom.csv", []byte("\ufeff" + head + "q,a,p\n"), 1, 0, ""},
		{"crlf.jsonl", []byte(good + "\r\n\r\n" + good + "\r\n"), 2, 0, ""},
		{"crlf.csv", []byte("question,answer,passage\r\nq,a,p\r\n\r\nq,\"a\r\nb\",p\r\n"), 2, 0, ""},
		{"long line.jsonl", []byte(with(`"x":"`+repeated("x", 10<<20)+`"`) + "\n" + good), 2, 0, ""},
		{"long cell.csv", []byte(head + "q,a,\"" + repeated("p\n", 5<<20) + "\"\nq,a,p\n"), 2, 0, ""},
		{"escaped NUL.jsonl", []byte(with(`"x":"\u0000"`)), 1, 0, ""},
		{"no end of line.csv", []byte(head + "q,a,p"), 1, 0, ""},
		{"named wrongly.jsonl", pack(t, Gzip, []byte(good)), 1, 0, ""},
		{"lines.json", []byte(good + "\n" + good), 2, 0, ""},
		{"empty.jsonl", nil, 0, 0, ""},
		{"empty.csv", nil, 0, 0, ""},
		{"empty.json", nil, 0, 0, ""},
		{"empty list.json", []byte("[]"), 0, 0, ""},
		{"header alone.csv", []byte(head), 0, 0, ""},
		{"blank.jsonl", []byte("\n \n\t\n"), 0, 0, ""},

		// Text.
		{"lone cr.jsonl", []byte(good + "\r" + good + "\r"), 0, 1,
			`lone cr.jsonl:1: the lines end with lone carriage returns; convert them first, as in: tr '\r' '\n' < FILE`},
		{"lone cr.csv", []byte("question,answer,passage\rq,a,p\r"), 0, 0,
			`lone cr.csv: the lines end with lone carriage returns; convert them first`},
		{"nul.jsonl", []byte(good + "\n\x00\x00\x00\n" + good), 2, 1,
			`nul.jsonl:2: not JSON: invalid character '\x00' looking for beginning of value (byte 1 of the line)`},
		{"nul.csv", []byte(head + "q,a\x00,p\nq,a,p\n"), 1, 1,
			`nul.csv:2: cell 2 holds a NUL byte; the file is damaged, or not text`},
		{"latin1.jsonl", []byte(with("\"x\":\"caf\xe9\"") + "\n" + good), 1, 1,
			`latin1.jsonl:1: not UTF-8 at byte 10 of the line; write it as UTF-8, or name the file's encoding, as in: --encoding windows-1252`},
		{"latin1.csv", []byte(head + "caf\xe9,a,p\nq,a,p\n"), 2, 0, ``},
		{"damaged.csv", []byte(head + "caf\xe9 \u00e9 \u00e8,a,p\nq,a,p\n"), 1, 1,
			`damaged.csv:2: not UTF-8 at cell 1; write it as UTF-8, or name the file's encoding, as in: --encoding windows-1252`},
		{"damaged header.csv", []byte("caf\x81,a,p\n"), 0, 0,
			`damaged header.csv: not UTF-8 at cell 1 of the header on line 1; write it as UTF-8, or name`},
		{"late.csv", []byte(head + "q\xe4,a,p\n" + repeated("q,a,p\n", 20000) + "q\x81,a,p\nq,a,p\n"), 20002, 1,
			`late.csv:20003: the text at cell 1 does not fit the encoding windows-1252; mend it, or name another encoding with --encoding`},
		{"too late.csv", []byte(head + repeated("q,a,p\n", 20000) + "q\xe4,a,p\nq,a,p\n"), 20001, 1,
			`too late.csv:20002: not UTF-8 at cell 1; write it as UTF-8`},
		{"latin1.json", []byte("[" + with("\"x\":\"caf\xe9\"") + "," + good + "]"), 1, 1,
			`latin1.json: item 1: not UTF-8 at byte 10 of the item`},
		{"surrogate.jsonl", []byte(with(`"x":"\ud83d"`) + "\n" + good), 1, 1,
			`surrogate.jsonl:1: \ud83d is half of a surrogate pair, not a character`},
		{"utf-16.jsonl", utf16, 0, 1, `utf-16.jsonl:1: not JSON: the object does not end on its line`},
		{"utf-16.xlsx", utf16, 0, 0,
			`utf-16.xlsx: the file is text (UTF-16), not xlsx; name it .csv, .tsv or .jsonl, or give its --format`},
		{"half.csv", []byte("\xff\xfeq\x00,\x00\x00\xd8a\x00\n\x00"), 0, 0,
			`half.csv: the text at cell 2 of the header on line 1 does not fit the encoding utf-16`},

		// Fields, types and ids.
		{"misnamed.csv", []byte("frage,answer,passage\nq,a,p\n"), 0, 0,
			`misnamed.csv: no column "question"; the columns are frage, answer, passage; name the one that holds the question with --map question=COLUMN`},
		{"missing.jsonl", []byte(good + "\n" + `{"id":"r7","question":"q","answer":"a"}`), 1, 1,
			`missing.jsonl:2: no column "passage"; the columns are id, question, answer; name the one`},
		{"wrong type.jsonl", []byte(`{"question":true,"answer":"a","passage":"p"}`), 0, 1,
			`wrong type.jsonl:1: the column "question" holds true or false where a text is expected`},
		{"nan.jsonl", []byte(with(`"x":NaN`) + "\n" + with(`"x":-Infinity`) + "\n" + good), 1, 2,
			`nan.jsonl:1: not JSON: invalid character 'N'`},
		{"nan.csv", []byte("diagnosis.labels,diagnosis.probabilities.Vague,question,answer,passage\nVague,NaN,q,a,p\n"), 0, 1,
			`nan.csv:2: column "diagnosis.probabilities.Vague": "NaN" is no number`},
		{"nan.parquet", parquetOf(t, []float64{1, math.NaN(), math.Inf(1)}), 1, 2,
			`nan.parquet: row 2: column "x": NaN is no number that JSON has; write null for unknown`},
		{"id twice.csv", []byte("id," + head + "a,q,a,p\nb,q,a,p\na,q,a,p\n"), 3, 0, ""},
		{"id twice.json", []byte("[" + with(`"id":1`) + "," + with(`"id":1`) + "]"), 2, 0, ""},
		{"key twice.jsonl", []byte(with(`"x":1,"x":2`)), 0, 1,
			`key twice.jsonl:1: the column "x" is there twice; keep one of them`},

		// CSV.
		{"header twice.csv", []byte("question,answer,passage,answer\nq,a,p,a\n"), 0, 0,
			`header twice.csv: the header has the column "answer" twice (columns 2 and 4); rename one`},
		{"two files.csv", []byte(head + "q,a,p\n" + head + "q,a,p\n"), 2, 1, `two files.csv:3: the row is the header again`},
		{"no names.csv", []byte("question,,answer,\n"), 0, 0,
			`no names.csv: the columns 2 and 4 have no name; write one in the header, or delete a title above it`},
		{"short.csv", []byte(head + "q,a\nq,a,p\n"), 1, 1,
			`short.csv:2: 2 cells where the header has 3; put cells with a ',' inside in quotes`},
		{"long.csv", []byte(head + "q,a,p, and more\nq,a,p\n"), 1, 1, `long.csv:2: 4 cells where the header has 3`},
		{"open quote.csv", []byte(head + "q,a,\"p\nq,a,p\nq,a,p\n"), 2, 1,
			`open quote.csv:2: the quote that opens cell 3 is never closed`},
		{"quote inside.csv", []byte(head + "q,a \"b\" c,p\nq,a,p\n"), 1, 1,
			`quote inside.csv:2: cell 2 has a quote inside; put the whole cell in quotes, and write each quote in it twice`},
		{"behind quote.csv", []byte(head + "q,\"a\" b,p\nq,a,p\n"), 1, 1,
			`behind quote.csv:2: behind the closing quote of cell 2 stands " b,p"; write a quote inside a cell twice`},
		{"apostrophe.csv", []byte("erreval.apostrophe," + head + "x,q,a,p\n"), 0, 1,
			`apostrophe.csv:2: the column "erreval.apostrophe" holds "x", not a list of columns`},

		// JSON lists.
		{"cut.json", []byte("[" + good + ",\n" + good[:20]), 1, 0,
			`cut.json: item 2: the file ends in its middle; fetch or write it again`},
		{"cut squad.json", []byte(`{"data":[` + good), 1, 0, `cut squad.json: item 2: the file ends in its middle`},
		{"data twice.json", []byte(`{"data":[` + good + `],"x":1,"data":[` + good + `]}`), 1, 0,
			`data twice.json: after item 1, beside the list: the column "data" is there twice; keep one of them`},
		{"data twice first.json", []byte(`{"data":1,"data":[` + good + `]}`), 0, 0,
			`data twice first.json: beside the list: the column "data" is there twice; keep one of them`},
		{"comma.json", []byte("[" + good + ",]"), 1, 0, `comma.json: item 2: not JSON: invalid character ']'`},
		{"two lists.json", []byte("[" + good + "]\n[" + good + "]"), 1, 0,
			`two lists.json: behind the list (after item 1) stands "[{\"question\":\"q\",\"an"; write one list a file`},
		{"no object.json", []byte("[1," + good + "]"), 1, 1,
			`no object.json: item 1: the item holds a number, not an object; write a list of objects`},
		{"no answer.json", []byte(`{"data":[{"paragraphs":[{"context":"p","qas":[{"question":"q","answers":[{"text":"a"}]},{"question":"q","answers":[]}]}]}]}`), 2, 0, ``},
		{"no passage.json", []byte(`[{"question":"q","answer":"a","passages":["p"]},{"question":"q","answer":"a","passages":[]}]`), 0, 0,
			`no passage.json: no column "passage" in the first 2 rows; the columns are question, answer, passages; name the one that holds the passage with --map passage=passages`},

		// Compression.
		{"cut.jsonl.gz", cut(pack(t, Gzip, []byte(lines))), -1, 0, `cut.jsonl.gz: after line `},
		{"pzstd.jsonl.zst", append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00size"), pack(t, Zstd, []byte(lines))...),
			strings.Count(strings.TrimSpace(lines), "\n") + 1, 0, ""},
		{"cut.jsonl.zst", cut(pack(t, Zstd, []byte(lines))), 0, 0,
			`cut.jsonl.zst: the .zst file ends in its middle; fetch or write it again`},
		{"flipped.csv.gz", flip(pack(t, Gzip, []byte(head+repeated("q,a,p\n", 300)))), -1, 0, `flipped.csv.gz: `},
		{"plain.jsonl.gz", []byte(good), 0, 0,
			`plain.jsonl.gz: the file is named .gz but does not begin as such a file does; rename it, or fetch it again`},
		{"twice.jsonl.gz", pack(t, Gzip, pack(t, Gzip, []byte(good))), 0, 0,
			`twice.jsonl.gz: the file is compressed twice; unpack it once`},
		{"bzip2.jsonl", []byte("BZh91AY"), 0, 0,
			`bzip2.jsonl: the file is compressed with bzip2, which is not read; unpack it first, or compress it with gzip or zstd`},
		{"bomb.jsonl.gz", pack(t, Gzip, []byte(good+"\n"+repeated("\x00", bounded.MaxRecord+1<<20)+"\n"+good)), 2, 1,
			`bomb.jsonl.gz:2: the record takes more than 16 MiB`},

		{"bomb.json.gz", pack(t, Gzip, []byte("["+good+`,{"x":"`+repeated("x", bounded.MaxRecord+1<<20)+`"},`+good+"]")), 2,
			1,
			`bomb.json.gz: item 2: the record takes more than 16 MiB`},
		{"bomb.csv.zst", pack(t, Zstd, []byte(head+"q,a,p\nq,a,\""+repeated("p", bounded.MaxRecord+1<<20))), 1, 1,
			`bomb.csv.zst:3: the record takes more than 16 MiB`},

		// Workbooks.
		{"empty.xlsx", nil, 0, 0, `empty.xlsx: the file is empty; a xlsx file is not`},
		{"cut.xlsx", cut(workbookOf(t, nil)), 0, 0,
			`cut.xlsx: not a workbook, or cut (zip: not a valid zip file); open and save it in Excel, or fetch it again`},
		{"~$cut.xlsx", []byte("\x05Oke"), 0, 0,
			`~$cut.xlsx: the file with which Excel locks a workbook while it is open: leave it out, or close Excel`},
		{"encrypted.xlsx", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1..."), 0, 0,
			`encrypted.xlsx: the file is an encrypted workbook or one of Excel before 2007; open it in Excel and save it as .xlsx without a password`},
		{"csv.xlsx", []byte(head), 0, 0, `csv.xlsx: not a workbook, or cut`},
		{"xlsx.csv", workbookOf(t, nil), 0, 0,
			`xlsx.csv: the file is a workbook, a document or another ZIP file: name a workbook of Excel .xlsx, or give` +
				` --format xlsx; save other tables (.ods, .numbers, .docx) as .xlsx or .csv; unpack others`},
		{"cell error.xlsx", workbookOf(t, func(f *excelize.File) error { return f.SetCellFormula("Sheet1", "D2", "=1/0") }),
			1, 1, `cell error.xlsx: row 2: the cell D2 is a formula without its result; open and save the workbook in Excel`},
		{"beyond.xlsx", workbookOf(t, func(f *excelize.File) error { return f.SetCellValue("Sheet1", "F3", "x") }), 1, 1,
			`beyond.xlsx: row 3: the cell F3 stands under no column name; write one in the header, or empty it`},
		{"merged.xlsx", workbookOf(t, func(f *excelize.File) error { return f.MergeCell("Sheet1", "C2", "C3") }), 2, 0, ``},
		{"header twice.xlsx", workbookOf(t, func(f *excelize.File) error { return f.SetCellValue("Sheet1", "E1", "answer") }),
			0, 0, `header twice.xlsx: the header has the column "answer" twice (columns 2 and 5); rename one`},

		// Parquet.
		{"cut.parquet", cut(parquetOf(t, []float64{1, 2})), 0, 0, `cut.parquet: not a Parquet file, or cut (`},
		{"head alone.parquet", []byte("PAR1"), 0, 0, `head alone.parquet: not a Parquet file, or cut (`},
		{"footer beyond.parquet", footer(0xfffffff0, ""), 0, 0,
			`footer beyond.parquet: not a Parquet file, or cut (its footer has 4294967280 bytes, of 335 in all); write or fetch it again`},
		{"list beyond.parquet", footer(0, "\x15\x04\x19\xfc\xff\xff\xff\xff\x07"), 0, 0,
			`list beyond.parquet: not a Parquet file, or cut (its metadata is damaged); write or fetch it again`},
		{"nested.parquet", footer(0, repeated("\x1c", 300)), 0, 0,
			`nested.parquet: not a Parquet file, or cut (its metadata is damaged); write or fetch it again`},
		{"encrypted.parquet", []byte("PARE1234PARE"), 0, 0,
			`encrypted.parquet: the Parquet file is encrypted; write it again without encryption`},
		{"damaged.parquet", damagePage(parquetOf(t, []float64{1, 2})), 0, 0,
			`damaged.parquet: after row 0 the Parquet file is damaged (`},
		{"parquet.jsonl", parquetOf(t, []float64{1}), 0, 0,
			`parquet.jsonl: the file is Parquet; name it .parquet, or give --format parquet`},
	}
}

func TestFaults(t *testing.T) {
	dir := t.TempDir()
	list := faults(t)
	kinds := 0
	for _, f := range list {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if f.want != "" {
			kinds++
		}
		rows, bad, err := readFile(path, Options{Taxonomy: questions(t)})
		message := ""
		switch {
		case err != nil:
			message = err.Error()
		case len(bad) > 0:
			message = bad[0].Error()
		}
		message = strings.ReplaceAll(message, dir+string(filepath.Separator), "")
		if f.want == "" && message != "" || !strings.HasPrefix(message, f.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", f.name, message, f.want)
		}
		if rows != f.rows && f.rows >= 0 || len(bad) != f.bad {
			t.Errorf("%s: %d rows and %d bad lines, want %d and %d", f.name, rows, len(bad), f.rows, f.bad)
		}
	}
	if kinds < 40 {
		t.Errorf("%d kinds of faults, want 40 or more", kinds)
	}
}

func readFile(path string, o Options) (rows int, bad []*LineError, err error) {
	r, err := Open(path, o)
	if err != nil {
		return 0, nil, err
	}
	rows, bad, err = readErr(r)
	return rows, bad, errors.Join(err, r.Close())
}

// pack compresses.
func pack(t testing.TB, how string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := io.WriteCloser(gzip.NewWriter(&out))
	if how == Zstd {
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func cut(data []byte) []byte { return data[:len(data)-len(data)/3] }

// flip damages the last byte but nine, which is within the data or its checksum.
func flip(data []byte) []byte {
	data[len(data)-7] ^= 0xff
	return data
}

// footer is a Parquet file of its footer alone, filled up to 323 bytes, whose length is said to be size, or is right
// for 0.
func footer(size uint32, thrift string) []byte {
	data := append([]byte("PAR1"), thrift...)
	data = append(data, make([]byte, 323-len(thrift))...)
	if size == 0 {
		size = 323
	}
	return append(binary.LittleEndian.AppendUint32(data, size), "PAR1"...)
}

// damagePage writes over the first page.
func damagePage(data []byte) []byte {
	copy(data[4:], repeated("\xff", 40))
	return data
}

// parquetOf has the fields and a column x.
func parquetOf(t testing.TB, values []float64) []byte {
	t.Helper()
	type row struct {
		Question string  `parquet:"question"`
		Answer   string  `parquet:"answer"`
		Passage  string  `parquet:"passage"`
		X        float64 `parquet:"x"`
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[row](&out)
	for _, v := range values {
		if _, err := w.Write([]row{{"q", "a", "p", v}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// workbookOf has two rows, as Excel would write them, and what change does to them.
func workbookOf(t testing.TB, change func(*excelize.File) error) []byte {
	t.Helper()
	f := excelize.NewFile()
	for i, row := range [][]any{{"question", "answer", "passage"}, {"q1", "a", "p"}, {"q2", "a", "p"}} {
		if err := f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		if err := change(f); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := f.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestNotes: what was guessed or left out is said, with the option that changes it.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"in.jsonl", []byte(`{"context":"p","answers":{"text":["a","b"]},"prediction":"q","generated_question":"g"}`),
			`reading question from "generated_question", answer from "answers", the first text in it, passage from "context" (--map FIELD=COLUMN names others)`},
		{"bare.jsonl", []byte(`{"question":"q","passage":"p"}`),
			`no column "answer" in the first row; in rows without it, what needs it is not judged (--map answer=COLUMN names one)`},
		{"in.csv", []byte("Question;Answer;Passage\nq;a;p\n"),
			`the header has no comma; cells are split at ';' (--delimiter names another)|reading question from "Question", answer from "Answer", passage from "Passage" (--map FIELD=COLUMN names others)`},
		{"in.json", []byte(`{"version":"2","data":[{"title":"t","paragraphs":[{"context":"p","qas":[{"id":"1","question":"q","answers":[{"text":"a","answer_start":0}]}]}]}],"more":1}`),
			`rows are the list under "data"; beside it stands version, which is left out|SQuAD: one row a question, with its paragraph's and article's columns|` +
				`reading answer from "answers", the first text in it, passage from "context" (--map FIELD=COLUMN names others)`},
		{"empty.jsonl", nil, "there is no row in it"},
		{"blank.json", []byte(" []\n"), "there is no row in it"},
		{"header.csv", []byte("question,answer,passage\n"), "there is no row in it"},
		{"empty sheet.xlsx", workbookOf(t, func(f *excelize.File) error {
			_, err := f.NewSheet("other")
			return errors.Join(err, f.RemoveRow("Sheet1", 3), f.RemoveRow("Sheet1", 2), f.RemoveRow("Sheet1", 1))
		}), `reading the sheet "Sheet1"; the workbook also has ["other"] (--sheet names another)|there is no row in it`},
		{"in.xlsx", workbookOf(t, func(f *excelize.File) error { _, err := f.NewSheet("other"); return err }),
			`reading the sheet "Sheet1"; the workbook also has ["other"] (--sheet names another)`},
		{"merged.xlsx", workbookOf(t, func(f *excelize.File) error { return f.MergeCell("Sheet1", "C2", "C3") }),
			`merged cells are filled: 1 cell`},
	} {
		f, _ := FormatOf(c.name)
		r, err := NewSource(bytes.NewReader(c.data), c.name, Options{Taxonomy: questions(t), Format: f})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, _, err := readErr(r); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		want := strings.ReplaceAll(c.name+": "+c.want, "|", "\n"+c.name+": ")
		if got := strings.Join(r.Notes(), "\n"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, want)
		}
		if got, isBook := r.Sheet(), strings.HasSuffix(c.name, ".xlsx"); (got == "Sheet1") != isBook {
			t.Errorf("%s: the sheet is %q", c.name, got)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreadable: files that are not there, and a folder; a file that may not be read; a disk that cannot read it.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none.csv"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	r, err := Open(dir, Options{})
	if err == nil {
		_, err = r.Read()
	}
	if !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
	locked := filepath.Join(dir, "locked.csv")
	if err := os.WriteFile(locked, []byte(head), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readFile(locked, Options{}); !errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		t.Errorf("without permission: %v", err)
	}
	if _, _, err := readFile("/proc/self/mem", Options{}); !errors.Is(err, syscall.EIO) { // nothing is at address 0
		t.Errorf("an input/output error: %v", err)
	}
}

// TestGrowsAndVanishes: rows written behind while the file is read are read, and a removed file is read to its end.
func TestGrowsAndVanishes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(good+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path, Options{Taxonomy: questions(t)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(repeated(good+"\n", 2000) + good[:9]); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	rows, bad, err := readErr(r)
	if rows != 2001 || len(bad) != 1 || err != nil {
		t.Errorf("%d rows, %v, %v", rows, bad, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// brokenWriter fails after n bytes.
type brokenWriter struct {
	n   int
	err error
}

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.n -= len(p); b.n < 0 {
		return 0, b.err
	}
	return len(p), nil
}

// TestBrokenOutput: a full disk or a closed pipe is an error in every format, whenever it happens.
func TestBrokenOutput(t *testing.T) {
	for _, f := range allFormats() {
		for room, cause := range map[int]error{0: syscall.EPIPE, 20: syscall.ENOSPC} {
			sink, err := NewSink(&brokenWriter{room, cause}, f, SinkOptions{TempDir: t.TempDir()})
			if err == nil {
				err = errors.Join(sink.Write(oneRow(t)), sink.Close())
			}
			if !errors.Is(err, cause) {
				t.Errorf("%s with room for %d bytes: %v, want %v", f, room, err, cause)
			}
		}
	}
}

// TestUnwritable: what a format cannot hold is an error that names the row, and never a cut.
func TestUnwritable(t *testing.T) {
	long := with(`"id":"r1","x":"` + repeated("x", 32768) + `"`)
	for _, c := range []struct{ format, line, want string }{
		{XLSX, long, `row 2 (id "r1"): column "x" has 32768 characters, but a cell of Excel holds 32767; write CSV, Parquet or JSON Lines instead`},
		{XLSX, with(`"x":"` + repeated("😀", 16384) + `"`), `row 2: column "x" has 32768 characters`},
		{CSV, with(`"erreval.apostrophe":"x"`),
			`a column is called "erreval.apostrophe", which is erreval's own name; rename it`},
	} {
		rows, bad := read(t, good+"\n"+c.line, Options{})
		if len(rows) != 2 {
			t.Fatal(bad)
		}
		sink, err := NewSink(io.Discard, Format{Name: c.format}, SinkOptions{TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(sink.Write(rows[0]), sink.Write(rows[1]), sink.Close()); err == nil ||
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestUnwritableKeeps: the rows of an output that its format cannot hold are kept.
func TestUnwritableKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xlsx")
	o, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	o.Format, _ = FormatOf(path)
	row := oneRow(t)
	if err := errors.Join(row.Set("x", repeated("x", 40000)), o.Write(row)); err != nil {
		t.Fatal(err)
	}
	if err := o.Commit(); err == nil || !strings.Contains(err.Error(), `column "x" has 40000 characters`) {
		t.Errorf("got %v", err)
	}
	if _, _, err := readFile(PartialPath(path), Options{}); err != nil {
		t.Error(err)
	}
	if rows, _, err := readFile(PartialPath(path), Options{Taxonomy: questions(t)}); rows != 1 || err != nil {
		t.Errorf("%d rows kept, %v", rows, err)
	}
	if left := files(t, filepath.Dir(path)); strings.Contains(left, "converting") {
		t.Error("the half-written file is left")
	}
}

// TestFormulas: what a spreadsheet would take for a formula is neutralised, numbers are not, and a file that was
// not written so keeps its apostrophes.
func TestFormulas(t *testing.T) {
	row := &Row{}
	for i, text := range []string{"=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "-5", "+5",
		"-0.5e3", "plain", "\n=1", "＝1", "＋1", "－1", "＠A", "\nplain", "日＝1"} {
		if err := row.Set(fmt.Sprint("c", i), text); err != nil {
			t.Fatal(err)
		}
	}
	f := Format{Name: CSV}
	data := write(t, []*Row{row}, f, SinkOptions{})
	const want = "c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,c17,erreval.apostrophe\n" +
		"'=1+1,'+1+1,'-1+1,'@SUM(A1),'\t=1,\"'\r=1\",'=1,-5,+5,-0.5e3,plain,\"'\n=1\",'＝1,'＋1,'－1,'＠A,\"'\nplain\",日＝1," +
		"\"[\"\"c0\"\",\"\"c1\"\",\"\"c2\"\",\"\"c3\"\",\"\"c4\"\",\"\"c5\"\",\"\"c11\"\",\"\"c12\"\",\"\"c13\"\",\"\"c14\"\",\"\"c15\"\",\"\"c16\"\"]\"\n"
	if string(data) != want {
		t.Errorf("got  %q\nwant %q", data, want)
	}
	for _, f := range []Format{f, {Name: TSV}, {Name: XLSX}} {
		if err := row.Set("＝header", "\n"); err != nil {
			t.Fatal(err)
		}
		got, bad := readFormat(t, write(t, []*Row{row}, f, SinkOptions{}), f, Options{})
		if len(got) != 1 || string(appendObject(nil, got[0].columns)) != string(appendObject(nil, row.columns)) {
			t.Errorf("%s: came back as %v, %v", f, got, bad)
		}
	}
	foreign, _ := readFormat(t, []byte("a\n'=1\n"), f, Options{})
	if raw, _ := foreign[0].Get("a"); string(raw) != `"'=1"` {
		t.Errorf("a foreign apostrophe became %s", raw)
	}
}

// TestOursReadsExcel: a workbook of excelize, with every type of cell.
func TestOursReadsExcel(t *testing.T) {
	data := workbookOf(t, func(f *excelize.File) error {
		date, err := f.NewStyle(&excelize.Style{NumFmt: 14})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range []any{"x", 1912, 0.1, true, "a\r\nb", 45000, 45000.5} {
			name, err := excelize.ColumnNumberToName(4 + i)
			if err != nil {
				return err
			}
			if err := errors.Join(f.SetCellValue("Sheet1", name+"1", "c"+fmt.Sprint(i)), f.SetCellValue("Sheet1", name+"2",
				v)); err != nil {
				return err
			}
		}
		return errors.Join(f.SetCellValue("Sheet1", "B2", 1912), f.SetCellStyle("Sheet1", "I2", "J2", date))
	})
	rows, bad := readFormat(t, data, Format{Name: XLSX}, Options{Taxonomy: questions(t)})
	if len(rows) != 2 {
		t.Fatal(bad)
	}
	// 45000 is 15 March 2023, as Excel and LibreOffice show it.
	const want = `{"question":"q1","answer":1912,"passage":"p","c0":"x","c1":1912,"c2":0.1,"c3":true,"c4":"a\r\nb","c5":"2023-03-15","c6":"2023-03-15T12:00:00"}`
	if got := string(appendObject(nil, rows[0].columns)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if rows[0].Values[1] != "1912" {
		t.Errorf("the answer is %q", rows[0].Values[1])
	}
}
