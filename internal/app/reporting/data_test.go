package reporting

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/erreval/erreval/report/view"
)

// What is written is the JSON of the data, with the records as they were.
func TestWriteData(t *testing.T) {
	for _, records := range [][]json.RawMessage{{}, {json.RawMessage(`{"a":"]}}"}`)},
		{json.RawMessage(`{"a": "<b>"}`), json.RawMessage(`null`)}} {
		d := &view.Data{Catalog: &view.Catalog{Title: `"records":[]}}`}, Rows: view.Columns{ID: []string{"x"}, Records: records}}
		var out bytes.Buffer
		if err := WriteData(&out, d); err != nil {
			t.Fatal(err)
		}
		var back view.Data
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		if len(back.Rows.Records) != len(records) || back.Catalog.Title != d.Catalog.Title || back.Rows.ID[0] != "x" {
			t.Errorf("%s", &out)
		}
		for i, r := range records {
			if !bytes.Equal(r, back.Rows.Records[i]) {
				t.Errorf("record %d: %s, want %s", i, back.Rows.Records[i], r)
			}
		}
	}
	if err := WriteData(full{}, &view.Data{Catalog: &view.Catalog{}}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
