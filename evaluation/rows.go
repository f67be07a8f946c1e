package evaluation

import (
	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
)

// OptionError says that an option is wrong, or does not fit the rows. Its text names the option as the command does.
type OptionError = report.OptionError

// numbering gives names the numbers 0, 1, 2 … in order of appearance.
type numbering map[string]int

func (n numbering) numberOf(name string) int {
	if _, ok := n[name]; !ok {
		n[name] = len(n)
	}
	return n[name]
}

// selectRows selects the values of some rows from those of all rows.
func selectRows[T any](all []T, rows []int) []T {
	out := make([]T, len(rows))
	for j, i := range rows {
		out[j] = all[i]
	}
	return out
}

// isRepeated tells whether a row before this one in its file has the same given id.
func isRepeated(r *dataset.Row) bool { return r.GivenID() != "" && r.GivenID() != r.ID }
