package comparing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Main is the table that decides on the order of systems: that of all types together, where it was asked for.
func (c *Comparison) Main() *leaderboard.Table {
	at := slices.IndexFunc(c.Tables, func(t leaderboard.Table) bool { return t.Type == verdicts.Overall })
	return &c.Tables[max(0, at)]
}

// brief is the report with one table, systems by types, in the place of one for each type.
func (c *Comparison) brief(t *taxonomy.Taxonomy, files []string) *report.Report {
	r, main, s := c.Report(), c.Main(), c.TypesSection(t)
	s.Notes = append(s.Notes, c.sharedNotes()...)
	s.Notes = append(s.Notes, "* alone on the first rank; ratings and ranks of each type: erreval rank "+
		words.Quote(files[0]))
	r.Sections = slices.Concat([]report.Section{s}, c.Comparisons(), c.auditSections())
	best := slices.MaxFunc(main.Rows, func(a, b leaderboard.Row) int { // NaN is less than any number
		return cmp.Compare(a.WinRate.Value, b.WinRate.Value)
	})
	if best.WinRate.Value.Defined() {
		unsure, wins := "", best.System+" wins the largest share of its pairs"
		if best.WinRate.Low <= 0.5 {
			unsure = "; as the interval holds 50 %, that is not sure"
		}
		level := slices.DeleteFunc(slices.Clone(main.Rows), func(r leaderboard.Row) bool {
			return r.WinRate.Value != best.WinRate.Value
		})
		if len(level) > 1 {
			unsure, wins = "", fmt.Sprintf("the best %d systems win the same share of their pairs", len(level))
		}
		r.Result = fmt.Sprintf("By %s, %s, %s%s.", main.Type, wins, best.WinRate.Text(percent), unsure)
	}
	return r
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
	if first := slices.IndexFunc(t.Rows, isFirst); first == i && !slices.ContainsFunc(t.Rows[i+1:], isFirst) {
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
