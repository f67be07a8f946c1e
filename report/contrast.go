package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
	// corrected for the number of other columns; of rows without an error P itself: that is a question of its own, and
	// of the best and the second best needs no correction for the number of systems (Hung and Fithian 2019)
	PHolm  Number `json:"p_holm"`
	Paired bool   `json:"paired,omitempty"` // rows for the same input were compared with each other
	// errors for which rows without error of the systems are not compared, since one was judged for them in more of its
	// rows; "" where they are compared
	Uneven string `json:"uneven,omitempty"`
	// which system has more rows of which the column is not known, so that the difference is no evidence: they may be the
	// bad ones, as those that a judge refused; "" where the systems have about as many
	Unknown string `json:"unknown,omitempty"`

	far                  bool // Unknown is as of far more rows
	column, system, than int
	pairs                int    // where Paired
	alone                [2]int // rows of the systems without a partner, where Paired
	apart                bool   // few rows of both are for the same inputs
	byMeans              bool   // pairs are of means of inputs, and not of rows
}

// pairsText says how many pairs there are, and of what.
func (c *Contrast) pairsText() string {
	if c.byMeans {
		return words.Plural(c.pairs, "pair of means", "pairs of means")
	}
	return words.Plural(c.pairs, "pair of rows", "pairs of rows")
}

// isSettled tells whether the difference is taken for one.
func (c *Contrast) isSettled() bool { return c.Unknown == "" && float64(c.PHolm) < 1-stats.Level }

// isAgainst tells of the best system of a column whether rows for the same input say the contrary.
func (c *Contrast) isAgainst() bool {
	return c.Better == Higher && c.Value < 0 || c.Better == Lower && c.Value > 0
}

// contrast compares two systems in each column; of three or more, the best and the second best in it. Systems of few
// groups, where others have more, are not among three or more, and rows without a system's name are none.
func (s *Stats) contrast() {
	first, most := s.shown()[0], 0
	for i := range s.Systems {
		most = max(most, s.Systems[i].cells[first].sums.Groups)
	}
	if most >= FewGroups/2 && len(s.Systems) > 2 {
		s.leastGroups = min(FewGroups, (most+1)/2)
	}
	for i := range s.Systems {
		s.Systems[i].few = s.Systems[i].cells[first].sums.Groups < s.leastGroups || s.Systems[i].Name == Nameless
	}
	systems := s.compared()
	s.few = len(s.named()) - len(systems)
	if len(systems) < 2 {
		return
	}
	for _, c := range s.shown() {
		if d := s.contrastIn(c, systems); d.Value.Defined() || d.Uneven != "" {
			d.PHolm = d.P
			s.Differences = append(s.Differences, d)
		}
	}
	correct(s.others())
}

// compared are the systems that are compared with each other, the best first.
func (s *Stats) compared() []int {
	systems := s.named()
	if len(systems) > 2 {
		systems = slicesWithout(systems, func(i int) bool { return s.Systems[i].few })
	}
	return systems
}

// Nameless stands for the systems of rows that name none.
const Nameless = "(none)"

// named are the systems that have a name, the best first.
func (s *Stats) named() []int {
	return slicesWithout(s.order(), func(i int) bool { return s.Systems[i].Name == Nameless })
}

// isClean tells whether a difference is that of rows without an error, whose p stands by itself.
func (s *Stats) isClean(d *Contrast) bool { return s.columns[d.column].name == "" }

// others are the differences that are corrected together.
func (s *Stats) others() []*Contrast {
	var others []*Contrast
	for i := range s.Differences {
		if d := &s.Differences[i]; !s.isClean(d) && d.P.Defined() {
			others = append(others, d)
		}
	}
	return others
}

// correct sets the corrected p-values of differences that are looked at together.
func correct(all []*Contrast) {
	p := make([]float64, len(all))
	for i, d := range all {
		p[i] = float64(d.P)
	}
	for i, corrected := range stats.Holm(p) {
		all[i].PHolm = Number(corrected)
	}
}

// correctionText says how the p-values of so many others are corrected.
func (s *Stats) correctionText(others int, one, several string) string {
	text := "by Holm's correction for " + words.Plural(others, one, several)
	for _, c := range s.shown() {
		if column := &s.columns[c]; column.name == "" {
			text += "; rows " + column.title() + " by themselves"
		}
	}
	return text
}

// contrastIn compares systems in a column.
func (s *Stats) contrastIn(c int, systems []int) Contrast {
	if len(s.Systems) > 2 {
		systems = s.bestFirst(c, systems)
	}
	return s.between(c, systems[0], systems[1])
}

// between compares two systems in a column, whose rows are not paired.
func (s *Stats) between(c, system, than int) Contrast {
	a, b := &s.Systems[system], &s.Systems[than]
	test, better := stats.ApartShares, Lower
	if s.columns[c].kind == kindScore {
		test = stats.ApartMeans
	}
	if s.columns[c].isBetterHigh() {
		better = Higher
	}
	d := Contrast{Of: s.columns[c].title(), System: a.Name, Than: b.Name,
		Difference: DifferenceOf(test(b.cells[c].sums, a.cells[c].sums)), column: c, system: system, than: than}
	d.Better = better
	s.setUnknown(&d)
	if s.isOfErrors(c) {
		if d.Uneven = s.uneven(a, b); d.Uneven != "" {
			d.Difference = Difference{Figure: Figure{Value: Undefined, Low: Undefined, High: Undefined, Better: better},
				P: Undefined}
		}
	}
	return d
}

// known is how many rows of a system a column could be known of.
func (s *Stats) known(c int, sys *SystemStats) int {
	if s.columns[c].kind == kindLabel {
		return sys.Tagged
	}
	return int(sys.cells[c].sums.Rows)
}

// setUnknown names the one of two systems of which far more rows are not known than of the other; or so many more of
// the better one that the difference is none if they are the worst there can be. Lines that were rejected may be its.
func (s *Stats) setUnknown(d *Contrast) {
	unknown := func(i, lost int) float64 {
		rows := s.Systems[i].Rows + lost
		return float64(rows-s.known(d.column, &s.Systems[i])) / float64(rows)
	}
	better, worse := d.system, d.than
	if d.isAgainst() {
		better, worse = worse, better
	}
	nearest := max(d.Low, -d.High) // to 0; below it where nothing is sure
	turns := func(more float64) bool {
		return more > 0 && nearest > 0 && Number(more*s.columns[d.column].span) >= nearest
	}
	lost := func(i int) int { return s.lostOf(s.Systems[i].Name).Lines }
	own := func(i int) int { // lines that are known to be its
		if s.By == ByFile {
			return lost(i)
		}
		return 0
	}
	more := unknown(better, own(better)) - unknown(worse, own(worse))
	d.far = math.Abs(more) > mostUneven
	switch name := s.Systems[better].Name; {
	case d.far || turns(more):
		if more < 0 {
			better = worse
		}
		d.Unknown = s.unknownText(d.column, better, own(better))
	case turns(unknown(better, lost(better)) - unknown(worse, own(worse))):
		d.Unknown = fmt.Sprintf("%s, and may be of %s",
			words.Plural(lost(better), "line was rejected", "lines were rejected"), name)
	default:
		d.Unknown = ""
	}
}

// unknownText says how many rows of a system are not known in a column, or how many lines of its file are no rows.
func (s *Stats) unknownText(c, system, lost int) string {
	sys := &s.Systems[system]
	n := sys.Rows - s.known(c, sys)
	if lost > n {
		return fmt.Sprintf("%d of %s of %s were rejected", lost, words.Plural(sys.Rows+lost, "line", "lines"), sys.Name)
	}
	why := map[string]string{kindLabel: "are untagged", kindScore: "have no score", kindIssue: "were not searched"}
	return fmt.Sprintf("%d of %s of %s %s", n, rowsText(sys.Rows), sys.Name, why[s.columns[c].kind])
}

// bestFirst orders systems by a column. Those of which nothing is known come last.
func (s *Stats) bestFirst(c int, systems []int) []int {
	sign := Number(-1)
	if s.columns[c].isBetterHigh() {
		sign = 1
	}
	return slices.SortedStableFunc(slices.Values(systems), func(i, j int) int { // NaN stands behind every number
		return cmp.Compare(sign*s.Systems[j].cells[c].Share.Share, sign*s.Systems[i].cells[c].Share.Share)
	})
}

// contrastSection shows what is between two systems; of three or more, where the best in a column is better than the
// second best, what is between these.
func (s *Stats) contrastSection() Section {
	several := len(s.Systems) > 2
	out := Section{Table: NewTable("", "difference", s.intervalTitle(), "p, corrected")}
	if out.Table.Clip = several; !several && len(s.others()) > 0 { // of several, the matrix says it
		out.Notes = []string{fmt.Sprintf("* p below %.2f %s", 1-s.Interval.Level,
			s.correctionText(len(s.others()), "row", "rows"))}
	}
	leftOut, unknown := false, ""
	for _, d := range s.Differences {
		// the last sentence says rows without an error
		if d.Uneven != "" || several && (s.isClean(&d) || !d.isSettled() || d.isAgainst()) {
			continue
		}
		name, text, interval := s.contrastTexts(&d)
		if s.leavesRowsOut(&d) {
			name += " (" + d.pairsText() + ")"
			leftOut = true
		}
		switch {
		case several:
			name += ": " + d.System + " minus " + d.Than
		case d.isSettled():
			text = "*" + text
		case float64(d.PHolm) < 1-stats.Level:
			unknown = d.Unknown
		}
		if out.Title = fmt.Sprintf("%s minus %s, in points", d.System, d.Than); several {
			out.Title = "The best system of a column minus the second best, in points"
		}
		out.Table.Rows = append(out.Table.Rows, []any{name, text, interval, d.PHolm.As(InP)})
	}
	if unknown != "" {
		out.Notes = append(out.Notes, "a smaller p without * is not sure, as "+unknown)
	}
	if leftOut {
		note := "pairs are of rows, or of their means, for the same input, for rows without error judged alike; others are " +
			"left out"
		if d := &s.Differences[0]; !several && s.By == ByFile && d.Paired && max(d.alone[0], d.alone[1]) > 0 {
			note += fmt.Sprintf("; rows without one in the other file: %d of %s, %d of %s", d.alone[0], d.System, d.alone[1],
				d.Than)
		}
		out.Notes = append(out.Notes, note)
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

// leavesRowsOut tells whether a difference is of pairs, and some rows have no partner.
func (s *Stats) leavesRowsOut(d *Contrast) bool {
	a, b := s.Systems[d.system].cells[d.column].sums, s.Systems[d.than].cells[d.column].sums
	return d.Paired && (d.byMeans || float64(d.pairs) < max(a.Rows, b.Rows))
}

// contrastTexts are a difference's column, value and interval in tables.
func (s *Stats) contrastTexts(d *Contrast) (name, value, interval string) {
	column, scale, format := &s.columns[d.column], Number(100), "%+.1f"
	if column.kind == kindScore {
		scale, format = 1, "%+.2f"
	}
	return cmp.Or(column.name, column.title()), (scale * d.Value).Text(format),
		rangeText(scale*d.Low, scale*d.High, format)
}

// sureText is the evidence for a difference: its size too, where no table has it.
func (s *Stats) sureText(d *Contrast) string {
	text := "p " + d.PHolm.Text(InP)
	if d.apart {
		text += "; rows are not paired"
	}
	if a, b := &s.Systems[d.system], &s.Systems[d.than]; s.By != ByFile && d.isSettled() && d.Paired && s.leavesMany(d) &&
		2*min(d.alone[0], d.alone[1]) < min(a.Tagged, b.Tagged) { // else they were asked for other things
		text += fmt.Sprintf("; rows in no pair: %d of %s, %d of %s", d.alone[0], a.Name,
			d.alone[1], b.Name)
	}
	if len(s.Systems) < 3 || s.columns[d.column].kind == kindScore {
		return text
	}
	_, points, interval := s.contrastTexts(d)
	if text = fmt.Sprintf("%s points, %s; %s", points, interval, text); s.leavesRowsOut(d) {
		text += fmt.Sprintf("; %s for the same input", d.pairsText())
	}
	return text
}

// result says in a sentence which system is best, and what is found most often.
func (s *Stats) result() string {
	columns := s.shown()
	first := &s.columns[columns[0]]
	compared := s.order()
	best, sure := &s.Systems[compared[0]], ""
	for _, d := range s.Differences {
		if d.column != columns[0] {
			continue
		}
		switch best = &s.Systems[d.system]; {
		case d.Uneven != "":
		case d.Unknown != "":
			sure = fmt.Sprintf(", not surely more than %s, as %s", d.Than, d.Unknown)
		case d.isAgainst() && !d.isSettled():
			sure = fmt.Sprintf(", but not of rows for the same input, judged for the same errors (%s)", s.sureText(&d))
		case d.isAgainst():
			sure = fmt.Sprintf(", but of rows for the same input, judged for the same errors, %s has more (%s)", d.Than,
				s.sureText(&d))
		case d.isSettled():
			by := map[string]string{kindLabel: " by the model's labels"}[first.kind]
			sure = fmt.Sprintf(", surely more than %s%s (%s)", d.Than, by, s.sureText(&d))
		case best.cells[columns[0]].Share.Share == s.Systems[d.than].cells[columns[0]].Share.Share:
			sure = ", the same share as " + d.Than
		default:
			if sure = ", not surely more than " + d.Than; d.P.Defined() {
				sure += " (" + s.sureText(&d) + ")"
			}
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
	sure += s.leftOutText()
	if first.kind != kindScore && one.Share.Share == 0 && s.All.cells[columns[0]].Share.Share == 0 {
		text = "no system has a row " + first.title()
	} else {
		text += sure
	}
	common := slicesWithout(s.shownOf(first.kind), func(c int) bool { return s.columns[c].name == "" })
	if first.kind == kindScore || len(common) == 0 {
		return text + "."
	}
	share := func(c int) Number { return s.All.cells[c].Share.Share }
	slices.SortFunc(common, func(a, b int) int { return cmp.Compare(share(b), share(a)) })
	most := common[0]
	if !(share(most) > 0) || len(common) > 1 && share(common[1]) == share(most) { // of equals none is the commonest
		return text + "."
	}
	what := map[string]string{kindLabel: "error", kindIssue: "issue"}[first.kind]
	weak := ""
	isOfMost := func(w string) bool { return strings.HasPrefix(w, words.NotReliedOn(s.columns[most].name)) }
	if first.kind == kindLabel && slices.ContainsFunc(s.Weak, isOfMost) {
		weak = ", for which the model is not to be relied on"
	}
	return fmt.Sprintf("%s; in all rows the commonest %s is %s, %s %%%s.", text, what, s.columns[most].name,
		s.columns[most].text(s.All.cells[most].Share), weak)
}
