package report

import "github.com/erreval/erreval/internal/gate"

// CheckGates decides limits for each system by itself; rejected lines belong to no system, but are told to each.
func (s *Stats) CheckGates(gates []gate.Gate, noError string) []gate.Result {
	var results []gate.Result
	for _, sys := range s.Systems {
		c := gate.Counts{Rows: sys.Rows, Tagged: sys.Tagged, Untagged: sys.Untagged, Truncated: sys.Truncated,
			WithoutError: sys.WithoutError.Rows, Rejected: s.Rejected + s.LeftOut, RejectedUnknown: s.unrecorded,
			Labels: map[string]int{noError: sys.WithoutError.Rows}, NotJudged: map[string]int{}}
		for _, l := range sys.Labels {
			c.Labels[l.Label], c.NotJudged[l.Label] = l.Rows, l.NotJudged
		}
		for _, r := range gate.CheckAll(gates, c) {
			r.Reason = sys.Name + ": " + r.Reason
			results = append(results, r)
		}
	}
	return results
}
