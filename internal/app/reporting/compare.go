package reporting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/app/comparing"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
)

// rank is what "erreval rank" does with a run where nothing else is asked for.
func (m *maker) rank(r Run) (*comparing.Rank, error) {
	rows, err := m.o.Open(r.Path)
	if err != nil {
		return nil, err
	}
	t := rows.Taxonomy
	rows.Taxonomy = run.WithoutFields(t) // pairs have other fields
	rows.Limit = m.limit()
	k := &comparing.Rank{Process: quiet(), Taxonomy: t, Rows: rows, Inputs: []string{r.Path},
		Types: comparing.RankTypes(t), Columns: comparing.OwnColumns(),
		Ratings: comparing.RatingOptions{Options: leaderboard.DefaultOptions(), Audit: true}}
	k.Ratings.Seed, k.Ratings.Elo.Seed = m.o.Seed, m.o.Seed
	return k, nil
}

// leaderboards are those of "erreval rank", with its audit.
func (m *maker) leaderboards(ctx context.Context, r Run) ([]view.Section, error) {
	k, err := m.rank(r)
	if err != nil {
		return nil, err
	}
	c, faults, err := k.Compute(ctx)
	if err != nil {
		return nil, err
	}
	printed := c.Report()
	ratings := view.Section{View: view.ViewCompare, Title: "Ratings of " + printed.Title,
		Notes: slices.Concat(printed.Facts, noted(k.Process, r), m.left(r, len(faults))),
		Chart: &view.Chart{Kind: "forest", X: "rating, in points", Line: new(1000.0)}}
	if len(c.Tables) == 0 {
		return nil, errors.New("no verdict is of a type that is rated")
	}
	main := c.Main()
	types := onPage(view.ViewCompare, c.TypesSection(k.Taxonomy))
	types.Notes = append(types.Notes, "* alone on the first rank")
	first, others := splitBoard(board(main))
	for _, note := range []string{c.Whose(), printed.Result} {
		if note != "" {
			first.Notes = slices.Insert(first.Notes, 0, note)
		}
	}
	sections := []view.Section{first, matrixSection(main), types}
	for i := range c.Tables {
		t := &c.Tables[i]
		for j := range t.Rows {
			ratings.Chart.Points = append(ratings.Chart.Points, point(t.Type, t.Rows[j].System, t.Rows[j].Interval()))
		}
	}
	ratings.Summary, others.Summary = firstAlone(c.Tables), otherRatings(main)
	sections = append(sections, ratings, others)
	for i := range c.Tables {
		if t := &c.Tables[i]; t != main {
			one, wins := board(t), matrixSection(t)
			one.Summary, wins.Summary = ranksFirst(t), mostWins(t)
			sections = append(sections, one, wins)
		}
	}
	for _, s := range c.Comparisons() {
		sections = append(sections, onPage(view.ViewCompare, s))
	}
	if audits := c.ShownAudits(); len(audits) > 0 {
		sections = append(sections, likings(audits), slopes(audits))
	}
	return sections, nil
}

func board(t *leaderboard.Table) view.Section {
	s := onPage(view.ViewCompare, comparing.BoardSection(t))
	s.Title = "Leaderboard: " + t.Type
	return s
}

// splitBoard takes the ratings besides the main one, and what is said of them, out of a leaderboard.
func splitBoard(s view.Section) (first, others view.Section) {
	first, others = s, s
	others.Title = "Other ratings: " + strings.TrimPrefix(s.Title, "Leaderboard: ")
	ofOthers := func(note string) bool { return strings.HasPrefix(note, "Davidson") }
	first.Notes = slices.DeleteFunc(slices.Clone(s.Notes), ofOthers)
	others.Notes = slices.DeleteFunc(slices.Clone(s.Notes), func(note string) bool { return !ofOthers(note) })
	at := slices.IndexFunc(s.Table.Columns, func(c report.Column) bool { return c.Title == "Davidson" })
	first.Table = &report.Table{Columns: s.Table.Columns[:at]}
	others.Table = &report.Table{Columns: slices.Concat(s.Table.Columns[:1], s.Table.Columns[at:])}
	for _, row := range s.Table.Rows {
		first.Table.Rows = append(first.Table.Rows, row[:at])
		others.Table.Rows = append(others.Table.Rows, slices.Concat(row[:1], row[at:]))
	}
	return first, others
}

// left says which of a run's rows a figure leaves out.
func (m *maker) left(r Run, faults int) (notes []string) {
	if faults > 0 {
		notes = append(notes, words.Plural(faults, "line is no row", "lines are no rows")+", and left out")
	}
	for _, one := range m.o.Source.Catalog().Runs {
		if one.Name == r.Name && one.Rows > m.limit() {
			notes = append(notes, fmt.Sprintf("of the first %d rows; the run has %d", m.limit(), one.Rows))
		}
	}
	return notes
}

func matrixSection(t *leaderboard.Table) view.Section {
	chart := &view.Chart{Kind: "matrix", X: "against", Line: new(0.5)}
	for i, shares := range t.Wins {
		for j, value := range shares {
			if i == j {
				value = report.Undefined
			}
			chart.Cells = append(chart.Cells, view.Cell{Row: t.Rows[i].System, Column: t.Rows[j].System, Value: value})
		}
	}
	return view.Section{View: view.ViewCompare, Title: "How often the row wins against the column: " + t.Type,
		Notes: []string{"a tie is half a win"}, Chart: chart}
}

// first are the systems on the first rank of a table.
func first(t *leaderboard.Table) (systems []string) {
	for i := range t.Rows {
		if t.Rows[i].Rank == 1 {
			systems = append(systems, t.Rows[i].System)
		}
	}
	return systems
}

// ranksFirst says which system ranks first in a table.
func ranksFirst(t *leaderboard.Table) string {
	switch systems := first(t); len(systems) {
	case 0:
		return "No system could be ranked."
	case 1:
		return systems[0] + " ranks first alone."
	default:
		return fmt.Sprintf("%d of %s share the first rank.", len(systems),
			words.Plural(len(t.Rows), "system", "systems"))
	}
}

// firstAlone says in how many tables one system ranks first.
func firstAlone(tables []leaderboard.Table) string {
	alone := 0
	for i := range tables {
		if len(first(&tables[i])) == 1 {
			alone++
		}
	}
	return fmt.Sprintf("Types by which one system ranks first alone: %d of %d.", alone, len(tables))
}

// otherRatings says whether they put the same system first as the main one.
func otherRatings(t *leaderboard.Table) string {
	var others []string
	for _, r := range []struct {
		name string
		of   func(*leaderboard.Row) report.Number
	}{
		{"Davidson", func(r *leaderboard.Row) report.Number { return r.Davidson }},
		{"Elo", func(r *leaderboard.Row) report.Number { return r.Elo }},
		{"Glicko-2", func(r *leaderboard.Row) report.Number { return r.Glicko2 }},
	} {
		isMore := func(row leaderboard.Row) bool { return r.of(&row) > r.of(&t.Rows[0]) }
		if slices.ContainsFunc(t.Rows, isMore) {
			others = append(others, r.name)
		}
	}
	if len(others) > 0 {
		return "A system other than " + t.Rows[0].System + " stands first by " + strings.Join(others, ", ") + "."
	}
	return "No other rating puts another system before " + t.Rows[0].System + "."
}

// mostWins says how often a system wins at most against another one.
func mostWins(t *leaderboard.Table) string {
	most, text := report.Number(0), "No system won against another one."
	for i, shares := range t.Wins {
		for j, share := range shares {
			if i != j && share > most {
				most = share
				text = fmt.Sprintf("The largest share is %s: %s against %s.", share.Text("%.0f %%"), t.Rows[i].System,
					t.Rows[j].System)
			}
		}
	}
	return text
}

// likings are the shares of audits.
func likings(audits []*audit.Audit) view.Section {
	s := view.Section{View: view.ViewCompare, Title: "What the judges go by besides quality",
		Summary: "No judge was asked in a way that shows it.",
		Notes: []string{"without such a liking: changed and reversed 0 %, first wins 50 %, longer wins 50 % if length says " +
			"nothing about quality"},
		Table: &report.Table{Columns: []report.Column{text("judge"), text("type"), text("what"), number("share"),
			number("without it"), number("judgements")}},
		Chart: &view.Chart{Kind: "forest", X: "share of judgements", Line: new(0.5)}}
	furthest := -1.0
	for _, a := range audits {
		for _, l := range comparing.LikingsOf(a) {
			s.Table.Rows = append(s.Table.Rows, []any{a.Judge, a.Type, l.Name, l.Figure.As(report.InPercent),
				report.Number(l.Reference).As(report.InPercent), l.Of})
			if l.Figure.Value.Defined() {
				s.Chart.Points = append(s.Chart.Points, point(a.Judge+", "+a.Type, l.Name, l.Figure))
				if far := math.Abs(float64(l.Figure.Value) - l.Reference); far > furthest {
					furthest = far
					s.Summary = fmt.Sprintf("Furthest from a judge without likings: %s, “%s”, %s in the place of %.0f %%.",
						a.Judge, l.Name, l.Figure.Value.Text("%.0f %%"), 100*l.Reference)
				}
			}
		}
	}
	return s
}

// slopes are the figures of audits with all else held constant.
func slopes(audits []*audit.Audit) view.Section {
	s := view.Section{View: view.ViewCompare, Title: "What the judges go by, with the systems held constant",
		Notes: []string{"log odds that the first text wins; 0 without a liking"},
		Table: &report.Table{Columns: []report.Column{text("judge"), text("type"), text("what"), number("log odds")}},
		Chart: &view.Chart{Kind: "forest", X: "log odds", Line: new(0.0)}}
	sure := 0
	for _, a := range audits {
		for _, l := range []struct {
			name   string
			figure report.Figure
		}{{"standing first", a.Position}, {"being longer", a.Length}, {"being the judge's own", a.OwnSlope}} {
			s.Table.Rows = append(s.Table.Rows, []any{a.Judge, a.Type, l.name, l.figure})
			if l.figure.Value.Defined() {
				s.Chart.Points = append(s.Chart.Points, point(a.Judge+", "+a.Type, l.name, l.figure))
			}
			if l.figure.Low > 0 || l.figure.High < 0 {
				sure++
			}
		}
		s.Notes = addNew(s.Notes, a.Notes)
	}
	s.Summary = fmt.Sprintf("Figures that are surely not 0: %d of %d.", sure, len(s.Table.Rows))
	return s
}
