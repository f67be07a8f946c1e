package issues

import (
	"context"
	"fmt"
	"slices"

	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// sideShares are shares and counts by issue.
type sideShares struct {
	a, b                         []float64
	countA, countB, gained, lost []int
}

// shares are those of the rows that are compared, where groups have weights; nil is 1 each.
func (c *Comparison) shares(weight []int32) *sideShares {
	n := len(c.ids)
	s := &sideShares{a: make([]float64, n), b: make([]float64, n), countA: make([]int, n), countB: make([]int, n),
		gained: make([]int, n), lost: make([]int, n)}
	totalA, totalB := 0, 0
	add := func(counts []int, r *compared) int {
		w := 1
		if weight != nil {
			w = int(weight[r.group])
		}
		for _, at := range r.has {
			counts[at] += w
		}
		return w
	}
	if c.diff.Paired {
		for j, i := range c.pairOf {
			if i < 0 || !c.a[i].known || !c.b[j].known {
				continue
			}
			totalA += add(s.countA, &c.a[i])
			pair := compared{group: c.a[i].group, has: c.b[j].has} // a pair is drawn as a whole
			totalB += add(s.countB, &pair)
			addOnly(s.lost, c.a[i].has, c.b[j].has)
			addOnly(s.gained, c.b[j].has, c.a[i].has)
		}
	} else {
		for i := range c.a {
			if c.a[i].known {
				totalA += add(s.countA, &c.a[i])
			}
		}
		for j := range c.b {
			if c.b[j].known {
				totalB += add(s.countB, &c.b[j])
			}
		}
	}
	for at := range n {
		s.a[at], s.b[at] = float64(s.countA[at])/float64(totalA), float64(s.countB[at])/float64(totalB)
	}
	return s
}

// addOnly counts what is in these and not in those.
func addOnly(counts, these, those []int) {
	for _, at := range these {
		if !slices.Contains(those, at) {
			counts[at]++
		}
	}
}

// resample gives the differences of shares by issue, for each resample of the groups of both files.
func (c *Comparison) resample(ctx context.Context) ([][]float64, error) {
	if c.o.Intervals.Method != report.Bootstrap {
		return nil, nil
	}
	return stats.Bootstrap(ctx, len(c.groups), c.o.Intervals.Resamples, c.o.Intervals.Seed,
		func(weight []int32) []float64 {
			s := c.shares(weight)
			for at := range s.b {
				s.b[at] -= s.a[at]
			}
			return s.b
		})
}

// Counts are the numbers that limits (--fail-on) check: issues by their change, and B's rows by issue.
func (d *Diff) Counts() gate.Counts {
	rows := d.B.Looked
	if d.Paired {
		rows = d.Compared
	}
	c := gate.Counts{Rows: rows, Tagged: rows, Unit: "rows or issues",
		Labels: map[string]int{New: 0, Gone: 0, Grown: 0, Shrunk: 0}}
	for _, i := range d.Issues {
		c.Labels[i.Change]++
	}
	for _, i := range d.Issues {
		c.Labels[i.ID] = i.CountB
	}
	return c
}

// Report puts the figures into words and a table.
func (d *Diff) Report() *report.Report {
	r := &report.Report{Title: fmt.Sprintf("Issues from A (%s) to B (%s)", d.A.File, d.B.File),
		Facts: []string{d.Pairing.Fact(), d.A.describe("A"), d.B.describe("B")}}
	how := fmt.Sprintf("%s in both files", words.Plural(d.Both, "row is", "rows are"))
	if d.Paired {
		how += fmt.Sprintf(", %d looked at in both: they are compared in pairs, by McNemar's exact test", d.Compared)
	} else {
		how += ": shares of different rows are compared, by the bootstrap"
	}
	by := "rows"
	if d.Group != "" {
		by = "groups of rows with the same " + d.Group
	}
	r.Facts = append(r.Facts, how,
		fmt.Sprintf("%.0f %% intervals: percentile bootstrap over %s; p-values corrected by Holm "+
			"for %s", 100*stats.Level, by, words.Plural(len(d.Issues), "issue", "issues")))
	table := report.NewTable("issue", "A", "B", "points", "interval", "gained", "lost", "p", "change")
	table.Columns[len(table.Columns)-1].Right = false
	for i := range d.Issues {
		table.Rows = append(table.Rows, d.Issues[i].cells(d.Paired))
	}
	r.Sections = []report.Section{{Title: "Share of the rows looked at, and the difference in points (B minus A)",
		Table: table}}
	return r
}

func (s *DiffSide) describe(name string) string {
	return fmt.Sprintf("%s: %s, %d looked at, %d unassigned, %s", name, words.Plural(s.Rows, "row", "rows"), s.Looked,
		s.Unassigned, words.Plural(s.Issues, "issue", "issues"))
}

func (i *IssueDiff) cells(paired bool) []any {
	interval := "–"
	if i.Difference.Low.Defined() {
		interval = fmt.Sprintf("%+.1f to %+.1f", 100*float64(i.Difference.Low), 100*float64(i.Difference.High))
	}
	gained, lost := report.Undefined, report.Undefined
	if paired {
		gained, lost = report.Number(i.Gained), report.Number(i.Lost)
	}
	return []any{i.Name, i.ShareA.As(report.InPercent), i.ShareB.As(report.InPercent),
		(100 * i.Difference.Value).As("%+.1f"), interval, gained, lost, i.PHolm.As("%.3f"), i.Change}
}

// Warnings say what the figures leave out.
func (d *Diff) Warnings() []report.FileWarning {
	w := report.FileWarning{Faults: d.faults}
	if d.Paired {
		w.Notes = d.Pairing.Notes(d.A.File, d.B.File)
	}
	return []report.FileWarning{w}
}

// IsIncomplete tells whether a line was no row, or many rows have no partner and are left out.
func (d *Diff) IsIncomplete() bool { return len(d.faults) > 0 || d.Paired && d.Pairing.IsPoor() }
