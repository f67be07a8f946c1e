package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
)

const (
	mostHinted    = 60 // values that a column has at most that is taken for one of systems
	leastHinted   = 5  // rows that each value has on average, in a column of an unusual name
	longestHinted = 40 // bytes of its values
	mostNamed     = 3  // columns of unusual names that are named
)

// hints finds columns that may tell systems apart where none is called "system": one of another usual name with some
// values, else those with few short ones.
type hints struct {
	columns map[string]map[string]bool // of the first row, to their values, one more than mostHinted at most
	rows    int
}

func (h *hints) add(row *dataset.Row) {
	if h.columns == nil {
		h.columns = map[string]map[string]bool{}
		for _, name := range row.Columns() {
			h.columns[name] = map[string]bool{}
		}
	}
	h.rows++
	for name, values := range h.columns {
		raw, ok := row.Get(name)
		switch {
		case !ok || len(values) > mostHinted || string(raw) == "null":
		case len(raw) > longestHinted && !MayNameSystems(name), raw[0] == '{', raw[0] == '[':
			delete(h.columns, name)
		default:
			values[string(raw)] = true
		}
	}
}

// MayNameSystems tells whether a column has a usual name of those that name systems.
func MayNameSystems(column string) bool {
	usual := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(column), "_name"), "_id")
	return slices.Contains([]string{"model", "system", "generator", "run"}, usual)
}

// find gives the column of a usual name with the most values, or a few others; none without any.
func (h *hints) find() (columns []string) {
	usual, most := "", 0
	for _, name := range slices.Sorted(maps.Keys(h.columns)) {
		n, named := len(h.columns[name]), MayNameSystems(name)
		switch {
		case n < 2 || n > mostHinted:
		case named && n > most:
			usual, most = name, n
		case !named && n*leastHinted <= h.rows && !hasNumbers(h.columns[name]):
			columns = append(columns, name)
		}
	}
	if usual != "" {
		return []string{usual}
	}
	return columns[:min(len(columns), mostNamed)]
}

// hasNumbers tells whether a value is a number, such as a rating, true or false.
func hasNumbers(values map[string]bool) bool {
	for v := range values {
		if _, err := strconv.ParseFloat(strings.Trim(v, `"`), 64); err == nil || v[0] != '"' {
			return true
		}
	}
	return false
}
