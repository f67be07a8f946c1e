package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

func questions(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

// readAll gives all rows and the errors of the lines that are none.
func readAll(t testing.TB, r *Reader) (rows []*Row, bad []*LineError) {
	t.Helper()
	for {
		row, err := r.Read()
		var line *LineError
		switch {
		case errors.Is(err, io.EOF):
			return rows, bad
		case errors.As(err, &line):
			bad = append(bad, line)
		case err != nil:
			t.Fatal(err)
		default:
			rows = append(rows, row)
		}
	}
}

func read(t testing.TB, text string, o Options) ([]*Row, []*LineError) {
	t.Helper()
	if o.Taxonomy == nil {
		o.Taxonomy = questions(t)
	}
	return readAll(t, NewReader(strings.NewReader(text), "in.jsonl", o))
}

const good = `{"question":"q","answer":"a","passage":"p"}`

// with is the good row with more columns in front.
func with(columns string) string { return "{" + columns + "," + good[1:] }

func TestBadLines(t *testing.T) {
	const want = `{"question":"q","answer":"a"}`
	for _, c := range []struct{ line, reason string }{
		{`[1]`, `the line holds a list, not an object; write one {"column": value, …} a line; jq -c '.[]' FILE turns a JSON array into such lines`},
		{`"text"`, `the line holds a text, not an object; write one {"column": value, …} a line`},
		{`17`, `the line holds a number, not an object; write one {"column": value, …} a line`},
		{`null`, `the line holds null, not an object; write one {"column": value, …} a line`},
		{`true`, `the line holds true or false, not an object; write one {"column": value, …} a line`},
		{`{`, `not JSON: the object does not end on its line; write one object a line, without line breaks inside it`},
		{`{"a":[1,`, `not JSON: the object does not end on its line; write one object a line, without line breaks inside it`},
		{`{"a":1} {"b":2}`, `more than one value on the line; write one object a line`},
		{`{"a":1}}`, `not JSON: invalid character '}' after top-level value (byte 8 of the line)`},
		{`{'a':1}`, `not JSON: invalid character '\'' looking for beginning of object key string (byte 2 of the line)`},
		{`{"a":NaN}`, `not JSON: invalid character 'N' looking for beginning of value (byte 6 of the line)`},
		{with(`"x":1,"x":2`), `the column "x" is there twice; keep one of them`},
		{with(`"x":1,"\u0078":2`), `the column "x" is there twice; keep one of them`},
		{with("\"x\":\"caf\xe9\""),
			`not UTF-8 at byte 10 of the line; write it as UTF-8, or name the file's encoding, as in: --encoding windows-1252, or macintosh; then see whether letters with accents are right`},
		{with(`"x":"\ud83d"`),
			`\ud83d is half of a surrogate pair, not a character; the program that wrote the file cut a text inside a character (byte 7 of the line)`},
		{with(`"x":"\\\uDE00\ud83d"`),
			`\uDE00 is half of a surrogate pair, not a character; the program that wrote the file cut a text inside a character (byte 9 of the line)`},
		{want, `no column "passage"; the columns are question, answer; name the one that holds the passage with --map passage=COLUMN`},
		{`{}`, `no column "question"; the row has no columns; name the one that holds the question with --map question=COLUMN`},
		{`{"question":"q","answer":["a"],"passage":"p"}`,
			`the column "answer" holds a list where a text is expected; name another column with --map answer=COLUMN`},
		{`{"question":7,"answer":"a","passage":"p"}`,
			`the column "question" holds a number where a text is expected; put it in quotes, or name another column with --map question=COLUMN`},
		{with(`"id":1.5`), `the column "id" holds 1.5; an id is a text or a whole number, and may be left out`},
		{with(`"id":["x"]`), `the column "id" holds ["x"]; an id is a text or a whole number, and may be left out`},
	} {
		rows, bad := read(t, good+"\n"+c.line+"\n"+good+"\n", Options{})
		if len(rows) != 2 || len(bad) != 1 {
			t.Errorf("%s: %d rows and %d errors, want the 2 others and 1", c.line, len(rows), len(bad))
			continue
		}
		e := bad[0]
		if got, want := e.Error(), "in.jsonl:2: "+c.reason; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.line, got, want)
		}
		if e.File != "in.jsonl" || e.Line != 2 || string(e.Raw) != c.line {
			t.Errorf("%s: error of %s:%d, raw %s", c.line, e.File, e.Line, e.Raw)
		}
	}
}

// TestNull: null is an empty text, as an empty cell of a workbook becomes in JSON Lines.
func TestNull(t *testing.T) {
	rows, bad := read(t, good+"\n"+`{"question":null,"answer":null,"passage":"p"}`+"\n", Options{})
	if len(rows) != 2 || len(bad) > 0 || !slices.Equal(rows[1].Values, []string{"", "", "p"}) {
		t.Errorf("%d rows, errors %v", len(rows), bad)
	}
}

func TestMadeID(t *testing.T) {
	other := `{"question":"qa","answer":"","passage":"p"}` // the same text with the fields' border elsewhere
	rows, _ := read(t, strings.Join([]string{good, other, good, with(`"x":1`)}, "\n"), Options{})
	// printf '\0\0\0\0\0\0\0\1q\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\1p' | sha256sum
	const want = "973358d403b29de998613054b6c768a5e36995ebb09cfca694a8640a9507f932"
	for i, id := range []string{want, "", want + "#2", want + "#3"} {
		if id != "" && rows[i].ID != id {
			t.Errorf("row %d: id %s, want %s", i+1, rows[i].ID, id)
		}
	}
	if rows[1].ID == rows[0].ID {
		t.Error("moving the border between fields leaves the id as it was")
	}
}

func TestMapAndLimit(t *testing.T) {
	line := `{"context":"p","prediction":"q\u00e9","answer":"a"}` + "\n"
	rows, bad := read(t, "\n"+strings.Repeat(line+" \t\r\n", 5), Options{
		Map: map[string]string{"question": "prediction", "passage": "context"}, Limit: 3})
	if len(rows) != 3 || len(bad) != 0 {
		t.Fatalf("%d rows, errors %v", len(rows), bad)
	}
	if got := fmt.Sprintf("%q line %d of %s", rows[2].Values, rows[2].Line,
		rows[2].Source); got != `["qé" "a" "p"] line 6 of in.jsonl` {
		t.Error(got)
	}
	_, err := NewReader(strings.NewReader(line), "in.jsonl", Options{Taxonomy: questions(t),
		Map: map[string]string{"question": "predicted", "passage": "context"}}).Read()
	want := `in.jsonl: no column "predicted" in the first row; the columns are context, prediction, answer; name the one that holds the question with --map question=prediction`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestOwnNames: a file that has the field's name instead of the mapped column is read by it, if that is asked for.
func TestOwnNames(t *testing.T) {
	o := Options{Taxonomy: questions(t), Map: map[string]string{"question": "prediction"}, OwnNames: true}
	for line, want := range map[string]string{
		`{"passage":"p","answer":"a","question":"gold","prediction":"q"}`: "q",
		`{"passage":"p","answer":"a","question":"gold"}`:                  `gold [in.jsonl: no column "prediction"; taking "question"]`,
	} {
		r := NewReader(strings.NewReader(line), "in.jsonl", o)
		row, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		got := row.Values[0]
		if notes := r.Notes(); len(notes) > 0 {
			got += fmt.Sprint(" ", notes)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	o.OwnNames = false
	_, err := NewReader(strings.NewReader(`{"passage":"p","answer":"a","question":"gold"}`), "in.jsonl", o).Read()
	if missing := new(ColumnsError); !errors.As(err, &missing) {
		t.Errorf("without being asked for: %v", err)
	}
}

func TestLineEnds(t *testing.T) {
	long := `{"question":"q","answer":"a","passage":"` + strings.Repeat("long ", 1<<20) + `"}`
	rows, bad := read(t, "\ufeff"+good+"\r\n\r\n"+long+"\n"+good, Options{})
	if len(rows) != 3 || len(bad) != 0 {
		t.Fatalf("%d rows, errors %v", len(rows), bad)
	}
	if got := len(rows[1].Values[2]); got != 5<<20 {
		t.Errorf("passage of %d bytes, want %d", got, 5<<20)
	}
	if rows[2].Line != 4 {
		t.Errorf("last row on line %d, want 4", rows[2].Line)
	}
}

// failing gives some text and then an error that is not the end.
type failing struct{ text io.Reader }

func (f failing) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if errors.Is(err, io.EOF) {
		err = errors.New("disk gone")
	}
	return n, err
}

func TestReadFails(t *testing.T) {
	r := NewReader(failing{strings.NewReader(good + "\n" + good[:5])}, "in.jsonl", Options{Taxonomy: questions(t)})
	if _, err := r.Read(); err != nil {
		t.Fatal(err)
	}
	_, err := r.Read()
	var line *LineError
	if err == nil || errors.As(err, &line) || err.Error() != "in.jsonl: after line 1: disk gone" {
		t.Errorf("got %v, want a final error", err)
	}
}

// TestGolden reads each golden record and writes it back: every byte must come through.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "records", "*.jsonl"))
	if err != nil || len(files) != 4 {
		t.Fatalf("golden records %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, bad := read(t, string(data), Options{})
		if len(rows) == 0 || len(bad) > 0 {
			t.Fatalf("%s: %d rows, errors %v", file, len(rows), bad)
		}
		for _, again := range []bool{false, true} {
			var out bytes.Buffer
			w := NewWriter(&out)
			for _, row := range rows {
				if again {
					rewrite(t, row)
				}
				if err := w.Write(row); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != string(data) {
				t.Errorf("%s, diagnosis set again %v:\ngot  %s\nwant %s", file, again, out.String(), data)
			}
		}
	}
}

// rewrite reads the row's diagnosis and labels and puts them back.
func rewrite(t *testing.T, row *Row) {
	t.Helper()
	d, err := row.Diagnosis()
	if err != nil {
		t.Fatal(err)
	}
	if d != nil {
		if err := row.SetDiagnosis(d); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := row.Get(ColumnLabels); !ok {
		return
	}
	labels, err := row.Labels(questions(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := row.Set(ColumnLabels, labels); err != nil {
		t.Fatal(err)
	}
}

func TestSamples(t *testing.T) {
	tax := questions(t)
	found := map[string]int{}
	for _, name := range []string{"questions.jsonl", "questions_gold.jsonl"} {
		data, err := os.ReadFile(filepath.Join("..", "testdata", "samples", name))
		if err != nil {
			t.Fatal(err)
		}
		rows, bad := read(t, string(data), Options{Taxonomy: tax})
		if len(rows) != 40 || len(bad) > 0 {
			t.Fatalf("%s: %d rows, errors %v", name, len(rows), bad)
		}
		for _, row := range rows {
			if name == "questions.jsonl" {
				continue
			}
			labels, err := row.Labels(tax)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range labels {
				found[l]++
			}
		}
	}
	if len(found) != len(tax.Types) {
		t.Errorf("labels in the samples: %v, want every type", found)
	}
}

func FuzzReader(f *testing.F) {
	for _, name := range []string{"row", "diagnosed", "untagged", "gold"} {
		data, err := os.ReadFile(filepath.Join("..", "testdata", "records", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, line := range []string{"", "\xef\xbb\xbf", "{", "[]", with(`"id":1`), with(`"x":"\ud800"`), with(`"x":"\`),
		with(`"x":{"x":1e999}`), "{\"\xff\":1}"} {
		f.Add([]byte(line))
		f.Add([]byte(good + "\n" + line + "\n" + line))
	}
	tax := questions(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, bad := readAll(t, NewReader(bytes.NewReader(data), "f.jsonl", Options{Taxonomy: tax}))
		for _, e := range bad {
			if !strings.HasPrefix(e.Error(), fmt.Sprintf("f.jsonl:%d: ", e.Line)) || e.Line < 1 {
				t.Fatalf("no place in %q", e)
			}
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, row := range rows {
			if _, err := row.Diagnosis(); err == nil {
				_, _ = row.Labels(tax) // must not panic; most rows have none
			}
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("wrote %q, which is not JSON", line)
			}
		}
		again, bad := readAll(t, NewReader(&out, "f.jsonl", Options{Taxonomy: tax}))
		if len(again) != len(rows) || len(bad) > 0 {
			t.Fatalf("wrote %d rows, read %d back, errors %v", len(rows), len(again), bad)
		}
		for i, row := range rows {
			if again[i].ID != row.ID || strings.Join(again[i].Values, "\x00") != strings.Join(row.Values, "\x00") {
				t.Fatalf("row %d: %v came back as %v", i, row, again[i])
			}
		}
	})
}

// BenchmarkCopy reads and writes rows of about a kilobyte.
func BenchmarkCopy(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "records", "diagnosed.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	line := strings.Replace(string(data), `"id":"rovers-3",`, "", 1)
	r := NewReader(strings.NewReader(strings.Repeat(line, b.N)), "b.jsonl", Options{Taxonomy: questions(b)})
	w := NewWriter(io.Discard)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		row, err := r.Read()
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Write(row); err != nil {
			b.Fatal(err)
		}
	}
}

// golden is a record of testdata.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "records", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestOptionalField: a row may lack an optional field in any way, also where its column is named; a wrong kind is a
// fault.
func TestOptionalField(t *testing.T) {
	for line, want := range map[string]string{
		`{"question":"q","passage":"p"}`:               "",
		`{"question":"q","answer":null,"passage":"p"}`: "",
		`{"question":"q","answer":"","passage":"p"}`:   "",
		`{"question":"q","answer":"a","passage":"p"}`:  "a",
		`{"question":"q","answer":7,"passage":"p"}`:    "7",
		`{"question":"q","answer":7.0,"passage":"p"}`:  "7",
		`{"question":"q","answer":7.5,"passage":"p"}`:  "7.5",
		`{"question":"q","answer":true,"passage":"p"}`: "true",
	} {
		rows, bad := read(t, line+"\n", Options{})
		if len(bad) != 0 || len(rows) != 1 || rows[0].Values[1] != want {
			t.Errorf("%s: got %v, %v, want the answer %q", line, rows, bad, want)
		}
	}
	lines := with(`"key":"k"`) + "\n" + `{"question":"q","passage":"p"}` + "\n" + `{"question":"q","key":{},"passage":"p"}`
	if rows, bad := read(t, lines, Options{Map: map[string]string{"answer": "key"}}); len(rows) != 2 || len(bad) != 1 {
		t.Errorf("with --map answer=key: got %v and %v, want two rows and a fault", rows, bad)
	}
}

// TestAlone: each line is read by itself, be it the first or not: what it lacks is its own fault, and what came before
// changes nothing.
func TestAlone(t *testing.T) {
	in := `{"q":1}` + "\n" + strings.Repeat(`{"question":"Who?","answer":"x","passage":"y","id":"a"}`+"\n", 2) +
		`{"prediction":"Who?","answer":"x","passage":"y"}` + "\n"
	r := NewReader(strings.NewReader(in), "-", Options{Taxonomy: questions(t), Alone: true})
	for line, want := range []string{`no column "question"; the columns are q`, "", "",
		`no column "question"; the columns are prediction, answer, passage`} {
		row, err := r.Read()
		var fault *LineError
		switch {
		case want == "" && (err != nil || row.ID != "a"):
			t.Errorf("line %d: %+v, %v", line+1, row, err)
		case want != "" && (!errors.As(err, &fault) || fault.Line != line+1 || !strings.Contains(err.Error(), want)):
			t.Errorf("line %d: got %v, want %s", line+1, err, want)
		}
	}
	if _, err := r.Read(); !errors.Is(err, io.EOF) || len(r.Notes()) > 0 {
		t.Errorf("%v, notes %q", err, r.Notes())
	}
}

// Excel is told by a first line what stands between cells; it is no header, and lines keep their numbers.
func TestSeparatorLine(t *testing.T) {
	for _, sep := range []string{";", "|", "\t", ","} {
		in := "\ufeffsep=" + sep + "\r\nquestion" + sep + "passage\r\nWho?" + sep + `"a, b; c"` + "\r\n"
		r, err := NewSource(strings.NewReader(in), "excel.csv", Options{Taxonomy: questions(t), Format: Format{Name: CSV}})
		if err != nil {
			t.Fatal(err)
		}
		row, err := r.Read()
		if err != nil || row.Values[0] != "Who?" || row.Line != 3 {
			t.Errorf("%q: %+v, %v", sep, row, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRejections: what a server says of a line that was no row is a fault, and tells nothing of the file's columns.
func TestRejections(t *testing.T) {
	const text = `{"status":"rejected","line":1,"reason":"no JSON"}` + "\n" + `{"Question":"Who?","context":"P","answer":"x"}`
	r := NewReader(strings.NewReader(text), "in.jsonl", Options{Taxonomy: questions(t)})
	if _, err := r.Read(); err == nil || !strings.HasSuffix(err.Error(), "line 1 was rejected by erreval serve: no JSON") {
		t.Error(err)
	}
	row, err := r.Read()
	if err != nil || row.Values[0] != "Who?" || strings.Contains(strings.Join(r.Notes(), "|"), "no column") {
		t.Errorf("%+v, %v, notes %q", row, err, r.Notes())
	}
}
