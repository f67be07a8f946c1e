package view

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
)

// Bounds of what is listed at once.
const (
	maxRows     = 1000
	maxPartners = 100
	heapRows    = 20_000 // first rows of an order that are found without sorting all
)

// Keys of Sort that are neither facets nor measures.
const (
	sortRow = "row"
	sortID  = "id"
)

// order is a way to sort rows: keys by row, NaN last; nil is the order of files.
type order struct {
	keys       [][]float64 // by chunk; nil: no row in it has one
	plain      bool
	descending bool
}

// openOrder makes what a Sort says comparable.
func (x *Index) openOrder(ctx context.Context, s Sort) (*order, error) {
	if s.Key == "" || s.Key == sortRow {
		return &order{plain: true, descending: s.Descending}, nil
	}
	o := &order{keys: make([][]float64, x.chunks()), descending: s.Descending}
	_, isMeasure := x.measures[s.Key]
	facetAt, isFacet := x.facetAt[s.Key]
	if s.Key != sortID && !isMeasure && !isFacet {
		return nil, queryErrorf("rows cannot be sorted by %q: it is no facet and no measure", s.Key)
	}
	return o, x.eachChunk(ctx, func(ctx context.Context, chunk int) (err error) {
		switch {
		case s.Key == sortID:
			o.keys[chunk], err = x.rankKeys(ctx, chunk)
		case isMeasure:
			o.keys[chunk], err = x.measureChunk(ctx, s.Key, chunk)
		default:
			o.keys[chunk], err = x.facetKeys(ctx, &x.meta.Catalog.Facets[facetAt], chunk)
		}
		return err
	})
}

func (x *Index) rankKeys(ctx context.Context, chunk int) ([]float64, error) {
	ranks, err := x.numbers(ctx, partRank, chunk)
	keys := make([]float64, len(ranks))
	for i, r := range ranks {
		keys[i] = float64(r)
	}
	return keys, err
}

// facetKeys are the places of values, or how many there are where a row may have several.
func (x *Index) facetKeys(ctx context.Context, f *Facet, chunk int) ([]float64, error) {
	values, err := x.facetChunk(ctx, f.Key, chunk)
	if err != nil {
		return nil, err
	}
	keys := make([]float64, x.chunkLen(chunk))
	if !f.Multi {
		for i := range keys {
			keys[i] = math.NaN()
		}
	}
	var all bitmap
	all.fill(0, len(keys))
	for v := range f.Values {
		values.values[v].eachOf(&all, func(i int) {
			if !f.Multi {
				keys[i] = float64(v)
			} else if f.Values[v].Role == "" {
				keys[i]++
			}
		})
	}
	return keys, nil
}

func (o *order) key(n int) float64 {
	if keys := o.keys[n/chunkRows]; keys != nil {
		return keys[n%chunkRows]
	}
	return math.NaN()
}

// compare orders two rows; it is 0 for a row and itself alone.
func (o *order) compare(a, b int) int {
	if o.plain && o.descending {
		return b - a
	}
	if o.plain {
		return a - b
	}
	x, y := o.key(a), o.key(b)
	switch missing := cmp.Compare(btoi(math.IsNaN(x)), btoi(math.IsNaN(y))); {
	case missing != 0:
		return missing
	case math.IsNaN(x) || x == y:
		return a - b
	case o.descending:
		return cmp.Compare(y, x)
	}
	return cmp.Compare(x, y)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// part gives rows of a selection in order, from offset on.
func (o *order) part(s *selection, offset, limit int) []int {
	end := min(offset+limit, s.total)
	if offset >= end {
		return nil
	}
	if o.plain {
		return plainPart(s, offset, end, o.descending)
	}
	if end <= heapRows && end < s.total {
		return o.first(s, end)[offset:]
	}
	return o.all(s)[offset:end]
}

func plainPart(s *selection, offset, end int, descending bool) []int {
	if descending {
		offset, end = s.total-end, s.total-offset
	}
	rows := make([]int, 0, end-offset)
	at := 0
	for i, b := range s.chunks {
		n := b.count()
		if at+n > offset && at < end {
			place := at
			b.each(func(p int) {
				if place >= offset && place < end {
					rows = append(rows, i*chunkRows+p)
				}
				place++
			})
		}
		at += n
	}
	if descending {
		slices.Reverse(rows)
	}
	return rows
}

// all sorts the selection.
func (o *order) all(s *selection) []int {
	if o.plain {
		return plainPart(s, 0, s.total, o.descending)
	}
	rows := make([]int, 0, s.total)
	s.each(func(n int) { rows = append(rows, n) })
	slices.SortFunc(rows, o.compare)
	return rows
}

// first finds the first rows of the order.
func (o *order) first(s *selection, n int) []int {
	h := &lastFirst{order: o}
	s.each(func(row int) {
		if len(h.rows) < n {
			heap.Push(h, row)
		} else if o.compare(row, h.rows[0]) < 0 {
			h.rows[0] = row
			heap.Fix(h, 0)
		}
	})
	slices.SortFunc(h.rows, o.compare)
	return h.rows
}

// lastFirst is a heap with the last row on top.
type lastFirst struct {
	order *order
	rows  []int
}

func (h *lastFirst) Len() int           { return len(h.rows) }
func (h *lastFirst) Less(i, j int) bool { return h.order.compare(h.rows[i], h.rows[j]) > 0 }
func (h *lastFirst) Swap(i, j int)      { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }
func (h *lastFirst) Push(v any)         { h.rows = append(h.rows, v.(int)) }
func (h *lastFirst) Pop() any {
	last := h.rows[len(h.rows)-1]
	h.rows = h.rows[:len(h.rows)-1]
	return last
}

// Rows implements Source.
func (x *Index) Rows(ctx context.Context, q RowsQuery) (*RowsPage, error) {
	if q.Limit < 1 || q.Limit > maxRows {
		return nil, queryErrorf("the limit is %d; it is 1 to %d", q.Limit, maxRows)
	}
	if q.Offset < 0 {
		return nil, queryErrorf("the offset is %d; it is 0 or more", q.Offset)
	}
	sorted, err := x.openOrder(ctx, q.Sort)
	if err != nil {
		return nil, err
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	rows, err := x.summaries(ctx, sorted.part(chosen, min(q.Offset, chosen.total), q.Limit))
	return &RowsPage{Total: chosen.total, Rows: rows}, err
}

// Row implements Source. That there is no such row is a *NoRowError.
func (x *Index) Row(ctx context.Context, q RowQuery) (*RowDetail, error) {
	if q.N < 0 || q.N >= x.rows() {
		return nil, &NoRowError{q.N}
	}
	sorted, err := x.openOrder(ctx, q.Sort)
	if err != nil {
		return nil, err
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	e, err := x.newReader().read(ctx, q.N)
	if err != nil {
		return nil, err
	}
	out := &RowDetail{Record: e.record, Position: -1, Total: chosen.total, Previous: -1, Next: -1}
	if out.Row, err = x.summary(q.N, e); err != nil {
		return nil, err
	}
	if chosen.has(q.N) {
		out.Position = 0
		chosen.each(func(n int) {
			switch c := sorted.compare(n, q.N); {
			case c < 0:
				out.Position++
				if out.Previous < 0 || sorted.compare(n, out.Previous) > 0 {
					out.Previous = n
				}
			case c > 0 && (out.Next < 0 || sorted.compare(n, out.Next) < 0):
				out.Next = n
			}
		})
	}
	partners, err := x.partners(ctx, q.N, &out.Row)
	if err != nil {
		return nil, err
	}
	out.Partners, err = x.summaries(ctx, partners)
	return out, err
}

// partners are the rows of other runs with the same id, then those of other systems on the same input.
func (x *Index) partners(ctx context.Context, n int, row *RowSummary) ([]int, error) {
	equal, err := x.equalRows(ctx, partID, n)
	if err != nil {
		return nil, err
	}
	equal = slices.DeleteFunc(equal, func(other int) bool { return x.runOf(other) == row.Run })
	system, has := row.Facets[facetSystem]
	if !has {
		return equal[:min(len(equal), maxPartners)], nil
	}
	inputs, err := x.equalRows(ctx, partInput, n)
	if err != nil {
		return nil, err
	}
	at := x.facetAt[facetSystem]
	for _, other := range inputs {
		values, err := x.facetChunk(ctx, facetSystem, other/chunkRows)
		if err != nil {
			return nil, err
		}
		for v := range x.meta.Catalog.Facets[at].Values {
			if v != system[0] && values.values[v].has(other%chunkRows) && !slices.Contains(equal, other) {
				equal = append(equal, other)
			}
		}
		if len(equal) >= maxPartners {
			break
		}
	}
	return equal[:min(len(equal), maxPartners)], nil
}

// equalRows are the other rows with the same hash, in order.
func (x *Index) equalRows(ctx context.Context, what string, n int) (rows []int, err error) {
	own, err := x.hashes(ctx, what, n/chunkRows)
	if err != nil {
		return nil, err
	}
	hash := own[n%chunkRows]
	for chunk := range x.chunks() {
		all, err := x.hashes(ctx, what, chunk)
		if err != nil {
			return nil, err
		}
		for i, h := range all {
			if other := chunk*chunkRows + i; h == hash && other != n {
				rows = append(rows, other)
			}
		}
	}
	return rows, nil
}

func (p *places) has(i int) bool {
	if p.bits != nil {
		return p.bits.has(i)
	}
	_, found := slices.BinarySearch(p.list, uint16(i)) // a chunk's places have 16 bits
	return found
}
