package report

import (
	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
)

// CheckGates decides limits for each system by itself; lines that were rejected belong to none, but are told to each,
// of files to their own. Limits on growth are about the second of two systems, as of two files, against the first.
func (s *Stats) CheckGates(gates []gate.Gate, noError string) []gate.Result {
	own := slicesWithout(gates, IsGrowth)
	s.Gates = gate.CheckAll(slicesWithout(gates, func(g gate.Gate) bool { return !IsGrowth(g) }), s.grown(gates, noError))
	for _, sys := range s.Systems {
		lost := s.lostOf(sys.Name)
		c := gate.Counts{Rows: sys.Rows, Tagged: sys.Tagged, Untagged: sys.Untagged, Truncated: sys.Truncated,
			WithoutError: sys.WithoutError.Rows, Rejected: lost.Lines, RejectedUnknown: lost.Unrecorded,
			Labels: map[string]int{noError: sys.WithoutError.Rows}, NotJudged: map[string]int{}}
		for _, l := range sys.Labels {
			c.Labels[l.Label], c.NotJudged[l.Label] = l.Rows, l.NotJudged
		}
		s.addGates(sys.Name, own, c)
	}
	return s.Gates
}

// CheckIssues decides limits on issues, by ids, for each system by itself, and gives them behind those of CheckGates.
func (s *Stats) CheckIssues(gates []gate.Gate) []gate.Result {
	for _, sys := range s.Systems {
		c := gate.Counts{Unit: "searched rows", Labels: map[string]int{}}
		if sys.WithoutIssue != nil {
			c.Tagged, c.WithoutError = sys.Rows-sys.unsearched, sys.WithoutIssue.Rows
		}
		for _, i := range sys.Issues {
			c.Labels[i.Issue] = i.Rows
		}
		s.addGates(sys.Name, gates, c)
	}
	return s.Gates
}

func (s *Stats) addGates(system string, gates []gate.Gate, c gate.Counts) {
	for _, r := range gate.CheckAll(gates, c) {
		r.Reason = system + ": " + r.Reason
		s.Gates = append(s.Gates, r)
	}
}

// lostOf are the lines that may have been rows of a system.
func (s *Stats) lostOf(system string) (lost Lost) {
	for file, l := range s.lost {
		if s.By != ByFile || file == system {
			lost.Lines, lost.Unrecorded = lost.Lines+l.Lines, lost.Unrecorded || l.Unrecorded
		}
	}
	return lost
}

// grown are the counts for limits on growth.
func (s *Stats) grown(gates []gate.Gate, noError string) gate.Counts {
	c := gate.Counts{NoError: noError, Tagged: s.All.Tagged, NotJudged: map[string]int{}, Named: map[string]gate.Named{}}
	if len(s.Systems) == 2 && s.Systems[0].Tagged > 0 && s.Systems[1].Tagged > 0 {
		c.Tagged = s.Systems[1].Tagged
		of := s.growth()
		of.addTo(&c, labelsAsked(gates))
		return c
	}
	for _, g := range gates {
		c.Named[g.Subject] = gate.Named{Of: len(s.All.Labels), Unit: "error types",
			Few: "there are not two files with tagged rows"}
	}
	return c
}

// unpaired is the second of two files minus the first in a column, of all rows: of systems that both name with the same
// weight, if weighed.
func (s *Stats) unpaired(c int) (d Contrast, weighed bool) {
	for _, w := range s.Within {
		if w.column == c {
			return w, true
		}
	}
	d = s.between(c, 1, 0)
	d.PHolm = Number(min(1, float64(d.P)*float64(len(s.others()))))
	if s.isClean(&d) {
		d.PHolm = d.P
	}
	return d, false
}

// leavesMany tells whether many rows of a system, as of one that the other file has under another name, are in no pair.
func (s *Stats) leavesMany(d *Contrast) bool {
	return float64(d.alone[0]) > dataset.FewUnpaired*float64(s.Systems[d.system].Tagged) ||
		float64(d.alone[1]) > dataset.FewUnpaired*float64(s.Systems[d.than].Tagged)
}

// ofTwo is the p-value of the surer of two tests, by Bonferroni's correction.
func ofTwo(p Number) Number { return min(1, 2*p) }

// growth is what changed from the first of two systems to the second.
func (s *Stats) growth() growth {
	a, b := &s.Systems[0], &s.Systems[1]
	fewer := s.Interval // of the smaller one
	fewer.Groups = min(a.cells[0].sums.Groups, b.cells[0].sums.Groups)
	g := growth{systems: s.BySystem, interval: &fewer, rows: min(a.Tagged, b.Tagged), thresholds: s.Thresholds}
	for c, column := range s.columns {
		if column.kind != kindLabel {
			continue
		}
		l := LabelDiff{Label: column.name, NotJudged: b.Tagged - int(b.cells[c].sums.Rows), A: a.cells[c].Share,
			B: b.cells[c].Share, Difference: Undefined, P: Undefined, PHolm: Undefined}
		inA, inB := a.cells[c].sums.Rows > 0, b.cells[c].sums.Rows > 0
		if l.judgedOnce = inA != inB; l.judgedOnce {
			l.NotJudged = max(l.NotJudged, a.Tagged-int(a.cells[c].sums.Rows))
		}
		if inA && inB && l.A.Rows+l.B.Rows == 0 {
			l.Difference, l.P, l.PHolm = 0, 1, 1
		}
		for _, d := range s.Differences {
			if d.column != c {
				continue
			}
			l.Difference, l.P, l.PHolm, l.unsure, l.far = d.Value, d.P, d.PHolm, d.Unknown, d.far
			if d.system == 0 {
				l.Difference = -l.Difference
			}
			w, weighed := s.unpaired(c)
			switch {
			case !d.Paired && weighed:
				l.Difference, l.P, l.PHolm = w.Value, w.P, w.PHolm
			case d.Paired && s.leavesMany(&d): // the surer one of both
				if w.P < l.P {
					l.Difference, l.P, l.PHolm = w.Value, w.P, w.PHolm
				}
				l.P, l.PHolm = ofTwo(l.P), ofTwo(l.PHolm)
			}
		}
		if column.name == "" {
			g.withoutError = l
		} else {
			g.labels = append(g.labels, l)
		}
	}
	return g
}
