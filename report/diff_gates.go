package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

// Subjects of limits besides labels. Before a colon and a label they are about that one: "grown:Vague".
const (
	Grown  = "grown"  // error types that are surely more frequent in B than in A; see addAny
	Shrunk = "shrunk" // surely less frequent
	Rise   = "rise"   // with a label alone: compared rows that have it in B, less those in A
)

// CheckGates decides limits (--fail-on). noError is the label of rows without an error.
func (d *Diff) CheckGates(limits []gate.Gate, noError string) []gate.Result {
	d.Gates = gate.CheckAll(limits, d.counts(noError, labelsAsked(limits)))
	return d.Gates
}

// correct corrects the p-values for the error types that a row has; the others are no tests.
func (d *Diff) correct() {
	var found []*LabelDiff
	var p []float64
	d.eachLabel(func(place int, l *LabelDiff) {
		if l.PHolm = l.P; place > 0 && l.A.Rows+l.B.Rows > 0 {
			found, p = append(found, l), append(p, float64(l.P))
		}
	})
	for k, corrected := range stats.Holm(p) {
		found[k].PHolm = Number(corrected)
	}
	d.tested = len(found)
}

// IsGrowth tells whether a limit is on what is Grown or Shrunk.
func IsGrowth(l gate.Gate) bool {
	what, _, _ := strings.Cut(l.Subject, ":")
	return what == Grown || what == Shrunk
}

// labelsAsked are the labels of limits on growth; "" is that of all.
func labelsAsked(limits []gate.Gate) map[string]bool {
	asked := map[string]bool{}
	for _, l := range limits {
		if _, label, _ := strings.Cut(l.Subject, ":"); IsGrowth(l) {
			asked[label] = true
		}
	}
	return asked
}

// counts are the compared rows of B with each label, and what changed. Rows, Untagged and Rejected are of all of B.
func (d *Diff) counts(noError string, asked map[string]bool) gate.Counts {
	c := gate.Counts{Rows: d.B.Rows, Tagged: d.Compared, Untagged: d.B.untagged, Rejected: d.B.Rejected + d.B.LeftOut,
		NoError: noError, RejectedUnknown: d.unrecorded, WithoutError: d.cleanB, Unit: "compared rows",
		Labels: map[string]int{}, NotJudged: map[string]int{}, Named: map[string]gate.Named{}}
	d.eachLabel(func(place int, l *LabelDiff) {
		name := l.Label
		if place == 0 {
			name = noError
			c.Labels[name] = d.cleanB
		} else {
			c.Labels[name], c.NotJudged[name] = l.B.Rows, l.NotJudged
			c.NotJudged[Rise+":"+name] = l.NotJudged
		}
		c.Labels[Rise+":"+name] = l.Gained - l.Lost
		if place == 0 {
			c.Labels[Rise+":"+gate.Any] = l.Lost - l.Gained
		}
	})
	of := growth{d.WithoutError, slices.Clone(d.Labels), d.Systems, &d.Interval, d.Compared, d.Thresholds}
	if unsure := d.unknownText(); unsure != "" {
		of.withoutError.unsure, of.withoutError.far = unsure, true
		for i := range of.labels {
			of.labels[i].unsure, of.labels[i].far = unsure, true
		}
	}
	of.addTo(&c, asked)
	return c
}

// unknownText says that far more rows of a file than of the other one are not known: they may be the bad ones.
func (d *Diff) unknownText() string {
	unknown := func(s *Side) (n, of int) {
		lost := s.Rejected + s.LeftOut
		return s.untagged + lost, s.Rows + lost
	}
	inA, ofA := unknown(&d.A)
	inB, ofB := unknown(&d.B)
	more := float64(inB)/float64(max(1, ofB)) - float64(inA)/float64(max(1, ofA))
	switch {
	case more > mostUneven:
		return fmt.Sprintf("%d of %s of %s are untagged or were rejected", inB, rowsText(ofB), d.B.File)
	case -more > mostUneven:
		return fmt.Sprintf("%d of %s of %s are untagged or were rejected", inA, rowsText(ofA), d.A.File)
	}
	return ""
}

// growth is what changed from a file to another one, for the limits on Grown and Shrunk.
type growth struct {
	withoutError LabelDiff
	labels       []LabelDiff
	systems      []SystemDiff // where several count together
	interval     *Interval
	rows         int // compared
	thresholds   []Thresholds
}

// addTo counts what is Grown and Shrunk, and whether each of the labels is that are asked for: tests of these are
// corrected for their number.
func (g *growth) addTo(c *gate.Counts, asked map[string]bool) {
	g.addNamed(c, "", "error types", g.labels)
	g.addAny(c)
	var tested []LabelDiff
	var p []float64
	none := g.withoutError
	none.Label = c.NoError
	for _, l := range append([]LabelDiff{none}, g.labels...) {
		if asked[l.Label] {
			tested, p = append(tested, l), append(p, float64(l.P))
		}
	}
	for i, corrected := range stats.Holm(p) {
		tested[i].PHolm = Number(corrected)
		g.addNamed(c, ":"+tested[i].Label, "error type", tested[i:i+1])
	}
	few := ""
	switch of := g.thresholds; {
	case len(of) < 2 || !doDiffer(of):
		return
	case of[0].text != "" && of[1].text != "":
		few = "the thresholds differ"
	default:
		few = "the thresholds of one file are not known"
	}
	for subject, named := range c.Named {
		named.Few = few
		c.Named[subject] = named
	}
}

// anyError stands in Grown and Shrunk for the rows with an error.
const anyError = "rows with any error"

// addAny counts the rows with an error among what is Grown or Shrunk where they surely are, and none of the error types
// by itself is: a fall may be spread over several of them. So it does those of one of several systems.
func (g *growth) addAny(c *gate.Counts) {
	l := &g.withoutError
	what := Grown // fewer rows without error
	if l.Difference > 0 {
		what = Shrunk
	}
	named := c.Named[what]
	switch sure := float64(l.P) < 1-stats.Level; {
	case l.unsure != "":
		named.Few = l.unsure
	case sure && len(named.Names) == 0:
		named.Names = []string{anyError}
	case !sure && l.Difference.Defined() && l.Difference != 0:
		named.Few = cmp.Or(named.Few, g.interval.tooFew(g.rows))
	}
	c.Named[what] = named
	systems := map[string][]string{}
	for _, s := range g.systems {
		if what = Grown; s.Value > 0 {
			what = Shrunk
		}
		if s.isSure() {
			systems[what] = append(systems[what], fmt.Sprintf("%s of %s", anyError, words.Printable(s.Name)))
		}
	}
	for what, names := range systems {
		if named = c.Named[what]; len(named.Names) == 0 {
			named.Names = names
			c.Named[what] = named
		}
	}
}

// addNamed counts which of labels are Grown and Shrunk, by their p-values after Holm's correction. That is not known of
// a label for which no compared row was judged in both files; of several labels, one that neither file has is left out.
func (g *growth) addNamed(c *gate.Counts, suffix, unit string, labels []LabelDiff) {
	grown, notJudged := gate.Named{Of: len(labels), Unit: unit}, 0
	for _, l := range labels {
		if l.NotJudged > 0 {
			notJudged = max(notJudged, l.NotJudged)
			grown.NotJudged = append(grown.NotJudged, fmt.Sprintf("%s (%d of %d rows)", l.Label, l.NotJudged, c.Tagged))
		}
		grown.Unknown = grown.Unknown || !l.Difference.Defined() && (l.judgedOnce || len(labels) == 1)
	}
	shrunk := grown
	for _, l := range labels {
		of := &grown
		if l.Difference < 0 {
			of = &shrunk
		}
		switch sure := float64(l.PHolm) < 1-stats.Level; {
		case l.far: // of far more rows of one file it is not known
			grown.Few, shrunk.Few = l.unsure, l.unsure
		case l.unsure != "":
			of.Few = l.unsure
		case sure:
			of.Names = append(of.Names, l.Label)
		case l.Difference.Defined() && l.Difference != 0:
			of.Few = cmp.Or(of.Few, g.interval.tooFew(g.rows))
		}
	}
	c.Named[Grown+suffix], c.Named[Shrunk+suffix] = grown, shrunk
	c.NotJudged[Grown+suffix], c.NotJudged[Shrunk+suffix] = notJudged, notJudged
}
