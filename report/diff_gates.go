package report

import (
	"fmt"
	"strings"

	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
)

// Subjects of limits besides labels. Before a colon and a label they are about that one: "grown:Vague".
const (
	Grown  = "grown"  // error types that are surely more frequent in B than in A; see addAny
	Shrunk = "shrunk" // surely less frequent
	Rise   = "rise"   // with a label alone: compared rows that have it in B, less those in A
)

// CheckGates decides limits (--fail-on). noError is the label of rows without an error.
func (d *Diff) CheckGates(limits []gate.Gate, noError string) []gate.Result {
	asked := map[string]bool{}
	for _, l := range limits {
		if what, label, _ := strings.Cut(l.Subject, ":"); what == Grown || what == Shrunk {
			asked[label] = true
		}
	}
	d.Gates = gate.CheckAll(limits, d.counts(noError, asked))
	return d.Gates
}

// counts are the compared rows of B with each label, and what changed. Rows, Untagged and Rejected are of all of B.
// Tests of single labels are corrected for the labels that are asked for.
func (d *Diff) counts(noError string, asked map[string]bool) gate.Counts {
	c := gate.Counts{Rows: d.B.Rows, Tagged: d.Compared, Untagged: d.B.untagged, Rejected: d.B.Rejected + d.B.LeftOut,
		NoError: noError, RejectedUnknown: d.unrecorded, WithoutError: d.cleanB, Unit: "compared rows",
		Labels: map[string]int{}, NotJudged: map[string]int{}, Named: map[string]gate.Named{}}
	d.addNamed(&c, "", "error types", d.Labels)
	d.addAny(&c)
	var tested []LabelDiff
	var p []float64
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
		if asked[name] {
			tested, p = append(tested, *l), append(p, float64(l.P))
			tested[len(tested)-1].Label = name
		}
	})
	for i, corrected := range stats.Holm(p) {
		tested[i].PHolm = Number(corrected)
		d.addNamed(&c, ":"+tested[i].Label, "error type", tested[i:i+1])
	}
	if of := d.Thresholds; len(of) == 2 && of[0].text != "" && of[1].text != "" && doDiffer(of) {
		for subject, named := range c.Named {
			named.Few = "the thresholds differ"
			c.Named[subject] = named
		}
	}
	return c
}

// anyError stands in Grown and Shrunk for the rows with an error.
const anyError = "rows with any error"

// addAny counts the rows with an error among what is Grown or Shrunk where they surely are, and none of the error types
// by itself is: a fall may be spread over several of them.
func (d *Diff) addAny(c *gate.Counts) {
	l := &d.WithoutError
	what := Grown // fewer rows without error
	if l.Difference > 0 {
		what = Shrunk
	}
	named := c.Named[what]
	sure := float64(l.P) < 1-stats.Level
	if sure && len(named.Names) == 0 {
		named.Names = []string{anyError}
	}
	if !sure && l.Difference.Defined() && l.Difference != 0 {
		named.Few = d.Interval.few(d.Compared)
	}
	c.Named[what] = named
}

// addNamed counts which of labels are Grown and Shrunk, by their p-values after Holm's correction. That is not known of
// a label for which no compared row was judged in both files; of several labels, one that neither file has is left out.
func (d *Diff) addNamed(c *gate.Counts, suffix, unit string, labels []LabelDiff) {
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
		switch sure := float64(l.PHolm) < 1-stats.Level; {
		case sure && l.Difference > 0:
			grown.Names = append(grown.Names, l.Label)
		case sure && l.Difference < 0:
			shrunk.Names = append(shrunk.Names, l.Label)
		case l.Difference > 0:
			grown.Few = d.Interval.few(d.Compared)
		case l.Difference < 0:
			shrunk.Few = d.Interval.few(d.Compared)
		}
	}
	c.Named[Grown+suffix], c.Named[Shrunk+suffix] = grown, shrunk
	c.NotJudged[Grown+suffix], c.NotJudged[Shrunk+suffix] = notJudged, notJudged
}
