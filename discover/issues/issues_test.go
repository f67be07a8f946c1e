package issues

import (
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

func TestFindings(t *testing.T) {
	for text, want := range map[string]string{
		`{"status":"assigned","ids":["a"]}`:          "",
		`{"status":"no_issue"}`:                      "",
		`{"status":"unassigned","reason":"refused"}`: "",
		`"{\"status\":\"no_issue\"}"`:                "",
		`{"status":"assigned"}`:                      `"ids" is empty`,
		`{"status":"no_issue","ids":["a"]}`:          "beside the issues",
		`{"status":"fine"}`:                          `unknown status "fine"`,
		`{"status":"no_issue","severity":4}`:         "severity 4",
		`{"status":"no_issue","score":1.5}`:          "score 1.5",
		`[]`:                                         "not as erreval writes it",
	} {
		row, err := dataset.RowOf(map[string]any{Column: raw(text)})
		if err != nil {
			t.Fatal(err)
		}
		f, err := Of(row)
		if want == "" && (err != nil || f == nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
	for _, none := range []map[string]any{{}, {Column: nil}, {Column: ""}} {
		row, err := dataset.RowOf(none)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Of(row); f != nil || err != nil {
			t.Errorf("%v: %+v, %v", none, f, err)
		}
	}
}

type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }
