package review

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

func openMarks(t testing.TB, path string) *Marks {
	t.Helper()
	m, err := OpenMarks(path, "anna", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

var (
	wall = &dataset.Row{ID: "wall", Values: []string{"Who built it?", "Oke", "Oke built it."}}
	twin = &dataset.Row{ID: "wall", Values: []string{"Who?", "Oke", "Oke built it."}} // of another run
)

// TestMarks: marks are changed and taken away, found again after a kill, and one line each after the end.
func TestMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl.marks.jsonl")
	m := openMarks(t, path)
	if _, err := os.Stat(path); err == nil || m.Of(wall) != nil {
		t.Fatal("a file without a mark")
	}
	for _, step := range []struct {
		row  *dataset.Row
		mark Mark
	}{{wall, Mark{Labels: []string{"vague"}}}, {twin, Mark{Labels: []string{"Inc"}, Notes: "no verb"}},
		{wall, Mark{Labels: []string{"Off Topic", "Vague"}, Notes: "„both“"}}} {
		if err := m.Set(step.row, step.mark); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenMarks(path, "ben", m.taxonomy); !errors.Is(err, errInUse) {
		t.Errorf("opened twice: %v", err)
	}
	killed := filepath.Join(t.TempDir(), "killed.jsonl")
	if err := os.WriteFile(killed, []byte(content(t, path)+`{"id":"x","que`), 0o600); err != nil {
		t.Fatal(err)
	}
	again := openMarks(t, killed)
	want := &Mark{Labels: []string{"Vague", "Off Topic"}, Notes: "„both“"}
	if got := again.Of(wall); !reflect.DeepEqual(got, want) {
		t.Errorf("after a kill: %+v", got)
	}
	if err := again.Set(twin, Mark{}); err != nil || again.Of(twin) != nil {
		t.Errorf("taken away: %v %+v", err, again.Of(twin))
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	text := content(t, killed)
	if strings.Count(text, "\n") != 1 ||
		!strings.Contains(text, `"labels":["Vague","Off Topic"],"notes":"„both“","reviewer":"anna"`) {
		t.Errorf("at the end: %s", text)
	}
	rows, err := dataset.Open(killed, dataset.Options{Taxonomy: m.taxonomy})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if row, err := rows.Read(); err != nil || row.ID != "wall" || row.TextHash() != wall.TextHash() {
		t.Errorf("as labelled rows: %+v %v", row, err)
	}
}

// TestReadMarks: while a server writes, and after somebody's editor, whole lines count.
func TestReadMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl.marks.jsonl")
	m := openMarks(t, path)
	for _, row := range []*dataset.Row{wall, twin} {
		if err := m.Set(row, Mark{Labels: []string{"Vague"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Set(wall, Mark{}); err != nil {
		t.Fatal(err)
	}
	whole := content(t, path)
	if strings.Count(whole, "\n") != 1 { // whoever reads it as labelled rows need not know that the last line counts
		t.Error(whole)
	}
	for text, want := range map[string]int{whole: 1, whole + strings.Replace(whole, `["Vague"]`, "null", 1): 0, whole + `{"id":"x","que`: 1, strings.TrimSuffix(whole, "\n"): 1,
		whole[:strings.Index(whole, "\n")]: 1, "": 0} {
		other := filepath.Join(t.TempDir(), "marks.jsonl")
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadMarks(other, m.taxonomy)
		if err != nil || len(got) != want {
			t.Errorf("%q: %d marks, %v; want %d", text, len(got), err, want)
		}
	}
}

// TestMarksRefused: what cannot be a mark is told apart from what could not be saved, and leaves no line.
func TestMarksRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks.jsonl")
	m := openMarks(t, path)
	for says, mark := range map[string]Mark{
		`has no label "Vogue"; did you mean "Vague" or`: {Labels: []string{"Vogue"}},
		"the notes are longer than 20000 bytes":         {Labels: []string{"Vague"}, Notes: strings.Repeat("n", LongestNotes+1)},
		"no label; write":                               {Labels: []string{}},
	} {
		if err := m.Set(wall, mark); !Refused(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if _, err := os.Stat(path); err == nil || m.Of(wall) != nil {
		t.Error("a refused mark was written")
	}
	if err := os.WriteFile(path, []byte(`{"id":"wall","question":"What?","text_sha256":"00"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenMarks(path, "anna", m.taxonomy); err == nil ||
		!strings.Contains(err.Error(), `marks.jsonl:1: the text is not that of "text_sha256"`) {
		t.Errorf("a changed text: %v", err)
	}
	clash := *m.taxonomy
	clash.Fields = append([]taxonomy.Field{{Name: "Notes"}}, clash.Fields...)
	if _, err := OpenMarks(path, "anna", &clash); err == nil || !strings.Contains(err.Error(), `has a field "notes"`) {
		t.Errorf("a field of that name: %v", err)
	}
}
