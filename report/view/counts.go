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

// by is a facet whose values are columns; without one there is a single column of all rows.
type by struct {
	facet  *Facet
	key    string
	chunks []*facetChunk // nil without a facet
}

func (x *Index) openBy(ctx context.Context, key string) (*by, error) {
	if key == "" {
		return &by{}, nil
	}
	facet, err := x.facet(key)
	if err != nil {
		return nil, err
	}
	if facet.Multi {
		return nil, queryErrorf("rows have several values of %q; columns are of a facet with one a row", key)
	}
	chunks, err := x.facetChunks(ctx, key)
	return &by{facet: facet, key: key, chunks: chunks}, err
}

// facetChunks are a facet's values in all chunks.
func (x *Index) facetChunks(ctx context.Context, key string) ([]*facetChunk, error) {
	all := make([]*facetChunk, x.chunks())
	return all, x.eachChunk(ctx, func(ctx context.Context, chunk int) (err error) {
		all[chunk], err = x.facetChunk(ctx, key, chunk)
		return err
	})
}

// names are those of the columns.
func (b *by) names() []string {
	if b.facet == nil {
		return []string{""}
	}
	names := make([]string, len(b.facet.Values))
	for i := range names {
		names[i] = b.facet.Values[i].Name
	}
	return names
}

// rows are those of a column in a chunk, of the chosen ones.
func (b *by) rows(column, chunk int, chosen *bitmap) *bitmap {
	if b.facet == nil {
		return chosen
	}
	rows := new(bitmap)
	b.chunks[chunk].values[column].orInto(rows)
	rows.and(chosen)
	return rows
}

// Counts implements Source.
func (x *Index) Counts(ctx context.Context, q CountsQuery) (*Counts, error) {
	facet, err := x.facet(q.Facet)
	if err != nil {
		return nil, err
	}
	columns, err := x.openBy(ctx, q.By)
	if err != nil {
		return nil, err
	}
	if n := len(columns.names()) * len(facet.Values); n > maxCells {
		return nil, queryErrorf("%q by %q has %d numbers; ask for one with fewer values", q.Facet, q.By, n)
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	values, err := x.facetChunks(ctx, q.Facet)
	if err != nil {
		return nil, err
	}
	groups := make([][]int32, x.chunks())
	err = x.eachChunk(ctx, func(ctx context.Context, chunk int) (err error) {
		groups[chunk], err = x.numbers(ctx, partGroup, chunk)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &Counts{Total: chosen.total, Columns: []CountColumn{}, Values: make([]CountValue, len(facet.Values))}
	for v := range facet.Values {
		out.Values[v] = CountValue{Name: facet.Values[v].Name, Cells: []CountCell{}}
	}
	sums := &groupSums{groups: groups, n: make([]int32, x.meta.Groups), y: make([]int32, x.meta.Groups)}
	for c, name := range columns.names() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := make([]*bitmap, x.chunks()) // of the column
		known := make([]*bitmap, x.chunks())
		for chunk := range rows {
			rows[chunk] = columns.rows(c, chunk, chosen.chunks[chunk])
			known[chunk] = facet.known(values[chunk])
			known[chunk].and(rows[chunk])
		}
		column := sums.column(name, known)
		out.Columns = append(out.Columns, column)
		for v := range facet.Values {
			cell := sums.cell(rows, values, v, facet.Values[v].Role == RoleUnknown)
			out.Values[v].Cells = append(out.Values[v].Cells, cell)
		}
		sums.forget(known)
	}
	return out, nil
}

// known are the rows of a chunk with any value that is not unknown.
func (f *Facet) known(values *facetChunk) *bitmap {
	known := new(bitmap)
	for i := range f.Values {
		if f.Values[i].Role != RoleUnknown {
			values.values[i].orInto(known)
		}
	}
	return known
}

// groupSums adds up rows by group.
type groupSums struct {
	groups [][]int32
	n      []int32 // rows of the column, by group
	y      []int32 // rows with the value
}

// column counts the rows of a column; sums of its cells need it.
func (s *groupSums) column(name string, known []*bitmap) CountColumn {
	out := CountColumn{Name: name}
	for chunk, b := range known {
		of := s.groups[chunk]
		b.each(func(i int) {
			g := of[i]
			out.Rows++
			if s.n[g] == 0 {
				out.Groups++
			}
			out.Squares += float64(2*s.n[g] + 1) // (n+1)² - n²
			s.n[g]++
		})
	}
	return out
}

// cell counts the rows with a value in the column.
func (s *groupSums) cell(rows []*bitmap, values []*facetChunk, v int, unknown bool) (out CountCell) {
	for chunk := range rows {
		of, list := s.groups[chunk], &values[chunk].values[v]
		if unknown {
			out.Rows += list.countOf(rows[chunk])
			continue
		}
		list.eachOf(rows[chunk], func(i int) {
			g := of[i]
			out.Rows++
			out.Squares += float64(2*s.y[g] + 1)
			out.Products += float64(s.n[g])
			s.y[g]++
		})
	}
	if unknown {
		return out
	}
	for chunk := range rows {
		of := s.groups[chunk]
		values[chunk].values[v].eachOf(rows[chunk], func(i int) { s.y[of[i]] = 0 })
	}
	return out
}

// forget begins the next column.
func (s *groupSums) forget(known []*bitmap) {
	for chunk, b := range known {
		of := s.groups[chunk]
		b.each(func(i int) { s.n[of[i]] = 0 })
	}
}

// relate finds for each issue the error types that stand on the same rows more often than by chance.
func (x *Index) relate(ctx context.Context) error {
	i, hasIssues := x.facetAt[facetIssue]
	l, hasLabels := x.facetAt[facetLabel]
	if !hasIssues || !hasLabels {
		return nil
	}
	issueFacet, labelFacet := &x.meta.Catalog.Facets[i], &x.meta.Catalog.Facets[l]
	both := make([][]int, len(issueFacet.Values))
	for v := range both {
		both[v] = make([]int, len(labelFacet.Values))
	}
	rows, ofIssue, ofLabel := 0, make([]int, len(issueFacet.Values)), make([]int, len(labelFacet.Values))
	for chunk := range x.chunks() {
		found, err := x.facetChunk(ctx, facetIssue, chunk)
		if err != nil {
			return err
		}
		labels, err := x.facetChunk(ctx, facetLabel, chunk)
		if err != nil {
			return err
		}
		known := issueFacet.known(found)
		known.and(labelFacet.known(labels))
		rows += known.count()
		for v := range labelFacet.Values {
			ofLabel[v] += labels.values[v].countOf(known)
		}
		for v := range issueFacet.Values {
			has := new(bitmap)
			found.values[v].orInto(has)
			has.and(known)
			if n := has.count(); n > 0 {
				ofIssue[v] += n
				for w := range labelFacet.Values {
					both[v][w] += labels.values[w].countOf(has)
				}
			}
		}
	}
	for v := range issueFacet.Values {
		if issueFacet.Values[v].Role == "" {
			issueFacet.Values[v].Related = relatedTo(labelFacet, both[v], ofLabel, ofIssue[v], rows)
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
func relatedTo(labels *Facet, both, ofLabel []int, ofIssue, rows int) (all []Related) {
	for w, v := range labels.Values {
		if v.Role != "" || both[w] == 0 {
			continue
		}
		if phi := correlation(both[w], ofIssue, ofLabel[w], rows); phi > 0 {
			all = append(all, Related{Name: v.Name, Rows: both[w], Phi: report.Number(phi)})
		}
	}
	slices.SortStableFunc(all, func(a, b Related) int { return cmp.Compare(b.Phi, a.Phi) })
	return all[:min(len(all), maxRelated)]
}
