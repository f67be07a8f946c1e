package view

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/erreval/erreval/report"
)

// maxCells bounds the numbers of an answer.
const maxCells = 200_000

// columns gives a facet whose values are columns; without one there is a single column of all rows.
func (x *Index) columns(ctx context.Context, key string) (*values, error) {
	if key == "" {
		return &values{&Facet{Values: []Value{{}}}, [][]int{{0}}, make([]int32, x.rows())}, nil
	}
	v, err := x.values(ctx, key)
	if err == nil && v.Multi {
		err = queryErrorf("rows have several values of %q; columns are of a facet with one a row", key)
	}
	return v, err
}

// Counts implements Source.
func (x *Index) Counts(ctx context.Context, q CountsQuery) (*Counts, error) {
	v, err := x.values(ctx, q.Facet)
	if err != nil {
		return nil, err
	}
	columns, err := x.columns(ctx, q.By)
	if err != nil {
		return nil, err
	}
	if n := len(columns.Values) * len(v.Values); n > maxCells {
		return nil, queryErrorf("%q by %q has %d numbers; ask for one with fewer values", q.Facet, q.By, n)
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	unjudged, err := x.unjudged(ctx, v.Facet)
	if err != nil {
		return nil, err
	}
	sums, known := newGroupSums(columns.Facet, v.Facet), v.holds(v.isKnown)
	sums.out.Total = chosen.total
	err = x.eachByGroup(ctx, chosen, func(n int) {
		for _, c := range columns.row(n) {
			sums.add(c, v.row(n), unjudged.row(n), known[v.of[n]])
		}
	}, sums.endGroup)
	sums.setBases()
	return &sums.out, err
}

// eachByGroup calls visit for the chosen rows, group by group, and end behind each group.
func (x *Index) eachByGroup(ctx context.Context, chosen *selection, visit func(n int), end func()) error {
	groups, err := x.groups(ctx)
	if err != nil {
		return err
	}
	order, err := x.byGroup(groups)
	if err != nil {
		return err
	}
	group := int32(-1)
	for _, n := range order {
		if !chosen.rows[n] {
			continue
		}
		if groups[n] != group {
			end()
			group = groups[n]
		}
		visit(int(n))
	}
	end()
	return nil
}

// byGroup are the rows group by group.
func (x *Index) byGroup(groups []int32) ([]int32, error) {
	return cached(&x.cache, "by group", 4*len(groups), func() ([]int32, error) { return inOrder(groups), nil })
}

// inOrder are rows in the order of their keys, and of one key in that of the rows, by counting.
func inOrder(keys []int32) []int32 {
	most := int32(-1)
	for _, k := range keys {
		most = max(most, k)
	}
	begin := make([]int32, most+2) // of each key, and behind the last
	for _, k := range keys {
		begin[k+1]++
	}
	for k := range begin[1:] {
		begin[k+1] += begin[k]
	}
	order := make([]int32, len(keys))
	for n, k := range keys {
		order[begin[k]] = int32(n) // rows are fewer
		begin[k]++
	}
	return order
}

// unjudged has for each row the values of a facet for which it was not judged; nil where there are none.
func (x *Index) unjudged(ctx context.Context, facet *Facet) (*values, error) {
	if _, any := x.facetAt[facetNotJudged]; !any || facet.Key != facetLabel {
		return nil, nil
	}
	v, err := x.values(ctx, facetNotJudged)
	if err != nil {
		return nil, err
	}
	sets := make([][]int, len(v.sets))
	for i, set := range v.sets {
		for _, value := range set {
			if at := facet.place(v.Values[value].Name); at >= 0 {
				sets[i] = append(sets[i], at)
			}
		}
	}
	return &values{facet, sets, v.of}, nil
}

// groupSums adds up rows that come group by group.
type groupSums struct {
	out     Counts
	columns []int // rows of this group by column, of those that are known
	cells   []int // by value and column
	left    []int // likewise, of known rows that were not judged for the value
	touched [3][]int
	unknown []bool // by value
}

func newGroupSums(columns, facet *Facet) *groupSums {
	n := len(columns.Values)
	all := n * len(facet.Values)
	s := &groupSums{columns: make([]int, n), cells: make([]int, all), left: make([]int, all)}
	for _, column := range columns.Values {
		s.out.Columns = append(s.out.Columns, CountColumn{Name: column.Name})
	}
	for _, v := range facet.Values {
		s.out.Values = append(s.out.Values, CountValue{v.Name, make([]CountCell, n)})
		s.unknown = append(s.unknown, v.Role == RoleUnknown)
	}
	return s
}

// add counts a row of this group, with its values, and those for which it was not judged.
func (s *groupSums) add(column int, set, unjudged []int, known bool) {
	count := func(which int, numbers []int, at int) {
		if numbers[at]++; numbers[at] == 1 {
			s.touched[which] = append(s.touched[which], at)
		}
	}
	if known {
		count(0, s.columns, column)
	}
	for _, v := range set {
		count(1, s.cells, v*len(s.columns)+column)
	}
	for _, v := range unjudged {
		count(2, s.left, v*len(s.columns)+column)
	}
}

// endGroup adds the group to the sums, and begins the next one.
func (s *groupSums) endGroup() {
	for _, at := range s.touched[2] {
		v, c := at/len(s.columns), at%len(s.columns)
		cell, n := &s.out.Values[v].Cells[c], s.columns[c]
		if cell.Of == nil {
			cell.Of = &CountBase{}
		}
		cell.Of.leave(n, s.left[at])
		cell.Products -= float64(s.cells[at] * s.left[at])
		s.left[at] = 0
	}
	for _, at := range s.touched[1] {
		v, c := at/len(s.columns), at%len(s.columns)
		cell, y := &s.out.Values[v].Cells[c], s.cells[at]
		cell.Rows += y
		if !s.unknown[v] {
			cell.Squares += float64(y * y)
			cell.Products += float64(y * s.columns[c])
		}
		s.cells[at] = 0
	}
	for _, c := range s.touched[0] {
		column, n := &s.out.Columns[c], s.columns[c]
		column.Rows += n
		column.Groups++
		column.Squares += float64(n * n)
		s.columns[c] = 0
	}
	for i := range s.touched {
		s.touched[i] = s.touched[i][:0]
	}
}

// leave adds up what is less where some of the n rows of a group are left out.
func (b *CountBase) leave(n, some int) {
	b.Rows += some
	b.Groups += btoi(some == n)
	b.Squares += float64(n*n - (n-some)*(n-some))
}

// less is what is left of b.
func (b *CountBase) less(left *CountBase) *CountBase {
	return &CountBase{b.Rows - left.Rows, b.Groups - left.Groups, b.Squares - left.Squares}
}

// setBases puts what is left of the columns in the place of what is less.
func (s *groupSums) setBases() {
	for _, v := range s.out.Values {
		for c := range v.Cells {
			if cell := &v.Cells[c]; cell.Of != nil {
				cell.Of = s.out.Columns[c].less(cell.Of)
			}
		}
	}
}

// relate finds for each issue the error types that stand on the same rows more often than by chance.
func (x *Index) relate(ctx context.Context) error {
	_, hasIssues := x.facetAt[facetIssue]
	_, hasLabels := x.facetAt[facetLabel]
	if !hasIssues || !hasLabels {
		return nil
	}
	found, err := x.values(ctx, facetIssue)
	if err != nil {
		return err
	}
	labels, err := x.values(ctx, facetLabel)
	if err != nil {
		return err
	}
	unjudged, err := x.unjudged(ctx, labels.Facet)
	if err != nil {
		return err
	}
	all := newCoincidence(len(labels.Values))
	of := make([]*coincidence, len(found.Values))
	for v := range of {
		of[v] = newCoincidence(len(labels.Values))
	}
	for n := range x.rows() {
		i, l := found.row(n), labels.row(n)
		if !found.isKnown(i) || !labels.isKnown(l) {
			continue
		}
		all.add(l, unjudged.row(n))
		for _, v := range i {
			of[v].add(l, unjudged.row(n))
		}
	}
	for v := range found.Values {
		if found.Values[v].Role == "" {
			found.Values[v].Related = of[v].relatedTo(all, labels.Facet)
		}
	}
	return nil
}

// coincidence counts rows, and by error type those with it and those that were not judged for it.
type coincidence struct {
	rows           int
	with, unjudged []int
}

func newCoincidence(labels int) *coincidence {
	return &coincidence{with: make([]int, labels), unjudged: make([]int, labels)}
}

func (c *coincidence) add(labels, unjudged []int) {
	c.rows++
	for _, w := range labels {
		c.with[w]++
	}
	for _, w := range unjudged {
		c.unjudged[w]++
	}
}

// correlation is phi of two marks on n rows: on both of them, on a, on b. It is NaN where one is on all rows or none.
func correlation(both, a, b, n int) float64 {
	x, y, z, of := float64(both), float64(a), float64(b), float64(n)
	return (of*x - y*z) / math.Sqrt(y*z*(of-y)*(of-z))
}

// maxRelated is how many error types stand with an issue.
const maxRelated = 5

// relatedTo are the error types whose correlation with the counted rows among all is positive, the greatest first.
func (c *coincidence) relatedTo(all *coincidence, labels *Facet) (related []Related) {
	for w, v := range labels.Values {
		n := c.with[w]
		if v.Role != "" || n == 0 {
			continue
		}
		if phi := correlation(n, c.rows-c.unjudged[w], all.with[w], all.rows-all.unjudged[w]); phi > 0 {
			related = append(related, Related{Name: v.Name, Rows: n, Phi: report.Number(phi)})
		}
	}
	slices.SortStableFunc(related, func(a, b Related) int { return cmp.Compare(b.Phi, a.Phi) })
	return related[:min(len(related), maxRelated)]
}
