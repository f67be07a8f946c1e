package reporting

import (
	"context"
	"fmt"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
)

// issues are what the catalogue does not say of discovered issues: how they were found, how surely they go together
// with error types, and what changed from run to run.
func (m *maker) issues(ctx context.Context) {
	var before *Run
	var last *issues.List
	for i := range m.o.Runs {
		r := m.o.Runs[i]
		list, err := issues.Read(issues.Path(r.Path))
		if err != nil { // there is none, or the catalogue says why it cannot be read
			continue
		}
		m.add(r, listSections(list))
		if before != nil {
			a, listA := *before, last
			m.try(ctx, r, "change of issues since "+a.Name, func(ctx context.Context, b Run) ([]view.Section, error) {
				return m.change(ctx, a, b, listA, list)
			})
		}
		before, last = &r, list
	}
}

func listSections(l *issues.List) []view.Section {
	printed := l.Summary()
	sections := []view.Section{{View: view.ViewIssues, Title: "How the issues were found: " + printed.Title,
		Notes: append(printed.Facts, l.Notes()...)}}
	table := &report.Table{Columns: []report.Column{text("issue"), text("error type"), text("relation"),
		number("rows with both"), number("times as often as by chance"), number("phi")}}
	for _, i := range l.Issues {
		for _, c := range i.Labels {
			table.Rows = append(table.Rows, []any{i.Name, c.Label, i.Relation, c.Both, c.Lift,
				report.Figure{Value: c.Phi, Low: c.Low, High: c.High}})
		}
	}
	if len(table.Rows) > 0 {
		sections = append(sections, view.Section{View: view.ViewIssues, Title: "Issues that coincide with error types",
			Notes: []string{"phi is the correlation of both, -1 to 1"}, Table: table})
	}
	return sections
}

// change is what "erreval diff" says of two runs with issues.
func (m *maker) change(ctx context.Context, a, b Run, listA, listB *issues.List) ([]view.Section, error) {
	rows, err := m.o.Open(b.Path)
	if err != nil {
		return nil, err
	}
	c, err := issues.NewComparison(listA, listB, issues.DiffOptions{Taxonomy: rows.Taxonomy,
		Group: rows.Taxonomy.GroupField()})
	if err != nil {
		return nil, err
	}
	cut := false
	for _, side := range []struct {
		run  Run
		take run.TakeRows
	}{{a, c.ReadA}, {b, c.ReadB}} {
		if rows, err = m.o.Open(side.run.Path); err != nil {
			return nil, err
		}
		one, err := m.read(ctx, &rows, side.run, isAnyRow, side.take)
		if err != nil {
			return nil, err
		}
		cut = cut || one
	}
	d, err := c.ComputeDiff()
	if err != nil {
		return nil, err
	}
	s := view.Section{View: view.ViewIssues, Title: fmt.Sprintf("What changed from %s to %s", a.Name, b.Name),
		Notes: append(d.Report().Facts, m.cutNote(cut, "rows")...),
		Table: &report.Table{Columns: []report.Column{text("issue"), text("change"), number("rows before"),
			number("rows after"), number("share before"), number("share after"), number("difference"), number("p"),
			number("p, corrected (Holm)")}},
		Chart: &view.Chart{Kind: "forest", X: "difference of shares", Line: new(0.0)}}
	for _, i := range d.Issues {
		s.Table.Rows = append(s.Table.Rows, []any{i.Name, i.Change, i.CountA, i.CountB, i.ShareA.As(report.InPercent),
			i.ShareB.As(report.InPercent), i.Difference.As(report.InPercent), i.P, i.PHolm})
		s.Chart.Points = append(s.Chart.Points, point("", i.Name, i.Difference))
	}
	return []view.Section{s}, nil
}
