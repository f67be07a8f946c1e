package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// noComparison says with which systems the best is not compared by rows without error, and why; "" where there are
// none.
func (s *Stats) noComparison() string {
	i := slices.IndexFunc(s.Differences, func(d Contrast) bool { return s.isOfErrors(d.column) })
	if i < 0 {
		return ""
	}
	var names []string
	best, errors := &s.Differences[i], ""
	for _, other := range s.compared() {
		apart := s.uneven(&s.Systems[best.system], &s.Systems[other])
		if other == best.than {
			apart = best.Uneven
		}
		if apart != "" {
			names, errors = append(names, s.Systems[other].Name), apart
		}
	}
	if names == nil {
		return ""
	}
	return ": no comparison with " + strings.Join(names, ", ") + ", as " + unevenText(errors)
}

// leftOutText names the systems that the closing line does not compare: those that were not judged alike, and those of
// too few groups, though their figures may be higher.
func (s *Stats) leftOutText() (text string) {
	if apart := s.noComparison(); apart != "" {
		text = ", but that is" + strings.TrimPrefix(apart, ":")
	}
	var names []string
	for i := range s.Systems {
		if sys := &s.Systems[i]; len(s.Systems) > 2 && sys.few && sys.Name != Nameless {
			names = append(names, sys.Name)
		}
	}
	if len(names) == 0 || len(names) > mostNamed {
		return text
	}
	return text + "; too few groups of " + strings.Join(names, ", ") + " to compare"
}

// unevenText says why rows without error are not compared, and what helps.
func unevenText(errors string) string {
	return "the systems' rows were not judged alike for " + errors + " (give all of them the field, or the model, that " +
		"it needs)"
}
