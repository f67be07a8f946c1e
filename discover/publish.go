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
	l := &issues.List{Format: issues.Format, Rows: len(r.Items), Unassigned: map[string]int{}, Agreement: r.Agreement}
	for _, item := range r.Items {
		switch f := item.Finding; f.Status {
		case issues.Assigned:
			l.Assigned++
		case issues.None:
			l.NoIssue++
		default:
			reason, _, _ := strings.Cut(f.Reason, ":")
			l.Unassigned[reason]++
		}
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
	if err := r.setShares(ctx, l, &o.Intervals); err != nil {
		return nil, err
	}
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
func (r *Result) setShares(ctx context.Context, l *issues.List, o *report.IntervalOptions) error {
	looked := 0
	groups := map[string]int{}
	groupOf := make([]int, len(r.Items))
	for i, item := range r.Items {
		groupOf[i] = -1
		if !judged(item) {
			continue
		}
		looked++
		n, ok := groups[item.Group]
		if !ok {
			n = len(groups)
			groups[item.Group] = n
		}
		groupOf[i] = n
	}
	for n := range l.Issues {
		issue := &l.Issues[n]
		issue.Share, issue.Low, issue.High = report.Undefined, report.Undefined, report.Undefined
		if looked > 0 {
			issue.Share = report.Number(float64(issue.Count) / float64(looked))
		}
	}
	if o.Method != report.Bootstrap || looked == 0 {
		return nil
	}
	samples, err := stats.Bootstrap(ctx, len(groups), o.Resamples, o.Seed, func(weight []int32) []float64 {
		return r.resampledShares(groupOf, weight)
	})
	for n := range l.Issues {
		at := stats.ShareInterval(float64(l.Issues[n].Share), stats.Column(samples, n), len(groups))
		l.Issues[n].Low, l.Issues[n].High = report.Number(at.Low), report.Number(at.High)
	}
	l.Interval = "percentile bootstrap over rows"
	if o.Group != "" {
		l.Interval = "percentile bootstrap over groups of rows with the same " + o.Group
	}
	return err
}

// resampledShares are the issues' shares where the groups have weights.
func (r *Result) resampledShares(groupOf []int, weight []int32) []float64 {
	total := 0.0
	for _, g := range groupOf {
		if g >= 0 {
			total += float64(weight[g])
		}
	}
	shares := make([]float64, len(r.Issues))
	for n, issue := range r.Issues {
		for _, i := range issue.Members {
			shares[n] += float64(weight[groupOf[i]])
		}
		if shares[n] /= total; total == 0 {
			shares[n] = math.NaN()
		}
	}
	return shares
}
