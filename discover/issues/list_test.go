package issues

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

func writeFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFaults: a list that does not hold together is refused, with what is wrong.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                          "no list of issues, as erreval discover writes it",
		`{"format":1,"issues":7}`:    "no list of issues",
		`{"format":2}`:               "format 2; this version of erreval reads format 1",
		`{"format":1,"issues":[{}]}`: "issue 1 has no id or no name",
		`{"format":1,"issues":[{"id":"a","name":"A"},{"id":"a","name":"B"}]}`:             `two issues have the id "a"`,
		`{"format":1,"issues":[{"id":"a","name":"A b"},{"id":"b","name":"a  B."}]}`:       `two issues have the name "a  B."`,
		`{"format":1,"issues":[{"id":"a","name":"A","relation":"already a type"}]}`:       `"labels" is empty`,
		`{"format":1,"issues":[{"id":"a","name":"A","relation":"narrower","labels":[]}]}`: `"labels" is empty`,
		`{"format":1,"issues":[{"id":"a","name":"A","severity":1e300}]}`:                  "severity 1e+300; it is 1 to 3",
		`{"format":1,"issues":[{"id":"a","name":"A","severity":-1}]}`:                     "severity -1",
	} {
		if _, err := Read(writeFile(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
		if _, err := ReadKnown(writeFile(t, text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestReadKnown(t *testing.T) {
	known, err := ReadKnown(writeFile(t, "\n# mine\nToo Long: longer than asked for: by far\n  Vague  \nVague!s\n"))
	if err != nil || len(known) != 3 || known[0].ID != "too-long" ||
		known[0].Description != "longer than asked for: by far" || known[1].Name != "Vague" || known[2].ID != "vague-s" {
		t.Errorf("%+v, %v", known, err)
	}
}

func TestNewID(t *testing.T) {
	taken := map[string]bool{"too-long": true, "too-long-2": true}
	for name, want := range map[string]string{"Too long!": "too-long-3", "Größe, 2": "größe-2", "…": "issue",
		strings.Repeat("ab ", 40): strings.Trim(strings.Repeat("ab-", 16), "-")} {
		got := NewID(name, func(id string) bool { return taken[id] })
		if got != want || !IsID(got) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for text, want := range map[string]bool{"too-long": true, "Too-long": false, "a b": false, "": false, "a.b": false} {
		if IsID(text) != want {
			t.Errorf("%q is an id: %v", text, !want)
		}
	}
}

// FuzzRead: whatever a list says, it is refused, or can be shown and mapped to.
func FuzzRead(f *testing.F) {
	f.Add(`{"format":1,"issues":[{"id":"a","name":"A","relation":"narrower","labels":[{"label":"Vague"}],"examples":[{}]}]}`)
	f.Add(`{"format":1,"issues":[{"id":"a","name":"A","relation":"older"}]}`)
	f.Add("A: b\nC")
	f.Fuzz(func(t *testing.T, text string) {
		path := writeFile(t, text)
		if l, err := Read(path); err == nil {
			var b strings.Builder
			if err := l.Report().Markdown(&b); err != nil {
				t.Error(err)
			}
			if err := l.Summary().Text(&b, 0); err != nil {
				t.Error(err)
			}
		}
		known, err := ReadKnown(path)
		if err == nil && len(known) == 0 && !strings.HasPrefix(strings.TrimSpace(text), "{") {
			t.Error("no issue, and no error")
		}
	})
}

// FuzzOf: a column is a finding that holds together, or refused.
func FuzzOf(f *testing.F) {
	f.Add(`{"status":"assigned","ids":["a"],"severity":2,"score":0.5}`)
	f.Add(`"{\"status\":\"no_issue\"}"`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, column string) {
		r, err := dataset.NewSource(strings.NewReader(`{"id":"x","issues":`+column+`}`), "in.jsonl", dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		row, err := r.Read()
		if err != nil {
			return
		}
		found, err := Of(row)
		if err == nil && found != nil && (found.Status == Assigned) != (len(found.IDs) > 0) {
			t.Errorf("%+v", found)
		}
	})
}
