package issues

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// fieldReference is the field of a task that holds a response known to be right.
const fieldReference = "reference"

// Texts are the columns that hold a row's texts, for programs that know an input, a response and a reference.
type Texts struct {
	Response  string
	Reference string // "" where the task has none
	Inputs    []Input
}

// Input is a text that the system was given.
type Input struct{ Field, Column string }

// NewTexts tells them from a task's fields, of which the first is the response; columns are those of fields that are
// read from one of another name.
func NewTexts(t *taxonomy.Taxonomy, columns map[string]string) Texts {
	var all Texts
	for i, field := range t.FieldNames() {
		column := cmp.Or(columns[field], field)
		switch {
		case i == 0:
			all.Response = column
		case field == fieldReference:
			all.Reference = column
		default:
			all.Inputs = append(all.Inputs, Input{field, column})
		}
	}
	return all
}

// Input is what the system was given in a row; of several texts each has its field's name in front.
func (t *Texts) Input(row *dataset.Row) string {
	var names, texts []string
	for _, in := range t.Inputs {
		if text := CellText(row, in.Column); text != "" {
			names, texts = append(names, in.Field), append(texts, text)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	for i := range texts {
		texts[i] = names[i] + ": " + texts[i]
	}
	return strings.Join(texts, "\n\n")
}

// TextColumns are the columns of fields: of those that may hold one, the first in which the row has a text.
func TextColumns(row *dataset.Row, candidates map[string][]string) map[string]string {
	columns := map[string]string{}
	for field, names := range candidates {
		for _, name := range names {
			raw, there := row.Get(name)
			if there && raw[0] == '"' && columns[field] == "" {
				columns[field] = name
			}
		}
	}
	return columns
}

// CellText is the text in a column, or its JSON where it is none; "" where it is absent or null.
func CellText(row *dataset.Row, column string) string {
	raw, ok := row.Get(column)
	if !ok || string(raw) == "null" {
		return ""
	}
	return dataset.PlainText(raw)
}

// RowWithout is a row's columns, without an id, but for those of these names.
func RowWithout(row *dataset.Row, names ...string) (*dataset.Row, error) {
	object := []byte{'{'}
	for _, name := range row.Columns() {
		if slices.Contains(names, name) {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, _ := row.Get(name)
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(append(object, quoted...), ':'), value...)
	}
	out, err := dataset.RowOf(json.RawMessage(append(object, '}')))
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", row.ID, err)
	}
	return out, nil
}

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
