package discover

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/report"
)

// itemsWith are tagged items: n with the sentence and these labels for each entry.
func itemsWith(entries ...struct {
	n        int
	sentence string
	labels   []string
}) (items []*Item) {
	for _, e := range entries {
		for range e.n {
			f := &issues.Finding{Analysis: e.sentence, Severity: 2}
			if e.sentence == "" {
				f = &issues.Finding{Status: issues.None}
			}
			items = append(items, &Item{ID: fmt.Sprintf("r%d", len(items)), Group: fmt.Sprint(len(items) / 2), Tagged: true,
				Labels: e.labels, Finding: f})
		}
	}
	return items
}

type entry = struct {
	n        int
	sentence string
	labels   []string
}

// Of 40 rows, 10 have issue A, all with the label Vague, which two more have: both 10, A alone 0, Vague alone 2, neither
// 28. Lift 10·40/(10·12) = 10/3; phi (10·28 − 0)/√(10·12·30·28) = 280/317.49… = 0.8819. A is that type. B's five rows
// all have Grammar Error, which 20 rows have: it is narrower. C's five rows have no label: it is new. D has two rows: too
// few to tell.
func TestRelations(t *testing.T) {
	items := itemsWith(entry{10, "A", []string{"Vague"}}, entry{5, "B", []string{"Grammar Error"}}, entry{5, "C", nil},
		entry{2, "D", []string{"Vague"}}, entry{15, "", []string{"Grammar Error"}}, entry{3, "", nil})
	r := &Result{Items: items}
	for _, name := range []string{"A", "B", "C", "D"} {
		g := Group{Name: name}
		for i, item := range items {
			if item.Finding.Analysis == name {
				item.Finding.Status = issues.Assigned
				g.Members = append(g.Members, i)
			}
		}
		r.Issues = append(r.Issues, g)
	}
	l, err := r.Publish(context.Background(), PublishOptions{Labels: []string{"Vague", "Grammar Error"},
		Intervals: report.IntervalOptions{Resamples: 200, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"a": issues.IsType, "b": issues.Narrower, "c": issues.IsNew, "d": ""} {
		issue := l.Issues[l.Find(id)]
		if issue.Relation != want {
			t.Errorf("%s: %q, want %q (%+v)", id, issue.Relation, want, issue.Labels)
		}
	}
	a := l.Issues[l.Find("a")]
	if c := a.Labels[0]; c.Label != "Vague" || c.Both != 10 || math.Abs(float64(c.Lift)-10.0/3) > 1e-9 ||
		math.Abs(float64(c.Phi)-280/math.Sqrt(10*12*30*28)) > 1e-9 || !(c.Low <= c.Phi && c.Phi <= c.High) {
		t.Errorf("%+v", a.Labels)
	}
	if a.Count != 10 || a.Share != 0.25 || !(a.Low < 0.25 && a.High > 0.25) || a.Severity != 2 || len(a.Examples) != 1 {
		t.Errorf("%+v", a)
	}
	if l.Assigned != 22 || l.NoIssue != 18 || items[0].Finding.IDs[0] != "a" {
		t.Errorf("%+v", l)
	}
}

// A part of a label's rows is narrower than the label, though another label has the same rows as it.
func TestRelationToOwnLabel(t *testing.T) {
	items := itemsWith(entry{5, "x", []string{"Odd", "Vague"}}, entry{5, "", []string{"Vague"}}, entry{5, "", nil})
	r := &Result{Items: items, Issues: []Group{{Name: "Vague: x", Members: []int{0, 1, 2, 3, 4}}}}
	l, err := r.Publish(t.Context(), PublishOptions{Labels: []string{"Odd", "Vague"}})
	if err != nil {
		t.Fatal(err)
	}
	if i := l.Issues[0]; i.Relation != issues.Narrower || i.Labels[0].Label != "Vague" || i.Labels[1].Label != "Odd" {
		t.Errorf("%+v", i)
	}
}

// By labels: an issue for each label, and one for each large part of its rows that is alike.
func TestGroupLabels(t *testing.T) {
	var items []*Item
	add := func(n int, text string, labels ...string) {
		for i := range n {
			items = append(items, &Item{ID: fmt.Sprint(len(items)), Tagged: true, Labels: labels,
				Text: fmt.Sprintf(text, i), Finding: &issues.Finding{}})
		}
	}
	add(8, "What does the lighthouse keeper %d do at the lighthouse?", "Vague")
	add(8, "Which treaty ended the war of %d between both kingdoms?", "Vague")
	add(2, "Where is it %d?", "Vague", "Grammar Error")
	items = append(items, &Item{ID: "none", Finding: &issues.Finding{Status: issues.Unassigned, Reason: issues.Untagged}})
	o := DefaultOptions()
	o.Grouping = Offline
	g, err := NewGrouper(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.GroupLabels(context.Background(), items)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Publish(context.Background(), PublishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, i := range l.Issues {
		name, _, _ := strings.Cut(i.Name, ":")
		counts[name] += i.Count
	}
	if counts["Vague"] != 18 || counts["Grammar Error"] != 2 || len(l.Issues) < 4 || l.Assigned != 18 {
		t.Errorf("%v, %+v", counts, l)
	}
	if f := items[17].Finding; len(f.IDs) != 2 {
		t.Errorf("two labels became %v", f.IDs)
	}
}

// Known issues keep their ids in every grouping, and rows that fit none begin new ones.
func TestKnownIssues(t *testing.T) {
	for _, grouping := range []string{Cumulative, KeyPoints, Offline} {
		w := newWorld(t, 60, 5, 0)
		items := w.items()
		o := DefaultOptions()
		o.Grouping, o.Cluster.Threshold = grouping, 0.4
		for n := range 3 {
			example := fmt.Sprintf("The response has a fault of the kind %s, case 900.", spelled(n))
			o.Known = append(o.Known, issues.Issue{ID: fmt.Sprintf("old-%d", n), Name: fmt.Sprintf("Fault %d", n),
				Examples: []issues.Example{{Analysis: example}}})
		}
		model := w.model()
		g, err := NewGrouper(&model, o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := g.Group(context.Background(), items)
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Publish(context.Background(), PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, item := range items {
			f := item.Finding
			switch n := w.gold[i]; {
			case n >= 0 && n < 3 && !slices.Equal(f.IDs, []string{fmt.Sprintf("old-%d", n)}):
				t.Errorf("%s: row %d of kind %d has %v", grouping, i, n, f.IDs)
			case n >= 3 && grouping == KeyPoints && (f.Status != issues.Unassigned || f.Reason != issues.Unlisted):
				t.Errorf("%s: row %d of no known kind is %+v", grouping, i, f)
			case n >= 3 && grouping != KeyPoints && (f.Status != issues.Assigned || strings.HasPrefix(f.IDs[0], "old-")):
				t.Errorf("%s: row %d of kind %d has %v", grouping, i, n, f.IDs)
			}
		}
		if grouping != KeyPoints && (len(l.Issues) != 5 || !l.Issues[l.Find("old-0")].Known) {
			t.Errorf("%s: %d issues", grouping, len(l.Issues))
		}
	}
}

// Words that do not stand in the texts are asked for once more; then the row is unfounded, with what was said.
func TestUnfounded(t *testing.T) {
	w := newWorld(t, 12, 1, 0)
	asked := map[string]int{}
	w.spoil = func(_ int, text string) *llm.Reply {
		m := blockOf.FindStringSubmatch(text)
		if m == nil || m[1] != "response" {
			return nil
		}
		if asked[m[2]]++; asked[m[2]] == 2 && strings.Contains(m[2], "number 0 ") {
			return nil // the second answer is founded
		}
		return &llm.Reply{Text: `{"analysis":"a","issue":"It is wrong.","quote":"words of another text","severity":1}`}
	}
	model := w.model()
	model.Workers = 1
	a, err := NewAnalyst(model, DefaultAnalystOptions())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	var got []*issues.Finding
	err = a.Analyse(context.Background(), func() (*dataset.Row, error) {
		if at == 2 {
			return nil, io.EOF
		}
		at++
		return w.rows[at-1], nil
	}, func(_ *dataset.Row, f *issues.Finding) error {
		got = append(got, f)
		return nil
	})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %d rows", err, len(got))
	}
	if got[0].Status != "" || got[0].Reason != "" {
		t.Errorf("founded at the second try: %+v", got[0])
	}
	if f := got[1]; f.Status != issues.Unassigned || f.Reason != issues.Unfounded || f.Analysis != "It is wrong." ||
		asked[w.rows[1].Values[0]] != 2 {
		t.Errorf("%+v after %d calls", f, asked[w.rows[1].Values[0]])
	}
}

func TestListFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "found.jsonl")
	l := &issues.List{Format: issues.Format, Rows: 1, Unassigned: map[string]int{}, Issues: []issues.Issue{
		{ID: "a", Name: "A <b> & c", Count: 1, Share: 1, Low: report.Undefined, High: report.Undefined, Severity: report.Undefined}}}
	if err := l.Write(out); err != nil {
		t.Fatal(err)
	}
	back, err := issues.Read(issues.Path(out))
	if err != nil || back.Issues[0].Name != "A <b> & c" || back.Issues[0].Severity.Defined() {
		t.Errorf("%+v, %v", back, err)
	}
}
