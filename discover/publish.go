package discover

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/report"
)

// examples is how many rows stand with an issue.
const examples = 3

// PublishOptions say how a list is made.
type PublishOptions struct {
	Intervals report.IntervalOptions
	Labels    []string // error types that issues are compared with; none compares with none
}

// Publish gives the findings the ids of their issues, and makes the list, without what its caller alone knows: Task,
// Analysis, Grouping and Mode.
func (r *Result) Publish(ctx context.Context, o PublishOptions) (*issues.List, error) {
	l := &issues.List{Format: issues.Format, Unassigned: map[string]int{}, Agreement: r.Agreement}
	for _, item := range r.Items {
		l.Count(item.Finding)
	}
	slices.SortStableFunc(r.Issues, func(a, b Group) int {
		return cmp.Or(cmp.Compare(len(b.Members), len(a.Members)), cmp.Compare(a.Name, b.Name))
	})
	taken := map[string]bool{}
	for _, g := range r.Issues {
		if g.Known != nil {
			taken[g.Known.ID] = true
		}
	}
	l.Issues = make([]issues.Issue, len(r.Issues))
	for n, g := range r.Issues {
		issue := &l.Issues[n]
		if issue.Name, issue.Description, issue.Stability = g.Name, g.Description, g.Stability; g.Known != nil {
			issue.ID, issue.Known = g.Known.ID, true
		} else {
			issue.ID = issues.NewID(g.Name, func(id string) bool { return taken[id] })
			taken[issue.ID] = true
		}
		issue.Unstable = g.Stability != nil && *g.Stability < issues.StableFrom
		issue.Count, issue.Sentences = len(g.Members), g.Sentences
		r.describe(issue, g.Members)
	}
	r.setShares(l, o.Intervals.Group)
	return l, r.relate(ctx, l, o)
}

// describe sets what the members say: ids, severity, examples. Examples are of as many different statements as there
// are, the most severe first.
func (r *Result) describe(issue *issues.Issue, members []int) {
	sum, n := 0, 0
	shown := slices.Clone(members)
	for _, i := range members {
		f := r.Items[i].Finding
		f.IDs = append(f.IDs, issue.ID)
		if f.Severity > 0 {
			sum, n = sum+f.Severity, n+1
		}
	}
	issue.Severity = report.Undefined
	if n > 0 {
		issue.Severity = report.Number(float64(sum) / float64(n))
	}
	slices.SortStableFunc(shown, func(a, b int) int {
		return cmp.Compare(r.Items[b].Finding.Severity, r.Items[a].Finding.Severity)
	})
	said := map[string]bool{}
	for _, i := range shown {
		f := r.Items[i].Finding
		text := cmp.Or(f.Analysis, r.Items[i].Text)
		if len(issue.Examples) == examples || said[text] {
			continue
		}
		said[text] = true
		issue.Examples = append(issue.Examples, issues.Example{Row: r.Items[i].ID, Analysis: text, Quote: f.Quote})
	}
}

// judged tells whether an item was looked at: only then can issues be known to be absent.
func judged(item *Item) bool { return item.Finding.IsKnown() }

// setShares computes the share of each issue in the rows that were looked at.
func (r *Result) setShares(l *issues.List, group string) {
	groups, rows := stats.Numbers[string]{}, []float64{}
	groupOf := make([]int, len(r.Items))
	for i, item := range r.Items {
		if !judged(item) {
			continue
		}
		n := groups.Of(item.Group)
		if n == len(rows) {
			rows = append(rows, 0)
		}
		groupOf[i] = n
		rows[n]++
	}
	for n := range l.Issues {
		having := make([]float64, len(rows))
		for _, i := range r.Issues[n].Members {
			having[groupOf[i]]++
		}
		issue, sums := &l.Issues[n], stats.SumsOf(having, rows)
		low, high := sums.ShareInterval()
		issue.Share, issue.Low, issue.High = report.Number(sums.Mean()), report.Number(low), report.Number(high)
	}
	if len(rows) > 0 {
		l.Interval = "of rows"
		if group != "" {
			l.Interval = "of groups of rows with the same " + group
		}
	}
}

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
			phi := report.NewFigure(table.Phi(), stats.Column(samples, n*len(o.Labels)+at), len(x.groups))
			c := issues.Coincidence{Label: label, Both: table.Both, Lift: report.Number(table.Lift()),
				Phi: phi.Value, Low: phi.Low, High: phi.High}
			issue.Labels = append(issue.Labels, c)
		}
		closeness := func(c issues.Coincidence) report.Number {
			if issue.Name == c.Label || strings.HasPrefix(issue.Name, c.Label+": ") {
				return 2 // first: the issue is the label, or a part of its rows
			}
			return c.Phi
		}
		slices.SortStableFunc(issue.Labels, func(a, b issues.Coincidence) int {
			return cmp.Compare(closeness(b), closeness(a))
		})
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
