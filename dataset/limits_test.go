package dataset

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestMaxRecord: in every format a record over the limit is rejected with its place, and the others are read; a higher
// limit lets it in.
func TestMaxRecord(t *testing.T) {
	row := func(n int) string { return `{"question":"` + strings.Repeat("q", n) + `","answer":"a","passage":"p"}` }
	lines := row(9) + "\n" + row(300<<10) + "\n" + row(8) + "\n"
	rows, bad := readAll(t, NewReader(strings.NewReader(lines), "f", Options{}))
	if len(rows) != 3 || len(bad) > 0 {
		t.Fatal(len(rows), bad)
	}
	tax := questions(t)
	for _, name := range []string{"jsonl", "json", "csv", "tsv", "xlsx", "parquet", "jsonl.gz", "csv.zst"} {
		format, err := ParseFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		sink, err := NewSink(&out, format, SinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			err = errors.Join(err, sink.Write(r))
		}
		if err = errors.Join(err, sink.Close()); err != nil {
			if format.is(XLSX) { // Excel's cells end before
				continue
			}
			t.Fatal(err)
		}
		for limit, want := range map[int]int{200 << 10: 2, 0: 3} {
			r, err := NewSource(bytes.NewReader(out.Bytes()), "f", Options{Taxonomy: tax, Format: format, MaxRecord: limit})
			if err != nil {
				t.Fatal(err)
			}
			got, bad := readAll(t, r)
			if len(got) != want || len(bad) != 3-want {
				t.Errorf("%s: %d rows and %d rejected within %d bytes: %v", name, len(got), len(bad), limit, bad)
			}
			for _, err := range bad {
				if !strings.Contains(err.Error(), "the record takes more than 204800 bytes") {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestListGoesOn: an item that is too long is left behind wherever it stands.
func TestListGoesOn(t *testing.T) {
	long := `{"x":["` + strings.Repeat(`\"]}`, 500) + `",{}]}`
	article := `{"title":"t","paragraphs":[{"context":"c","qas":[` + strings.Repeat("{},", 200) + `{}]}]}`
	for _, text := range []string{"[" + long + "," + good + "]", "[" + good + "," + long + "]", long + "\n" + good,
		`{"data": [` + long + " , " + good + "]}", "[" + article + "," + good + "]"} {
		r, err := NewSource(strings.NewReader(text), "f", Options{Taxonomy: questions(t), Format: Format{Name: JSON},
			MaxRecord: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if rows, bad := readAll(t, r); len(rows) != 1 || len(bad) != 1 {
			t.Errorf("%.60s: %d rows, %v", text, len(rows), bad)
		}
	}
}

// TestManyColumns: more columns than a workbook has are refused, in a line or a header.
func TestManyColumns(t *testing.T) {
	cells := strings.Repeat(",", 20000)
	r, err := NewSource(strings.NewReader(head+"q,a,p\n"+cells+"\nq,a,p\n"), "f", Options{Taxonomy: questions(t),
		Format: Format{Name: CSV}})
	if err != nil {
		t.Fatal(err)
	}
	if rows, bad := readAll(t, r); len(rows) != 2 || len(bad) != 1 || !strings.Contains(bad[0].Error(), "16384 columns") {
		t.Errorf("%d rows, %v", len(rows), bad)
	}
	if _, err := NewSource(strings.NewReader(cells+"\n"), "f", Options{Format: Format{Name: CSV}}); err == nil {
		t.Error("a header of 20,001 columns is read")
	}
}

// TestPyarrow reads what testdata/parquet/make.py wrote: LZ4, no rows, an empty row group; and compares checksums.
func TestPyarrow(t *testing.T) {
	read := func(data []byte) (rows int, bad bool) {
		r, err := NewSource(bytes.NewReader(data), "f", Options{Taxonomy: questions(t), Format: Format{Name: Parquet}})
		if err != nil {
			return 0, true
		}
		for ; ; rows++ {
			if _, err := r.Read(); err != nil {
				return rows, err.Error() != "EOF"
			}
		}
	}
	for name, want := range map[string]int{"lz4": 2, "zero-rows": 0, "empty-group": 2} {
		data, err := os.ReadFile("testdata/parquet/" + name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		if rows, bad := read(data); rows != want || bad {
			t.Errorf("%s: %d rows, bad %t", name, rows, bad)
		}
		if name != "lz4" {
			continue
		}
		at := bytes.Index(data, []byte("Who?"))
		data[at] ^= 1
		if rows, bad := read(data); rows > 0 || !bad {
			t.Errorf("a changed page: %d rows, bad %t", rows, bad)
		}
	}
}
