package evaluation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// IssueReport says how well issues that were discovered agree with people. Its JSON keys are stable.
type IssueReport struct {
	File        string         `json:"file"`
	Gold        string         `json:"gold"`
	Rows        int            `json:"rows"`         // of the gold file
	Found       int            `json:"found"`        // of them, rows that are in the file
	WithoutGold int            `json:"without_gold"` // rows of the file that the gold file lacks
	Changed     int            `json:"changed"`      // rows of the file that have another text than the gold row of their id
	Right       int            `json:"right"`        // gold rows in which nothing is wrong
	Assigned    int            `json:"assigned"`
	NoIssue     int            `json:"no_issue"`
	Unassigned  map[string]int `json:"unassigned"` // by reason

	// Clustered are the rows with a gold cluster; those that are unassigned or missing are groups of their own.
	Clustered    int           `json:"clustered"`
	GoldGroups   int           `json:"gold_groups"`
	FoundGroups  int           `json:"found_groups"`
	ARI          report.Figure `json:"ari"` // adjusted Rand index
	Homogeneity  report.Figure `json:"homogeneity"`
	Completeness report.Figure `json:"completeness"`
	V            report.Figure `json:"v_measure"`

	// share of the right rows, of those looked at, in which an issue was found
	FalseIssues report.Figure `json:"false_issues"`
	Missed      report.Figure `json:"missed"` // share of the other rows, of those looked at, in which none was found

	// Accuracy is the share of rows whose analysis describes the fault of the gold sentence: by people's verdicts, else
	// the model's. A row without analysis counts as wrong.
	Accuracy     report.Figure `json:"accuracy"`
	ByPeople     int           `json:"verdicts_of_people"`
	Judged       bool          `json:"judged"` // a model was asked
	ByJudge      int           `json:"verdicts_of_judge"`
	Unclear      int           `json:"unclear"` // pairs on which the model gave no verdict
	BothVerdicts int           `json:"both_verdicts"`
	JudgeAgrees  report.Number `json:"judge_agrees"` // share of BothVerdicts
	JudgeKappa   report.Number `json:"judge_kappa"`  // Cohen's

	// SameMeaning is the share of the matched groups whose names the model holds to mean the same: semantic label
	// consistency, with the matching that shares most rows.
	SameMeaning report.Number `json:"same_meaning"`
	Matches     []IssueMatch  `json:"matches"`
	Confusion   []IssueCell   `json:"confusion"` // most rows first

	ByValue []ByValue `json:"by_value,omitempty"` // adjusted Rand index; only with IssueOptions.By

	by     string
	faults []error
}

// IssueMatch is a gold cluster and the issue that stands for it.
type IssueMatch struct {
	Gold  string `json:"gold"`
	Found string `json:"found"` // id
	Rows  int    `json:"rows"`  // that have both
	Same  *bool  `json:"same,omitempty"`
}

// IssueCell counts the rows of a gold cluster with an issue.
type IssueCell struct {
	Gold  string `json:"gold"`
	Found string `json:"found"` // id, or "(no issue)"
	Rows  int    `json:"rows"`
}

func (r *IssueReport) count(g *goldIssue) {
	if g.right {
		r.Right++
	}
	if g.found == nil {
		return
	}
	r.Found++
	switch g.found.Status {
	case issues.Assigned:
		r.Assigned++
	case issues.None:
		r.NoIssue++
	default:
		reason, _, _ := strings.Cut(g.found.Reason, ":")
		r.Unassigned[reason]++
	}
}

// Warnings say what the figures leave out.
func (r *IssueReport) Warnings() []report.FileWarning {
	return []report.FileWarning{{Faults: r.faults}}
}

// IsIncomplete tells whether rows or lines are left out.
func (r *IssueReport) IsIncomplete() bool {
	return r.Found < r.Rows || r.Assigned+r.NoIssue < r.Found || len(r.faults) > 0
}

// maxConfusion is how many cells a report shows.
const maxConfusion = 20

// Report puts the figures into words and tables.
func (r *IssueReport) Report() *report.Report {
	out := &report.Report{Title: fmt.Sprintf("Issues of %s against %s", r.File, r.Gold), Facts: []string{
		fmt.Sprintf("%s with gold, %d in the file: %d assigned, %d without issue, %d unassigned; %d are right by gold",
			words.Plural(r.Rows, "row", "rows"), r.Found, r.Assigned, r.NoIssue, r.Found-r.Assigned-r.NoIssue, r.Right)}}
	if r.Changed > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("%s another text than the gold row of the id: missing",
			words.Plural(r.Changed, "row has", "rows have")))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Unassigned)) {
		out.Facts = append(out.Facts, fmt.Sprintf("unassigned because %s: %d", reason, r.Unassigned[reason]))
	}
	table := report.NewTable("figure", "value", "of")
	add := func(name string, f report.Figure, of string) {
		if f.Value.Defined() {
			table.Rows = append(table.Rows, []any{name, f.As("%.3f"), of})
		}
	}
	clustered := fmt.Sprintf("%s in %d gold groups", words.Plural(r.Clustered, "row", "rows"), r.GoldGroups)
	add("adjusted Rand index", r.ARI, clustered)
	add("V-measure", r.V, clustered)
	add("homogeneity", r.Homogeneity, clustered)
	add("completeness", r.Completeness, clustered)
	add("false issues", r.FalseIssues, "right rows that were looked at")
	add("missed", r.Missed, "wrong rows that were looked at")
	add("same fault as people", r.Accuracy, r.accuracyBase())
	both := fmt.Sprintf("%d verdicts of both", r.BothVerdicts)
	add("judge agrees with people", withoutInterval(r.JudgeAgrees), both)
	add("kappa of judge and people", withoutInterval(r.JudgeKappa), both)
	add("names mean the same", withoutInterval(r.SameMeaning),
		words.Plural(len(r.Matches), "matched group", "matched groups"))
	out.Sections = append([]report.Section{{Title: "Agreement with people", Table: table}, r.confusionSection()},
		sectionBy(r.ByValue, r.by, "adjusted Rand index", []string{r.File})...)
	return out
}

func withoutInterval(n report.Number) report.Figure {
	return report.Figure{Value: n, Low: report.Undefined, High: report.Undefined}
}

func (r *IssueReport) accuracyBase() string {
	text := fmt.Sprintf("%d verdicts of people, %d of the judge", r.ByPeople, r.ByJudge)
	if r.Unclear > 0 {
		text += fmt.Sprintf(", %d unclear", r.Unclear)
	}
	return text
}

func (r *IssueReport) confusionSection() report.Section {
	s := report.Section{Title: "What was found in each gold group", Table: report.Table{Columns: []report.Column{
		{Title: "gold"}, {Title: "found"}, {Title: "rows", Right: true}, {Title: "matched"}}}}
	for _, c := range r.Confusion[:min(len(r.Confusion), maxConfusion)] {
		matched := ""
		if slices.ContainsFunc(r.Matches, func(m IssueMatch) bool { return m.Gold == c.Gold && m.Found == c.Found }) {
			matched = "yes"
		}
		s.Table.Rows = append(s.Table.Rows, []any{c.Gold, c.Found, c.Rows, matched})
	}
	if more := len(r.Confusion) - maxConfusion; more > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d more cells are in --json", more))
	}
	return s
}
