package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// fuzzFormat reads what the fuzzer makes of the seeds, within small limits too: no crash, every error names its file,
// and the rows that come out can be written and read again as JSON Lines.
func fuzzFormat(f *testing.F, name string, seeds ...[]byte) {
	t := &testing.T{}
	rows, _ := readAll(t, NewReader(bytes.NewReader(golden(f, "diagnosed")), "seed", Options{}))
	format := Format{Name: name}
	f.Add(fuzzSeed(f, rows, format))
	f.Add(fuzzSeed(f, nil, format))
	for _, s := range seeds {
		f.Add(s)
	}
	tax := questions(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, limit := range []int{0, 100} {
			r, err := NewSource(bytes.NewReader(data), "f", Options{Taxonomy: tax, Format: format, MaxRecord: limit})
			if err == nil {
				err = fuzzRows(t, r)
				err = errors.Join(err, r.Close())
			}
			if err != nil && !strings.HasPrefix(err.Error(), "f: ") {
				t.Fatalf("no file in %q", err)
			}
		}
	})
}

func fuzzSeed(f *testing.F, rows []*Row, format Format) []byte {
	var out bytes.Buffer
	sink, err := NewSink(&out, format, SinkOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range rows {
		if err := sink.Write(r); err != nil {
			f.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		f.Fatal(err)
	}
	return out.Bytes()
}

// fuzzRows gives the final error of reading.
func fuzzRows(t *testing.T, r *Reader) error {
	var out bytes.Buffer
	w := NewWriter(&out)
	n := 0
	var final error
	for range 10000 {
		row, err := r.Read()
		var line *LineError
		if errors.As(err, &line) {
			if line.Line < 1 || !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("no place in %q", err)
			}
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				final = err
			}
			break
		}
		n++
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	again, bad := readAll(t, NewReader(&out, "f", Options{}))
	if len(again) != n || len(bad) > 0 {
		t.Fatalf("%d rows were read, %d of them can be read again, errors %v", n, len(again), bad)
	}
	return final
}

func FuzzList(f *testing.F) {
	fuzzFormat(f, JSON, []byte(`{"version":1,"data":[{"title":"t","paragraphs":[{"context":"p","qas":[{"question":"q","answers":[{"text":"a"}]}]}]}],"x":2}`),
		[]byte(`{"data":1}`), []byte(`{"data":[`+good+`],"data":[`+good+`]}`), []byte(`{"data":[],"d\u0061ta":[`+good+`]}`),
		[]byte("[\n{\"question\":\"q\",\n\"answer\":[\n1],\"passage\":\"p\"}]"), []byte(`{"data" : [`), []byte(good+good),
		[]byte(promptfooLog), []byte(inspectLog))
}

func FuzzCSV(f *testing.F) {
	fuzzFormat(f, CSV, []byte(head+"q,\"a\"\"\r\n\",p\r\nq,\"a,p\nq,a,p"), []byte("a;b\n1;2"),
		[]byte("Title\n\n"+head+"q,a,p"),
		[]byte("erreval.apostrophe,question\n\"[\"\"question\"\"]\",'=1"),
		[]byte("scores.a.value,scores.a.runs,diagnosis.status,diagnosis\n1,[],untagged,{}"))
}

func FuzzTSV(f *testing.F) { fuzzFormat(f, TSV, []byte("question\tanswer\tpassage\nq\ta\tp\n")) }

func FuzzXLSX(f *testing.F) {
	fuzzFormat(f, XLSX, workbookOf(f, nil))
}

func FuzzParquet(f *testing.F) {
	seeds := [][]byte{parquetOf(f, []float64{1, 2}), footer(0xfffffff0, ""),
		footer(0, "\x15\x04\x19\xfc\xff\xff\xff\xff\x07")}
	for _, name := range []string{"prefixes", "lengths", "differences", "levels", "indices", "lz4-page-that-is-damaged"} {
		seeds = append(seeds, writeHostile(f, name+".parquet"))
	}
	fuzzFormat(f, Parquet, seeds...)
}

// FuzzPacked goes at the decompressors.
func FuzzPacked(f *testing.F) {
	fuzzFormat(f, JSONL, pack(f, Gzip, []byte(good)), pack(f, Zstd, []byte(good)))
}

// FuzzObject: splitting an object gives what encoding/json makes of it.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : [1, {"b":"}"}] , "\u0063\"":-1.5e3 } `, `{"a":"\\","b":null}`, `{"a":1}}`,
		`[1]`, `{"a":1,"a":2}`, `{"a":true`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		columns, err := parseObject(data)
		var want map[string]json.RawMessage
		if bad := json.Unmarshal(data, &want); err == nil && (bad != nil || len(columns) != len(want)) {
			t.Fatalf("%d columns of %d, %v", len(columns), len(want), bad)
		} else if err != nil && bad == nil && want != nil && !strings.Contains(err.Error(), "twice") &&
			!strings.Contains(err.Error(), "UTF-8") && !strings.Contains(err.Error(), "surrogate") {
			t.Fatal(err)
		}
		for _, c := range columns {
			if string(want[c.name]) != string(c.value) {
				t.Fatalf("column %q is %s, want %s", c.name, c.value, want[c.name])
			}
		}
	})
}
