package issues

import (
	"fmt"
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
		`{"status":"no_issue","unsorted":true}`:      `beside "unsorted"`,
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

// A row with a fault that could not be sorted is none without issue.
func TestFound(t *testing.T) {
	for text, want := range map[string]string{
		`{"status":"assigned","ids":["a","b"]}`:                                      "[a b] true",
		`{"status":"no_issue","analysis":"fine"}`:                                    "[] true",
		`{"status":"unassigned","reason":"unlisted","analysis":"odd"}`:               "[unlisted] true",
		`{"status":"unassigned","reason":"missing","unsorted":true}`:                 "[unlisted] true",
		`{"status":"unassigned","reason":"unfounded","analysis":"odd","severity":2}`: "[] false",
		`{"status":"unassigned","reason":"refused"}`:                                 "[] false",
		`{"status":"fine"}`: "[] false",
		`null`:              "[] false",
	} {
		row, err := dataset.RowOf(map[string]any{Column: raw(text)})
		if err != nil {
			t.Fatal(err)
		}
		ids, known := IDs(row)
		if got := fmt.Sprint(ids, known); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }
