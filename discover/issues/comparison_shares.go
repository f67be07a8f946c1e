package issues

import (
	"fmt"
	"slices"

	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// groupCounts are, by group, the rows that are compared, and by issue the rows that have it.
type groupCounts struct {
	rows []float64
	has  [][]float64 // by issue
}

func (c *Comparison) newCounts() *groupCounts {
	g := &groupCounts{rows: make([]float64, len(c.groups)), has: make([][]float64, len(c.diff.Issues))}
	for at := range g.has {
		g.has[at] = make([]float64, len(c.groups))
	}
	return g
}

func (g *groupCounts) add(group int, issues []int) {
	g.rows[group]++
	for _, at := range issues {
		g.has[at][group]++
	}
}

func (g *groupCounts) sums(at int) *stats.GroupSums { return stats.SumsOf(g.has[at], g.rows) }

// compareShares compares the shares of different rows.
func (c *Comparison) compareShares() {
	a, b := c.newCounts(), c.newCounts()
	for side, rows := range [][]compared{c.a, c.b} {
		for _, r := range rows {
			if r.known {
				[]*groupCounts{a, b}[side].add(r.group, r.has)
			}
		}
	}
	for at := range c.diff.Issues {
		i, sumsA, sumsB := &c.diff.Issues[at], a.sums(at), b.sums(at)
		i.set(sumsA, sumsB, stats.ApartShares(sumsA, sumsB))
	}
}

// comparePairs compares the shares of the same rows. A pair is of A's group.
func (c *Comparison) comparePairs() {
	a, b := c.newCounts(), c.newCounts()
	for j, i := range c.pairOf {
		if i < 0 || !c.a[i].known || !c.b[j].known {
			continue
		}
		one, two := &c.a[i], &c.b[j]
		a.add(one.group, one.has)
		b.add(one.group, two.has)
		for _, at := range two.has {
			if !slices.Contains(one.has, at) {
				c.diff.Issues[at].Gained++
			}
		}
		for _, at := range one.has {
			if !slices.Contains(two.has, at) {
				c.diff.Issues[at].Lost++
			}
		}
	}
	for at := range c.diff.Issues {
		i, sumsA, sumsB := &c.diff.Issues[at], a.sums(at), b.sums(at)
		change := slices.Clone(b.has[at])
		for group, n := range a.has[at] {
			change[group] -= n
		}
		i.set(sumsA, sumsB, stats.PairedShares(float64(i.Lost), stats.SumsOf(change, a.rows)))
	}
}

func (i *IssueDiff) set(a, b *stats.GroupSums, difference stats.Difference) {
	d := report.DifferenceOf(difference)
	i.CountA, i.CountB, i.Difference, i.P = int(a.Sum), int(b.Sum), d.Figure, d.P
	i.ShareA, i.ShareB = report.Number(a.Mean()), report.Number(b.Mean())
}

// CheckGates decides limits (--fail-on).
func (d *Diff) CheckGates(limits []gate.Gate) []gate.Result {
	d.Gates = gate.CheckAll(limits, d.counts())
	return d.Gates
}

// counts are the issues by their change, and B's rows by issue.
func (d *Diff) counts() gate.Counts {
	rows := d.B.Looked
	if d.Paired {
		rows = d.Compared
	}
	c := gate.Counts{Rows: rows, Tagged: rows, Unit: "rows", Labels: map[string]int{},
		Named: map[string]gate.Named{}}
	for _, change := range Changes() {
		all := gate.Named{Of: len(d.Issues), Unit: "issues"}
		for _, i := range d.Issues {
			one := gate.Named{Of: 1, Unit: "issue"}
			if i.has(change) {
				one.Names = []string{i.ID}
			}
			if c.Named[change+":"+i.ID] = one; i.Change == change {
				all.Names = append(all.Names, i.ID)
			}
		}
		if len(all.Names) == 0 && (change == Grown || change == Shrunk) && d.Any.has(change) {
			all.Names = []string{anyIssue} // a change may be spread over several
		}
		c.Named[change] = all
	}
	for _, i := range d.Issues {
		c.Labels[i.ID] = i.CountB
	}
	return c
}

// has tells whether the issue changed so: a new one may also have surely grown.
func (i *IssueDiff) has(change string) bool {
	sure := float64(i.PHolm) < alpha
	return i.Change == change || sure && change == Grown && i.Difference.Value > 0 ||
		sure && change == Shrunk && i.Difference.Value < 0
}

// Report puts the figures into words and a table.
func (d *Diff) Report() *report.Report {
	r := &report.Report{Title: fmt.Sprintf("Issues from A (%s) to B (%s)", d.A.File, d.B.File),
		Facts: []string{d.Pairing.Fact(), d.A.describe("A"), d.B.describe("B")}}
	how := fmt.Sprintf("%s in both files", words.Plural(d.Both, "row is", "rows are"))
	if d.Paired {
		how += fmt.Sprintf(", %d looked at in both: they are compared in pairs", d.Compared)
	} else {
		how += ": shares of different rows are compared"
	}
	by := "rows"
	if d.Group != "" {
		by = "groups of rows with the same " + d.Group
	}
	r.Facts = append(r.Facts, how,
		fmt.Sprintf("%.0f %% intervals and p-values: of %s; p-values corrected by Holm for %s", 100*stats.Level, by,
			words.Plural(len(d.Issues), "issue", "issues")))
	if d.Any.has(Grown) || d.Any.has(Shrunk) {
		r.Facts = append(r.Facts, fmt.Sprintf("%s: %s in A, %s in B (%s points, p %s)", anyIssue,
			d.Any.ShareA.Text(report.InPercent), d.Any.ShareB.Text(report.InPercent),
			(100*d.Any.Difference.Value).Text("%+.1f"), d.Any.P.Text(report.InP)))
	}
	table := report.NewTable("issue", "A", "B", "points", "interval", "gained", "lost", "p", "change")
	table.Columns[len(table.Columns)-1].Right = false
	for i := range d.Issues {
		table.Rows = append(table.Rows, d.Issues[i].cells(d.Paired))
	}
	r.Sections = append(report.Limits(d.Gates), report.Section{
		Title: "Share of the rows looked at, and the difference in points (B minus A)", Table: table})
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
		(100 * i.Difference.Value).As("%+.1f"), interval, gained, lost, i.PHolm.As(report.InP), i.Change}
}

// Warnings say what the figures leave out.
func (d *Diff) Warnings() []report.FileWarning {
	w := report.FileWarning{Faults: d.faults}
	switch {
	case d.Paired:
		w.Notes = d.Pairing.Notes(d.A.File, d.B.File)
	case d.Pairing.IsPoor():
		how := "name what pairs rows of the same input with --id COLUMN,COLUMN"
		if len(d.Pairing.Would) > 0 {
			how = d.Pairing.Advice()
		}
		w.Notes = []string{"few rows have a partner, and shares of different rows are compared: " + how}
	}
	if d.Apart {
		w.Notes = append(w.Notes, fmt.Sprintf("the issues of either file were found by themselves: what one list calls "+
			"otherwise looks gone and new. This maps the second file to the first one's list: erreval discover %s -o "+
			"MAPPED --analysis recorded --issues %s --judge MODEL", words.Quote(d.B.File), words.Quote(Path(d.A.File))))
	}
	return []report.FileWarning{w}
}

// IsIncomplete tells whether a line was no row, or many rows have no partner and are left out.
func (d *Diff) IsIncomplete() bool { return len(d.faults) > 0 || d.Paired && d.Pairing.IsPoor() }
