package view

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hand are ten rows of which everything below was counted by hand:
//
//	id   system passage labels                  gold        fluency
//	r1   a      P       Vague, Off Topic        Vague       1
//	r2   a      P       No Error                No Error    3
//	r3   a      Q       Vague                   -           2
//	r4   b      P       untagged                -           unscored
//	r5   b      Q       Vague, Off Topic        Off Topic   1.5
//	r6   b      Q       No Error                -           -
//	r7   b      R       Off Topic               -           3
//	r8   -      R       Vague                   -           2.5
//	r8#2 a      P       (no diagnosis)          -           -
//	line P of no field (rejected)
const hand = `{"id":"r1","system":"a","question":"Who?","answer":"","passage":"P","diagnosis":{"labels":["Vague","Off Topic"],"taxonomy":"question-generation@1.1"},"labels":["Vague"],"scores":{"fluency":{"value":1}}}
{"id":"r2","system":"a","question":"Who was first?","answer":"Ann","passage":"P","diagnosis":{"labels":["No Error"]},"labels":["No Error"],"scores":{"fluency":{"value":3}}}
{"id":"r3","system":"a","question":"Why?","answer":"","passage":"Q","diagnosis":{"labels":["Vague"]},"scores":{"fluency":{"value":2}}}
{"id":"r4","system":"b","question":"","answer":"Ann","passage":"P","diagnosis":{"status":"untagged","reason":"refused"},"scores":{"fluency":{"status":"unscored","reason":"untagged"}}}
{"id":"r5","system":"b","question":"Whose?","answer":"","passage":"Q","diagnosis":{"labels":["Vague","Off Topic"]},"labels":"Off Topic","scores":{"fluency":{"value":1.5}}}
{"id":"r6","system":"b","question":"When?","answer":"","passage":"Q","diagnosis":{"labels":["No Error"]}}
{"id":"r7","system":"b","question":"Is it?","answer":"Ann","passage":"R","diagnosis":{"labels":["Off Topic"]},"scores":{"fluency":{"value":3}}}
{"id":"r8","question":"It?","answer":"","passage":"R","diagnosis":{"labels":["Vague"]},"scores":{"fluency":{"value":2.5}}}
{"id":"r8","system":"a","question":"Who","answer":"Ann","passage":"P"}
{"id":"r9"}
`

func openHand(t testing.TB) *Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hand.jsonl")
	if err := os.WriteFile(path, []byte(hand), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := Open(context.Background(), []string{path}, Options{Build: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestHand: counts that were worked out by hand from the table above.
func TestHand(t *testing.T) {
	x, ctx := openHand(t), context.Background()
	if c := x.Catalog(); c.Rows != 9 || c.Runs[0].Rejected != 1 {
		t.Fatalf("%d rows, %d rejected: %v", c.Rows, c.Runs[0].Rejected, c.Notes)
	}
	counts, err := x.Counts(ctx, CountsQuery{Facet: "label", By: "system"})
	if err != nil {
		t.Fatal(err)
	}
	// a: r1, r2 (P), r3 (Q) are tagged: 2² + 1². b: r5, r6 (Q), r7 (R): the same.
	wantColumns := []CountColumn{{"a", CountBase{3, 2, 5}}, {"b", CountBase{3, 2, 5}}}
	if counts.Total != 9 || !slices.Equal(counts.Columns, wantColumns) {
		t.Errorf("%d, %+v, want %+v", counts.Total, counts.Columns, wantColumns)
	}
	for name, want := range map[string][]CountCell{
		"Vague":     {{2, 1 + 1, 1*2 + 1*1, nil}, {1, 1, 1 * 2, nil}}, // r1 of P's two, r3 of Q's one; r5 of Q's two
		"Off Topic": {{1, 1, 2, nil}, {2, 1 + 1, 2 + 1, nil}},         // r1 of P's two; r5 of Q's two, r7 of R's one
		"No Error":  {{1, 1, 2, nil}, {1, 1, 2, nil}},                 // r2; r6
		"untagged":  {{1, 0, 0, nil}, {1, 0, 0, nil}},                 // r8#2, which alone has no diagnosis; r4
		"Vague all": nil,
	} {
		i := slices.IndexFunc(counts.Values, func(v CountValue) bool { return v.Name == name })
		if want != nil && !slices.Equal(counts.Values[i].Cells, want) {
			t.Errorf("%s: %+v, want %+v", name, counts.Values[i].Cells, want)
		}
	}
	h, err := x.Histogram(ctx, HistogramQuery{Measure: "score.fluency"})
	if err != nil {
		t.Fatal(err)
	}
	// 1, 3, 2, 1.5, 3, 2.5 on 1 to 3 in 20 bins of 0.1
	column := h.Columns[0]
	want := make([]int, 20)
	want[0], want[5], want[10], want[15], want[19] = 1, 1, 1, 1, 2
	if column.Rows != 6 || column.Missing != 3 || column.Sum != 13 ||
		!slices.Equal(column.Counts, want) {
		t.Errorf("%+v", column)
	}
	low := 2.0
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "r1 r2 r3 r4 r5 r6 r7 r8 r8#2"},
		{Filter{Facets: map[string]Condition{"label": {Any: []string{"Vague", "Off Topic"}}}}, "r1 r3 r5 r7 r8"},
		{Filter{Facets: map[string]Condition{"label": {All: []string{"Vague", "Off Topic"}}}}, "r1 r5"},
		{Filter{Facets: map[string]Condition{"label": {Any: []string{"Vague"}, Only: true}}}, "r3 r8"},
		{Filter{Facets: map[string]Condition{"label": {None: []string{"Vague"}}}}, "r2 r4 r6 r7 r8#2"},
		{Filter{Facets: map[string]Condition{"gold": {Only: true}}}, "r3 r4 r6 r7 r8 r8#2"},
		{Filter{Facets: map[string]Condition{"system": {None: []string{"a", "b"}}}}, "r8"},
		{Filter{Facets: map[string]Condition{"unscored": {Any: []string{"Fluency"}}}}, "r4"},
		{Filter{Ranges: map[string]Range{"score.fluency": {Min: &low}}}, "r2 r3 r7 r8"},
		{Filter{Search: "WHO"}, "r1 r2 r5 r8#2"},
		{Filter{Search: "an wh"}, "r2 r8#2"},
		{Filter{Search: "r8"}, "r8 r8#2"},
	} {
		page, err := x.Rows(ctx, RowsQuery{Filter: c.filter, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, row := range page.Rows {
			ids = append(ids, row.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || page.Total != len(ids) {
			t.Errorf("%s: %s, want %s", show(c.filter), got, c.want)
		}
	}
}

// TestWrongQueries: what there is not is named.
func TestWrongQueries(t *testing.T) {
	x := openHand(t)
	facets := func(key string, c Condition) Filter { return Filter{Facets: map[string]Condition{key: c}} }
	for _, c := range []struct {
		q    any
		want string
	}{
		{CountsQuery{Facet: "colour"}, `no facet "colour"`},
		{CountsQuery{Facet: "label", By: "label"}, "one a row"},
		{CountsQuery{Facet: "label", By: "nothing"}, `no facet "nothing"`},
		{CountsQuery{Facet: "label", Filter: facets("label", Condition{Any: []string{"Blue"}})}, `no value "Blue"`},
		{CountsQuery{Facet: "label", Filter: facets("shape", Condition{})}, `no facet "shape"`},
		{CountsQuery{Facet: "label", Filter: Filter{Ranges: map[string]Range{"size": {}}}}, `no measure "size"`},
		{CountsQuery{Facet: "label", Filter: Filter{Search: "a b c d e f g h i j k l m n o p q r s t u v w x y z " +
			"aa bb cc dd ee ff gg hh ii jj kk ll mm nn oo pp qq rr ss tt uu vv ww xx yy zz"}}, "more than 50 words"},
		{HistogramQuery{Measure: "label"}, `no measure "label"`},
		{RowsQuery{}, "the limit is 0"},
		{RowsQuery{Limit: 1001}, "the limit is 1001"},
		{RowsQuery{Limit: 1, Offset: -1}, "the offset is -1"},
		{RowsQuery{Limit: 1, Sort: Sort{Key: "size"}}, `sorted by "size"`},
		{RowQuery{N: 9}, "no row 9"},
		{OutputsQuery{By: "system"}, "the limit is 0"},
		{OutputsQuery{By: "system", Limit: 101}, "the limit is 101"},
		{OutputsQuery{By: "system", Limit: 1, Offset: -1}, "the offset is -1"},
		{OutputsQuery{By: "label", Limit: 1}, `not of "label"`},
		{OutputsQuery{By: "system", Limit: 1, Differ: "colour"}, `no facet "colour"`},
		{OutputsQuery{By: "run", Limit: 1, Filter: facets("run", Condition{Any: []string{"x"}})}, `no value "x"`},
		{RowQuery{N: -1}, "no row -1"},
		{PairsQuery{A: Side{"run", "x"}, B: Side{"run", "y"}, Facet: "label"}, `no value "x"`},
		{PairsQuery{A: Side{"system", "a"}, B: Side{"run", "a"}, Facet: "label"}, "one facet"},
		{PairsQuery{A: Side{"system", "a"}, B: Side{"system", "a"}, Facet: "label"}, "compare two"},
		{PairsQuery{A: Side{"system", "a"}, B: Side{"system", "b"}, Facet: "system"}, "cannot be compared"},
		{PairsQuery{A: Side{"label", "a"}, B: Side{"label", "b"}, Facet: "label"}, "a side is"},
		{PairsQuery{A: Side{"system", "a"}, B: Side{"system", "b"}, Facet: "label", Value: "Blue"}, `no value "Blue"`},
		{PairsQuery{A: Side{"system", "a"}, B: Side{"system", "b"}, Facet: "label", Limit: 1001}, "limit"},
		{PairsQuery{A: Side{"system", "a"}, B: Side{"system", "b"}, Facet: "label", Only: "A"}, `only is "A"`},
		{PairsQuery{A: Side{"system", "a"}, B: Side{"system", "b"}, Facet: "label", Offset: -1}, "offset"},
	} {
		_, _, err := answer(context.Background(), x, c.q)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", show(c.q), err, c.want)
		}
	}
}

// TestOutputs: what stands beside what, by hand from the table above. r8#2 is the second row of a with the answer Ann on
// P, and r6 the second of b without an answer on Q.
func TestOutputs(t *testing.T) {
	x := openHand(t)
	few := func(c Condition) Filter { return Filter{Facets: map[string]Condition{"system": c}} }
	for _, c := range []struct {
		q       OutputsQuery
		want    string
		without int
	}{
		{OutputsQuery{By: "system"}, "r1, r2 r4, r3 r5, r6, r7, r8#2", 1},
		{OutputsQuery{By: "system", Filter: Filter{Search: "who"}}, "r1, r2 r4, r3 r5, r8#2", 0},
		{OutputsQuery{By: "system", Filter: few(Condition{None: []string{"a"}})}, "r4, r5, r6, r7", 1},
		{OutputsQuery{By: "system", Differ: "label"}, "r3 r5", 1}, // r4 was not looked at
		{OutputsQuery{By: "system", Differ: "label", Filter: few(Condition{Any: []string{"b"}})}, "", 0},
		{OutputsQuery{By: "run"}, "r1, r2, r3, r4, r5, r6, r7, r8, r8#2", 0},
	} {
		c.q.Limit = 100
		got, err := x.Outputs(context.Background(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, rows := range got.Rows {
			var ids []string
			for _, row := range rows {
				ids = append(ids, row.ID)
			}
			lines = append(lines, strings.Join(ids, " "))
		}
		if lines := strings.Join(lines, ", "); lines != c.want || got.Total != len(got.Rows) || got.Without != c.without {
			t.Errorf("%s: %s (%d without), want %s (%d)", show(c.q), lines, got.Without, c.want, c.without)
		}
	}
}

// TestSystemsByGroup: on P each system has one question, so that they are compared though their answers differ; on Q the
// system a has two, so that only equal answers are compared. That c has two on P does not part the others.
func TestSystemsByGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	text := ""
	for _, row := range [][4]string{{"1", "a", "P", "Ann"}, {"2", "b", "P", "Bob"}, {"3", "a", "Q", "Ann"},
		{"4", "a", "Q", "Bob"}, {"5", "b", "Q", "Bob"}, {"6", "b", "R", "Bob"}, {"7", "c", "P", "Eve"}, {"8", "c", "P", "Eve"}} {
		text += fmt.Sprintf(`{"id":%q,"system":%q,"passage":%q,"answer":%q,"question":"Who?","diagnosis":{"labels":["Vague"]}}`+
			"\n", row[0], row[1], row[2], row[3])
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := Open(context.Background(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	pairs, err := x.Pairs(context.Background(), PairsQuery{A: Side{"system", "a"}, B: Side{"system", "b"}, Facet: "label"})
	if err != nil || pairs.Pairs != 2 || pairs.AloneA != 1 || pairs.AloneB != 1 {
		t.Errorf("%+v, %v", pairs, err)
	}
	rows, _, err := x.Columns(context.Background(), 100, 1)
	if want := []int{0, 1, 2, 3, 3, 4, 5, 5}; err != nil || !slices.Equal(rows.Input, want) {
		t.Errorf("inputs %v, want %v (%v)", rows.Input, want, err)
	}
}

// TestSystemsOfChats: the input of a conversation is what goes before the response.
func TestSystemsOfChats(t *testing.T) {
	text := ""
	for n, row := range [][3]string{{"a", "Hi", "Hello!"}, {"b", "Hi", "Good day."}, {"a", "Who?", "I."},
		{"b", "Who?", "You."}} {
		text += fmt.Sprintf(`{"id":"%d","system":%q,"messages":[{"role":"user","content":%q},{"role":"assistant","content":%q}],`+
			`"diagnosis":{"labels":[],"taxonomy":"response@1.0"}}`+"\n", n, row[0], row[1], row[2])
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rows, _, err := x.Columns(t.Context(), 100, 1)
	if want := []int{0, 0, 1, 1}; err != nil || !slices.Equal(rows.Input, want) || !slices.Equal(rows.Group, want) {
		t.Errorf("inputs %v, groups %v, want %v (%v); %q", rows.Input, rows.Group, want, err, x.Catalog().Notes)
	}
}

// TestOutputsOfRuns: rows of runs that share no id stand beside each other where they have one input, and are pairs.
func TestOutputsOfRuns(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for name, answers := range map[string][]string{"a.jsonl": {"Ann", "Bob", "Eve"}, "b.jsonl": {"Bob", "Ann"}} {
		text := ""
		for _, answer := range answers {
			text += `{"question":"` + name + `?","answer":"` + answer + `","passage":"P","diagnosis":{"labels":["Vague"]}}` + "\n"
		}
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(paths)
	x, err := Open(context.Background(), paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	pairs, err := x.Pairs(context.Background(), PairsQuery{A: Side{"run", "a.jsonl"}, B: Side{"run", "b.jsonl"},
		Facet: "label"})
	if err != nil || pairs.Pairs != 2 || pairs.AloneA != 1 || pairs.AloneB != 0 {
		t.Errorf("%+v, %v", pairs, err)
	}
	got, err := x.Outputs(context.Background(), OutputsQuery{By: "run", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	lines := ""
	for _, rows := range got.Rows {
		for _, row := range rows {
			lines += row.Text + row.Fields["answer"] + " "
		}
		lines += "/ "
	}
	if want := "a.jsonl?Ann b.jsonl?Ann / a.jsonl?Bob b.jsonl?Bob / a.jsonl?Eve / "; lines != want {
		t.Errorf("%s, want %s", lines, want)
	}
}
