package evaluation

import (
	"slices"

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

// names are the names in the order of their numbers.
func (n numbering) names() []string {
	out := make([]string, len(n))
	for name, at := range n {
		out[at] = name
	}
	return out
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

// ByValue are the figures of the rows that have a value in the column of --by.
type ByValue struct {
	Value   string          `json:"value"`
	Rows    int             `json:"rows"`
	Figures []report.Figure `json:"figures"` // the main figure, of each file
}

// valueBy gives a row's value in the column of --by; "" without one.
func valueBy(row *dataset.Row, column string) (string, error) {
	if column == "" {
		return "", nil
	}
	value, _, err := report.SystemOf(row, column)
	return value, err
}

// byValue computes the figures of each value, by name; values has that of each row.
func byValue(values []string, figures func(rows []int) ([]report.Figure, error)) (by []ByValue, err error) {
	rows := map[string][]int{}
	for i, value := range values {
		rows[value] = append(rows[value], i)
	}
	if len(rows) > report.MostSystems {
		return nil, report.OptionErrorf("--by: more than %d different values; choose a column that names systems",
			report.MostSystems)
	}
	for _, value := range slices.Compact(slices.Sorted(slices.Values(values))) {
		f, err := figures(rows[value])
		if err != nil {
			return nil, err
		}
		by = append(by, ByValue{value, len(rows[value]), f})
	}
	return by, nil
}

// sectionBy prints the figures of each value; no section where there are none.
func sectionBy(by []ByValue, column, figure string, files []string) []report.Section {
	if len(by) == 0 {
		return nil
	}
	titles := []string{column, "rows"}
	for _, file := range files {
		if len(files) > 1 {
			file = figure + ", " + file
		} else {
			file = figure
		}
		titles = append(titles, file)
	}
	table := report.NewTable(titles...)
	table.Clip = true
	for _, one := range by {
		line := []any{one.Value, one.Rows}
		for _, f := range one.Figures {
			line = append(line, f.As("%.3f"))
		}
		table.Rows = append(table.Rows, line)
	}
	return []report.Section{{Title: figure + " by " + column, Table: table}}
}
