package report

import "github.com/erreval/erreval/internal/gate"

// CheckGates decides limits for each system by itself; rejected lines belong to no system, but are told to each. Limits
// on growth are about the second of two systems, as of two files, against the first.
func (s *Stats) CheckGates(gates []gate.Gate, noError string) []gate.Result {
	var results, growths []gate.Result
	own := slicesWithout(gates, IsGrowth)
	for _, sys := range s.Systems {
		c := gate.Counts{Rows: sys.Rows, Tagged: sys.Tagged, Untagged: sys.Untagged, Truncated: sys.Truncated,
			WithoutError: sys.WithoutError.Rows, Rejected: s.Rejected + s.LeftOut, RejectedUnknown: s.unrecorded,
			Labels: map[string]int{noError: sys.WithoutError.Rows}, NotJudged: map[string]int{}}
		for _, l := range sys.Labels {
			c.Labels[l.Label], c.NotJudged[l.Label] = l.Rows, l.NotJudged
		}
		for _, r := range gate.CheckAll(own, c) {
			r.Reason = sys.Name + ": " + r.Reason
			results = append(results, r)
		}
	}
	if len(own) < len(gates) {
		c := gate.Counts{NoError: noError, NotJudged: map[string]int{}, Named: map[string]gate.Named{}}
		if len(s.Systems) == 2 && s.Systems[0].Tagged > 0 {
			c.Tagged = s.Systems[1].Tagged
			of := s.growth()
			of.addTo(&c, labelsAsked(gates))
		}
		growths = gate.CheckAll(slicesWithout(gates, func(g gate.Gate) bool { return !IsGrowth(g) }), c)
	}
	return append(growths, results...)
}

// growth is what changed from the first of two systems to the second.
func (s *Stats) growth() growth {
	a, b := &s.Systems[0], &s.Systems[1]
	fewer := s.Interval // of the smaller one
	fewer.Groups = min(a.cells[0].sums.Groups, b.cells[0].sums.Groups)
	g := growth{interval: &fewer, rows: min(a.Tagged, b.Tagged), thresholds: s.Thresholds}
	for c, column := range s.columns {
		if column.kind != kindLabel {
			continue
		}
		l := LabelDiff{Label: column.name, NotJudged: b.Tagged - int(b.cells[c].sums.Rows), A: a.cells[c].Share,
			B: b.cells[c].Share, Difference: Undefined, P: Undefined, PHolm: Undefined}
		inA, inB := a.cells[c].sums.Rows > 0, b.cells[c].sums.Rows > 0
		if l.judgedOnce = inA != inB; inA && inB && l.A.Rows+l.B.Rows == 0 {
			l.Difference, l.P, l.PHolm = 0, 1, 1
		}
		for _, d := range s.Differences {
			if d.column != c {
				continue
			}
			l.Difference, l.P, l.PHolm, l.unsure = d.Value, d.P, d.PHolm, d.Unknown
			if d.system == 0 {
				l.Difference = -l.Difference
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
