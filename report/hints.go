package report

import (
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// mostHinted is how many values a column has at most that is taken for one of systems.
const mostHinted = 60

// hints finds a column that may tell systems apart where none is called "system": one of another usual name with some
// values.
type hints map[string]map[string]bool // columns of the first row to their values, one more than mostHinted at most

func (h *hints) add(row *dataset.Row) {
	if *h == nil {
		*h = hints{}
		for _, name := range row.Columns() {
			if MayNameSystems(name) {
				(*h)[name] = map[string]bool{}
			}
		}
	}
	for name, values := range *h {
		if raw, ok := row.Get(name); ok && len(values) <= mostHinted && string(raw) != "null" {
			values[string(raw)] = true
		}
	}
}

// MayNameSystems tells whether a column has a usual name of those that name systems.
func MayNameSystems(column string) bool {
	usual := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(column), "_name"), "_id")
	return slices.Contains([]string{"model", "system", "generator", "run"}, usual)
}

// find gives the column with the most values; "" without any.
func (h hints) find() (column string) {
	for name, values := range h {
		n := len(values)
		if n < 2 || n > mostHinted {
			continue
		}
		if best := len(h[column]); n > best || n == best && name < column {
			column = name
		}
	}
	return column
}
