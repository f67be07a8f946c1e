package discover

import (
	"cmp"
	"context"
	"slices"

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
		issue.Count = len(g.Members)
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
