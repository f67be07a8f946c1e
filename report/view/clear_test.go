package view

import (
	"archive/zip"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shown is a line of CLEAR's table of issues: how often, the share of all rows, and the severity.
type shown struct {
	name     string
	count    int
	share    float64 // %, one decimal
	severity float64 // two decimals
}

// showIssues makes CLEAR's table of an index: of all rows, as CLEAR has it.
func showIssues(t *testing.T, x *Index) (lines []shown, unknown int) {
	t.Helper()
	counts, err := x.Counts(context.Background(), CountsQuery{Facet: facetIssue})
	if err != nil {
		t.Fatal(err)
	}
	facet, err := x.facet(facetIssue)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range counts.Values {
		if facet.Values[i].Role == RoleUnknown {
			unknown += v.Cells[0].Rows
			continue
		}
		line := shown{name: v.Name, count: v.Cells[0].Rows,
			share: math.Round(1000*float64(v.Cells[0].Rows)/float64(counts.Total)) / 10, severity: math.NaN()}
		if s := facet.Values[i].Severity; s != nil {
			line.severity = math.Round(100*float64(*s)) / 100
		}
		lines = append(lines, line)
	}
	return lines, unknown
}

// TestClearTable: a file of results shows the numbers that CLEAR's dashboard shows of it: No Issues first, then the
// issues by their number of rows, each with its share of all rows and 1 - mean score (of rows without issues, too). The expected lines were worked out
// as the dashboard does: it reads the names of each row, counts them, divides by the rows, and averages scores.
func TestClearTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.zip")
	type row struct {
		score  float64
		issues []string
	}
	var rows []row
	for i := range 40 { // 12 with A, 8 with B, of which 4 have both; 24 with none
		r := row{score: 1}
		if i < 12 {
			r.issues, r.score = append(r.issues, "Answers another question"), 0.4
		}
		if i >= 8 && i < 16 {
			r.issues, r.score = append(r.issues, "=Cites <nothing>"), 0.25*float64(i%2+1)
		}
		rows = append(rows, r)
	}
	writeResults(t, path, func(line func(id, score string, issues []string)) {
		for i, r := range rows {
			line(fmt.Sprint("q", i), fmt.Sprint(r.score), r.issues)
		}
	})
	x, err := Open(context.Background(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	got, unknown := showIssues(t, x)
	// A: 8 rows of 0.4, 4 of 0.25, 0.5, 0.25, 0.5: mean 4.7/12. B: 0.25 and 0.5 in turns: mean 0.375.
	want := []shown{{noIssue, 24, 60, 0}, {"Answers another question", 12, 30, 0.61},
		{"=Cites <nothing>", 8, 20, 0.63}}
	if fmt.Sprint(got) != fmt.Sprint(want) || unknown != 0 {
		t.Errorf("%v, %d unknown, want %v", got, unknown, want)
	}
	i := slices.IndexFunc(x.Catalog().Measures, func(m Measure) bool { return m.Key == "column.score" })
	if m := x.Catalog().Measures[i]; m.Title != "Score" || m.Low != 0 || m.High != 1 {
		t.Errorf("%+v", m)
	}
	scores, err := x.Histogram(context.Background(), HistogramQuery{Measure: "column.score"})
	if err != nil || scores.Columns[0].Rows != 40 || scores.Columns[0].Sum != 8*0.4+4*0.25+4*0.5+24 {
		t.Error(scores, err)
	}
}

// TestClearUnscored: rows that CLEAR drops because they have no score, or takes for good ones because nothing could be
// read of them, are counted as what they are.
func TestClearUnscored(t *testing.T) {
	x, err := Open(context.Background(), []string{filepath.Join("..", "..", "discover", "clear", "testdata", "2026.zip")},
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	// CLEAR shows 6 rows, for q6 has no score, and 4 without issues, among them q5 and q7, which it did not compare.
	got, unknown := showIssues(t, x)
	want := []shown{{noIssue, 2, 28.6, 0.13}, {"Doesn't answer the question", 1, 14.3, 0.75},
		{`Invents "facts"; cites nothing`, 1, 14.3, 0.5}, {"Zu lang für die Frage – 😀", 1, 14.3, 0.75}}
	if fmt.Sprint(got) != fmt.Sprint(want) || unknown != 3 || x.Catalog().Rows != 7 {
		t.Errorf("%v, %d unknown of %d, want %v", got, unknown, x.Catalog().Rows, want)
	}
	facts := []Fact{{"Made by", "CLEAR"}, {"Run name", "invented"}, {"Generator", "none"}, {"Judge", "none"}}
	if got := x.Catalog().Runs[0].Facts; !slices.Equal(got, facts) {
		t.Error(got)
	}
	if text := x.Catalog(); text.Task != "response@1.0" || text.Runs[0].Columns["input"] != "model_input" ||
		text.Runs[0].Columns["reference"] != "ground_truth" {
		t.Error(text.Task, text.Runs[0].Columns)
	}
	page, err := x.Rows(context.Background(), RowsQuery{Filter: Filter{Search: "question 6"}, Limit: 5})
	if err != nil || page.Total != 1 || page.Rows[0].ID != "q6" || page.Rows[0].Text != "F" {
		t.Error(show(page), err)
	}
}

// writeResults writes a file of results with the lines that rows gives.
func writeResults(t *testing.T, path string, rows func(line func(id, score string, issues []string))) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	w, err := z.Create("results_run.csv")
	if err != nil {
		t.Fatal(err)
	}
	table := csv.NewWriter(w)
	write := func(cells ...string) {
		if err := table.Write(cells); err != nil {
			t.Fatal(err)
		}
	}
	write("question_id", "model_input", "response", "score", "evaluation_summary", "recurring_issues_str")
	rows(func(id, score string, issues []string) {
		quoted := make([]string, len(issues))
		for i := range issues {
			quoted[i] = strconv.Quote(issues[i])
		}
		write(id, "Say "+id, "It is "+id, score, "A summary of "+id, "["+strings.Join(quoted, ", ")+"]")
	})
	table.Flush()
	if w, err = z.Create("metadata_run.json"); err == nil {
		_, err = w.Write([]byte(`{"run_name":"r"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
