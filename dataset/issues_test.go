package dataset

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/erreval/erreval/dataset/internal/jsontext"
	"github.com/erreval/erreval/taxonomy"
)

// What erreval discover found comes back from flat files as it was: in columns where it fits, else in one cell.
func TestIssuesInFlatFiles(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	inOurOrder := map[string]string{`{"severity":2,"status":"no_issue"}`: `{"status":"no_issue","severity":2}`}
	for _, want := range []string{
		`{"status":"assigned","ids":["wrong-date","vague"],"analysis":"It is wrong; quite.","quote":"=1+1","severity":2,"evaluation":"long"}`,
		`{"status":"no_issue","score":0.95}`,
		`{"status":"unassigned","reason":"refused: sorry","unsorted":true,"evidence":"labels"}`,
		`{"status":"no_issue","other":{"status":"no_issue"}}`,
		`{"status":"no_issue","new":1}`,
		`{"severity":2,"status":"no_issue"}`,
	} {
		for _, name := range []string{CSV, TSV, XLSX, Parquet} {
			row := &Row{columns: []column{{"response", jsontext.Quote("a")}, {"input", jsontext.Quote("b")},
				{columnIssues, []byte(want)}}}
			var b bytes.Buffer
			sink, err := NewSink(&b, Format{Name: name}, SinkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := sink.Write(row); err != nil {
				t.Fatal(err)
			}
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
			in, err := NewSource(&b, "x", Options{Taxonomy: task, Format: Format{Name: name}})
			if err != nil {
				t.Fatal(err)
			}
			back, err := in.Read()
			if err != nil {
				t.Fatal(err)
			}
			got, _ := back.Get(columnIssues)
			text := string(got)
			if text != want && text != inOurOrder[want] {
				t.Errorf("%s: %s became %s", name, want, text)
			}
			if _, err := in.Read(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v after the row", name, err)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
