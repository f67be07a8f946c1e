package reporting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
)

const recorded = "../../../report/view/testdata/runs/"

// options are those of a report of files.
func options(t *testing.T, paths ...string) Options {
	t.Helper()
	index, err := view.Open(t.Context(), paths, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := index.Close(); err != nil {
			t.Error(err)
		}
	})
	o := Options{Source: index, Seed: 1, Open: func(string) (run.Rows, error) {
		files, err := run.FileOptions{}.Open()
		return run.Rows{Files: files, Taxonomy: index.Taxonomy()}, err
	}}
	for _, f := range index.Files() {
		o.Runs = append(o.Runs, Run{Name: f.Name, Path: f.Path})
	}
	return o
}

func complete(t *testing.T, o Options) *view.Catalog {
	t.Helper()
	c, err := Complete(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func titled(c *view.Catalog, title string) *view.Section {
	i := slices.IndexFunc(c.Sections, func(s view.Section) bool { return s.Title == title })
	if i < 0 {
		return nil
	}
	return &c.Sections[i]
}

// Figures that keep their rows are of the first rows of a large run, and say so.
func TestLimit(t *testing.T) {
	o := options(t, recorded+"tagged.jsonl", recorded+"pairs.jsonl")
	all := complete(t, o)
	o.limited = 6
	few := complete(t, o)
	for _, c := range []struct{ title, note string }{
		{"Labels against gold labels", "of the first 6 rows with gold labels of the run"},
		{"Ratings of 4 systems on 1 item", "of the first 6 rows; the run has 18"},
	} {
		s := titled(few, c.title)
		if s == nil || !slices.Contains(s.Notes, c.note) {
			t.Errorf("%s: %+v", c.title, s)
		}
	}
	for _, s := range all.Sections {
		for _, note := range s.Notes {
			if strings.Contains(note, "of the first") {
				t.Errorf("%s, of all rows: %s", s.Title, note)
			}
		}
	}
}

// What the page folds has its result in a sentence; what it shows at once has none.
func TestSummaries(t *testing.T) {
	c := complete(t, options(t, recorded+"pairs.jsonl"))
	for title, want := range map[string]string{
		"Leaderboard: Overall":                               "",
		"How often the row wins against the column: Overall": "",
		"Ratings of 4 systems on 3 items":                    "Types by which one system ranks first alone: 0 of 4.",
		"Other ratings: Overall":                             "No other rating puts another system before seq2seq-large.",
		"Leaderboard: Vague":                                 "4 of 4 systems share the first rank.",
		"How often the row wins against the column: Vague":   "The largest share is 83 %: llm against few-shot-small.",
		"Halo: how much the types are one impression": "The types' orders of the systems agree with a mean |tau| of 0.58; " +
			"1 is one impression.",
	} {
		if s := titled(c, title); s == nil || s.Summary != want {
			t.Errorf("%s: %+v", title, s)
		}
	}
	tables := []leaderboard.Table{
		{Rows: []leaderboard.Row{{System: "a", Rank: 1, Elo: 900, Glicko2: 1100},
			{System: "b", Rank: 2, Elo: 1000, Glicko2: 900}},
			Wins: leaderboard.Matrix{{0, 0.75}, {0.25, 0}}},
		{Rows: []leaderboard.Row{{System: "a"}, {System: "b"}}},
	}
	for got, want := range map[string]string{
		ranksFirst(&tables[0]):   "a ranks first alone.",
		ranksFirst(&tables[1]):   "No system could be ranked.",
		firstAlone(tables):       "Types by which one system ranks first alone: 1 of 2.",
		otherRatings(&tables[0]): "A system other than a stands first by Elo.",
		mostWins(&tables[0]):     "The largest share is 75 %: a against b.",
		mostWins(&tables[1]):     "No system won against another one.",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	judge := &audit.Audit{Judge: "j", Type: "Overall", Changed: figure(0.1), Reversed: figure(0.05),
		FirstWins: figure(0.8), LongWins: figure(0.4), OwnWins: figure(math.NaN()), Position: figure(0.5), Length: figure(-1)}
	judge.Position.Low, judge.Position.High, judge.Length.Low, judge.Length.High = -0.1, 1.1, -2, -0.5
	if s := likings([]*audit.Audit{judge}); s.Summary !=
		"Furthest from a judge without likings: j, “first wins”, 80 % in the place of 50 %." {
		t.Error(s.Summary)
	}
	if s := slopes([]*audit.Audit{judge}); s.Summary != "Figures that are surely not 0: 1 of 3." {
		t.Error(s.Summary)
	}
}

// figure is one without an interval.
func figure(value float64) report.Figure {
	return report.Figure{Value: report.Number(value), Low: report.Undefined, High: report.Undefined}
}

// What cannot be made is a note with the file's name, and not where it lies; the other sections are there.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tagged.jsonl")
	for _, name := range []string{"tagged.jsonl", "tagged.jsonl.run.json"} {
		data, err := os.ReadFile(recorded + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := options(t, path)
	o.Workspaces = []string{dir}
	o.Human = map[string]string{"fluency": "nobody"}
	c := complete(t, o)
	if titled(c, "Labels against gold labels") == nil {
		t.Error("labels are not measured")
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{"people's scores of fluency: no run with scores has nobody",
		filepath.Base(dir) + ": no refinement: "} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in:\n%s", want, notes)
		}
	}
	if strings.Contains(notes, dir) {
		t.Errorf("the notes say where files lie:\n%s", notes)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if notes := complete(t, o).Notes; !slices.ContainsFunc(notes, func(n string) bool {
		return strings.HasPrefix(n, "tagged.jsonl: no labels against gold labels: ")
	}) {
		t.Errorf("nothing says that the file is gone: %q", notes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Complete(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// Outputs hand diagnoses on; what is measured of them is there once.
func TestOnce(t *testing.T) {
	c := complete(t, options(t, recorded+"tagged.jsonl", recorded+"scored.jsonl", recorded+"judged.jsonl"))
	var of []string
	for _, s := range c.Sections {
		if s.Title == "Labels against gold labels" {
			of = append(of, s.Run)
		}
	}
	if strings.Join(of, " ") != "tagged.jsonl judged.jsonl" {
		t.Errorf("measured of %q", of)
	}
	if !slices.Contains(c.Notes, "scored.jsonl: its labels are those of tagged.jsonl, and measured there") {
		t.Errorf("%q", c.Notes)
	}
}

// Two runs whose issues have ids in common are compared.
func TestChange(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		path := filepath.Join(dir, name)
		for _, of := range []func(string) string{func(s string) string { return s }, issues.Path, runrecord.Path} {
			data, err := os.ReadFile(of(recorded + "found.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(of(path), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		paths = append(paths, path)
	}
	c := complete(t, options(t, paths...))
	s := titled(c, "What changed from a.jsonl to b.jsonl")
	if s == nil || len(s.Table.Rows) != 10 || s.Run != "b.jsonl" {
		t.Fatalf("%+v, notes %q", s, c.Notes)
	}
	for _, row := range s.Table.Rows {
		if row[1] != issues.Unchanged || len(row) != len(s.Table.Columns) {
			t.Errorf("%v", row)
		}
	}
}

// Every table has as many cells a row as columns, and every section can be JSON.
func TestShapes(t *testing.T) {
	files, err := filepath.Glob(recorded + "*.*l*")
	if err != nil {
		t.Fatal(err)
	}
	c := complete(t, options(t, slices.DeleteFunc(files, func(f string) bool { return filepath.Ext(f) == ".json" })...))
	if len(c.Sections) < 15 {
		t.Errorf("%d sections", len(c.Sections))
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
	for _, s := range c.Sections {
		if s.Table == nil {
			continue
		}
		for i, row := range s.Table.Rows {
			if len(row) != len(s.Table.Columns) {
				t.Errorf("%s, row %d: %d cells in %d columns", s.Title, i, len(row), len(s.Table.Columns))
			}
		}
	}
}

// Shares are those that the page computes of the same sums: of rows that stand and fall together.
func TestFigures(t *testing.T) {
	o := options(t, recorded+"tagged.jsonl", recorded+"scored.jsonl")
	f, err := ComputeFigures(t.Context(), o.Source)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Shares {
		switch known := s.Share.Defined(); {
		case s.Value == "untagged" && known, s.Rows > 0 && s.Of > 0 && s.Value == "No Error" && !known:
			t.Errorf("%+v", s)
		case known && !(s.Low <= s.Share && s.Share <= s.High):
			t.Errorf("%+v", s)
		}
	}
	for _, m := range f.Means {
		if m.By == "" && (m.Rows != 27 || m.Missing != 1) {
			t.Errorf("%+v: want 27 rows of the run that was scored, and one without a score", m)
		}
	}
	answers, err := Answers(t.Context(), o.Source)
	if c := o.Source.Catalog(); err != nil || len(answers) != 4*(len(c.Facets)+len(c.Measures)) {
		t.Errorf("%d answers: %v", len(answers), err)
	}
}

// TestManyColumns: of 14 topics and rows without one the 12 largest are shown, in order; three topics have two rows each,
// the others three, and four rows are without.
func TestManyColumns(t *testing.T) {
	var rows strings.Builder
	add := func(topic, comment string, n int) {
		for range n {
			fmt.Fprintf(&rows, `{"question":"q%d","answer":"a","passage":"p","topic":%q,"comment":%q,"diagnosis":`+
				`{"labels":["Vague"],"probabilities":{"Vague":0.9}}}`+"\n", rows.Len(), topic, comment)
		}
	}
	add("", "short", 4)
	for i := range 14 {
		add(fmt.Sprintf("t%02d", i), "short", 2+min(i/3, 1))
	}
	add("t13", strings.Repeat("long ", 30), 1)
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(system string) *view.Index {
		x, err := view.Open(t.Context(), []string{path}, view.Options{System: system})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.Close() })
		return x
	}
	x := open("topic")
	f, err := ComputeFigures(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Print(x.Catalog(), f).Markdown(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the 12 largest of 15 are shown; the others have 6 rows",
		"| label | t03 | t04 |", "| t13 | (empty) |", "(rows that were looked at) | 3 | 3 |", "| 4 | 4 |"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	for column, want := range map[string]string{
		"comment": `--by comment: the column has a value of more than 80 characters: "long long`,
		"topc":    "no such column with few short values; did you mean topic? columns that tell systems apart: topic",
	} {
		if err := CheckSystem(open(column), column); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFindWorkspaces(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "refine.yaml"), []byte("taxonomy: nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := FindWorkspaces([]string{dir}); err == nil {
		t.Error("a workspace without a taxonomy is one")
	}
	paths, workspaces, err := FindWorkspaces([]string{recorded, "missing.jsonl"})
	if err != nil || len(paths) != 2 || workspaces != nil {
		t.Errorf("%q, %q, %v", paths, workspaces, err)
	}
}
