package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

type issueCase struct {
	Rows []struct {
		ID, Cluster, Issue, Status, Found string
		People, Judge                     *bool
	}
	ARI, Homogeneity, Completeness, V, Missed, Accuracy, Kappa float64
	FalseIssues                                                *float64 `json:"false_issues"`
	MatchedRows                                                int      `json:"matched_rows"`
}

func reading(rows []*dataset.Row) func() (*dataset.Row, error) {
	return func() (*dataset.Row, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
}

func rowWith(t *testing.T, id string, columns map[string]any) *dataset.Row {
	t.Helper()
	row, err := dataset.RowOf(columns)
	if err != nil {
		t.Fatal(err)
	}
	row.ID, row.Values = id, []string{id, "x", "", ""}
	return row
}

// The interval of a share is that of the rows which it is of: two missed faults among thirty right rows are two.
func TestIssuesFewWrong(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	i, err := NewIssues(IssueOptions{Taxonomy: task, List: &issues.List{Format: issues.Format}, Sentence: "issue",
		Cluster: "cluster", Intervals: report.IntervalOptions{Resamples: 50, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var gold, found []*dataset.Row
	for n := range 32 {
		id, sentence := fmt.Sprint(n), ""
		if n < 2 {
			sentence = "It breaks off."
		}
		gold = append(gold, rowWith(t, id, map[string]any{"cluster": sentence, "issue": sentence}))
		found = append(found, rowWith(t, id, map[string]any{"issues": issues.Finding{Status: issues.None}}))
	}
	if err := errors.Join(i.ReadGold(t.Context(), "gold", reading(gold)),
		i.ReadFound(t.Context(), "found", reading(found))); err != nil {
		t.Fatal(err)
	}
	r, err := i.ComputeReport(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Wilson's interval of two, as in pairwise/audit
	if r.Missed.Value != 1 || math.Abs(float64(r.Missed.Low)-0.01224) > 1e-5 ||
		r.FalseIssues.Value != 0 || !(r.FalseIssues.High < 0.2) {
		t.Errorf("missed %+v, false issues %+v", r.Missed, r.FalseIssues)
	}
}

// What people said of a text says nothing of another one that has its id.
func TestIssuesOfOtherText(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	i, err := NewIssues(IssueOptions{Taxonomy: task, List: &issues.List{}, Cluster: "cluster"})
	if err != nil {
		t.Fatal(err)
	}
	var gold, found []*dataset.Row
	for _, id := range []string{"1", "2"} {
		gold = append(gold, rowWith(t, id, map[string]any{"cluster": "unit"}))
		found = append(found, rowWith(t, id, map[string]any{"issues": issues.Finding{Status: issues.None}}))
	}
	found[1].Values[0] = "another"
	if err := errors.Join(i.ReadGold(t.Context(), "gold", reading(gold)),
		i.ReadFound(t.Context(), "found", reading(found))); err != nil {
		t.Fatal(err)
	}
	r, err := i.ComputeReport(t.Context())
	if err != nil || r.Changed != 1 || r.Found != 1 || !strings.HasPrefix(r.Report().Facts[1], "1 row has another text") {
		t.Errorf("%+v, %v", r, err)
	}
}

// Figures are those of scikit-learn and scipy; see testdata/make_issues.py.
func TestIssuesAgainstScikitLearn(t *testing.T) {
	data, err := os.ReadFile("testdata/issues.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []issueCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	for n, c := range cases {
		list := &issues.List{Format: issues.Format}
		var gold, found, verdicts []*dataset.Row
		for _, r := range c.Rows {
			gold = append(gold, rowWith(t, r.ID, map[string]any{"cluster": r.Cluster, "issue": r.Issue}))
			f := issues.Finding{Status: r.Status}
			switch r.Status {
			case issues.Assigned:
				f.IDs, f.Analysis = []string{r.Found}, "It seems to have "+r.Found+"."
				if list.Find(r.Found) < 0 {
					list.Issues = append(list.Issues, issues.Issue{ID: r.Found, Name: r.Found})
				}
			case issues.Unassigned:
				f.Reason = "refused"
			}
			found = append(found, rowWith(t, r.ID, map[string]any{"issues": f}))
			if r.People != nil {
				verdicts = append(verdicts, rowWith(t, r.ID, map[string]any{"same": *r.People}))
			}
		}
		i, err := NewIssues(IssueOptions{Taxonomy: task, List: list, Sentence: "issue", Cluster: "cluster", Verdict: "same",
			Intervals: report.IntervalOptions{Resamples: 50, Seed: 1}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		for _, err := range []error{i.ReadGold(ctx, "gold", reading(gold)), i.ReadFound(ctx, "found", reading(found)),
			i.ReadVerdicts(ctx, "verdicts", reading(verdicts))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		pairs := i.Pairs()
		same, known := make([]bool, len(pairs)), make([]bool, len(pairs))
		at := 0
		for _, r := range c.Rows {
			if r.Judge != nil {
				same[at], known[at] = *r.Judge, true
				at++
			}
		}
		i.SetSame(same, known)
		r, err := i.ComputeReport(ctx)
		if err != nil {
			t.Fatal(err)
		}
		falseIssues := math.NaN()
		if c.FalseIssues != nil {
			falseIssues = *c.FalseIssues
		}
		matched := 0
		for _, m := range r.Matches {
			matched += m.Rows
		}
		for name, v := range map[string][2]float64{"ari": {float64(r.ARI.Value), c.ARI}, "v": {float64(r.V.Value), c.V},
			"homogeneity":  {float64(r.Homogeneity.Value), c.Homogeneity},
			"completeness": {float64(r.Completeness.Value), c.Completeness}, "missed": {float64(r.Missed.Value), c.Missed},
			"false issues": {float64(r.FalseIssues.Value), falseIssues}, "accuracy": {float64(r.Accuracy.Value), c.Accuracy},
			"kappa": {float64(r.JudgeKappa), c.Kappa}, "matched": {float64(matched), float64(c.MatchedRows)}} {
			if !(math.Abs(v[0]-v[1]) <= 1e-9) && !(math.IsNaN(v[0]) && math.IsNaN(v[1])) {
				t.Errorf("case %d: %s is %v, want %v", n, name, v[0], v[1])
			}
		}
		if !(r.ARI.Low < r.ARI.Value && r.ARI.Value < r.ARI.High) || r.Rows != len(c.Rows) || r.Found != len(c.Rows) {
			t.Errorf("case %d: %+v", n, r)
		}
	}
}
