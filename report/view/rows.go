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
	maxPartners = 100
)

// Keys of Sort that are neither facets nor measures.
const (
	sortRow = "row"
	sortID  = "id"
)

// order is a way to sort rows: keys by row, NaN last; nil is the order of files.
type order struct {
	keys       []float64
	descending bool
}

// openOrder makes what a Sort says comparable.
func (x *Index) openOrder(ctx context.Context, s Sort) (o *order, err error) {
	o = &order{descending: s.Descending}
	_, isMeasure := x.measures[s.Key]
	_, isFacet := x.facetAt[s.Key]
	switch {
	case s.Key == "" || s.Key == sortRow:
	case s.Key == sortID:
		var ids []int32
		ids, err = x.ids(ctx)
		for _, place := range ids {
			o.keys = append(o.keys, float64(place))
		}
	case isMeasure:
		o.keys, err = x.measure(ctx, s.Key)
	case isFacet:
		o.keys, err = x.facetKeys(ctx, s.Key)
	default:
		err = queryErrorf("rows cannot be sorted by %q: it is no facet and no measure", s.Key)
	}
	return o, err
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

// compare orders two rows; it is 0 for a row and itself alone.
func (o *order) compare(a, b int) int {
	if o.keys == nil && o.descending {
		return b - a
	}
	if o.keys == nil {
		return a - b
	}
	x, y := o.keys[a], o.keys[b]
	switch missing := btoi(math.IsNaN(x)) - btoi(math.IsNaN(y)); {
	case missing != 0:
		return missing
	case math.IsNaN(x) || x == y:
		return a - b
	case o.descending:
		return cmp.Compare(y, x)
	}
	return cmp.Compare(x, y)
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
	*order
}

func (x *Index) list(ctx context.Context, f *Filter, s Sort) (list, error) {
	o, err := x.openOrder(ctx, s)
	if err != nil {
		return list{}, err
	}
	chosen, err := x.choose(ctx, f)
	return list{chosen, o}, err
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
	l, err := x.list(ctx, &q.Filter, q.Sort)
	if err != nil {
		return nil, err
	}
	e, err := x.entry(ctx, q.N)
	if err != nil {
		return nil, err
	}
	out := &RowDetail{Row: x.summary(q.N, e), Record: e.record, Position: -1, Total: l.total, Previous: -1, Next: -1}
	for n := 0; l.rows[q.N] && n < len(l.rows); n++ {
		if !l.rows[n] {
			continue
		}
		switch c := l.compare(n, q.N); {
		case c < 0:
			out.Position++
			if out.Previous < 0 || l.compare(n, out.Previous) > 0 {
				out.Previous = n
			}
		case c == 0:
			out.Position++ // from -1
		case out.Next < 0 || l.compare(n, out.Next) < 0:
			out.Next = n
		}
	}
	partners, err := x.partners(ctx, q.N, &out.Row)
	if err != nil {
		return nil, err
	}
	out.Partners, err = x.summaries(ctx, partners)
	return out, err
}

// partners are the rows of other runs with the same id, then those of other systems on the same input.
func (x *Index) partners(ctx context.Context, n int, row *RowSummary) (rows []int, err error) {
	ids, err := x.ids(ctx)
	if err != nil {
		return nil, err
	}
	for other, id := range ids {
		if id == ids[n] && x.runOf(other) != row.Run {
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
