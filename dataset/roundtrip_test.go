package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// allFormats are the formats with every compression.
func allFormats() []Format {
	var all []Format
	for _, name := range formatNames() {
		for _, c := range []string{"", Gzip, Zstd} {
			all = append(all, Format{name, c})
		}
	}
	return all
}

// generator makes rows with everything that a value may hold.
type generator struct{ *rand.Rand }

var pieces = []string{"a", "word", " ", "  ", "\n", "\r\n", "\r", "\t", `"`, `""`, "'", "'=", ",", ";", "; ", "=", "+1",
	"-", "@", "é", "日本", "😀",
	"\u0000", "\u0001", "\u001f", "\u2028", "\ufeff", "\uffff", "_x000D_", "_x", "_x005F_", "<b>", "&amp;", "\\", "null",
	"{}", "[1]", "#N/A", "12", "1e5", "=1+1"}

func (g generator) text() string {
	var b strings.Builder
	for range g.IntN(6) {
		b.WriteString(pieces[g.IntN(len(pieces))])
	}
	return b.String()
}

var numbers = []string{"0", "-1", "1.5", "0.1", "1e-7", "123456789012345", "9007199254740993", "12345678901234567890",
	"0.30000000000000004", "-0.25", "1E+3", "2.50", "3.14159265358979323846264338"}

func (g generator) number() string { return numbers[g.IntN(len(numbers))] }

// cellOf gives one value of a column's type; types above 4 mix.
func (g generator) cell(typ int) json.RawMessage {
	if g.IntN(8) == 0 && typ != 0 {
		return json.RawMessage("null")
	}
	switch typ {
	case 0, 1:
		return jsontext.Quote(g.text())
	case 2:
		return json.RawMessage(fmt.Sprint(g.IntN(1000) - 500))
	case 3:
		return json.RawMessage(g.number())
	case 4:
		return json.RawMessage([]string{"true", "false"}[g.IntN(2)])
	case 5:
		return json.RawMessage(fmt.Sprintf(`[1,{"a":%s}, %s]`, jsontext.Quote(g.text()), g.number()))
	case 6:
		return json.RawMessage(`{"b":1,"a":[true,null]}`)
	case 7: // a score from 0 to 1
		return json.RawMessage(fmt.Sprint(float64(g.IntN(1000)) / 1000))
	}
	return g.cell(g.IntN(8))
}

// rows are n rows of the same columns: the fields, a diagnosis, scores, and others of any name and type.
func (g generator) rows(t *testing.T, n int) []*Row {
	names := []string{"question", "answer", "passage", "z", "a", "=name", "'=other", "with, comma", "with \"quotes\"",
		"日本語", "-", "a.b"}
	types := make([]int, len(names))
	for i := range types {
		types[i] = g.IntN(9)
	}
	types[0], types[1], types[2] = 0, 0, 0
	order := g.Perm(len(names))
	var rows []*Row
	for i := range n {
		r := &Row{ID: fmt.Sprint("r", i), columns: []column{{"id", jsontext.Quote(fmt.Sprint("r", i))}}}
		for _, j := range order {
			r.columns = append(r.columns, column{names[j], g.cell(types[j])})
		}
		d := &Diagnosis{Labels: []string{"Vague", "Factual Error"}, Model: "m@1", Taxonomy: "t@1",
			Probabilities: Probabilities{{"Vague", float64(g.IntN(1001)) / 1000}, {"Factual Error", 1}, {"No Error", 0}}}
		switch g.IntN(4) {
		case 0:
			d = &Diagnosis{Status: StatusUntagged, Reason: "too " + g.text()}
		case 1:
			d.Truncated = map[string]int{"passage": 1 + g.IntN(9)}
			d.NotJudged = []string{"Off Target Answer", "Off Topic"}[:g.IntN(3)]
		case 2:
			d.Labels = []string{}
		}
		if err := r.SetDiagnosis(d); err != nil {
			t.Fatal(err)
		}
		score := json.RawMessage(fmt.Sprintf(`{"fluency":{"value":%v,"runs":[{"judge":"offline","value":1.0}]},"answer_consistency":{"status":"unscored","reason":"x"}}`, float64(g.IntN(9))/2))
		if err := r.Set("scores", score); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// flatText is what a value is after a format whose cells are texts.
func flatText(c column, f Format) json.RawMessage {
	switch {
	case c.name == ColumnDiagnosis || c.name == "scores" || c.value[0] == '"':
		return c.value
	case f.is(CSV, TSV):
		return jsontext.Quote(cellText(c.value))
	case kindOf(c.value)&(kindOther|kindBig) != 0:
		return jsontext.Quote(string(c.value))
	}
	return c.value
}

// same compares values: numbers by their value where the format may write them otherwise.
func same(a, b json.RawMessage, f Format) bool {
	if string(a) == string(b) {
		return true
	}
	if !f.is(Parquet) || jsontext.Kind(a) != "a number" || jsontext.Kind(b) != "a number" {
		return false
	}
	x, okX := new(big.Rat).SetString(string(a))
	y, okY := new(big.Rat).SetString(string(b))
	return okX && okY && x.Cmp(y) == 0
}

func write(t testing.TB, rows []*Row, f Format, o SinkOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	o.TempDir = t.TempDir()
	sink, err := NewSink(&out, f, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := sink.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return out.Bytes()
}

func readFormat(t testing.TB, data []byte, f Format, o Options) ([]*Row, []*LineError) {
	t.Helper()
	o.Format, o.TempDir = f, t.TempDir()
	r, err := NewSource(bytes.NewReader(data), "in", o)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	rows, bad := readAll(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return rows, bad
}

// TestRoundTrip writes generated rows in every format and compression and reads them back: equal rows,
// columns in order, types kept (in CSV and for what a sheet cannot hold: texts of the same content).
func TestRoundTrip(t *testing.T) {
	for _, f := range allFormats() {
		t.Run(f.String(), func(t *testing.T) {
			for seed := range uint64(15) {
				g := generator{rand.New(rand.NewPCG(seed, 4))}
				rows := g.rows(t, g.IntN(20))
				got, bad := readFormat(t, write(t, rows, f, SinkOptions{}), f, Options{Taxonomy: questions(t)})
				if len(bad) > 0 || len(got) != len(rows) {
					t.Fatalf("seed %d: %d rows of %d came back, errors %v", seed, len(got), len(rows), bad)
				}
				for i := range rows {
					compare(t, seed, rows[i], got[i], f)
				}
			}
		})
	}
}

func compare(t *testing.T, seed uint64, want, got *Row, f Format) {
	t.Helper()
	if got.ID != want.ID || !slices.Equal(got.Columns(), want.Columns()) {
		t.Fatalf("seed %d: row %s\ngot  %q\nwant %q", seed, want.ID, got.Columns(), want.Columns())
	}
	for i, c := range want.columns {
		w := c.value
		if f.is(CSV, TSV, XLSX) {
			w = flatText(c, f)
		}
		if f.is(XLSX) && string(c.value) == `null` {
			w = c.value
		}
		if g := got.columns[i].value; !same(g, w, f) {
			t.Fatalf("seed %d: row %s, column %q:\ngot  %s\nwant %s", seed, want.ID, c.name, g, w)
		}
	}
}

// TestGoldenFormats takes a diagnosed golden record through every format: its diagnosis comes back byte for
// byte, and from formats with types the whole row.
func TestGoldenFormats(t *testing.T) {
	data := golden(t, "diagnosed")
	rows, _ := readFormat(t, data, Format{Name: JSONL}, Options{Taxonomy: questions(t)})
	for _, f := range allFormats() {
		got, _ := readFormat(t, write(t, rows, f, SinkOptions{}), f, Options{Taxonomy: questions(t)})
		if len(got) != 1 {
			t.Fatalf("%s: %d rows", f, len(got))
		}
		want, _ := rows[0].Get(ColumnDiagnosis)
		if d, _ := got[0].Get(ColumnDiagnosis); string(d) != string(want) {
			t.Errorf("%s:\ngot  %s\nwant %s", f, d, want)
		}
		if text := string(appendObject(nil, got[0].columns)) + "\n"; f.is(JSONL, JSON, Parquet) && text != string(data) {
			t.Errorf("%s:\ngot  %swant %s", f, text, data)
		}
	}
}

// TestRagged: rows that lack columns get them, empty, in flat formats; no value moves to another column.
func TestRagged(t *testing.T) {
	data := `{"question":"q1","answer":"a","passage":"p","x":1}` + "\n" +
		`{"question":"q2","y":"t","answer":"a","passage":"p"}` + "\n"
	rows, _ := readFormat(t, []byte(data), Format{Name: JSONL}, Options{Taxonomy: questions(t)})
	for _, c := range []struct {
		format string
		want   string
	}{
		{CSV, `{"question":"q1","y":"","answer":"a","passage":"p","x":"1"}` + "\n" +
			`{"question":"q2","y":"t","answer":"a","passage":"p","x":""}`},
		{XLSX, `{"question":"q1","y":null,"answer":"a","passage":"p","x":1}` + "\n" +
			`{"question":"q2","y":"t","answer":"a","passage":"p","x":null}`},
		{Parquet, `{"question":"q1","y":null,"answer":"a","passage":"p","x":1}` + "\n" +
			`{"question":"q2","y":"t","answer":"a","passage":"p","x":null}`},
	} {
		f := Format{Name: c.format}
		got, bad := readFormat(t, write(t, rows, f, SinkOptions{}), f, Options{Taxonomy: questions(t)})
		var lines []string
		for _, r := range got {
			lines = append(lines, string(appendObject(nil, r.columns)))
		}
		if text := strings.Join(lines, "\n"); text != c.want || len(bad) > 0 {
			t.Errorf("%s, %v:\ngot  %s\nwant %s", f, bad, text, c.want)
		}
	}
}

func readErr(r *Reader) (rows int, bad []*LineError, err error) {
	for {
		_, err := r.Read()
		var line *LineError
		switch {
		case errors.Is(err, io.EOF):
			return rows, bad, nil
		case errors.As(err, &line):
			bad = append(bad, line)
		case err != nil:
			return rows, bad, err
		default:
			rows++
		}
	}
}
