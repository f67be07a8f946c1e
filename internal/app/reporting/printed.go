package reporting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
)

// maxColumns is how many systems or runs a printed table shows beside each other.
const maxColumns = 12

// Print is a catalogue with its figures as a report of tables, for a page such as that of a pull request.
func Print(c *view.Catalog, f *Figures) *report.Report {
	p := printer{c, f}
	r := &report.Report{Title: c.Title, Facts: append(p.result(), words.Plural(c.Rows, "row", "rows")+" in "+
		words.Plural(len(c.Runs), "run", "runs"))}
	if len(c.Runs) > 1 {
		r.Facts = append(r.Facts, "a row that several runs have counts in each of them, unless a note says once")
	}
	if c.Task != "" {
		r.Facts = append(r.Facts, "task "+c.Task)
	}
	group := "group"
	if i := slices.IndexFunc(c.Fields, func(f view.Field) bool { return f.Group }); i >= 0 {
		group = c.Fields[i].Name
	}
	r.Facts = append(r.Facts, "95 % intervals: of shares Wilson's, with rows of one "+group+
		" counted as far as they differ; of means Student's")
	r.Facts = append(r.Facts, c.Notes...)
	r.Sections = append(r.Sections, runsSection(c))
	r.Sections = append(r.Sections, p.shares("label", "Errors")...)
	if i := p.facet("issue"); i >= 0 {
		r.Sections = append(r.Sections, p.issues(&c.Facets[i]))
		r.Sections = append(r.Sections, p.shares("issue", "Issues")...)
	}
	r.Sections = append(r.Sections, p.means()...)
	for i := range c.Sections {
		r.Sections = append(r.Sections, printed(&c.Sections[i]))
	}
	return r
}

type printer struct {
	catalog *view.Catalog
	figures *Figures
}

func (p *printer) facet(key string) int {
	return slices.IndexFunc(p.catalog.Facets, func(f view.Facet) bool { return f.Key == key })
}

// result is the share of rows without error and the commonest error, in a sentence; nothing where no errors were looked
// for.
func (p *printer) result() []string {
	i := p.facet("label")
	if i < 0 || len(p.catalog.Runs) > 1 { // runs of the same rows are not to be pooled
		return nil
	}
	var clean, most Share
	several := false // as common as the commonest
	for _, v := range p.catalog.Facets[i].Values {
		switch s := p.find("label", v.Name, "", ""); {
		case v.Role == view.RoleNone:
			clean = *s
		case v.Role == "" && s.Share.Defined() && s.Share > most.Share:
			most, several = *s, false
		case v.Role == "" && s.Share == most.Share:
			several = true
		}
	}
	shown := func(s Share) string {
		return fmt.Sprintf("%s: %s (%s to %s)", s.Value, s.Share.Text(report.InPercent), (100 * s.Low).Text("%.1f"),
			(100 * s.High).Text("%.1f"))
	}
	if !clean.Share.Defined() || clean.Value == "" {
		return nil
	}
	text := shown(clean)
	if most.Value != "" && !several {
		text += "; the commonest error is " + shown(most)
	}
	return []string{text + ". A model found this, and no person has checked it"}
}

func runsSection(c *view.Catalog) report.Section {
	s := report.Section{Title: "Runs", Table: report.NewTable("run", "made by", "rows", "no rows", "about")}
	s.Table.Columns[1].Right, s.Table.Columns[4].Right = false, false
	for _, r := range c.Runs {
		var facts []string
		for _, f := range r.Facts {
			facts = append(facts, f.Name+": "+f.Value)
		}
		s.Table.Rows = append(s.Table.Rows, []any{r.Name, r.Command, r.Rows, r.Rejected, strings.Join(facts, "; ")})
	}
	return s
}

// columns are the names that a table has beside each other, in the catalogue's order; nil where there is but one.
func (p *printer) columns(by string) (names []string) {
	i := p.facet(by)
	if i < 0 || len(p.catalog.Facets[i].Values) < 2 {
		return nil
	}
	for _, v := range p.catalog.Facets[i].Values {
		names = append(names, v.Name)
	}
	return append(names, emptyColumn)
}

// looked are those of the names of which rows were looked at.
func (p *printer) looked(facet, by string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(p.figures.Shares, func(s Share) bool {
			return s.Facet == facet && s.By == by && s.Column == name && s.Of > 0
		})
	})
}

// shares are a table of all rows, of issues apart, and one by each way in which rows are told apart.
func (p *printer) shares(facet, title string) (sections []report.Section) {
	i := p.facet(facet)
	if i < 0 {
		return nil
	}
	values := p.catalog.Facets[i].Values
	if facet != "issue" {
		sections = append(sections, p.sharesBy(facet, values, "", []string{""}, title))
	}
	for _, by := range []string{systems, "run"} {
		if names := p.looked(facet, by, p.columns(by)); len(names) > 0 {
			sections = append(sections, p.sharesBy(facet, values, by, names, title+" by "+p.columnOf(by)))
		}
	}
	return sections
}

// columnOf names a facet of runs or systems: by its column, if it has another than "system".
func (p *printer) columnOf(by string) string {
	if i := p.facet(by); i >= 0 && !strings.EqualFold(p.catalog.Facets[i].Title, by) {
		return p.catalog.Facets[i].Title
	}
	return by
}

func (p *printer) sharesBy(facet string, values []view.Value, by string, names []string, title string) report.Section {
	s := report.Section{Title: title}
	if len(names) > maxColumns {
		shown, rest := p.largest(facet, values[0].Name, by, names)
		s.Notes = append(s.Notes, fmt.Sprintf("the %d largest of %d are shown; the others have %s", maxColumns, len(names),
			words.Plural(rest, "row", "rows")))
		names = shown
	}
	s.Table = report.NewTable(facet)
	for _, name := range names {
		if by == "" {
			s.Table.Columns = append(s.Table.Columns, report.Column{Title: "rows", Right: true})
			name = "share"
		}
		s.Table.Columns = append(s.Table.Columns, report.Column{Title: name, Right: true})
	}
	of := []any{"(rows that were looked at)"}
	for _, value := range values {
		line, notJudged := []any{value.Name}, 0
		for _, name := range names {
			share := p.find(facet, value.Name, by, name)
			notJudged += p.find(facet, values[0].Name, by, name).Of - share.Of
			if by == "" {
				line = append(line, share.Rows)
			}
			line = append(line, shareCell(share, value.Role))
			if len(of) < len(s.Table.Columns) {
				if of = append(of, share.Of); by == "" {
					of = append(of, "")
				}
			}
		}
		s.Table.Rows = append(s.Table.Rows, line)
		if by == "" && notJudged > 0 {
			s.Notes = append(s.Notes, report.NotJudgedText(value.Name, words.Plural(notJudged, "row", "rows")))
		}
	}
	s.Table.Rows = append(s.Table.Rows, of)
	return s
}

// largest are the maxColumns of the names of which most rows were looked at, in their order, and the rows of the
// others.
func (p *printer) largest(facet, value, by string, names []string) (largest []string, rest int) {
	rows := func(name string) int { return p.find(facet, value, by, name).Of }
	bySize := slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(rows(b), rows(a)) })
	for _, name := range names {
		if slices.Contains(bySize[:maxColumns], name) {
			largest = append(largest, name)
		} else {
			rest += rows(name)
		}
	}
	return largest, rest
}

// find is a share; one of no rows where there is none.
func (p *printer) find(facet, value, by, column string) *Share {
	for i := range p.figures.Shares {
		s := &p.figures.Shares[i]
		if s.Facet == facet && s.Value == value && s.By == by && s.Column == column {
			return s
		}
	}
	return &Share{Share: report.Undefined, Low: report.Undefined, High: report.Undefined}
}

// shareCell is a share in percent with its interval; of what is unknown the number of rows.
func shareCell(s *Share, role string) any {
	if role == view.RoleUnknown {
		return words.Plural(s.Rows, "row", "rows")
	}
	return report.Figure{Value: s.Share, Low: s.Low, High: s.High}.As(report.InPercent)
}

func (p *printer) issues(f *view.Facet) report.Section {
	s := report.Section{Title: "Issues", Table: report.NewTable("issue", "rows", "share", "severity", "stability",
		"error types")}
	s.Table.Columns[5].Right = false
	for _, v := range f.Values {
		share := p.find(f.Key, v.Name, "", "")
		var related []string
		for _, one := range v.Related {
			related = append(related, one.Name)
		}
		s.Table.Rows = append(s.Table.Rows, []any{v.Name, share.Rows, shareCell(share, v.Role), optional(v.Severity),
			optional(v.Stability), strings.Join(related, ", ")})
	}
	return s
}

func optional(n *report.Number) report.Cell {
	if n == nil {
		n = &report.Undefined
	}
	return n.As("%.2f")
}

// means are those of scores, of all rows and by system and run.
func (p *printer) means() (sections []report.Section) {
	titles := map[string]string{}
	for _, m := range p.catalog.Measures {
		titles[m.Key] = m.Title
	}
	for _, by := range []string{"", systems, "run"} {
		if by != "" && p.columns(by) == nil {
			continue
		}
		s := report.Section{Title: "Scores", Table: report.NewTable("score", "rows", "without score", "mean")}
		if by != "" {
			name := p.columnOf(by)
			s.Title, s.Table = "Scores by "+name, report.NewTable("score", name, "rows", "without score", "mean")
			s.Table.Columns[1].Right = false
		}
		for _, m := range p.figures.Means {
			if m.By != by || m.Rows+m.Missing == 0 {
				continue
			}
			line := []any{titles[m.Measure]}
			if by != "" {
				line = append(line, m.Column)
			}
			s.Table.Rows = append(s.Table.Rows, append(line, m.Rows, m.Missing,
				report.Figure{Value: m.Mean, Low: m.Low, High: m.High}.As("%.2f")))
		}
		if len(s.Table.Rows) > 0 {
			sections = append(sections, s)
		}
	}
	return sections
}

// printed is a section of the page as one of a printed report.
func printed(s *view.Section) report.Section {
	out := report.Section{Title: s.Title, Notes: s.Notes}
	if s.Run != "" {
		out.Title += " (" + s.Run + ")"
	}
	switch {
	case s.Table != nil:
		out.Table = *s.Table
	case s.Chart != nil && s.Chart.Kind == "matrix":
		out.Table = grid(s.Chart)
	}
	return out
}

// grid is a matrix as a table.
func grid(c *view.Chart) report.Table {
	var rows, columns []string
	values := map[[2]string]report.Number{}
	for _, cell := range c.Cells {
		rows, columns = addNew(rows, []string{cell.Row}), addNew(columns, []string{cell.Column})
		values[[2]string{cell.Row, cell.Column}] = cell.Value
	}
	t := report.NewTable(append([]string{""}, columns...)...)
	for _, row := range rows {
		line := []any{row}
		for _, column := range columns {
			value, ok := values[[2]string{row, column}]
			if !ok {
				value = report.Undefined
			}
			line = append(line, value.As("%.3g"))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}
