package issues

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// Report is the summary and, for each issue, its description and examples.
func (l *List) Report() *report.Report {
	r := l.Summary()
	for i := range l.Issues {
		r.Sections = append(r.Sections, l.Issues[i].section())
	}
	return r
}

// Summary is the list as a table.
func (l *List) Summary() *report.Report {
	r := &report.Report{Title: fmt.Sprintf("%s in %s", words.Plural(len(l.Issues), "issue", "issues"),
		words.Plural(l.Rows, "row", "rows")), Facts: l.facts(), Method: []string{l.method()}}
	table := report.NewTable("issue", "rows", "share", "interval", "severity", "stability")
	related := slices.ContainsFunc(l.Issues, func(i Issue) bool { return i.Relation != "" })
	if related {
		table.Columns = append(table.Columns, report.Column{Title: "error types"})
	}
	for i := range l.Issues {
		row := l.Issues[i].cells()
		if related {
			row = append(row, l.Issues[i].types())
		}
		table.Rows = append(table.Rows, row)
	}
	if len(l.Issues) > 0 {
		r.Sections = []report.Section{{Title: "Issues", Notes: l.Notes(), Table: table}}
	}
	return r
}

func (l *List) facts() []string {
	facts := []string{fmt.Sprintf("%d assigned, %d without issue, %d unassigned", l.Assigned, l.NoIssue, l.Unknown())}
	if l.NoComment > 0 {
		facts[0] += "; " + words.Plural(l.NoComment, "row has no comment, and no share counts it",
			"rows have no comment, and no share counts them")
	}
	if len(l.Unassigned) > 0 {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(l.Unassigned)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, l.Unassigned[reason]))
		}
		leave := ""
		if n := l.Unassigned[Unlisted]; n > 0 && n < l.Unknown() {
			leave = "; shares leave out all of them but the " + Unlisted
		} else if n == 0 {
			leave = "; shares leave them out"
		}
		facts = append(facts, "unassigned because: "+strings.Join(reasons, ", ")+leave)
	}
	switch most := l.mostSentences(); {
	case most.Sentences > 1:
		facts = append(facts, fmt.Sprintf("no model grouped the sentences, and the issues are rough: %s holds %d different "+
			"ones; a higher --threshold parts them, --judge in place of --grouping offline groups better; praise is an "+
			"issue here like any other sentence", most.Name, most.Sentences))
	case most.Sentences == 1 && len(l.Issues) > 1:
		facts = append(facts, "no model grouped the sentences: each issue is one of them; a lower --threshold joins some, "+
			"--judge in place of --grouping offline groups better")
	}
	if l.Modes != nil {
		facts = append(facts, l.modes("labels", "with the labels shown"), l.modes("none", "without them")+
			fmt.Sprintf("; an issue by both in %d", l.Modes["issue_in_both"]))
	}
	return facts
}

// mostSentences is the issue with the most different sentences.
func (l *List) mostSentences() (most Issue) {
	for _, issue := range l.Issues {
		if issue.Sentences > most.Sentences {
			most = issue
		}
	}
	return most
}

func (l *List) method() string {
	how := "analysis " + l.Analysis
	if l.Grouping != "" {
		how += ", grouping " + l.Grouping
	}
	if l.Agreement != nil {
		how += fmt.Sprintf(", %d orders that agree by %.2f (adjusted Rand index)", l.Orders, *l.Agreement)
	}
	return how
}

// modes says what one of two kinds of analyses found.
func (l *List) modes(kind, how string) string {
	n := func(what string) int { return l.Modes[kind+"."+what] }
	return fmt.Sprintf("%s: an issue in %d, none in %d, unfounded in %d, no answer in %d", how, n("issue"), n("no_issue"),
		n("unfounded"), n("unassigned"))
}

// IsUnstable tells whether an issue is.
func (l *List) IsUnstable() bool {
	return slices.ContainsFunc(l.Issues, func(i Issue) bool { return i.Unstable })
}

// Notes say what marks issues, and how intervals were computed.
func (l *List) Notes() []string {
	var notes []string
	if l.IsUnstable() {
		notes = append(notes, fmt.Sprintf("an issue marked with * is unstable: its stability is below %.1f", StableFrom))
	}
	if l.Interval != "" {
		notes = append(notes, "intervals: "+l.Interval)
	}
	return notes
}

func (i *Issue) cells() []any {
	stability, name := report.Undefined, i.Name
	if i.Stability != nil {
		stability = report.Number(*i.Stability)
	}
	if i.Unstable {
		name += " *"
	}
	interval := "–"
	if i.Low.Defined() {
		interval = i.Low.Text(report.InPercent) + " to " + i.High.Text(report.InPercent)
	}
	return []any{name, i.Count, i.Share.As(report.InPercent), interval, i.Severity.As("%.1f"), stability.As("%.2f")}
}

// types says how the issue and the error types go together.
func (i *Issue) types() string {
	switch {
	case i.Relation == "":
		return ""
	case i.Relation == IsNew:
		return IsNew
	}
	return i.Relation + ": " + i.Labels[0].Label
}

func (i *Issue) section() report.Section {
	s := report.Section{Title: i.Name, Notes: []string{"id " + i.ID}}
	if i.Description != "" {
		s.Notes = append(s.Notes, i.Description)
	}
	for _, c := range i.Labels {
		s.Notes = append(s.Notes, fmt.Sprintf("with %s: %s, %s times as often as by chance, phi %s", c.Label,
			words.Plural(c.Both, "row", "rows"), c.Lift.Text("%.1f"),
			report.Figure{Value: c.Phi, Low: c.Low, High: c.High}.Text("%.2f")))
	}
	s.Table = report.Table{Columns: []report.Column{{Title: "row"}, {Title: "analysis"}, {Title: "quote"}}}
	for _, e := range i.Examples {
		s.Table.Rows = append(s.Table.Rows, []any{e.Row, e.Analysis, e.Quote})
	}
	return s
}
