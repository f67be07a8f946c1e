package view

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the fixtures in testdata anew")

// openRuns opens the fixtures, as all commands wrote them.
func openRuns(t testing.TB, o Options) *Index {
	t.Helper()
	o.Build = "test"
	var paths []string
	for _, name := range []string{"tagged.jsonl", "strict.csv", "scored.jsonl", "judged.jsonl", "found.jsonl",
		"pairs.jsonl", "twins.jsonl"} {
		paths = append(paths, filepath.Join("testdata", "runs", name))
	}
	x, err := Open(context.Background(), paths, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// golden compares with a file of testdata, or with -update writes it: a list as JSON, an item a line.
func golden[T any](t *testing.T, name string, list ...T) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, item := range list {
		if len(list) > 1 {
			b.WriteByte("[,"[min(i, 1)])
		}
		if err := enc.Encode(item); err != nil {
			t.Fatal(err)
		}
	}
	if len(list) > 1 {
		b.WriteString("]\n")
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs; go test ./report/view -update writes it anew", name)
	}
}

// TestData: what a report file of the fixtures holds. The page's tests read it.
func TestData(t *testing.T) {
	x := openRuns(t, Options{})
	columns, sample, err := x.Columns(context.Background(), 20_000, 1)
	if err != nil || sample != nil {
		t.Fatal(sample, err)
	}
	catalog := *x.Catalog()
	catalog.Task = "question-generation@1.1" // that of the recorded rows, where the built-in one is newer
	golden(t, "columns.json", Data{Catalog: &catalog, Rows: columns})
}
