package evaluation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// OptionError says that an option is wrong, or does not fit the rows. Its text names the option as the command does.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }

func optionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Errorf(format, args...)}
}

// unfit is a report.ErrUnfit in the words of another error.
type unfit struct{ error }

func (unfit) Unwrap() error { return report.ErrUnfit }

// GroupOf gives what the rows of a group share: the text of a task's field, or the JSON of any other column. Without a
// group it is the row's id. A row without that column is an *OptionError.
func GroupOf(row *dataset.Row, t *taxonomy.Taxonomy, group string) (string, error) {
	if group == "" {
		return row.ID, nil
	}
	if i := slices.Index(t.FieldNames(), group); i >= 0 {
		return row.Values[i], nil
	}
	raw, ok := row.Get(group)
	if !ok {
		return "", optionErrorf("--group: %w", noColumn(row, group))
	}
	return string(raw), nil
}

func noColumn(row *dataset.Row, column string) error {
	return fmt.Errorf("row %s has no column %q; the columns are %s", row.ID, column, strings.Join(row.Columns(), ", "))
}

// numbering gives names the numbers 0, 1, 2 … in order of appearance.
type numbering map[string]int

func (n numbering) of(name string) int {
	if _, ok := n[name]; !ok {
		n[name] = len(n)
	}
	return n[name]
}

// pick takes some rows' values out of those of all rows.
func pick[T any](all []T, rows []int) []T {
	out := make([]T, len(rows))
	for j, i := range rows {
		out[j] = all[i]
	}
	return out
}

// FileWarning says what the figures leave out of a file.
type FileWarning struct {
	Faults []error  // lines that are no rows, each a *dataset.LineError
	Notes  []string // one line each
}

func (w FileWarning) isAny() bool { return len(w.Faults)+len(w.Notes) > 0 }

func countDuplicates(faults []error) int {
	n := 0
	for _, err := range faults {
		if twice := (*dataset.DuplicateIDError)(nil); errors.As(err, &twice) {
			n++
		}
	}
	return n
}
