package comparing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// agreement compares the judges' verdicts with those of the labels.
func (c *readVerdicts) agreement() []Agreement {
	var out []Agreement
	for _, name := range slices.Sorted(maps.Keys(c.judged)) {
		both := c.judged[name]
		out = append(out, Agreement{Type: name, Pairs: len(both[0]), Same: report.Number(stats.SameShare(both[0], both[1])),
			Kappa: report.Number(stats.Kappa(both[0], both[1]))})
	}
	return out
}

// addModes counts whether the verdicts of both modes differ.
func (c *readVerdicts) addModes(name string, v *verdicts.Verdict) {
	by := v.ByMode()
	a, b := by[dataset.ModeVanilla], by[dataset.ModeErrorAware]
	if a == "" || b == "" {
		return
	}
	m := c.modes[name]
	if m == nil {
		m = &ModeChange{Type: name}
		c.modes[name] = m
	}
	if m.Pairs++; a != b {
		m.Changed++ // a count until all are read
	}
}

// modeChanges are the shares of pairs on which the modes differ.
func (c *readVerdicts) modeChanges() []ModeChange {
	var out []ModeChange
	for _, name := range slices.Sorted(maps.Keys(c.modes)) {
		m := *c.modes[name]
		m.Changed /= report.Number(m.Pairs)
		out = append(out, m)
	}
	return out
}

// Subjects of limits: figures of the audit of all judges and types; the highest counts.
const (
	limitChanged  = "order-changes"
	limitReversed = "reversed"
	limitFirst    = "first-wins"
	limitLong     = "longer-wins"
	limitOwn      = "own-wins"
	LimitUnjudged = "unjudged"
)

// RankLimits are what --fail-on can name.
func RankLimits() []string {
	return []string{limitChanged, limitReversed, limitFirst, limitLong, limitOwn, LimitUnjudged}
}

// checkLimits decides the limits. Shares are turned into counts of their bases.
func (c *Comparison) checkLimits(limits []gate.Gate) []gate.Result {
	var results []gate.Result
	for _, limit := range limits {
		if limit.Subject == LimitUnjudged {
			results = append(results, limit.Check(c.unjudged()))
			continue
		}
		worst := gate.Counts{Unit: "judgements"}
		highest := -1.0
		for i := range c.Audits {
			likings := LikingsOf(&c.Audits[i])
			l := likings[slices.IndexFunc(likings, func(l Liking) bool { return l.limit == limit.Subject })]
			if value := float64(l.Figure.Value); value > highest {
				highest = value
				worst = gate.Counts{Tagged: l.Of, Rows: l.Of, Unit: "judgements",
					Labels: map[string]int{limit.Subject: int(value*float64(l.Of) + 0.5)}}
			}
		}
		results = append(results, limit.Check(worst))
	}
	return results
}

func (c *Comparison) unjudged() gate.Counts {
	out := gate.Counts{Unit: "verdicts", Labels: map[string]int{}}
	for _, t := range c.Tables {
		n := 0
		for _, k := range t.Unjudged {
			n += k
		}
		out.Labels[LimitUnjudged] += n
		out.Tagged += t.Games + n
	}
	return out
}

// Report puts the figures into words and tables.
func (c *Comparison) Report() *report.Report { return c.report(false) }

// Page is the report with the win rates of each two systems.
func (c *Comparison) Page() *report.Report { return c.report(true) }

func (c *Comparison) report(matrices bool) *report.Report {
	r := &report.Report{Title: c.title(), Facts: c.facts(), Result: c.result()}
	anchor := "the mean of each table is 1000"
	if c.Anchor != "" {
		anchor = c.Anchor + " is 1000"
	}
	r.Facts = append(r.Facts, "ratings by Bradley-Terry, in points of which 400 are a tenfold chance; "+anchor)
	intervals := fmt.Sprintf("%.2f standard errors, clustered by item", stats.Z)
	if c.Resamples > 0 {
		intervals = fmt.Sprintf("of ratings by %d bootstrap resamples of items, of win rates Wilson's", c.Resamples)
	}
	r.Facts = append(r.Facts, fmt.Sprintf("%.0f %% intervals: %s; a system ranks behind those "+
		"whose intervals lie wholly above its own",
		100*stats.Level, intervals))
	if text := c.eloError(); text != "" {
		r.Facts = append(r.Facts, text)
	}
	for i := range c.Tables {
		r.Sections = append(r.Sections, BoardSection(&c.Tables[i]))
		if matrices {
			r.Sections = append(r.Sections, matrixSection(&c.Tables[i]))
		}
	}
	r.Sections = slices.Concat(r.Sections, c.Comparisons(), c.auditSections(false))
	return r
}

func (c *Comparison) title() string {
	return fmt.Sprintf("%s on %s", words.Plural(c.Systems, "system", "systems"), words.Plural(c.Items, "item", "items"))
}

func (c *Comparison) facts() []string {
	if text := c.Whose(); text != "" {
		return []string{text}
	}
	return nil
}

// Comparisons are the sections about verdicts that are compared with others: of types, of the labels, of modes.
func (c *Comparison) Comparisons() (sections []report.Section) {
	if c.Halo != nil {
		sections = append(sections, haloSection(c.Halo))
	}
	if len(c.Agreement) > 0 {
		sections = append(sections, c.agreementSection())
	}
	if len(c.Modes) > 0 {
		sections = append(sections, c.modeSection())
	}
	return sections
}

// eloError says how much of Elo's ratings is the draw of the orders; "" where there are none.
func (c *Comparison) eloError() string {
	largest := 0.0
	for i := range c.Tables {
		if t := &c.Tables[i]; t.EloError.Defined() && t.Games > 0 {
			largest = max(largest, float64(t.EloError))
		}
	}
	switch {
	case largest == 0:
		return ""
	case largest < 0.5:
		return "Elo: means over drawn orders of the games, with standard errors below 0.5 points"
	}
	return fmt.Sprintf("Elo: means over drawn orders of the games, with standard errors of up to %.1f points", largest)
}

// tableNotes say what was left out, and why systems are not rated.
func tableNotes(t *leaderboard.Table) []string {
	notes := slices.Clone(t.Notes)
	if t.Inconsistent > 0 {
		notes = append(notes, fmt.Sprintf("%s on which the judgements differ",
			words.Plural(t.Inconsistent, "pair", "pairs")))
	}
	if len(t.Unjudged) > 0 {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(t.Unjudged)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, t.Unjudged[reason]))
		}
		notes = append(notes, "left out as unjudged: "+strings.Join(reasons, ", "))
	}
	if t.Lost > t.OneOrder {
		notes = append(notes, fmt.Sprintf("%d of %d judgements of the other pairs could not be used", t.Lost, t.Asked))
	}
	if t.OneOrder > 0 {
		notes = append(notes, fmt.Sprintf("%s of which only one order could be read: what the judge says of it alone "+
			"counts", words.Plural(t.OneOrder, "pair", "pairs")))
	}
	return notes
}

// BoardSection is the leaderboard of a type.
func BoardSection(t *leaderboard.Table) report.Section {
	s := report.Section{Title: t.Type, Notes: tableNotes(t)}
	if t.Ties.Defined() && t.Ties > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("Davidson: between equal systems a tie is %.3g times as likely as a win "+
			"of either", float64(t.Ties)))
	}
	if t.LacksDavidson() {
		s.Notes = append(s.Notes, "Davidson's model has no finite ratings for these games: ever larger differences explain "+
			"them ever better")
	}
	table := report.NewTable("system", "rank", "rating", "won", "lost", "tied", "win rate", "both bad", "Davidson", "Elo",
		"Glicko-2", "Borda")
	for i := range t.Rows {
		row := &t.Rows[i]
		table.Rows = append(table.Rows, []any{row.System, rankOf(row), row.Interval().As("%.0f"), row.Won, row.Lost, row.Tied,
			row.WinRate.As(percent), row.Bad.Value.As(percent), row.Davidson.As("%.0f"), row.Elo.As("%.0f"),
			row.Glicko2.As("%.0f"), row.Borda.As("%g")})
	}
	s.Table = table
	return s
}

// matrixSection shows how often each system wins against each other; columns have the numbers of the rows.
func matrixSection(t *leaderboard.Table) report.Section {
	titles := []string{"system"}
	for i := range t.Rows {
		titles = append(titles, fmt.Sprint(i+1))
	}
	s := report.Section{Title: t.Type + ": how often the row wins against the column, in %; a tie is half a win",
		Table: report.NewTable(titles...)}
	for i, shares := range t.Wins {
		cells := []any{fmt.Sprintf("%d %s", i+1, t.Rows[i].System)}
		for _, share := range shares {
			cells = append(cells, (100 * share).As("%.0f"))
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	return s
}

// percent is the format of shares of verdicts, which are few.
const percent = "%.0f %%"

func haloSection(h *leaderboard.Halo) report.Section {
	s := report.Section{Title: "Halo: how much the types are one impression",
		Summary: fmt.Sprintf("The types' orders of the systems agree with a mean |tau| of %s; 1 is one impression.",
			h.Tau.Text("%.2f"))}
	s.Notes = append(s.Notes, fmt.Sprintf("mean |tau| between the orders of %s: %s",
		words.Plural(h.Types, "type", "types"), h.Tau.Text("%.2f")))
	if h.Pairs > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("the same verdict by all types: %s of %s", h.Same.Text(percent),
			words.Plural(h.Pairs, "pair", "pairs")))
	}
	return s
}

func (c *Comparison) agreementSection() report.Section {
	s := report.Section{Title: "Agreement of the judges with the labels, on the same pairs",
		Notes: []string{"of the pairs that labels decide, or a text without words"},
		Table: report.NewTable("type", "pairs", "same", "kappa")}
	pairs, same := 0, 0.0
	for _, a := range c.Agreement {
		pairs, same = pairs+a.Pairs, same+float64(a.Same)*float64(a.Pairs)
		s.Table.Rows = append(s.Table.Rows, []any{a.Type, a.Pairs, a.Same.As(percent), a.Kappa.As("%.2f")})
	}
	s.Summary = fmt.Sprintf("Judges and labels agree in %.0f %% of %s.", 100*same/float64(pairs),
		words.Plural(pairs, "verdict", "verdicts"))
	return s
}

func (c *Comparison) modeSection() report.Section {
	s := report.Section{Title: "Verdicts that change where the judge is shown the errors found",
		Notes: []string{"whether they change for the better, people's verdicts tell: erreval meta pairs --human"},
		Table: report.NewTable("type", "pairs", "changed")}
	pairs, changed := 0, 0.0
	for _, m := range c.Modes {
		pairs, changed = pairs+m.Pairs, changed+float64(m.Changed)*float64(m.Pairs)
		s.Table.Rows = append(s.Table.Rows, []any{m.Type, m.Pairs, m.Changed.As(percent)})
	}
	s.Summary = fmt.Sprintf("%.0f %% of %s change.", 100*changed/float64(pairs),
		words.Plural(pairs, "verdict", "verdicts"))
	return s
}

// auditSections show what judges go by, where that is known; short is without log odds.
func (c *Comparison) auditSections(short bool) []report.Section {
	if len(c.Audits) == 0 {
		return nil
	}
	own := slices.ContainsFunc(c.ShownAudits(), func(a *audit.Audit) bool { return a.Own > 0 })
	note := "without such a liking: changed 0 %, first wins 50 %, longer wins 50 % if length says nothing about quality"
	titles := []string{"judge, type", "changed", "reversed", "first wins", "longer wins"}
	if own {
		titles = append(titles, "own wins")
	}
	if !short {
		note += "; position, length and own text (log odds, systems held constant) 0"
		titles = append(titles, "position", "length")
		if own {
			titles = append(titles, "own text")
		}
	}
	s := report.Section{Title: "What the judges go by besides quality", Notes: []string{note},
		Table: report.NewTable(titles...)}
	for _, a := range c.ShownAudits() {
		row := []any{a.Judge + ", " + a.Type, a.Changed.As(percent), a.Reversed.As(percent), a.FirstWins.As(percent),
			a.LongWins.As(percent)}
		if own {
			row = append(row, a.OwnWins.As(percent))
		}
		row = append(row, a.Position.As("%.2f"), a.Length.As("%.2f"), a.OwnSlope.As("%.2f"))
		s.Table.Rows = append(s.Table.Rows, row[:len(titles)])
		for _, note := range a.Notes {
			if !slices.Contains(s.Notes, note) {
				s.Notes = append(s.Notes, note)
			}
		}
	}
	return []report.Section{s}
}

// Main is the table that decides on the order of systems: that of all types together, where it was asked for.
func (c *Comparison) Main() *leaderboard.Table {
	at := slices.IndexFunc(c.Tables, func(t leaderboard.Table) bool { return t.Type == verdicts.Overall })
	return &c.Tables[max(0, at)]
}
