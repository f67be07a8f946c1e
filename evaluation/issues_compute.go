package evaluation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// partitions are the groups of the rows that people hold to have a fault.
type partitions struct {
	rows        []int // of gold
	gold, found []int // numbers of groups, by rows
	goldNames   []string
	foundIDs    []string // of the issues; then what stands for rows without issue
}

// withoutIssue is the group of the rows in which nothing was found.
const withoutIssue = "(no issue)"

// partitions puts rows into the gold clusters and into the first issue that was found in them. A row that is
// unassigned, or not in the file, is a group of its own.
func (i *Issues) partitions() *partitions {
	p, goldAt, foundAt := &partitions{}, numbering{}, numbering{}
	for row, g := range i.gold {
		if g.right || g.cluster == "" {
			continue
		}
		found := -1
		switch f := g.found; {
		case f == nil || f.Status == issues.Unassigned:
		case f.Status == issues.None:
			found = foundAt.numberOf(withoutIssue)
		default:
			found = foundAt.numberOf(f.IDs[0])
		}
		p.rows = append(p.rows, row)
		p.gold = append(p.gold, goldAt.numberOf(g.cluster))
		p.found = append(p.found, found)
	}
	p.goldNames, p.foundIDs = goldAt.names(), foundAt.names()
	alone := len(p.foundIDs)
	for n := range p.found {
		if p.found[n] < 0 {
			p.found[n] = alone
			alone++
		}
	}
	return p
}

// counts is how many rows each gold group shares with each issue that was found.
func (p *partitions) counts() [][]float64 {
	out := make([][]float64, len(p.goldNames))
	for g := range out {
		out[g] = make([]float64, len(p.foundIDs))
	}
	for n, g := range p.gold {
		if p.found[n] < len(p.foundIDs) {
			out[g][p.found[n]]++
		}
	}
	return out
}

// matching is a gold group and the issue that stands for it.
type matching struct {
	gold, found string // name, id
	text        string // name and description of the issue
	rows        int    // that both have
}

// matched pairs gold groups and issues such that they share as many rows as possible, each at most once.
func (p *partitions) matched(l *issues.List) []matching {
	counts := p.counts()
	if len(counts) == 0 || len(p.foundIDs) == 0 {
		return nil
	}
	if at := slices.Index(p.foundIDs, withoutIssue); at >= 0 {
		for g := range counts {
			counts[g][at] = 0
		}
	}
	var out []matching
	for g, f := range stats.Assign(counts) {
		if f < 0 || counts[g][f] == 0 {
			continue
		}
		issue := l.Issues[l.Find(p.foundIDs[f])]
		text := issue.Name
		if issue.Description != "" {
			text += ": " + issue.Description
		}
		out = append(out, matching{p.goldNames[g], issue.ID, text, int(counts[g][f])})
	}
	return out
}

// ComputeReport computes all figures.
func (i *Issues) ComputeReport(ctx context.Context) (*IssueReport, error) {
	r := &i.report
	r.Rows, r.Unassigned, r.faults = len(i.gold), map[string]int{}, i.faults
	for _, g := range i.gold {
		r.count(&g)
	}
	if r.Found == 0 {
		return nil, fmt.Errorf("%s and %s have no row in common: rows are joined by id, and %s another text there", r.File,
			r.Gold, words.Plural(r.Changed, "has", "have"))
	}
	groups, groupOf := i.groups()
	p := i.partitions()
	r.GoldGroups, r.FoundGroups, r.Clustered = len(p.goldNames), len(p.foundIDs), len(p.rows)
	shares := func(weight []int32) []float64 { return i.shares(groupOf, weight) }
	samples, err := stats.Bootstrap(ctx, groups, i.o.Intervals.Resamples, i.o.Intervals.Seed, shares)
	if err != nil {
		return nil, err
	}
	whole := shares(nil)
	for at, f := range []*report.Figure{falseIssues: &r.FalseIssues, missed: &r.Missed, accuracy: &r.Accuracy} {
		*f = report.NewShare(whole[at], stats.Column(samples, at), i.groupsOf(at, groupOf))
	}
	i.compareVerdicts(r)
	i.nameGroups(r, p)
	i.compareGroups(r, p, groupOf, groups)
	if i.o.By != "" {
		if r.ByValue, err = i.byValue(); err != nil {
			return nil, err
		}
		r.by = i.o.By
	}
	return r, ctx.Err()
}

// byValue is the adjusted Rand index over the rows of each value.
func (i *Issues) byValue() ([]ByValue, error) {
	var values []string
	for _, g := range i.gold {
		values = append(values, g.by)
	}
	return byValue(values, func(rows []int) ([]report.Figure, error) {
		part, r := &Issues{o: i.o, gold: selectRows(i.gold, rows)}, &IssueReport{}
		groups, groupOf := part.groups()
		part.compareGroups(r, part.partitions(), groupOf, groups)
		return []report.Figure{r.ARI}, nil
	})
}

// maxBlocks is into how many parts a jackknife divides the groups of rows at most: each costs one computation.
const maxBlocks = 200

// compareGroups sets the figures of the two partitions. The interval of the adjusted Rand index is the estimate ± 1.96
// standard errors of the delete-a-block jackknife over groups of rows: a bootstrap puts copies of a row, which always
// agree, beside each other, and overstates it. The V-measure and its parts have none: they overstate agreement in small
// samples by more than an interval would be wide.
func (i *Issues) compareGroups(r *IssueReport, p *partitions, groupOf []int, groups int) {
	unknown := withoutInterval(report.Undefined)
	r.ARI, r.V, r.Homogeneity, r.Completeness = unknown, unknown, unknown, unknown
	if len(p.rows) == 0 {
		return
	}
	c := stats.NewContingency(p.gold, p.found)
	v := c.VMeasure()
	r.ARI, r.V = withoutInterval(report.Number(c.AdjustedRand())), withoutInterval(report.Number(v.V))
	r.Homogeneity = withoutInterval(report.Number(v.Homogeneity))
	r.Completeness = withoutInterval(report.Number(v.Completeness))
	blocks := min(groups, maxBlocks)
	if blocks < 2 || i.o.Intervals.Resamples == 0 {
		return
	}
	without := make([]float64, blocks)
	for b := range blocks {
		var gold, found []int
		for n, row := range p.rows {
			if groupOf[row]%blocks != b {
				gold, found = append(gold, p.gold[n]), append(found, p.found[n])
			}
		}
		without[b] = stats.NewContingency(gold, found).AdjustedRand()
	}
	e := report.Number(stats.Z * stats.JackknifeError(without))
	r.ARI.Low, r.ARI.High = r.ARI.Value-e, min(r.ARI.Value+e, 1)
}

// groups numbers the groups of rows by which intervals resample.
func (i *Issues) groups() (n int, groupOf []int) {
	groups := numbering{}
	for _, g := range i.gold {
		groupOf = append(groupOf, groups.numberOf(g.group))
	}
	return len(groups), groupOf
}

// What shares gives, in order.
const (
	falseIssues = iota
	missed
	accuracy
)

// ratio is a share of rows: so many of so many.
type ratio struct{ n, of float64 }

// ratioOf is that of one row.
func ratioOf(yes bool) ratio {
	if yes {
		return ratio{1, 1}
	}
	return ratio{0, 1}
}

// ratios are what a row adds to the shares.
func (i *Issues) ratios(row int) (out [accuracy + 1]ratio) {
	g := &i.gold[row]
	if g.found != nil && g.found.IsKnown() {
		if g.right {
			out[falseIssues] = ratioOf(g.found.Status == issues.Assigned)
		} else {
			out[missed] = ratioOf(g.found.Status == issues.None)
		}
	}
	if verdict, known := i.verdict(row); known {
		out[accuracy] = ratioOf(verdict)
	}
	return out
}

// shares are those of rows, with each group counted as often as weight says.
func (i *Issues) shares(groupOf []int, weight []int32) []float64 {
	var sums [accuracy + 1]ratio
	for row := range i.gold {
		w := stats.WeightOf(weight, groupOf[row])
		for at, r := range i.ratios(row) {
			sums[at].n += w * r.n
			sums[at].of += w * r.of
		}
	}
	out := make([]float64, len(sums))
	for at, s := range sums {
		out[at] = s.n / s.of
	}
	return out
}

// groupsOf counts the groups that a share is of.
func (i *Issues) groupsOf(at int, groupOf []int) int {
	groups := map[int]bool{}
	for row := range i.gold {
		if i.ratios(row)[at].of > 0 {
			groups[groupOf[row]] = true
		}
	}
	return len(groups)
}

// verdict tells whether a row's analysis describes the gold fault: people's verdict, else the model's. A row with a
// gold sentence in which nothing was found is wrong; known is false where nobody says.
func (i *Issues) verdict(row int) (same, known bool) {
	g := &i.gold[row]
	if g.right || g.sentence == "" || g.found == nil {
		return false, false
	}
	if same, ok := i.people[row]; ok {
		return same, true
	}
	if same, ok := i.judge[row]; ok {
		return same, true
	}
	return false, g.found.Analysis == "" && len(i.people)+len(i.judge) > 0
}

// compareVerdicts compares the model's verdicts with people's.
func (i *Issues) compareVerdicts(r *IssueReport) {
	var people, judge []bool
	for row, same := range i.people {
		if other, ok := i.judge[row]; ok {
			people, judge = append(people, same), append(judge, other)
		}
	}
	r.ByPeople, r.ByJudge, r.BothVerdicts, r.Unclear = len(i.people), len(i.judge), len(people), i.unclear
	r.JudgeAgrees = report.Number(stats.SameShare(people, judge))
	r.JudgeKappa = report.Number(stats.Kappa(people, judge))
}

// nameGroups fills in the confusion table and whether matched groups have the same meaning.
func (i *Issues) nameGroups(r *IssueReport, p *partitions) {
	r.SameMeaning = report.Undefined
	same, asked := 0, 0
	for _, m := range p.matched(i.o.List) {
		match := IssueMatch{Gold: m.gold, Found: m.found, Rows: m.rows}
		if verdict, ok := i.named[[2]string{m.gold, m.found}]; ok {
			asked++
			if match.Same = &verdict; verdict {
				same++
			}
		}
		r.Matches = append(r.Matches, match)
	}
	if asked > 0 {
		r.SameMeaning = report.Number(float64(same) / float64(asked))
	}
	for g, row := range p.counts() {
		for f, n := range row {
			if n > 0 {
				r.Confusion = append(r.Confusion, IssueCell{p.goldNames[g], p.foundIDs[f], int(n)})
			}
		}
	}
	slices.SortStableFunc(r.Confusion, func(a, b IssueCell) int { return cmp.Compare(b.Rows, a.Rows) })
}
