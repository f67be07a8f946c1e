package view

import (
	"context"
	"slices"
)

// outputLines are rows that stand beside each other as the columns of a facet: lines of row numbers, in the order of
// their first rows. A row without a value stands in none.
func (x *Index) outputLines(ctx context.Context, columns *values) ([][]int, error) {
	keys, err := x.outputKeys(ctx, columns.Key)
	if err != nil {
		return nil, err
	}
	return cached(&x.cache, "lines "+columns.Key, 32*len(keys), func() (lines [][]int, _ error) {
		type place struct {
			key    int32
			column int
		}
		taken := map[place]int{} // rows by key and column
		of := map[int32][]int{}  // lines by key
		for n, key := range keys {
			set := columns.row(n)
			if len(set) == 0 {
				continue
			}
			at := place{key, set[0]}
			if taken[at] == len(of[key]) {
				of[key], lines = append(of[key], len(lines)), append(lines, nil)
			}
			line := of[key][taken[at]]
			taken[at]++
			lines[line] = append(lines[line], n)
		}
		return lines, nil
	})
}

// outputKeys are equal for rows that stand beside each other.
func (x *Index) outputKeys(ctx context.Context, by string) ([]int32, error) {
	ids, err := x.ids(ctx)
	last := int32(len(ids) - 1) // the number of an id where no two rows have the same
	if err != nil || by == facetRun && !slices.Contains(ids, last) {
		return ids, err
	}
	return x.inputs(ctx)
}

// checkOutputs finds what is wrong with a query, but for names.
func checkOutputs(q *OutputsQuery) error {
	switch {
	case q.Limit < 1 || q.Limit > maxLines:
		return queryErrorf("the limit is %d; it is 1 to %d", q.Limit, maxLines)
	case q.Offset < 0:
		return queryErrorf("the offset is %d; it is 0 or more", q.Offset)
	case q.By != facetRun && q.By != facetSystem:
		return queryErrorf("columns of outputs are of %q or %q, not of %q", facetRun, facetSystem, q.By)
	}
	return nil
}

// Outputs implements Source.
func (x *Index) Outputs(ctx context.Context, q OutputsQuery) (*Outputs, error) {
	if err := checkOutputs(&q); err != nil {
		return nil, err
	}
	columns, err := x.values(ctx, q.By)
	if err != nil {
		return nil, err
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	shown, err := x.choose(ctx, &Filter{Facets: map[string]Condition{q.By: q.Filter.Facets[q.By]}})
	if err != nil {
		return nil, err
	}
	differ, err := x.differ(ctx, q.Differ)
	if err != nil {
		return nil, err
	}
	lines, err := x.outputLines(ctx, columns)
	if err != nil {
		return nil, err
	}
	out := &Outputs{Rows: [][]RowSummary{}}
	for n, in := range chosen.rows {
		out.Without += btoi(in && len(columns.row(n)) == 0)
	}
	var kept []int
	for _, line := range lines {
		kept = kept[:0]
		for _, n := range line {
			if shown.rows[n] {
				kept = append(kept, n)
			}
		}
		if !slices.ContainsFunc(kept, func(n int) bool { return chosen.rows[n] }) || !differ(kept) {
			continue
		}
		if out.Total++; out.Total > q.Offset && len(out.Rows) < q.Limit {
			rows, err := x.summaries(ctx, kept)
			if err != nil {
				return nil, err
			}
			out.Rows = append(out.Rows, rows)
		}
	}
	return out, nil
}

// differ tells of rows whether those of which a facet is known differ in it; without a facet any do.
func (x *Index) differ(ctx context.Context, key string) (func(rows []int) bool, error) {
	if key == "" {
		return func([]int) bool { return true }, nil
	}
	v, err := x.values(ctx, key)
	if err != nil {
		return nil, err
	}
	return func(rows []int) bool {
		var first []int
		for _, n := range rows {
			set := v.row(n)
			if !v.isKnown(set) {
				continue
			}
			if first != nil && !slices.Equal(first, set) {
				return true
			}
			first = set
		}
		return false
	}, nil
}
