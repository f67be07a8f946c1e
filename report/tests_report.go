package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/erreval/erreval/internal/words"
)

// testSection shows the tests of every pair of systems with the smallest p.
func (s *Stats) testSection() Section {
	out := Section{Title: "Every pair of systems, in points", Table: NewTable("", "difference", s.intervalTitle(), "p",
		"p, corrected", "pairs")}
	out.Table.Clip = true
	others := slicesWithout(s.Tests, func(d Test) bool { return s.isClean(&d.Contrast) || !d.P.Defined() })
	out.Notes = []string{fmt.Sprintf("* p below %.2f %s", 1-s.Interval.Level,
		s.correctionText(len(others), "test", "tests"))}
	if len(s.Systems) > 2 {
		out.Notes = append(out.Notes, "the last sentence tests the best against the second best alone, which needs no "+
			"correction")
	}
	if s.unevenPairs > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s of systems that were not judged for the same errors: not compared by "+
			"rows without error", words.Plural(s.unevenPairs, "pair", "pairs")))
	}
	if len(s.shownOf(kindScore)) > 0 {
		out.Title += "; scores on their own scale"
	}
	if slices.ContainsFunc(s.Tests, func(d Test) bool { return d.byMeans }) {
		out.Notes = append(out.Notes, "pairs with \"means\" are of the means of inputs: fewer than nine in ten rows have a "+
			"partner")
	}
	order := slices.SortedStableFunc(slices.Values(s.Tests), func(a, b Test) int { // undefined ones come last
		return cmp.Or(-cmp.Compare(indicator(a.P.Defined()), indicator(b.P.Defined())), cmp.Compare(a.P, b.P))
	})
	for _, d := range order[:min(len(order), mostShownTests)] {
		name, text, interval := s.contrastTexts(&d.Contrast)
		if d.isSettled() {
			text = "*" + text
		}
		pairs := "not paired"
		if d.Paired {
			pairs = fmt.Sprint(d.Rows)
			if d.byMeans {
				pairs += " means"
			}
		}
		out.Table.Rows = append(out.Table.Rows, []any{name + ": " + d.System + " minus " + d.Than, text, interval,
			d.P.As(InP), d.PHolm.As(InP), pairs})
	}
	if more := len(order) - mostShownTests; more > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("and %d more, of greater p: --json", more))
	}
	return out
}
