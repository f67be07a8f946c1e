package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

// pairRows adds to pairs the other rows of two sides by their keys, in the order of the first side's rows. Of several
// rows with one key, as many on either side, the first goes with the first, and so on, as the sides have them: of more
// on one side, chance would choose.
func pairRows(a, b []int, keys []int32, pairs [][2]int) [][2]int {
	paired := make([]bool, len(keys))
	for _, p := range pairs {
		paired[p[0]], paired[p[1]] = true, true
	}
	left := func(rows []int) []int {
		return slices.DeleteFunc(slices.Clone(rows), func(n int) bool { return paired[n] })
	}
	a, b = left(a), left(b)
	more := make([]int, len(keys)) // rows of A less those of B
	for _, n := range a {
		more[keys[n]]++
	}
	for _, n := range b {
		more[keys[n]]--
	}
	first, next := make([]int, len(keys)), make([]int, len(keys)) // of B, by key and by row, and one more; 0 is none
	for _, n := range slices.Backward(b) {
		next[n], first[keys[n]] = first[keys[n]], n+1
	}
	for _, n := range a {
		if m := first[keys[n]] - 1; m >= 0 && more[keys[n]] == 0 {
			pairs, first[keys[n]] = append(pairs, [2]int{n, m}), next[m]
		}
	}
	slices.SortFunc(pairs, func(p, q [2]int) int { return p[0] - q[0] })
	return pairs
}

// missed counts the rows of each side without a partner that are of groups in which the other side has rows.
func missed(a, b []int, pairs [][2]int, groups []int32) (ofA, ofB int) {
	var counts, paired [2]map[int32]int
	for side, rows := range [][]int{a, b} {
		counts[side], paired[side] = map[int32]int{}, map[int32]int{}
		for _, n := range rows {
			counts[side][groups[n]]++
		}
		for _, p := range pairs {
			paired[side][groups[p[side]]]++
		}
	}
	for g, n := range counts[0] {
		if m := counts[1][g]; m > 0 {
			ofA, ofB = ofA+n-paired[0][g], ofB+m-paired[1][g]
		}
	}
	return ofA, ofB
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

// Sides that alone have a value (PairsQuery.Only).
const onlyA, onlyB = "a", "b"

// checkPairs finds what is wrong with a query, but for names.
func (x *Index) checkPairs(q *PairsQuery) (*Facet, error) {
	switch {
	case q.Limit < 0 || q.Limit > maxRows:
		return nil, queryErrorf("the limit is %d; it is 0 to %d", q.Limit, maxRows)
	case q.Offset < 0:
		return nil, queryErrorf("the offset is %d; it is 0 or more", q.Offset)
	case q.A.Facet != q.B.Facet:
		return nil, queryErrorf("one side is of %q, the other of %q; compare two values of one facet", q.A.Facet, q.B.Facet)
	case q.Only != "" && q.Only != onlyA && q.Only != onlyB:
		return nil, queryErrorf("only is %q; it is %q, %q or left out", q.Only, onlyA, onlyB)
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
	pairs, out, err := x.pairSides(ctx, q.A.Facet, a, b)
	if err != nil {
		return nil, err
	}
	pairs = slices.DeleteFunc(pairs, func(p [2]int) bool { return !chosen.rows[p[0]] && !chosen.rows[p[1]] })
	out.Pairs = len(pairs)
	changed, err := x.countPairs(ctx, facet, &q, pairs, out)
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

// pairSides pairs the rows of two sides of a facet, and counts those without a partner.
func (x *Index) pairSides(ctx context.Context, facet string, a, b []int) (pairs [][2]int, out *Pairs, err error) {
	out = &Pairs{Values: []PairValue{}, Measures: []PairMeasure{}, Rows: [][2]RowSummary{}}
	keysOf := x.inputs
	if facet == facetRun {
		keysOf = x.pairs
	}
	keys, keysErr := keysOf(ctx)
	groups, groupsErr := x.groups(ctx)
	ids, idsErr := x.ids(ctx)
	if err := errors.Join(keysErr, groupsErr, idsErr); err != nil {
		return nil, nil, err
	}
	if facet != facetRun {
		for _, rows := range [][]int{a, b} { // whatever the order of the file
			slices.SortStableFunc(rows, func(n, m int) int { return cmp.Compare(ids[n], ids[m]) })
		}
	}
	if pairs = pairRows(a, b, keys, nil); facet != facetRun { // and what is left of groups
		pairs = pairRows(a, b, groups, pairs)
	}
	out.MissedA, out.MissedB = missed(a, b, pairs, groups)
	out.Paired, out.AloneA, out.AloneB = len(pairs), len(a)-len(pairs), len(b)-len(pairs)
	return pairs, out, nil
}

// countPairs counts pairs by who has a value, and gives those that changed.
func (x *Index) countPairs(ctx context.Context, facet *Facet, q *PairsQuery, pairs [][2]int,
	out *Pairs) (changed [][2]int, err error) {
	v, err := x.values(ctx, facet.Key)
	if err != nil {
		return nil, err
	}
	at := facet.place(q.Value)
	wanted := func(v int, by string) bool { return (q.Value == "" || v == at) && (q.Only == "" || q.Only == by) }
	groups, err := x.groups(ctx)
	if err != nil {
		return nil, err
	}
	unjudged, err := x.unjudged(ctx, facet)
	if err != nil {
		return nil, err
	}
	sums, group := newPairSums(len(facet.Values)), int32(-1)
	for _, p := range inGroups(pairs, groups) {
		a, b := v.row(p[0]), v.row(p[1])
		if !facet.isKnown(a) || !facet.isKnown(b) {
			out.Unknown++
			continue
		}
		if groups[p[0]] != group {
			sums.endGroup()
			group = groups[p[0]]
		}
		sums.pairs++
		if left := leftOf(facet, unjudged.row(p[0]), unjudged.row(p[1])); len(left) > 0 {
			sums.leave(left)
			a, b = slicesWithout(a, left), slicesWithout(b, left)
		}
		differs := false
		for _, v := range a {
			if slices.Contains(b, v) {
				sums.values[v].Both++
			} else {
				sums.values[v].OnlyA++
				sums.add(v, -1)
				differs = differs || wanted(v, onlyA)
			}
		}
		for _, v := range slicesWithout(b, a) {
			sums.values[v].OnlyB++
			sums.add(v, 1)
			differs = differs || wanted(v, onlyB)
		}
		if differs {
			changed = append(changed, p)
		}
	}
	sums.endGroup()
	out.Groups, out.Squares = sums.base.Groups, sums.base.Squares
	for v := range facet.Values {
		if facet.Values[v].Role != RoleUnknown {
			out.Values = append(out.Values, sums.of(v, facet.Values[v].Name))
		}
	}
	slices.SortFunc(changed, func(p, q [2]int) int { return p[0] - q[0] })
	return changed, nil
}

// inGroups are the pairs group by group, each of its first row's group.
func inGroups(pairs [][2]int, groups []int32) [][2]int {
	order := func(p, q [2]int) int { return cmp.Compare(groups[p[0]], groups[q[0]]) }
	if slices.IsSortedFunc(pairs, order) {
		return pairs
	}
	return slices.SortedStableFunc(slices.Values(pairs), order)
}

// leftOf are the values for which a pair was not judged. Rows that were not judged for the same errors do not compare
// as rows without one, either: one of them may be so for that alone.
func leftOf(facet *Facet, a, b []int) []int {
	left := append(slices.Clip(a), slicesWithout(b, a)...)
	if len(left) > min(len(a), len(b)) {
		for v := range facet.Values {
			if facet.Values[v].Role == RoleNone {
				left = append(left, v)
			}
		}
	}
	return left
}

// slicesWithout is what is in set and not in left.
func slicesWithout(set, left []int) []int {
	return slices.DeleteFunc(slices.Clone(set), func(v int) bool { return slices.Contains(left, v) })
}

// pairSums adds up pairs that come group by group.
type pairSums struct {
	values []PairValue
	base   CountBase   // of all pairs
	less   []CountBase // by value, of those that were not judged for it

	pairs         int   // of this group
	left, changes []int // likewise by value: not judged for it; what b alone has less what a alone has
	touched       []int // values
}

func newPairSums(values int) *pairSums {
	return &pairSums{values: make([]PairValue, values), less: make([]CountBase, values), left: make([]int, values),
		changes: make([]int, values)}
}

func (s *pairSums) touch(value int) {
	if s.left[value] == 0 && s.changes[value] == 0 {
		s.touched = append(s.touched, value)
	}
}

// leave notes a pair that was not judged for some values.
func (s *pairSums) leave(values []int) {
	for _, v := range values {
		s.touch(v)
		s.left[v]++
	}
}

func (s *pairSums) add(value, change int) {
	s.touch(value)
	s.changes[value] += change
}

// endGroup adds the group to the sums, and begins the next one.
func (s *pairSums) endGroup() {
	if s.pairs == 0 {
		return
	}
	s.base.leave(s.pairs, s.pairs)
	for _, v := range s.touched {
		if s.left[v] > 0 {
			s.less[v].leave(s.pairs, s.left[v])
		}
		s.values[v].Squares += float64(s.changes[v] * s.changes[v])
		s.values[v].Products += float64(s.changes[v] * (s.pairs - s.left[v]))
		s.left[v], s.changes[v] = 0, 0
	}
	s.pairs, s.touched = 0, s.touched[:0]
}

// of is what came of a value.
func (s *pairSums) of(value int, name string) PairValue {
	c, base := s.values[value], &s.base
	if s.less[value].Rows > 0 {
		base = base.less(&s.less[value])
		c.Of = base
	}
	c.Name, c.Neither = name, base.Rows-c.Both-c.OnlyA-c.OnlyB
	return c
}

// sumPairs adds up measures over pairs in which both rows have the number.
func (x *Index) sumPairs(ctx context.Context, pairs [][2]int, out *Pairs) error {
	groups, err := x.groups(ctx)
	if err != nil {
		return err
	}
	pairs = inGroups(pairs, groups)
	for i := range x.meta.Catalog.Measures {
		key := x.meta.Catalog.Measures[i].Key
		numbers, err := x.measure(ctx, key)
		if err != nil {
			return err
		}
		sum := PairMeasure{Key: key}
		group, change, n := int32(-1), 0.0, 0.0 // of this group
		for _, p := range pairs {
			a, b := numbers[p[0]], numbers[p[1]]
			if a != a || b != b { // NaN
				continue
			}
			if groups[p[0]] != group && n > 0 {
				sum.addGroup(change, n)
				change, n = 0, 0
			}
			group = groups[p[0]]
			sum.Pairs++
			sum.SumA += a
			sum.SumB += b
			change, n = change+b-a, n+1
		}
		if sum.Pairs > 0 {
			sum.addGroup(change, n)
			out.Measures = append(out.Measures, sum)
		}
	}
	return nil
}
