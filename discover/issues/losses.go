package issues

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// Losses counts what a file of another program cannot hold.
type Losses struct{ rows, issues map[string]int }

// NewLosses counts what is lost of a list's issues, if descriptions are.
func NewLosses(list *List, descriptions bool) *Losses {
	l := &Losses{rows: map[string]int{}, issues: map[string]int{}}
	for _, i := range list.Issues {
		l.add(l.issues, "descriptions", descriptions && i.Description != "")
		l.add(l.issues, "stability", i.Stability != nil)
		l.add(l.issues, "relations to error types", i.Relation != "")
	}
	return l
}

func (l *Losses) add(to map[string]int, what string, lost bool) {
	if lost {
		to[what]++
	}
}

// Add counts what is lost of a row's finding, if scores and long evaluations are.
func (l *Losses) Add(f *Finding, evaluations bool) {
	l.add(l.rows, "quotes", f.Quote != "")
	l.add(l.rows, "severities", f.Severity != 0)
	l.add(l.rows, "evidence", f.Evidence != "")
	l.add(l.rows, "findings without evidence", f.Other != nil)
	l.add(l.rows, "scores", evaluations && f.Score != nil)
	l.add(l.rows, "evaluations", evaluations && f.Evaluation != "")
}

// String says what was lost, or "" where nothing was.
func (l *Losses) String() string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(l.rows)) {
		all = append(all, fmt.Sprintf("%s of %s", what, words.Plural(l.rows[what], "row", "rows")))
	}
	for _, what := range slices.Sorted(maps.Keys(l.issues)) {
		all = append(all, fmt.Sprintf("%s of %s", what, words.Plural(l.issues[what], "issue", "issues")))
	}
	return strings.Join(all, ", ")
}
