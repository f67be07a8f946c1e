package issues

import (
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/taxonomy"
)

// rowsOf are n rows of the task response, with these ids and the issues that of gives; nil is unassigned.
func rowsOf(t *testing.T, n int, id string, of func(i int) []string) func() (*dataset.Row, error) {
	t.Helper()
	at := 0
	return func() (*dataset.Row, error) {
		if at == n {
			return nil, io.EOF
		}
		at++
		row, err := dataset.RowOf(map[string]any{"response": "x"})
		if err != nil {
			return nil, err
		}
		row.ID, row.Values = fmt.Sprintf(id, at), []string{"x", fmt.Sprintf(id, at), "", ""}
		f := &Finding{Status: Assigned, IDs: of(at - 1)}
		switch {
		case f.IDs == nil:
			f = &Finding{Status: Unassigned, Reason: reply.Cut}
		case len(f.IDs) == 0:
			f.Status = None
		}
		return row, f.Set(row)
	}
}

// diffOf compares 40 rows, in pairs if both have the same ids. In A five rows have the issue "more", in B twenty; "less"
// the other way; "same" is in ten rows of both; "old" in A and "fresh" in B alone. One row of each is unassigned.
func diffOf(t *testing.T, idA, idB string) *Diff {
	t.Helper()
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	list := &List{}
	for _, id := range []string{"more", "less", "same", "old", "fresh"} {
		list.Issues = append(list.Issues, Issue{ID: id, Name: id})
	}
	c, err := NewComparison(list, list, DiffOptions{Taxonomy: task})
	if err != nil {
		t.Fatal(err)
	}
	issuesOf := func(more, less int, own string, unassigned int) func(int) []string {
		return func(i int) []string {
			if i == unassigned {
				return nil
			}
			ids := []string{}
			for id, n := range map[string]int{"more": more, "less": less, "same": 10, own: 1} {
				if i < n {
					ids = append(ids, id)
				}
			}
			return ids
		}
	}
	for _, err := range []error{c.ReadA(t.Context(), "a.jsonl", rowsOf(t, 40, idA, issuesOf(5, 20, "old", 38))),
		c.ReadB(t.Context(), "b.jsonl", rowsOf(t, 40, idB, issuesOf(20, 5, "fresh", 39)))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.ComputeDiff()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDiff: by hand, 15 of 38 pairs gain "more" and none loses it; Holm's correction is for five issues.
func TestDiff(t *testing.T) {
	want := map[string]string{"more": Grown, "less": Shrunk, "same": Unchanged, "old": Gone, "fresh": New}
	paired := diffOf(t, "r%d", "r%d")
	if !paired.Paired || paired.Both != 40 || paired.Compared != 38 || paired.A.Looked != 39 || paired.B.Unassigned != 1 {
		t.Errorf("%+v", paired)
	}
	apart := diffOf(t, "a%d", "b%d")
	if apart.Paired || apart.Both != 0 || apart.Compared != 0 {
		t.Errorf("%+v", apart)
	}
	for _, d := range []*Diff{paired, apart} {
		for _, i := range d.Issues {
			if i.Change != want[i.ID] {
				t.Errorf("paired %v, %s: %s, p %v, want %s", d.Paired, i.ID, i.Change, i.PHolm, want[i.ID])
			}
		}
		c := d.counts()
		for change, id := range map[string]string{New: "fresh", Gone: "old", Grown: "more", Shrunk: "less"} {
			if n := c.Named[change]; !slices.Equal(n.Names, []string{id}) || n.Of != 5 || n.Unit != "issues" {
				t.Errorf("%s: %+v", change, n)
			}
			if one, no := c.Named[change+":"+id], c.Named[change+":same"]; len(one.Names) != 1 || len(no.Names) != 0 {
				t.Errorf("%s of one issue: %+v, %+v", change, one, no)
			}
		}
		if len(c.Named) != 4*(1+5) || c.Labels["more"] != 20 {
			t.Errorf("counts %v", c)
		}
	}
	for _, i := range paired.Issues {
		if i.ID != "more" {
			continue
		}
		a, b := 1.0/39, (15*37.0/38+1)/39 // 38 pairs that stand alone are worth 37, since their variance is estimated
		p := stats.DifferenceP((b-a)/math.Sqrt((a+b-(b-a)*(b-a))/39), 38)
		if i.Gained != 15 || i.Lost != 0 || i.CountA != 5 || i.CountB != 20 || math.Abs(float64(i.P)-p) > 1e-12 ||
			math.Abs(float64(i.PHolm)-5*p) > 1e-12 || math.Abs(float64(i.Difference.Value)-15.0/38) > 1e-12 {
			t.Errorf("%+v", i)
		}
	}
}

// TestNoDiff: lists without an issue in common, and files of which nothing is known, cannot be compared.
func TestNoDiff(t *testing.T) {
	a, b := &List{Issues: []Issue{{ID: "a", Name: "A"}}}, &List{Issues: []Issue{{ID: "b", Name: "B"}}}
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	o := DiffOptions{Taxonomy: task}
	if _, err := NewComparison(a, b, o); err == nil {
		t.Error("no issue in common, and no error")
	}
	c, err := NewComparison(a, a, o)
	if err != nil {
		t.Fatal(err)
	}
	unknown := func(int) []string { return nil }
	if err := c.ReadA(t.Context(), "a", rowsOf(t, 3, "r%d", unknown)); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadB(t.Context(), "b", rowsOf(t, 3, "r%d", func(int) []string { return []string{"other"} })); err == nil {
		t.Error("an issue that the list does not have")
	}
	if _, err := c.ComputeDiff(); err == nil {
		t.Error("nothing is known, and no error")
	}
}

// TestAnyIssue: a rise that is spread over several issues, none of which surely grew, is one of the rows with any: of 40
// pairs 8 gain one, 2 each of four issues, as of different rows of 20 against 4.
func TestAnyIssue(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	list := &List{}
	for _, id := range []string{"a", "b", "c", "d"} {
		list.Issues = append(list.Issues, Issue{ID: id, Name: id})
	}
	c, err := NewComparison(list, list, DiffOptions{Taxonomy: task})
	if err != nil {
		t.Fatal(err)
	}
	of := func(rows int) func(int) []string {
		return func(i int) []string {
			if i >= rows {
				return []string{}
			}
			return []string{list.Issues[i%4].ID}
		}
	}
	for _, err := range []error{c.ReadA(t.Context(), "a.jsonl", rowsOf(t, 40, "r%d", of(4))),
		c.ReadB(t.Context(), "b.jsonl", rowsOf(t, 40, "r%d", of(12)))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.ComputeDiff()
	if err != nil {
		t.Fatal(err)
	}
	if n := d.counts().Named[Grown]; len(d.Issues) != 4 || d.Any.CountA != 4 || d.Any.CountB != 12 || d.Any.Gained != 8 ||
		!slices.Equal(n.Names, []string{anyIssue}) || len(d.counts().Named[Shrunk].Names) != 0 {
		t.Errorf("%+v, %+v", d.Any, n)
	}
	fact := "rows with any issue: 10.0 % in A, 30.0 % in B (+20.0 points, p " + d.Any.P.Text("%.3f") + ")"
	if facts := d.Report().Facts; !slices.Contains(facts, fact) {
		t.Error(facts)
	}
}
