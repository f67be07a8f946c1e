package view

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Bounds of what is listed at once.
const (
	maxRows     = 1000
	maxLines    = 100
	maxPartners = 100
)

// Keys of Sort that are neither facets nor measures.
const (
	sortRow = "row"
	sortID  = "id"
)

// order makes what a Sort says comparable: keys by row, of which the least comes first; nil is the order of files.
func (x *Index) order(ctx context.Context, s Sort) (keys []float64, err error) {
	_, isMeasure := x.measures[s.Key]
	_, isFacet := x.facetAt[s.Key]
	switch {
	case s.Key == "" || s.Key == sortRow:
		for n := 0; s.Descending && n < x.rows(); n++ {
			keys = append(keys, float64(n))
		}
	case s.Key == sortID:
		var ids []int32
		ids, err = x.ids(ctx)
		for _, place := range ids {
			keys = append(keys, float64(place))
		}
	case isMeasure:
		keys, err = x.measure(ctx, s.Key)
		keys = slices.Clone(keys)
	case isFacet:
		keys, err = x.facetKeys(ctx, s.Key)
	default:
		err = queryErrorf("rows cannot be sorted by %q: it is no facet and no measure", s.Key)
	}
	for n, key := range keys {
		if math.IsNaN(key) {
			keys[n] = math.Inf(1) // last both ways
		} else if s.Descending {
			keys[n] = -key
		}
	}
	return keys, err
}

// facetKeys are the places of values, or how many there are where a row may have several.
func (x *Index) facetKeys(ctx context.Context, key string) ([]float64, error) {
	v, err := x.values(ctx, key)
	if err != nil {
		return nil, err
	}
	keys := make([]float64, x.rows())
	for n := range keys {
		set := v.row(n)
		switch {
		case v.Multi:
			for _, at := range set {
				keys[n] += float64(btoi(v.Values[at].Role == ""))
			}
		case len(set) > 0:
			keys[n] = float64(set[0])
		default:
			keys[n] = noNumber
		}
	}
	return keys, nil
}

// sorted gives the numbers below n in an order; equal ones rise.
func sorted(n int, compare func(a, b int) int) []int {
	all := upTo(n)
	slices.SortFunc(all, func(a, b int) int { return cmp.Or(compare(a, b), a-b) })
	return all
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// list is a selection in order.
type list struct {
	*selection
	keys []float64 // as of order
}

func (x *Index) list(ctx context.Context, f *Filter, s Sort) (list, error) {
	keys, err := x.order(ctx, s)
	if err != nil {
		return list{}, err
	}
	chosen, err := x.choose(ctx, f)
	return list{chosen, keys}, err
}

// compare orders two rows; it is 0 for a row and itself alone.
func (l list) compare(a, b int) int {
	if l.keys == nil {
		return a - b
	}
	return cmp.Or(cmp.Compare(l.keys[a], l.keys[b]), a-b)
}

// first gives the first rows of a list in order. It keeps at most twice as many, and of those the first.
func (l list) first(limit int) []int {
	var rows []int
	full := false // rows[limit-1] comes after limit-1 others
	for n, chosen := range l.rows {
		if !chosen || full && l.compare(n, rows[limit-1]) > 0 {
			continue
		}
		if rows = append(rows, n); len(rows) == 2*limit {
			slices.SortFunc(rows, l.compare)
			rows, full = rows[:limit], true
		}
	}
	slices.SortFunc(rows, l.compare)
	return rows[:min(limit, len(rows))]
}

// Rows implements Source.
func (x *Index) Rows(ctx context.Context, q RowsQuery) (*RowsPage, error) {
	if q.Limit < 1 || q.Limit > maxRows {
		return nil, queryErrorf("the limit is %d; it is 1 to %d", q.Limit, maxRows)
	}
	if q.Offset < 0 {
		return nil, queryErrorf("the offset is %d; it is 0 or more", q.Offset)
	}
	l, err := x.list(ctx, &q.Filter, q.Sort)
	if err != nil {
		return nil, err
	}
	from := min(q.Offset, l.total)
	rows, err := x.summaries(ctx, l.first(min(from+q.Limit, l.total))[from:])
	return &RowsPage{Total: l.total, Rows: rows}, err
}

// Row implements Source. That there is no such row is a *NoRowError.
func (x *Index) Row(ctx context.Context, q RowQuery) (*RowDetail, error) {
	if q.N < 0 || q.N >= x.rows() {
		return nil, &NoRowError{q.N}
	}
	e, err := x.entry(ctx, q.N)
	if err != nil {
		return nil, err
	}
	out := &RowDetail{Row: x.summary(q.N, e), Record: e.record}
	partners, err := x.partners(ctx, q.N, &out.Row)
	if err != nil {
		return nil, err
	}
	out.Partners, err = x.summaries(ctx, partners)
	return out, err
}

// partners are the rows of other runs that belong together with a row, then those of other systems on the same input.
func (x *Index) partners(ctx context.Context, n int, row *RowSummary) (rows []int, err error) {
	pairs, err := x.pairs(ctx)
	if err != nil {
		return nil, err
	}
	for other, number := range pairs {
		if number == pairs[n] && other != n {
			rows = append(rows, other)
		}
	}
	if system, has := row.Facets[facetSystem]; has {
		inputs, err := x.inputs(ctx)
		if err != nil {
			return nil, err
		}
		systems, err := x.values(ctx, facetSystem)
		if err != nil {
			return nil, err
		}
		same := len(rows)
		for other, input := range inputs {
			if input != inputs[n] || len(rows) >= maxPartners {
				continue
			}
			if set := systems.row(other); len(set) > 0 && set[0] != system[0] && !slices.Contains(rows[:same], other) {
				rows = append(rows, other)
			}
		}
	}
	return rows[:min(len(rows), maxPartners)], nil
}
