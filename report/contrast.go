package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

// mostContrasts is how many differences a terminal shows.
const mostContrasts = 20

// Contrast says how far a system is from another one in a column.
type Contrast struct {
	Of         string `json:"of"` // "without error" or "without issue", an error type, a dimension, an issue's id
	System     string `json:"system"`
	Than       string `json:"than"` // the other system
	Difference        // System minus Than: of shares (0 to 1), or of mean scores
	PHolm      Number `json:"p_holm"` // corrected for the number of columns

	column, system int
	few            bool // groups of one of the systems
}

// isSettled tells whether the difference is taken for one: where groups are not few, and the interval, which is wider
// than what was resampled where that shows no spread, excludes 0 as well.
func (c *Contrast) isSettled() bool {
	return !c.few && float64(c.PHolm) <= 1-stats.Level && c.Low*c.High > 0
}

// contrast compares two systems in each column, the best first; of three or more, the best in the column with the one
// from which it differs with the largest p. Systems of few groups are not among three or more.
func (s *Stats) contrast(samples [][][]float64, groups []int) {
	for i := range s.Systems {
		s.Systems[i].few = groups[i] < FewGroups && slices.Max(groups) >= FewGroups
	}
	order := s.order()
	several := len(order) > 2
	enough := slicesWithout(order, func(i int) bool { return groups[i] < FewGroups })
	s.few = len(order) - len(enough)
	if several {
		order = enough
	}
	if len(order) < 2 || several && samples == nil {
		return
	}
	var p []float64
	for _, c := range s.shown() {
		a, others := order[0], order[1:]
		if several {
			a, others = s.bestIn(c, order)
		}
		if nearest, ok := s.nearest(samples, groups, c, a, others); ok {
			s.Differences, p = append(s.Differences, nearest), append(p, float64(nearest.P))
		}
	}
	for i, corrected := range stats.Holm(p) {
		s.Differences[i].PHolm = Number(corrected)
	}
}

// nearest compares a system in a column with others, and gives the comparison of the largest p; false without any.
func (s *Stats) nearest(samples [][][]float64, groups []int, c, a int, others []int) (most Contrast, found bool) {
	for _, b := range others {
		x, y := s.Systems[a].cells[c].Share.Share, s.Systems[b].cells[c].Share.Share
		if !x.Defined() || !y.Defined() {
			continue
		}
		values := resampled(samples, func(means [][]float64) float64 { return means[a][c] - means[b][c] })
		d := Contrast{Of: s.columns[c].title(), System: s.Systems[a].Name, Than: s.Systems[b].Name,
			Difference: NewDifference(float64(x-y), values), PHolm: Undefined, column: c, system: a,
			few: min(groups[a], groups[b]) < FewGroups}
		if d.Better = Lower; s.columns[c].isBetterHigh() {
			d.Better = Higher
		}
		if s.columns[c].kind != kindScore {
			i := stats.ApartInterval(float64(y), float64(x), values, groups[b], groups[a])
			d.Low, d.High = Number(i.Low), Number(i.High)
		}
		if !found || d.P > most.P {
			most, found = d, true
		}
	}
	return most, found
}

// bestIn gives the best of some systems in a column, and the others.
func (s *Stats) bestIn(c int, systems []int) (best int, others []int) {
	rank := func(i int) float64 {
		x := float64(s.Systems[i].cells[c].Share.Share)
		switch {
		case math.IsNaN(x):
			return math.Inf(-1)
		case s.columns[c].isBetterHigh():
			return x
		}
		return -x
	}
	best = systems[0]
	for _, i := range systems {
		if rank(i) > rank(best) {
			best = i
		}
	}
	return best, slicesWithout(systems, func(i int) bool { return i == best })
}

// contrastSection shows what is between two systems; of three or more, where the best in a column is better than every
// other, what is between it and the one nearest to it.
func (s *Stats) contrastSection() Section {
	several := len(s.Systems) > 2
	out := Section{Table: NewTable("", "difference")}
	resampled := s.Interval.Method == Bootstrap
	if resampled {
		out.Table = NewTable("", "difference", s.intervalTitle(), "p", "p, corrected")
	}
	out.Table.Clip = several
	switch {
	case several || !resampled: // the matrix says it
	case s.few > 0:
		out.Notes = []string{fmt.Sprintf("a system has fewer than %d groups: no difference is marked", FewGroups)}
	default:
		out.Notes = []string{fmt.Sprintf("* p at most %.2f by Holm's correction for %s; groups of both systems are "+
			"resampled together", 1-s.Interval.Level, words.Plural(len(s.Differences), "row", "rows"))}
	}
	for _, d := range s.Differences {
		column, scale, format := &s.columns[d.column], Number(100), "%+.1f"
		if column.kind == kindScore {
			scale, format = 1, "%+.2f"
		}
		name, text := cmp.Or(column.name, column.title()), (scale * d.Value).Text(format)
		switch {
		case several && !d.isSettled():
			continue
		case several:
			name += ": " + d.System + " minus " + d.Than
		case d.isSettled():
			text = "*" + text
		}
		line := []any{name, text}
		if resampled {
			line = append(line, rangeText(scale*d.Low, scale*d.High, format), d.P.As("%.3f"), d.PHolm.As("%.3f"))
		}
		if out.Title = fmt.Sprintf("%s minus %s, in points", d.System, d.Than); several {
			out.Title = "The best system of a column minus the one nearest to it, in points"
		}
		out.Table.Rows = append(out.Table.Rows, line)
	}
	if len(s.shownOf(kindScore)) > 0 {
		out.Title += "; scores on their own scale"
	}
	if more := len(out.Table.Rows) - mostContrasts; more > 0 {
		out.Table.Rows = out.Table.Rows[:mostContrasts]
		out.Notes = append(out.Notes, fmt.Sprintf("and %d more: --json", more))
	}
	return out
}

// result says in a sentence which system is best, and what is found most often.
func (s *Stats) result() string {
	columns := s.shown()
	first := &s.columns[columns[0]]
	compared := s.order()
	best := &s.Systems[compared[0]]
	for _, d := range s.Differences {
		if d.column == columns[0] {
			best = &s.Systems[d.system]
		}
	}
	one, unit, scale := best.cells[columns[0]], " %", Number(100)
	text := best.Name + " has most rows " + first.title()
	if first.kind == kindScore {
		text, unit, scale = best.Name+" has the highest mean of "+first.name, "", 1
	}
	text += ", " + first.text(one.Share) + unit
	if format := map[bool]string{true: "%.2f", false: "%.1f"}[scale == 1]; one.Low.Defined() {
		text += fmt.Sprintf(" (%s to %s)", (scale * one.Low).Text(format), (scale * one.High).Text(format))
	}
	common := slicesWithout(s.shownOf(first.kind), func(c int) bool { return s.columns[c].name == "" })
	if first.kind == kindScore || len(common) == 0 {
		return text + "."
	}
	most := slices.MaxFunc(common, func(a, b int) int {
		return cmp.Compare(s.All.cells[a].Share.Share, s.All.cells[b].Share.Share)
	})
	what := map[string]string{kindLabel: "error", kindIssue: "issue"}[first.kind]
	return fmt.Sprintf("%s; in all rows the commonest %s is %s, %s %%.", text, what, s.columns[most].name,
		s.columns[most].text(s.All.cells[most].Share))
}
