package view

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// FuzzQuery: no query ends the program or is the server's fault, and one that is understood is answered twice alike.
func FuzzQuery(f *testing.F) {
	for _, q := range queries() {
		data, err := json.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add(`{"filter":{"facets":{"label":{"any":["Vague"],"only":true}},"ranges":{"score.clarity":{"min":-1e308,"max":null}},"search":"\u0130 ς"},"facet":"label"}`)
	f.Add(`{"limit":1,"offset":9223372036854775807,"sort":{"key":"id"}}`)
	h := Handler(openRuns(f, Options{}))
	f.Fuzz(func(t *testing.T, body string) {
		for _, kind := range []string{"counts", "histogram", "rows", "row", "pairs", "export"} {
			code, first, _ := post(t, h, "/view/"+kind, body)
			if code != http.StatusOK && code != http.StatusBadRequest && code != http.StatusNotFound {
				t.Fatalf("%s %q: %d %s", kind, body, code, first)
			}
			if code == http.StatusOK {
				if _, second, _ := post(t, h, "/view/"+kind, body); first != second {
					t.Fatalf("%s %q: %s, then %s", kind, body, first, second)
				}
			}
		}
	})
}

// FuzzFiles: whatever stands in rows, in a record and in a list of issues, either an error says what is wrong or every
// row is there and is counted, and all of it can be written as JSON.
func FuzzFiles(f *testing.F) {
	f.Add(hand, `{"format":1,"options":{"map":{"question":"q"},"thresholds":{"Vague":0.5},"judge":["a"]},"columns":{"question":"q"}}`,
		`{"format":1,"issues":[{"id":"x","name":"X","severity":2,"stability":1}]}`)
	f.Add(`{"id":"1","question":"a","passage":"p","issues":{"status":"assigned","ids":["x","y"],"severity":9},"diagnosis":3}`+"\n"+
		`{"id":"1","question":"a","passage":"p","verdicts":{"Overall":null},"scores":{"x":{"value":1e309}},"labels":[1],"n":1e999}`, `{`, `[]`)
	f.Add(`{"question_a":"x","question_b":"y","item":"i","verdicts":{"Vague":{"value":"A"}},"system":{"a":1}}`, "", "")
	f.Add("a,b\n=1,2\n", "null", "{}")
	f.Fuzz(func(t *testing.T, rows, record, list string) {
		dir := t.TempDir()
		write(t, dir, "rows.jsonl", rows)
		if record != "" {
			write(t, dir, "rows.jsonl.run.json", record)
		}
		if list != "" {
			write(t, dir, "rows.jsonl.issues.json", list)
		}
		x, err := Open(context.Background(), []string{filepath.Join(dir, "rows.jsonl")}, Options{memoryRows: len(rows)%3 - 1,
			TempDir: dir})
		if err != nil {
			return
		}
		defer x.Close()
		checkWhole(t, x)
	})
}

// checkWhole asks for everything, and compares what the answers have in common.
func checkWhole(t *testing.T, x *Index) {
	t.Helper()
	ctx, c := context.Background(), x.Catalog()
	columns, _, err := x.Columns(ctx, 20_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(Data{Catalog: c, Rows: columns}); err != nil {
		t.Fatal(err)
	}
	if len(columns.ID) != c.Rows {
		t.Fatalf("%d rows, want %d", len(columns.ID), c.Rows)
	}
	for i := range c.Facets {
		f := &c.Facets[i]
		counts, err := x.Counts(ctx, CountsQuery{Facet: f.Key, By: facetRun})
		if err != nil {
			t.Fatal(err)
		}
		for v := range f.Values {
			want := 0
			for _, places := range columns.Facets[f.Key] {
				for _, place := range places {
					if place == v {
						want++
					}
				}
			}
			got := 0
			for _, cell := range counts.Values[v].Cells {
				got += cell.Rows
			}
			if got != want {
				t.Fatalf("%s %q: %d rows, want %d", f.Key, f.Values[v].Name, got, want)
			}
		}
	}
	for i := range c.Measures {
		h, err := x.Histogram(ctx, HistogramQuery{Measure: c.Measures[i].Key})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, count := range h.Columns[0].Counts {
			n += count
		}
		if n != h.Columns[0].Rows || n+h.Columns[0].Missing != c.Rows {
			t.Fatalf("%+v", h)
		}
		if _, err := json.Marshal(h); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamaged: a file of an index in which any byte changed gives an error, or is made anew, and never another answer.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows.jsonl")
	writeMade(t, path, 300, 4)
	o := Options{CacheDir: filepath.Join(dir, "cache"), memoryRows: 1, Build: "test"}
	ctx := context.Background()
	q := CountsQuery{Facet: "label", By: "system", Filter: Filter{Search: "word1"}}
	ask := func() string {
		x, err := Open(ctx, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if a, err := x.Counts(ctx, q); err == nil {
			return show(a)
		}
		return ""
	}
	want := ask()
	files, err := filepath.Glob(filepath.Join(o.CacheDir, "*"+fileSuffix))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for at := 0; at < len(whole); at += 997 {
		damaged := append([]byte{}, whole...)
		damaged[at] ^= 0x55
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		switch got := ask(); got {
		case "":
			failed++
		case want:
		default:
			t.Fatalf("byte %d: %s, want %s", at, got, want)
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
}
