package view

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// keyed is a row with what it is paired by.
type keyed struct {
	hash uint64
	row  int
}

// pairRows pairs the rows of two sides, in the order of the first. Of several rows with one key the first goes with the
// first, and so on.
func pairRows(a, b []keyed) (pairs [][2]int) {
	byKey := func(x, y keyed) int { return cmp.Or(cmp.Compare(x.hash, y.hash), cmp.Compare(x.row, y.row)) }
	slices.SortFunc(a, byKey)
	slices.SortFunc(b, byKey)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].hash < b[j].hash:
			i++
		case a[i].hash > b[j].hash:
			j++
		default: // within a key both sides go on together until one has no more
			pairs = append(pairs, [2]int{a[i].row, b[j].row})
			i++
			j++
		}
	}
	slices.SortFunc(pairs, func(x, y [2]int) int { return x[0] - y[0] })
	return pairs
}

// side are the rows of one side with their keys.
func (x *Index) side(ctx context.Context, s Side) (rows []keyed, err error) {
	if s.Facet != facetRun && s.Facet != facetSystem {
		return nil, queryErrorf("a side is a value of %q or %q, not of %q", facetRun, facetSystem, s.Facet)
	}
	facet, err := x.facet(s.Facet)
	if err != nil {
		return nil, err
	}
	at := facet.place(s.Value)
	if at < 0 {
		return nil, queryErrorf("the facet %q has no value %q", s.Facet, s.Value)
	}
	what := partInput
	if s.Facet == facetRun {
		what = partID
	}
	for chunk := range x.chunks() {
		values, err := x.facetChunk(ctx, s.Facet, chunk)
		if err != nil {
			return nil, err
		}
		hashes, err := x.hashes(ctx, what, chunk)
		if err != nil {
			return nil, err
		}
		var all bitmap
		all.fill(0, len(hashes))
		values.values[at].eachOf(&all, func(i int) { rows = append(rows, keyed{hashes[i], chunk*chunkRows + i}) })
	}
	return rows, nil
}

// checkPairs finds what is wrong with a query, but for names.
func (x *Index) checkPairs(q *PairsQuery) (*Facet, error) {
	switch {
	case q.Limit < 0 || q.Limit > maxRows:
		return nil, queryErrorf("the limit is %d; it is 0 to %d", q.Limit, maxRows)
	case q.Offset < 0:
		return nil, queryErrorf("the offset is %d; it is 0 or more", q.Offset)
	case q.A.Facet != q.B.Facet:
		return nil, queryErrorf("one side is of %q, the other of %q; compare two values of one facet", q.A.Facet, q.B.Facet)
	case q.A == q.B:
		return nil, queryErrorf("both sides are %q; compare two", q.A.Value)
	case q.Facet != facetLabel && q.Facet != facetIssue && q.Facet != facetGold &&
		!strings.HasPrefix(q.Facet, prefixVerdict):
		return nil, queryErrorf("pairs cannot be compared by %q; it is %q, %q, %q or a verdict", q.Facet, facetLabel,
			facetIssue, facetGold)
	}
	facet, err := x.facet(q.Facet)
	if err == nil && q.Value != "" && facet.place(q.Value) < 0 {
		err = queryErrorf("the facet %q has no value %q", q.Facet, q.Value)
	}
	return facet, err
}

// Pairs implements Source.
func (x *Index) Pairs(ctx context.Context, q PairsQuery) (*Pairs, error) {
	facet, err := x.checkPairs(&q)
	if err != nil {
		return nil, err
	}
	a, err := x.side(ctx, q.A)
	if err != nil {
		return nil, err
	}
	b, err := x.side(ctx, q.B)
	if err != nil {
		return nil, err
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	pairs := pairRows(a, b)
	out := &Pairs{AloneA: len(a) - len(pairs), AloneB: len(b) - len(pairs), Values: []PairValue{},
		Measures: []PairMeasure{}, Rows: [][2]RowSummary{}}
	pairs = slices.DeleteFunc(pairs, func(p [2]int) bool { return !chosen.has(p[0]) && !chosen.has(p[1]) })
	out.Pairs = len(pairs)
	changed, err := x.countPairs(ctx, facet, q.Value, pairs, out)
	if err != nil {
		return nil, err
	}
	if err := x.sumPairs(ctx, pairs, out); err != nil {
		return nil, err
	}
	out.Changed = len(changed)
	from := min(q.Offset, len(changed))
	var rows []int
	for _, p := range changed[from:min(from+q.Limit, len(changed))] {
		rows = append(rows, p[0], p[1])
	}
	all, err := x.summaries(ctx, rows)
	for i := 0; i+1 < len(all); i += 2 {
		out.Rows = append(out.Rows, [2]RowSummary{all[i], all[i+1]})
	}
	return out, err
}

// valueLists are the places of a facet's values by row.
type valueLists struct {
	starts []int32 // of a row's values; one more than rows
	values []uint16
}

func (l *valueLists) of(n int) []uint16 { return l.values[l.starts[n]:l.starts[n+1]] }

func (x *Index) valueLists(ctx context.Context, key string, n int) (*valueLists, error) {
	chunks, err := x.facetChunks(ctx, key)
	if err != nil {
		return nil, err
	}
	var all bitmap
	all.fill(0, chunkRows)
	l := &valueLists{starts: make([]int32, x.rows()+1)}
	for chunk, c := range chunks {
		for v := range n {
			c.values[v].eachOf(&all, func(i int) { l.starts[chunk*chunkRows+i+1]++ })
		}
	}
	for i := 1; i < len(l.starts); i++ {
		l.starts[i] += l.starts[i-1]
	}
	l.values = make([]uint16, l.starts[x.rows()])
	at := slices.Clone(l.starts)
	for chunk, c := range chunks {
		for v := range n {
			c.values[v].eachOf(&all, func(i int) {
				row := chunk*chunkRows + i
				l.values[at[row]] = uint16(v) // facets have no more values
				at[row]++
			})
		}
	}
	return l, nil
}

// countPairs counts pairs by who has a value, and gives those that changed.
func (x *Index) countPairs(ctx context.Context, facet *Facet, value string, pairs [][2]int,
	out *Pairs) (changed [][2]int, err error) {
	lists, err := x.valueLists(ctx, facet.Key, len(facet.Values))
	if err != nil {
		return nil, err
	}
	at := facet.place(value)
	known := func(values []uint16) bool {
		return slices.ContainsFunc(values, func(v uint16) bool { return facet.Values[v].Role != RoleUnknown })
	}
	both, onlyA, onlyB := make([]int, len(facet.Values)), make([]int, len(facet.Values)), make([]int, len(facet.Values))
	looked, sums := 0, newPairSums(len(facet.Values))
	for _, p := range pairs {
		a, b := lists.of(p[0]), lists.of(p[1])
		if !known(a) || !known(b) {
			out.Unknown++
			continue
		}
		group, err := x.groupOf(ctx, p[0])
		if err != nil {
			return nil, err
		}
		sums.pairs[group]++
		looked++
		differs := false
		for _, v := range a {
			if slices.Contains(b, v) {
				both[v]++
			} else {
				onlyA[v]++
				sums.add(group, v, -1)
				differs = differs || value == "" || int(v) == at
			}
		}
		for _, v := range b {
			if !slices.Contains(a, v) {
				onlyB[v]++
				sums.add(group, v, 1)
				differs = differs || value == "" || int(v) == at
			}
		}
		if differs {
			changed = append(changed, p)
		}
	}
	out.Groups = len(sums.pairs)
	for _, n := range sums.pairs {
		out.Squares += float64(n * n)
	}
	for v := range facet.Values {
		if facet.Values[v].Role != RoleUnknown {
			squares, products := sums.of(v)
			out.Values = append(out.Values, PairValue{Name: facet.Values[v].Name, Both: both[v], OnlyA: onlyA[v],
				OnlyB: onlyB[v], Neither: looked - both[v] - onlyA[v] - onlyB[v], Squares: squares, Products: products})
		}
	}
	return changed, nil
}

func (x *Index) groupOf(ctx context.Context, row int) (int32, error) {
	groups, err := x.numbers(ctx, partGroup, row/chunkRows)
	if err != nil {
		return 0, err
	}
	return groups[row%chunkRows], nil
}

// pairSums are, by group, the pairs that are known, and by value those that b alone has less those that a alone has.
type pairSums struct {
	pairs   map[int32]int
	changes []map[int32]int
}

func newPairSums(values int) *pairSums {
	s := &pairSums{pairs: map[int32]int{}, changes: make([]map[int32]int, values)}
	for v := range s.changes {
		s.changes[v] = map[int32]int{}
	}
	return s
}

func (s *pairSums) add(group int32, value uint16, change int) { s.changes[value][group] += change }

func (s *pairSums) of(value int) (squares, products float64) {
	for group, d := range s.changes[value] {
		squares += float64(d * d)
		products += float64(d * s.pairs[group])
	}
	return squares, products
}

// sumPairs adds up measures over pairs in which both rows have the number.
func (x *Index) sumPairs(ctx context.Context, pairs [][2]int, out *Pairs) error {
	for i := range x.meta.Catalog.Measures {
		key := x.meta.Catalog.Measures[i].Key
		numbers, err := x.openOrder(ctx, Sort{Key: key})
		if err != nil {
			return err
		}
		sum := PairMeasure{Key: key}
		for _, p := range pairs {
			a, b := numbers.key(p[0]), numbers.key(p[1])
			if a != a || b != b { // NaN
				continue
			}
			sum.Pairs++
			sum.SumA += a
			sum.SumB += b
			sum.Squares += float64((b - a) * (b - a))
		}
		if sum.Pairs > 0 {
			out.Measures = append(out.Measures, sum)
		}
	}
	return nil
}
