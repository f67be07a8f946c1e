package report

import (
	"cmp"
	"math"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
)

// ComputeStats computes shares and intervals. It is an error if no row is tagged, nor has scores or issues.
func (t *Tally) ComputeStats() (*Stats, error) {
	s := &t.stats
	s.All = SystemStats{Name: "all"}
	for i := range s.Systems {
		one := &s.Systems[i]
		s.All.Rows, s.All.Tagged, s.All.Untagged = s.All.Rows+one.Rows, s.All.Tagged+one.Tagged, s.All.Untagged+one.Untagged
		s.All.Truncated, s.All.PartlyRead = s.All.Truncated+one.Truncated, s.All.PartlyRead+one.PartlyRead
		if t.o.By == ByNothing {
			one.Name = t.rows.FileNames()
		}
	}
	if len(t.sums.keys) == 0 {
		return nil, t.rows.NothingToShow(s.All.Rows)
	}
	s.Files, s.By, s.warnings = t.rows.files, t.systemKind(), t.rows.warnings()
	if note := t.hints.Note(""); note != "" && t.o.By == "" && s.By == "" {
		s.warnings = append(s.warnings, FileWarning{Notes: []string{note}})
	}
	if alike := AlikeSystems(s.names()); alike != "" {
		s.warnings = append(s.warnings, FileWarning{Notes: []string{alike}})
	}
	s.Rejected = len(t.rows.faults)
	s.again = t.namedAgain()
	t.computeShares()
	if err := t.compareNamed(); err != nil {
		return nil, err
	}
	if t.o.Tests || len(s.Differences) > 0 && len(t.outputs) < mostPaired { // of more not all are kept
		t.pairOutputs()
		t.pairBest()
	}
	if err := t.test(); err != nil {
		return nil, err
	}
	for i := range s.Systems {
		s.Systems[i].publish(s.columns)
	}
	s.All.publish(s.columns)
	return s, nil
}

// withAll gives every system, and behind them all rows.
func (s *Stats) withAll() []*SystemStats {
	var all []*SystemStats
	for i := range s.Systems {
		all = append(all, &s.Systems[i])
	}
	return append(all, &s.All)
}

// computeShares computes the cells of all systems.
func (t *Tally) computeShares() {
	s := &t.stats
	s.Interval = Interval{Level: stats.Level, Group: t.o.Group, Groups: len(t.sums.groups)}
	for i, of := range t.groupSums() {
		system := s.withAll()[i]
		for c := range of {
			one := cell{newShare(&of[c]), &of[c]}
			if s.columns[c].kind == kindScore {
				low, high := of[c].MeanInterval()
				one.Rows, one.Low, one.High = int(of[c].Rows), Number(low), Number(high)
			}
			system.cells = append(system.cells, one)
		}
	}
	s.contrast()
}

// groupSums are those of the columns in each system, and behind them of all rows. Systems share groups, such as
// passages.
func (t *Tally) groupSums() [][]stats.GroupSums {
	out := make([][]stats.GroupSums, len(t.stats.Systems)+1)
	for i := range out {
		out[i] = make([]stats.GroupSums, len(t.stats.columns))
	}
	whole := make([][]float64, len(t.sums.groups))
	for i, key := range t.sums.keys {
		cells := t.sums.values[i]
		t.addGroup(out[key.block], cells)
		whole[key.group] = addCells(whole[key.group], cells)
	}
	for _, cells := range whole {
		t.addGroup(out[len(t.stats.Systems)], cells)
	}
	return out
}

// addGroup adds a group to the sums of each column.
func (t *Tally) addGroup(columns []stats.GroupSums, cells []float64) {
	cells = addCells(make([]float64, t.sums.cells), cells) // the last may be missing
	for c := range columns {
		columns[c].AddGroup(cells[2*c+1], cells[2*t.stats.columns[c].of])
	}
}

// addCells adds more to cells, which grow where they are fewer.
func addCells(cells, more []float64) []float64 {
	for i, x := range more {
		if i == len(cells) {
			cells = append(cells, 0)
		}
		cells[i] += x
	}
	return cells
}

// publish fills the fields that JSON and pictures have.
func (s *SystemStats) publish(columns []column) {
	for c, column := range columns {
		share, of := s.cells[c].Share, int(s.cells[c].sums.Rows)
		switch {
		case column.kind == kindScore:
			s.Unscored = max(s.Unscored, s.Rows-of)
			s.Scores = append(s.Scores, ScoreMean{column.name, share.Rows, share.Share, share.Low, share.High})
		case column.kind == kindIssue && column.name == "":
			s.WithoutIssue, s.unsearched = &share, s.Rows-of
		case column.kind == kindIssue:
			s.Issues = append(s.Issues, IssueShare{column.id, column.name, share})
		case column.name == "":
			s.WithoutError = share
		default:
			s.Labels = append(s.Labels, LabelShare{column.name, column.code, s.Tagged - of, share})
		}
	}
}

// countRepeat counts a row that has the texts of one before by the same system, as of a request that was logged twice.
func (t *Tally) countRepeat(system string, row *dataset.Row) {
	if !t.named || system == Nameless || len(t.texts) == mostPaired {
		return
	}
	sum := row.TextSum()
	if key := string(sum[:]) + system; t.texts[key] {
		t.stats.Repeated++
	} else {
		t.texts[key] = true
	}
}

// valuesOf gives the row's scores and issues.
func (t *Tally) valuesOf(row *dataset.Row) (values []value) {
	scores, _ := row.Scores() // nil where a column of that name holds something else
	for _, d := range t.o.Taxonomy.Dimensions {
		if score := scores[d.Key]; score != nil && score.Value != nil {
			c := t.columnOf(kindScore, d.Key)
			t.stats.columns[c].span = d.Span()
			values = append(values, value{c, *score.Value})
		}
	}
	if t.o.Issues == nil {
		return values
	}
	ids, searched := t.o.Issues(row)
	if !searched {
		return values
	}
	values = append(values, value{t.columnOf(kindIssue, ""), indicator(len(ids) == 0)})
	for _, id := range ids {
		values = append(values, value{t.columnOf(kindIssue, id), 1})
	}
	return values
}

// title names a column in a sentence.
func (c *column) title() string {
	switch {
	case c.name != "":
		return cmp.Or(c.id, c.name)
	case c.kind == kindIssue:
		return "without issue"
	}
	return "without error"
}

// isBetterHigh tells whether more is better.
func (c *column) isBetterHigh() bool { return c.name == "" || c.kind == kindScore }

// isOfErrors tells whether the column is that of rows without error, or of issues that were made of errors.
func (s *Stats) isOfErrors(c int) bool {
	kind := s.columns[c].kind
	return kind == kindLabel && s.columns[c].name == "" || kind == kindIssue && s.issuesOfErrors
}

// mostUneven is how far the shares of rows that were judged for an error may be apart.
const mostUneven = 0.1

// uneven names the errors that one of two systems was judged for in more of its rows than the other, and that rows
// have: it may have fewer rows without error for that alone. Of a system without tagged rows nothing is known at all.
func (s *Stats) uneven(a, b *SystemStats) string {
	if a.Tagged == 0 || b.Tagged == 0 {
		return ""
	}
	var names []string
	for c, column := range s.columns {
		judged := func(sys *SystemStats) float64 { return sys.cells[c].sums.Rows / float64(sys.Tagged) }
		if column.kind == kindLabel && column.name != "" && s.All.cells[c].Rows > 0 &&
			math.Abs(judged(a)-judged(b)) > mostUneven {
			names = append(names, column.name)
		}
	}
	return strings.Join(names, ", ")
}
