package issues

import (
	"cmp"
	"slices"
	"strings"

	"github.com/erreval/erreval/report"
)

// tallyExamples is how many rows stand with an issue.
const tallyExamples = 3

// Tally counts the findings of a list whose issues are known before its rows, as one that is imported.
type Tally struct {
	list *List
	at   map[string]int
}

// NewTally counts from zero into a list, whose issues have ids and names.
func NewTally(list *List) *Tally {
	t := &Tally{list: list, at: map[string]int{}}
	list.Rows, list.Assigned, list.NoIssue, list.NoComment, list.Unassigned = 0, 0, 0, 0, map[string]int{}
	for n := range list.Issues {
		i := &list.Issues[n]
		i.Count, i.Examples = 0, nil
		i.Share, i.Low, i.High, i.Severity = report.Undefined, report.Undefined, report.Undefined, report.Undefined
		t.at[i.ID] = n
	}
	return t
}

// Count counts a row by the state of its finding.
func (l *List) Count(f *Finding) {
	l.Rows++
	switch {
	case f.Status == Assigned:
		l.Assigned++
	case f.Status == None:
		l.NoIssue++
	case f.Reason == NoComment:
		l.NoComment++
	default:
		reason, _, _ := strings.Cut(f.Reason, ":")
		l.Unassigned[reason]++
	}
}

// Unknown is how many rows are unassigned though they could have been assigned.
func (l *List) Unknown() int { return l.Rows - l.Assigned - l.NoIssue - l.NoComment }

// Add counts a row's finding, whose ids are on the list. The first rows with an analysis of their own are examples.
func (t *Tally) Add(row string, f *Finding) {
	l := t.list
	l.Count(f)
	analysis := cmp.Or(f.Analysis, f.Evaluation)
	for _, id := range f.IDs {
		i := &l.Issues[t.at[id]]
		i.Count++
		said := slices.ContainsFunc(i.Examples, func(e Example) bool { return e.Analysis == analysis })
		if len(i.Examples) < tallyExamples && !said {
			i.Examples = append(i.Examples, Example{Row: row, Analysis: analysis, Quote: f.Quote})
		}
	}
}

// Finish computes shares, and puts the most frequent issues first; those of equal counts stay in their order.
func (t *Tally) Finish() {
	l := t.list
	if looked := l.Assigned + l.NoIssue; looked > 0 {
		for n := range l.Issues {
			l.Issues[n].Share = report.Number(float64(l.Issues[n].Count) / float64(looked))
		}
	}
	slices.SortStableFunc(l.Issues, func(a, b Issue) int { return cmp.Compare(b.Count, a.Count) })
}
