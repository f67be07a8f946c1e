package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// mostIssues is how many issues a table shows, the most frequent ones.
const mostIssues = 12

// mostPaperColumns is how many systems a table of a paper has beside each other.
const mostPaperColumns = 8

// text is a share in percent, or a mean.
func (c *column) text(share Share) string {
	switch {
	case c.kind == kindScore:
		return share.Share.Text("%.2f")
	case share.Rows == 0 && share.Share.Defined():
		return "0"
	case share.Share == 1:
		return "100"
	}
	return (100 * share.Share).Text("%.1f")
}

// shown are the columns that tell something, in their order: those of what no row has are left out, and of issues all
// but the most frequent.
func (s *Stats) shown() (shown []int) {
	for _, kind := range []string{kindLabel, kindScore, kindIssue} {
		var of []int
		for c, column := range s.columns {
			if column.kind == kind && s.All.cells[c].sums.Rows > 0 && (column.name == "" || s.All.cells[c].Rows > 0) {
				of = append(of, c)
			}
		}
		if kind == kindIssue && len(of) > 0 {
			slices.SortStableFunc(of[1:], func(a, b int) int { return s.All.cells[b].Rows - s.All.cells[a].Rows })
			of = of[:min(len(of), 1+mostIssues)]
		}
		shown = append(shown, of...)
	}
	return shown
}

// order gives the systems, the best first: by the first column. Those of few groups, whose figures say little, come
// last.
func (s *Stats) order() []int {
	order := make([]int, len(s.Systems))
	for i := range order {
		order[i] = i
	}
	first := s.shown()[0]
	slices.SortStableFunc(order, func(a, b int) int { // NaN stands behind every number
		if few := s.Systems[a].few; few != s.Systems[b].few {
			return map[bool]int{true: 1, false: -1}[few]
		}
		return cmp.Compare(s.Systems[b].cells[first].Share.Share, s.Systems[a].cells[first].Share.Share)
	})
	return order
}

// Report puts the figures into words and tables.
func (s *Stats) Report() *Report {
	r := &Report{Title: s.title()}
	if s.All.Tagged > 0 {
		r.Method = append(r.Method, "model "+joinModels(s.Models)+", taxonomy "+s.Taxonomy)
		if len(s.Models) > 1 {
			r.Facts = append(r.Facts, ModelsText(s.Models))
		}
	}
	if s.Rejected > 0 {
		r.Facts = append(r.Facts, rejectedText(s.Rejected)+": outside of every figure")
	}
	if s.LeftOut > 0 {
		r.Facts = append(r.Facts, words.Plural(s.LeftOut, "line was", "lines were")+
			" rejected when the files were made: outside of every figure")
	}
	r.addThresholds(s.Thresholds)
	r.Facts = slices.Concat(r.Facts, s.Weak, s.leftOut())
	if few := s.Interval.few(s.All.Rows); few != "" && len(s.Systems) > 1 {
		r.Facts = append(r.Facts, few)
	}
	r.Facts = append(r.Facts, s.namedText()...)
	r.Method = append(r.Method, s.Interval.method())
	if len(s.Systems) == 1 {
		r.Sections = append(Limits(s.Gates), s.lists()...)
		return r
	}
	r.Sections = Limits(s.Gates)
	for _, kinds := range [][]string{{kindLabel, kindScore}, {kindIssue}} {
		if columns := s.shownOf(kinds...); len(columns) > 0 {
			r.Sections = append(r.Sections, s.matrixSection(columns))
		}
	}
	if section := s.contrastSection(); len(section.Table.Rows) > 0 {
		r.Sections = append(r.Sections, section)
	}
	if len(s.Tests) > 0 {
		r.Sections = append(r.Sections, s.testSection())
	}
	r.Result = s.result()
	return r
}

func (s *Stats) shownOf(kinds ...string) []int {
	return slicesWithout(s.shown(), func(c int) bool { return !slices.Contains(kinds, s.columns[c].kind) })
}

func (s *Stats) title() string {
	what := map[string]string{kindLabel: "Errors", kindScore: "Scores", kindIssue: "Issues"}[s.columns[s.shown()[0]].kind]
	return what + " in " + strings.Join(s.Files, ", ")
}

// leftOut says which rows are outside of shares.
func (s *Stats) leftOut() (lines []string) {
	count := func(of func(*SystemStats) int, format string) {
		rows, text := of(&s.All), ""
		var systems []string
		for i := range s.Systems {
			if of(&s.Systems[i]) > 0 {
				systems = append(systems, s.Systems[i].Name)
			}
		}
		switch text = rowsText(rows); {
		case len(s.Systems) > 1 && len(systems) == 1:
			text += " of " + systems[0]
		case len(s.Systems) > 1:
			text += " of " + words.Plural(len(systems), "system", "systems")
		}
		if rows > 0 {
			lines = append(lines, strings.Replace(format, "%s", text, 1))
		}
	}
	if len(s.Systems) > 1 && s.All.Tagged > 0 { // of one system a table says it
		count(func(s *SystemStats) int { return s.Untagged }, "untagged, outside of every share: %s")
		count(func(s *SystemStats) int { return s.Truncated }, "truncated: %s")
	}
	count(func(s *SystemStats) int { return s.PartlyRead }, "read in part: %s")
	count(func(s *SystemStats) int { return s.unsearched }, "not searched for issues, outside of every share: %s")
	count(func(s *SystemStats) int { return s.Unscored }, "without a score, outside of means: %s")
	if s.Unlabelled > 0 {
		lines = append(lines, UnlabelledText(s.Unlabelled))
	}
	if s.Repeated > 0 {
		lines = append(lines, words.Plural(s.Repeated, "row has", "rows have")+
			" the texts of one before by the same system (counted all the same)")
	}
	if n := len(s.again); n > 0 {
		who := s.again[0]
		if n > 1 {
			who += " and " + words.Plural(n-1, "other", "others")
		}
		lines = append(lines, who+": rows for the same inputs stand in several files, as of a rerun, and count together "+
			"(--by file tells files apart)")
	}
	name := ""
	if len(s.Systems) == 1 {
		name = s.Systems[0].Name + ": "
	}
	for k, l := range s.All.Labels {
		count(func(s *SystemStats) int { return s.Labels[k].NotJudged },
			NotJudgedText(name+l.Label, "%s"))
	}
	return lines
}

// ModelsText says that several models tagged the rows.
func ModelsText(models []string) string {
	return "rows are tagged by different models, and what differs may be theirs: " + joinModels(models)
}

func joinModels(models []string) string {
	if len(models) == 0 {
		return "unknown"
	}
	return strings.Join(models, " and ")
}

func (s *Stats) systemTitle() string { return cmp.Or(s.By, "file") }

func (s *Stats) intervalTitle() string { return fmt.Sprintf("%.0f %% interval", 100*s.Interval.Level) }

// lists are the tables of one system.
func (s *Stats) lists() (sections []Section) {
	sys := &s.Systems[0]
	if sys.Tagged > 0 {
		rows := NewTable(s.systemTitle(), "rows", "untagged", "truncated", "without error", "share", s.intervalTitle())
		w := sys.WithoutError
		rows.Rows = [][]any{{sys.Name, sys.Rows, sys.Untagged, sys.Truncated, w.Rows, w.Share.As(InPercent),
			rangeText(w.Low, w.High, InPercent)}}
		sections = append(sections, Section{Title: "Rows", Table: rows},
			Section{Title: "Share of the tagged rows with each error", Table: s.list("error", "share", slicesWithout(
				indexes(s.columns), func(c int) bool { return s.columns[c].kind != kindLabel || s.columns[c].name == "" }))})
	}
	if scores := s.shownOf(kindScore); len(scores) > 0 {
		sections = append(sections, Section{Title: "Mean scores", Table: s.list("dimension", "mean", scores)})
	}
	if found := s.shownOf(kindIssue); len(found) > 0 {
		sections = append(sections, Section{Title: "Share of the rows with each issue", Notes: s.otherIssues(),
			Table: s.list("issue", "share", found)})
	}
	return sections
}

func indexes[T any](list []T) []int {
	out := make([]int, len(list))
	for i := range out {
		out[i] = i
	}
	return out
}

// list has a line for each of some columns of the only system.
func (s *Stats) list(kind, figure string, columns []int) Table {
	t := NewTable(kind, "code", "rows", figure, s.intervalTitle())
	t.Columns[1].Right = false
	for _, c := range columns {
		column, one := &s.columns[c], s.Systems[0].cells[c]
		format := InPercent
		if column.kind == kindScore {
			format = "%.2f"
		}
		t.Rows = append(t.Rows, []any{cmp.Or(column.name, column.title()), column.code, one.Rows,
			one.Share.Share.As(format), rangeText(one.Low, one.High, format)})
	}
	if !slices.ContainsFunc(columns, func(c int) bool { return s.columns[c].code != "" }) {
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], 1, 2)
		}
		t.Columns = slices.Delete(t.Columns, 1, 2)
	}
	return t
}

// matrixSection has systems as rows and what is found as columns.
func (s *Stats) matrixSection(columns []int) Section {
	heads, codes := s.heads(columns)
	section := Section{Codes: codes, Notes: s.matrixNotes(columns), Table: s.matrix(columns, heads, true),
		Narrow: s.matrix(columns, heads, false)}
	switch s.columns[columns[0]].kind {
	case kindLabel:
		section.Title = "Share of the tagged rows without error [" + s.intervalTitle() + "], and with each error, in %"
		if slices.ContainsFunc(columns, func(c int) bool { return s.columns[c].kind == kindScore }) {
			section.Title += "; scores are means on their own scale"
		}
	case kindScore:
		section.Title = "Mean scores"
	default:
		section.Title = "Share of the searched rows without issue [" + s.intervalTitle() + "], and with each issue, in %"
	}
	if len(s.Systems) <= mostPaperColumns {
		names := []string{"rows"}
		for _, c := range columns {
			names = append(names, cmp.Or(s.columns[c].name, s.columns[c].title()))
		}
		section.LaTeX = section.Table.transposed(names)
	}
	return section
}

// heads are the short titles of columns, and what they stand for: an error's code, else a number.
func (s *Stats) heads(columns []int) (heads, codes []string) {
	parts, numbers := map[string][]string{}, map[string]int{}
	for _, c := range columns {
		column := &s.columns[c]
		head := cmp.Or(column.code, column.title())
		if column.code == "" && column.name != "" {
			numbers[column.kind]++
			head = strings.ToUpper(column.kind[:1]) + fmt.Sprint(numbers[column.kind])
		}
		heads = append(heads, head)
		if column.name != "" && head != column.name {
			parts[column.kind] = append(parts[column.kind], head+" "+column.name)
		}
	}
	for _, kind := range []string{kindLabel, kindScore} {
		if len(parts[kind]) > 0 {
			codes = append(codes, map[string]string{kindScore: "mean scores: "}[kind]+strings.Join(parts[kind], ", "))
		}
	}
	return heads, append(codes, parts[kindIssue]...) // whose names are sentences
}

// matrixNotes say what is not in the matrix, and what its marks are.
func (s *Stats) matrixNotes(columns []int) (notes []string) {
	var none []string
	for _, l := range s.All.Labels {
		if l.Rows == 0 && l.Share.Share.Defined() {
			none = append(none, l.Label)
		}
	}
	switch s.columns[columns[0]].kind {
	case kindLabel:
		if len(none) > 0 {
			notes = append(notes, inNoRow(none))
		}
		for _, sys := range s.Systems {
			if sys.Tagged == 0 && sys.Name != Nameless {
				notes = append(notes, "no row of "+sys.Name+" is tagged: not compared with others")
			}
		}
	case kindIssue:
		notes = s.otherIssues()
	}
	if i := slices.IndexFunc(s.Systems, func(sys SystemStats) bool { return sys.Name == Nameless }); i >= 0 {
		notes = append(notes, fmt.Sprintf("%s no %s: not compared with others",
			words.Plural(s.Systems[i].Rows, "row has", "rows have"), s.systemTitle()))
	}
	if apart := s.noComparison(); apart != "" && slices.ContainsFunc(columns, s.isOfErrors) {
		notes = append(notes, "rows without error of the best"+apart)
	}
	if len(s.Systems) < 3 {
		return notes
	}
	if s.few > 0 {
		notes = append(notes, fmt.Sprintf("%s of fewer than %d groups: not compared with others",
			words.Plural(s.few, "system", "systems"), s.leastGroups))
	}
	if s.isAnySettled(columns) {
		return append(notes, fmt.Sprintf("* better than the second best (p below %.2f %s)", 1-s.Interval.Level,
			s.correctionText(len(s.others()), "test", "tests")))
	}
	if len(s.Differences) == 0 {
		return notes
	}
	return append(notes, "by none of these the best system is surely better than the second best (Holm's correction)")
}

func (s *Stats) isAnySettled(columns []int) bool {
	return slices.ContainsFunc(s.Differences, func(d Contrast) bool {
		return d.isSettled() && !d.isAgainst() && slices.Contains(columns, d.column)
	})
}

// otherIssues says how many issues are not shown.
func (s *Stats) otherIssues() []string {
	if more := len(s.All.Issues) - mostIssues; more > 0 {
		return []string{fmt.Sprintf("the %d most frequent issues; %d more are in --json", mostIssues, more)}
	}
	return nil
}

// matrix has a line for all rows and one for each system; interval adds that of the first column's share.
func (s *Stats) matrix(columns []int, heads []string, interval bool) Table {
	t := NewTable(slices.Concat([]string{s.systemTitle(), "rows"}, heads)...)
	t.Clip = true
	line := func(name string, sys *SystemStats, system int) {
		cells := []any{name, s.known(columns[0], sys)}
		for _, c := range columns {
			column, one := &s.columns[c], sys.cells[c]
			text := column.text(one.Share)
			if interval && column.name == "" && one.Low.Defined() {
				text += fmt.Sprintf(" [%.0f, %.0f]", 100*one.Low, 100*one.High)
			}
			if len(s.Systems) > 2 && slices.ContainsFunc(s.Differences, func(d Contrast) bool {
				return d.column == c && d.system == system && d.isSettled() && !d.isAgainst()
			}) {
				text = "*" + text
			}
			cells = append(cells, text)
		}
		t.Rows = append(t.Rows, cells)
	}
	line("all", &s.All, -1)
	for _, i := range s.order() {
		line(s.Systems[i].Name, &s.Systems[i], i)
	}
	return t
}

// transposed has a line for each column but the first, by these names, and a column for each line.
func (t Table) transposed(names []string) Table {
	titles := []string{""}
	for _, row := range t.Rows {
		titles = append(titles, fmt.Sprint(row[0]))
	}
	out := NewTable(titles...)
	for i, name := range names {
		line := []any{name}
		for _, row := range t.Rows {
			line = append(line, row[1+i])
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}
