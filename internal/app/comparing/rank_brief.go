package comparing

import (
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// brief is the report with one table, systems by types, in the place of all ratings of each type.
func (c *Comparison) brief(t *taxonomy.Taxonomy, files []string) *report.Report {
	r := &report.Report{Title: c.title(), Facts: c.facts(), Result: c.result()}
	s, rank := c.TypesSection(t), "erreval rank "+words.Quote(files[0])
	if len(c.Audits) > 0 { // which name the judges
		r.Facts = nil
	}
	s.Notes = append(s.Notes, c.sharedNotes()...)
	s.Notes = append(s.Notes, "* alone on the first rank; ratings and ranks of each type: "+rank)
	if len(c.Tables) == 1 {
		s = shortBoard(&c.Tables[0])
		s.Notes = append(s.Notes, "a tie is half a win; ratings: "+rank)
	}
	r.Sections = slices.Concat([]report.Section{s}, c.briefComparisons(), c.auditSections(true))
	return r
}

// fewAgreed is the number of pairs below which a share of agreement says nothing.
const fewAgreed = 10

// briefComparisons are Comparisons without agreement on a few pairs.
func (c *Comparison) briefComparisons() []report.Section {
	b := *c
	if !slices.ContainsFunc(c.Agreement, func(a Agreement) bool { return a.Pairs >= fewAgreed }) {
		b.Agreement = nil
	}
	return b.Comparisons()
}

// shortBoard is the leaderboard of a type without ratings.
func shortBoard(t *leaderboard.Table) report.Section {
	s := report.Section{Title: t.Type, Notes: tableNotes(t),
		Table: report.NewTable("system", "rank", "won", "lost", "tied", "both bad", "win rate")}
	for i := range t.Rows {
		row := &t.Rows[i]
		s.Table.Rows = append(s.Table.Rows, []any{row.System, rankOf(row), row.Won, row.Lost, row.Tied,
			row.Bad.Value.As(percent), row.WinRate.As(percent)})
	}
	return s
}

// rankOf is a system's rank, undefined where it has none.
func rankOf(row *leaderboard.Row) report.Number {
	if row.Rank == 0 {
		return report.Undefined
	}
	return report.Number(row.Rank)
}

// TypesSection shows the share of its pairs that each system wins, by type.
func (c *Comparison) TypesSection(t *taxonomy.Taxonomy) report.Section {
	main := c.Main()
	s := report.Section{Title: "Share of its pairs that a system wins, in %; a tie is half a win"}
	s.Table = report.NewTable("system")
	s.Table.Clip = true
	for i := range main.Rows {
		s.Table.Rows = append(s.Table.Rows, []any{main.Rows[i].System})
	}
	var legend []string
	for i := range c.Tables {
		table := &c.Tables[i]
		head := table.Type
		if at, ok := t.Index(head); ok && t.Types[at].Code != head {
			head = t.Types[at].Code
			legend = append(legend, head+" "+table.Type)
		}
		s.Table.Columns = append(s.Table.Columns, report.Column{Title: head, Right: true})
		for j, row := range s.Table.Rows {
			s.Table.Rows[j] = append(row, winText(table, main.Rows[j].System, table == main))
		}
	}
	if len(legend) > 0 {
		s.Notes = append(s.Notes, strings.Join(legend, ", "))
	}
	return s
}

// winText is a system's share in a table, with its interval where that is asked for.
func winText(t *leaderboard.Table, system string, interval bool) string {
	i := slices.IndexFunc(t.Rows, func(r leaderboard.Row) bool { return r.System == system })
	if i < 0 || !t.Rows[i].WinRate.Value.Defined() {
		return "–"
	}
	row := &t.Rows[i]
	text := row.WinRate.Value.Text(percent)
	if interval {
		text = row.WinRate.Text(percent)
	}
	text = strings.TrimSuffix(text, " %")
	isFirst := func(r leaderboard.Row) bool { return r.Rank == 1 }
	if first := slices.IndexFunc(t.Rows, isFirst); first == i && !t.HasFewDecided() &&
		!slices.ContainsFunc(t.Rows[i+1:], isFirst) {
		text = "*" + text
	}
	return text
}

// sharedNotes are those of all tables, each once, with the types that it is about.
func (c *Comparison) sharedNotes() (notes []string) {
	types := map[string][]string{}
	for i := range c.Tables {
		for _, note := range tableNotes(&c.Tables[i]) {
			if types[note] == nil {
				notes = append(notes, note)
			}
			types[note] = append(types[note], c.Tables[i].Type)
		}
	}
	for i, note := range notes {
		if about := types[note]; len(about) < len(c.Tables) {
			notes[i] = strings.Join(about, ", ") + ": " + note
		}
	}
	return notes
}
