// Package issues is what "erreval discover" finds, as it stands in files. That is the Finding of each row, in its
// column "issues", and the List of all issues, in OUT.issues.json.
package issues

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm/reply"
)

// Column holds a row's Finding.
const Column = "issues"

// States of a row. Unknown is never "no issue".
const (
	Assigned   = "assigned"   // it has one of the listed issues, or several
	None       = "no_issue"   // it was looked at, and nothing was found
	Unassigned = "unassigned" // Reason says why
)

// Reasons why a row is unassigned, besides those of replies (see package reply).
const (
	Unfounded  = "unfounded"  // the words that were to show the issue do not stand in the texts
	Unlisted   = "unlisted"   // something is wrong with it, and none of the listed issues is that
	Untagged   = "untagged"   // there are no labels to go by
	Unanalysed = "unanalysed" // the row has no sentence that says what is wrong
	NoComment  = "no_comment" // nobody wrote a comment on the row; such rows are counted apart from the others
)

// UnlistedName is shown for Unlisted where rows are counted by issue.
const UnlistedName = "A fault assigned to no issue"

// Reasons are those why a row may be unassigned.
func Reasons() []string {
	return []string{reply.Refused, reply.Filtered, reply.Cut, reply.Missing, reply.Ambiguous, reply.Unavailable,
		reply.UnknownIssue, Unfounded, Unlisted, Untagged, Unanalysed, NoComment}
}

// Finding is what was found in a row.
type Finding struct {
	Status     string   `json:"status"`               // Assigned, None or Unassigned
	IDs        []string `json:"ids,omitempty"`        // of issues on the list; exactly where Status is Assigned
	Reason     string   `json:"reason,omitempty"`     // why unassigned: a reason, perhaps with a colon and details
	Unsorted   bool     `json:"unsorted,omitempty"`   // unassigned, though something is wrong: it could not be sorted
	Analysis   string   `json:"analysis,omitempty"`   // what is wrong, in a sentence or a few
	Quote      string   `json:"quote,omitempty"`      // words of the row's texts that show it
	Severity   int      `json:"severity,omitempty"`   // 1 hardly minded, 2 clearly worse, 3 useless; 0 not given
	Score      *float64 `json:"score,omitempty"`      // 0 to 1, of an evaluation by criteria
	Evaluation string   `json:"evaluation,omitempty"` // the long form of Analysis
	Evidence   string   `json:"evidence,omitempty"`   // "labels" where the model was shown the row's labels
	Other      *Finding `json:"other,omitempty"`      // without evidence, where the row was analysed in both ways
}

// IDs gives the ids of a row's issues, as Finding.Found does; false also where the column holds something else.
func IDs(row *dataset.Row) (ids []string, known bool) {
	f, err := Of(row)
	if f == nil || err != nil {
		return nil, false
	}
	return f.Found()
}

// Found gives the ids of a row's issues, of which Unlisted stands for a fault that is assigned to none; false where it
// is not known whether the row has a fault.
func (f *Finding) Found() (ids []string, known bool) {
	if f.Reason == Unlisted || f.Unsorted {
		return []string{Unlisted}, true
	}
	return f.IDs, f.Status != Unassigned
}

// Of reads a row's finding: nil without an error if the column is absent or null.
func Of(row *dataset.Row) (*Finding, error) {
	raw, err := row.Object(Column)
	if raw == nil || err != nil {
		return nil, err
	}
	f := &Finding{}
	if err = json.Unmarshal(raw, f); err == nil {
		err = f.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", row.ID, Column, err)
	}
	return f, nil
}

// IsKnown tells whether it is known which of the listed issues the row has: one that has none of them may be unlisted.
// Shares are of such rows.
func (f *Finding) IsKnown() bool { return f.Status != Unassigned || f.Reason == Unlisted }

// Set puts the finding into the row's column.
func (f *Finding) Set(row *dataset.Row) error { return row.Set(Column, f) }

func (f *Finding) validate() error {
	switch {
	case !slices.Contains([]string{Assigned, None, Unassigned}, f.Status):
		return fmt.Errorf("unknown status %q; it is %s, %s or %s", f.Status, Assigned, None, Unassigned)
	case f.Status == Assigned && len(f.IDs) == 0:
		return errors.New("assigned to no issue: \"ids\" is empty")
	case f.Status != Assigned && len(f.IDs) > 0:
		return fmt.Errorf("%q beside the issues %q", f.Status, f.IDs)
	case f.Unsorted && f.Status != Unassigned:
		return fmt.Errorf("%q beside \"unsorted\"", f.Status)
	case f.Severity < 0 || f.Severity > 3:
		return fmt.Errorf("severity %d; it is 1 to 3, or absent", f.Severity)
	case f.Score != nil && !(*f.Score >= 0 && *f.Score <= 1):
		return fmt.Errorf("score %v is not within 0 and 1", *f.Score)
	}
	return nil
}
