package discover

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
)

const (
	// relatedFrom is the share from which an issue's rows have a type, or a type's rows an issue, for one to stand for the
	// other or to lie within it.
	relatedFrom = 0.7
	// leastRelated is the number of rows below which nothing is said about an issue's relation to types.
	leastRelated = 5
	// coincidences is how many types stand with an issue.
	coincidences = 3
)

// relate compares the issues with the error types, over the rows that were looked at for both.
func (r *Result) relate(ctx context.Context, l *issues.List, o PublishOptions) error {
	x := newCrossing(r, o.Labels)
	if len(o.Labels) == 0 || x.items == 0 {
		return nil
	}
	ones := slices.Repeat([]int32{1}, len(x.groups))
	counts := x.count(ones)
	var samples [][]float64
	if o.Intervals.Resamples > 0 {
		var err error
		samples, err = stats.Bootstrap(ctx, len(x.groups), o.Intervals.Resamples, o.Intervals.Seed,
			func(weight []int32) []float64 { return x.count(weight).phis() })
		if err != nil {
			return err
		}
	}
	for n := range l.Issues {
		issue := &l.Issues[n]
		for at, label := range o.Labels {
			table := counts.table(n, at)
			if table.Both == 0 || !(table.Phi() > 0) {
				continue
			}
			c := issues.Coincidence{Label: label, Both: table.Both, Lift: report.Number(table.Lift()),
				Phi: report.Number(table.Phi()), Low: report.Undefined, High: report.Undefined}
			if samples != nil {
				interval := stats.IntervalOf(stats.Column(samples, n*len(o.Labels)+at))
				c.Low, c.High = report.Number(interval.Low), report.Number(interval.High)
			}
			issue.Labels = append(issue.Labels, c)
		}
		slices.SortStableFunc(issue.Labels, func(a, b issues.Coincidence) int { return cmp.Compare(b.Phi, a.Phi) })
		issue.Labels = issue.Labels[:min(len(issue.Labels), coincidences)]
		issue.Relation = counts.relation(n, issue.Labels, o.Labels)
	}
	return nil
}

// relation is what an issue is to the types that coincide with it; "" where too few rows tell.
func (c *crossCounts) relation(n int, coinciding []issues.Coincidence, labels []string) string {
	if c.issue[n] < leastRelated {
		return ""
	}
	for _, k := range coinciding {
		all := c.label[slices.Index(labels, k.Label)]
		inType, inIssue := float64(k.Both)/c.issue[n], float64(k.Both)/all
		certain := math.IsNaN(float64(k.Low)) || k.Low > 0
		switch {
		case inType >= relatedFrom && inIssue >= relatedFrom:
			return issues.IsType
		case inType >= relatedFrom && certain:
			return issues.Narrower
		}
	}
	return issues.IsNew
}

// crossing is which items have which issues and labels.
type crossing struct {
	items  int
	groups stats.Numbers[string]
	group  []int   // by item: its group, or -1 where it was not looked at for both
	labels [][]int // by item: indexes of the labels
	of     []Group
	kinds  int // labels
}

func newCrossing(r *Result, labels []string) *crossing {
	x := &crossing{groups: stats.Numbers[string]{}, group: make([]int, len(r.Items)), labels: make([][]int, len(r.Items)),
		of: r.Issues, kinds: len(labels)}
	for i, item := range r.Items {
		x.group[i] = -1
		if !judged(item) || !item.Tagged {
			continue
		}
		x.items++
		x.group[i] = x.groups.Of(item.Group)
		for _, label := range item.Labels {
			if at := slices.Index(labels, label); at >= 0 {
				x.labels[i] = append(x.labels[i], at)
			}
		}
	}
	return x
}

// crossCounts are weighted numbers of items.
type crossCounts struct {
	all          float64
	issue, label []float64
	both         []float64 // issue*labels + label
}

func (x *crossing) count(weight []int32) *crossCounts {
	c := &crossCounts{issue: make([]float64, len(x.of)), label: make([]float64, x.kinds),
		both: make([]float64, len(x.of)*x.kinds)}
	for i, g := range x.group {
		if g < 0 {
			continue
		}
		c.all += float64(weight[g])
		for _, at := range x.labels[i] {
			c.label[at] += float64(weight[g])
		}
	}
	for n, group := range x.of {
		for _, i := range group.Members {
			if x.group[i] < 0 {
				continue
			}
			w := float64(weight[x.group[i]])
			c.issue[n] += w
			for _, at := range x.labels[i] {
				c.both[n*x.kinds+at] += w
			}
		}
	}
	return c
}

func (c *crossCounts) table(n, at int) stats.CrossTable {
	both := c.both[n*len(c.label)+at]
	return stats.CrossTable{Both: int(both), OnlyA: int(c.issue[n] - both), OnlyB: int(c.label[at] - both),
		Neither: int(c.all - c.issue[n] - c.label[at] + both)}
}

// phis are those of all pairs.
func (c *crossCounts) phis() []float64 {
	out := make([]float64, len(c.both))
	for n := range c.issue {
		for at := range c.label {
			out[n*len(c.label)+at] = c.table(n, at).Phi()
		}
	}
	return out
}
