package view

import (
	"context"
	"slices"
)

// lines are rows that stand beside each other as the columns of a facet. A row without a value stands in none.
type lines struct {
	first []bool  // of a line, by row
	next  []int32 // in the line, by row, and one more; 0 ends it
}

func (x *Index) outputLines(ctx context.Context, columns *values) (*lines, error) {
	keys, err := x.outputKeys(ctx, columns.Key)
	if err != nil {
		return nil, err
	}
	return cached(&x.cache, "lines "+columns.Key, 5*len(keys), func() (*lines, error) {
		l := &lines{make([]bool, len(keys)), make([]int32, len(keys))}
		taken, key := make([]int, len(columns.Values)), int32(-1) // rows of this key by column
		var ends []int32                                          // of this key's lines so far
		for _, n := range inOrder(keys) {
			if keys[n] != key {
				key, ends = keys[n], ends[:0]
				clear(taken)
			}
			set := columns.row(int(n))
			if len(set) == 0 {
				continue
			}
			line := taken[set[0]]
			taken[set[0]]++
			if line == len(ends) {
				l.first[n], ends = true, append(ends, n)
				continue
			}
			l.next[ends[line]], ends[line] = n+1, n
		}
		return l, nil
	})
}

// outputKeys are equal for rows that stand beside each other.
func (x *Index) outputKeys(ctx context.Context, by string) ([]int32, error) {
	if by != facetRun {
		return x.inputs(ctx)
	}
	keys, err := x.pairs(ctx)
	if keys == nil && err == nil { // one run
		keys, err = x.ids(ctx)
	}
	return keys, err
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
	for n, first := range lines.first {
		if !first {
			continue
		}
		kept = kept[:0]
		for ; n >= 0; n = int(lines.next[n]) - 1 {
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
