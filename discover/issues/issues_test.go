package issues

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
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
		`[]`:                                         "cannot unmarshal",
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

func TestIDs(t *testing.T) {
	taken := map[string]bool{}
	for _, c := range [][2]string{{"Wrong Date", "wrong-date"}, {"wrong date!", "wrong-date-2"}, {"?!", "issue"},
		{"Ünklare Fräge 3", "ünklare-fräge-3"}, {strings.Repeat("word ", 20), "word-word-word-word-word-word-word-word-word-wor"}} {
		id := NewID(c[0], func(id string) bool { return taken[id] })
		if taken[id] = true; id != c[1] || !IsID(id) {
			t.Errorf("%q became %q", c[0], id)
		}
	}
}

func TestReadKnown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known")
	for text, want := range map[string]string{
		"# comment\n\nVague Reference: what is meant?\nWrong Date\n": "",
		"":                         "no issue; write one a line",
		"A\na!\n":                  `two issues have the name "a!"`,
		`{"format":9,"issues":[]}`: "format 9",
		`{"format":1,"issues":[{"id":"a","name":"A"},{"id":"a","name":"B"}]}`: `two issues have the id "a"`,
		`{"format":1,"issues":[{"id":"a"}]}`:                                  "issue 1 has no id or no name",
		`{"format":`:                                                          "no list of issues",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := ReadKnown(file)
		if want == "" && (err != nil || len(known) != 2 || known[0].ID != "vague-reference" ||
			known[0].Description != "what is meant?") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", text, known, err)
		}
	}
}

// rowsOf are rows with the issues that they have; "-" is no issue, "?" unassigned. Each is its own group.
func rowsOf(t *testing.T, ids string, has ...string) func() (*dataset.Row, error) {
	t.Helper()
	var rows []*dataset.Row
	for i, id := range strings.Fields(ids) {
		f := Finding{Status: None}
		switch has[i] {
		case "-":
		case "?":
			f = Finding{Status: Unassigned, Reason: Refused}
		default:
			f = Finding{Status: Assigned, IDs: strings.Split(has[i], ",")}
		}
		row, err := dataset.RowOf(map[string]any{Column: f})
		if err != nil {
			t.Fatal(err)
		}
		row.ID, row.Values = id, []string{id, "input of " + id, "", ""}
		rows = append(rows, row)
	}
	return func() (*dataset.Row, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
}

func listOf(ids ...string) *List {
	l := &List{Format: Format}
	for _, id := range ids {
		l.Issues = append(l.Issues, Issue{ID: id, Name: strings.ToUpper(id)})
	}
	return l
}

func compare(t *testing.T, a, b *List, readA, readB func() (*dataset.Row, error)) *Diff {
	t.Helper()
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewComparison(a, b, DiffOptions{Taxonomy: task,
		Intervals: report.IntervalOptions{Method: report.Bootstrap, Resamples: 200, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := c.ReadA(ctx, "a", readA); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadB(ctx, "b", readB); err != nil {
		t.Fatal(err)
	}
	d, err := c.ComputeDiff(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Eight rows in both files. x: 1 row to 7 rows, 6 gained and none lost: McNemar 2/2^6 = 0.03125. y: 1 to 0, p 1; z: 0 to
// 1, p 1. Holm for three: 3 × 0.03125, which is more than 0.05: no growth is shown. u is the row that B does not know.
func TestPairedDiff(t *testing.T) {
	d := compare(t, listOf("x", "y"), listOf("x", "z"),
		rowsOf(t, "r1 r2 r3 r4 r5 r6 r7 r8 u", "x", "y", "-", "-", "-", "-", "-", "-", "-"),
		rowsOf(t, "r1 r2 r3 r4 r5 r6 r7 r8 u", "x,z", "x", "x", "x", "x", "x", "x", "-", "?"))
	if !d.Paired || d.Compared != 8 || d.Both != 9 || d.B.Unassigned != 1 {
		t.Fatalf("%+v", d)
	}
	want := map[string][7]float64{ // count A, count B, gained, lost, p, p Holm, difference
		"x": {1, 7, 6, 0, 0.03125, 0.09375, 0.75}, "y": {1, 0, 0, 1, 1, 1, -0.125}, "z": {0, 1, 1, 0, 1, 1, 0.125}}
	changes := map[string]string{"x": Unchanged, "y": Gone, "z": New}
	for _, i := range d.Issues {
		got := [7]float64{float64(i.CountA), float64(i.CountB), float64(i.Gained), float64(i.Lost), float64(i.P),
			float64(i.PHolm), float64(i.Difference.Value)}
		for n, g := range got {
			if math.Abs(g-want[i.ID][n]) > 1e-12 {
				t.Errorf("%s: %v, want %v", i.ID, got, want[i.ID])
				break
			}
		}
		if i.Change != changes[i.ID] || !(i.Difference.Low <= i.Difference.Value && i.Difference.Value <= i.Difference.High) {
			t.Errorf("%s: %+v", i.ID, i)
		}
	}
	if d.Issues[0].ID != "x" {
		t.Error("the largest difference is not the first")
	}
	c := d.Counts()
	if c.Labels[New] != 1 || c.Labels[Gone] != 1 || c.Labels[Grown] != 0 || c.Labels["x"] != 7 {
		t.Errorf("%+v", c)
	}
}

// Other rows in both files: shares are compared, and a share of 0 against 1 is told apart.
func TestUnpairedDiff(t *testing.T) {
	many := func(prefix string, n int) (ids string) {
		for i := range n {
			ids += " " + prefix + string(rune('a'+i))
		}
		return ids
	}
	has := func(n, of int) (out []string) {
		for i := range of {
			if i < n {
				out = append(out, "x")
			} else {
				out = append(out, "-")
			}
		}
		return out
	}
	d := compare(t, listOf("x"), listOf("x"), rowsOf(t, many("a", 20), has(2, 20)...), rowsOf(t, many("b", 20), has(16, 20)...))
	i := d.Issues[0]
	if d.Paired || d.Compared != 0 || i.Change != Grown || math.Abs(float64(i.Difference.Value)-0.7) > 1e-12 ||
		!(i.Difference.Low > 0.3) || !(i.P < 0.05) {
		t.Errorf("%+v, %+v", d, i)
	}
}

func TestNothingInCommon(t *testing.T) {
	_, err := NewComparison(listOf("x"), listOf("y"), DiffOptions{Intervals: report.DefaultIntervals()})
	if err == nil || !strings.Contains(err.Error(), "no issue in common") {
		t.Error(err)
	}
}
