package view

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// pairRows pairs the rows of two sides by their keys, in the order of the first. Of several rows with one key the first
// goes with the first, and so on.
func pairRows(a, b []int, keys []int32) (pairs [][2]int) {
	first, next := make([]int, len(keys)), make([]int, len(keys)) // of B, by key and by row, and one more; 0 is none
	for _, n := range slices.Backward(b) {
		next[n], first[keys[n]] = first[keys[n]], n+1
	}
	for _, n := range a {
		if m := first[keys[n]] - 1; m >= 0 {
			pairs, first[keys[n]] = append(pairs, [2]int{n, m}), next[m]
		}
	}
	return pairs
}

// side are the rows of one side.
func (x *Index) side(ctx context.Context, s Side) (rows []int, err error) {
	if s.Facet != facetRun && s.Facet != facetSystem {
		return nil, queryErrorf("a side is a value of %q or %q, not of %q", facetRun, facetSystem, s.Facet)
	}
	v, err := x.values(ctx, s.Facet)
	if err != nil {
		return nil, err
	}
	at := v.place(s.Value)
	if at < 0 {
		return nil, queryErrorf("the facet %q has no value %q", s.Facet, s.Value)
	}
	holds := v.holds(func(set []int) bool { return slices.Contains(set, at) })
	for n, set := range v.of {
		if holds[set] {
			rows = append(rows, n)
		}
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
	keys, err := x.inputs(ctx)
	if q.A.Facet == facetRun {
		keys, err = x.ids(ctx)
	}
	if err != nil {
		return nil, err
	}
	pairs := pairRows(a, b, keys)
	out := &Pairs{AloneA: len(a) - len(pairs), AloneB: len(b) - len(pairs), Values: []PairValue{},
		Measures: []PairMeasure{}, Rows: [][2]RowSummary{}}
	pairs = slices.DeleteFunc(pairs, func(p [2]int) bool { return !chosen.rows[p[0]] && !chosen.rows[p[1]] })
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

// countPairs counts pairs by who has a value, and gives those that changed.
func (x *Index) countPairs(ctx context.Context, facet *Facet, value string, pairs [][2]int,
	out *Pairs) (changed [][2]int, err error) {
	v, err := x.values(ctx, facet.Key)
	if err != nil {
		return nil, err
	}
	at := facet.place(value)
	groups, err := x.groups(ctx)
	if err != nil {
		return nil, err
	}
	unjudged, err := x.unjudged(ctx, facet)
	if err != nil {
		return nil, err
	}
	counts, sums := make([]PairValue, len(facet.Values)), newPairSums(len(facet.Values))
	for _, p := range pairs {
		a, b, group := v.row(p[0]), v.row(p[1]), groups[p[0]]
		if !facet.isKnown(a) || !facet.isKnown(b) {
			out.Unknown++
			continue
		}
		sums.pairs[group]++
		if left := union(unjudged.row(p[0]), unjudged.row(p[1])); len(left) > 0 {
			sums.leave(group, left)
			a, b = slicesWithout(a, left), slicesWithout(b, left)
		}
		differs := false
		for _, v := range a {
			if slices.Contains(b, v) {
				counts[v].Both++
			} else {
				counts[v].OnlyA++
				sums.add(group, v, -1)
				differs = differs || value == "" || v == at
			}
		}
		for _, v := range slicesWithout(b, a) {
			counts[v].OnlyB++
			sums.add(group, v, 1)
			differs = differs || value == "" || v == at
		}
		if differs {
			changed = append(changed, p)
		}
	}
	base := sums.base()
	out.Groups, out.Squares = base.Groups, base.Squares
	for v, c := range counts {
		if c.Name = facet.Values[v].Name; facet.Values[v].Role != RoleUnknown {
			sums.set(&c, v, base)
			out.Values = append(out.Values, c)
		}
	}
	return changed, nil
}

func union(a, b []int) []int { return append(slices.Clip(a), slicesWithout(b, a)...) }

// slicesWithout is what is in set and not in left.
func slicesWithout(set, left []int) []int {
	return slices.DeleteFunc(slices.Clone(set), func(v int) bool { return slices.Contains(left, v) })
}

// pairSums are, by group, the pairs that are known; of them by value those that were not judged for it; and those that
// b alone has less those that a alone has.
type pairSums struct {
	pairs         map[int32]int
	left, changes []map[int32]int
}

func newPairSums(values int) *pairSums {
	s := &pairSums{pairs: map[int32]int{}, left: make([]map[int32]int, values), changes: make([]map[int32]int, values)}
	for v := range s.changes {
		s.left[v], s.changes[v] = map[int32]int{}, map[int32]int{}
	}
	return s
}

func (s *pairSums) add(group int32, value, change int) { s.changes[value][group] += change }

// leave notes a pair that was not judged for some values.
func (s *pairSums) leave(group int32, values []int) {
	for _, v := range values {
		s.left[v][group]++
	}
}

// base is what shares are of.
func (s *pairSums) base() *CountBase {
	all := &CountBase{Groups: len(s.pairs)}
	for _, n := range s.pairs {
		all.Rows += n
		all.Squares += float64(n * n)
	}
	return all
}

// set sets what follows from the sums over groups.
func (s *pairSums) set(to *PairValue, value int, base *CountBase) {
	if left := s.left[value]; len(left) > 0 {
		less := &CountBase{}
		for group, some := range left {
			less.leave(s.pairs[group], some)
		}
		base = base.less(less)
		to.Of = base
	}
	to.Neither = base.Rows - to.Both - to.OnlyA - to.OnlyB
	for group, d := range s.changes[value] {
		to.Squares += float64(d * d)
		to.Products += float64(d * (s.pairs[group] - s.left[value][group]))
	}
}

// sumPairs adds up measures over pairs in which both rows have the number.
func (x *Index) sumPairs(ctx context.Context, pairs [][2]int, out *Pairs) error {
	groups, err := x.groups(ctx)
	if err != nil {
		return err
	}
	for i := range x.meta.Catalog.Measures {
		key := x.meta.Catalog.Measures[i].Key
		numbers, err := x.measure(ctx, key)
		if err != nil {
			return err
		}
		sum, byGroup := PairMeasure{Key: key}, map[int32][2]float64{}
		for _, p := range pairs {
			a, b := numbers[p[0]], numbers[p[1]]
			if a != a || b != b { // NaN
				continue
			}
			sum.Pairs++
			sum.SumA += a
			sum.SumB += b
			of := byGroup[groups[p[0]]]
			byGroup[groups[p[0]]] = [2]float64{of[0] + b - a, of[1] + 1}
		}
		for _, group := range slices.Sorted(maps.Keys(byGroup)) { // sums are the same each time
			sum.addGroup(byGroup[group][0], byGroup[group][1])
		}
		if sum.Pairs > 0 {
			out.Measures = append(out.Measures, sum)
		}
	}
	return nil
}
