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
	groups, err := x.groups(ctx)
	if err != nil {
		return nil, err
	}
	order, err := x.byGroup(groups)
	if err != nil {
		return nil, err
	}
	sums, known := newGroupSums(columns.Facet, v.Facet), v.holds(v.isKnown)
	sums.out.Total = chosen.total
	group := int32(-1)
	for _, n := range order {
		if !chosen.rows[n] {
			continue
		}
		if groups[n] != group {
			sums.endGroup()
			group = groups[n]
		}
		for _, c := range columns.row(n) {
			sums.add(c, v.row(n), known[v.of[n]])
		}
	}
	sums.endGroup()
	return &sums.out, nil
}

// byGroup are the rows group by group.
func (x *Index) byGroup(groups []int32) ([]int, error) {
	return cached(&x.cache, "by group", 8*len(groups), func() ([]int, error) {
		return sorted(len(groups), func(a, b int) int { return cmp.Compare(groups[a], groups[b]) }), nil
	})
}

// groupSums adds up rows that come group by group.
type groupSums struct {
	out     Counts
	columns []int // rows of this group by column, of those that are known
	cells   []int // by value and column
	touched [2][]int
	unknown []bool // by value
}

func newGroupSums(columns, facet *Facet) *groupSums {
	n := len(columns.Values)
	s := &groupSums{columns: make([]int, n), cells: make([]int, n*len(facet.Values))}
	for _, column := range columns.Values {
		s.out.Columns = append(s.out.Columns, CountColumn{Name: column.Name})
	}
	for _, v := range facet.Values {
		s.out.Values = append(s.out.Values, CountValue{v.Name, make([]CountCell, n)})
		s.unknown = append(s.unknown, v.Role == RoleUnknown)
	}
	return s
}

// add counts a row of this group.
func (s *groupSums) add(column int, set []int, known bool) {
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
}

// endGroup adds the group to the sums, and begins the next one.
func (s *groupSums) endGroup() {
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
	s.touched[0], s.touched[1] = s.touched[0][:0], s.touched[1][:0]
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
	rows, ofIssue, ofLabel := 0, make([]int, len(found.Values)), make([]int, len(labels.Values))
	both := map[[2]int]int{}
	for n := range x.rows() {
		i, l := found.row(n), labels.row(n)
		if !found.isKnown(i) || !labels.isKnown(l) {
			continue
		}
		rows++
		for _, w := range l {
			ofLabel[w]++
		}
		for _, v := range i {
			ofIssue[v]++
			for _, w := range l {
				both[[2]int{v, w}]++
			}
		}
	}
	for v := range found.Values {
		if found.Values[v].Role == "" {
			found.Values[v].Related = relatedTo(v, labels.Facet, both, ofLabel, ofIssue[v], rows)
		}
	}
	return nil
}

// correlation is phi of two marks on n rows: on both of them, on a, on b. It is NaN where one is on all rows or none.
func correlation(both, a, b, n int) float64 {
	x, y, z, of := float64(both), float64(a), float64(b), float64(n)
	return (of*x - y*z) / math.Sqrt(y*z*(of-y)*(of-z))
}

// maxRelated is how many error types stand with an issue.
const maxRelated = 5

// relatedTo are the error types with a positive correlation, the greatest first.
func relatedTo(issue int, labels *Facet, both map[[2]int]int, ofLabel []int, ofIssue, rows int) (all []Related) {
	for w, v := range labels.Values {
		n := both[[2]int{issue, w}]
		if v.Role != "" || n == 0 {
			continue
		}
		if phi := correlation(n, ofIssue, ofLabel[w], rows); phi > 0 {
			all = append(all, Related{Name: v.Name, Rows: n, Phi: report.Number(phi)})
		}
	}
	slices.SortStableFunc(all, func(a, b Related) int { return cmp.Compare(b.Phi, a.Phi) })
	return all[:min(len(all), maxRelated)]
}
