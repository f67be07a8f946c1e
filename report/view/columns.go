package view

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
)

// Columns are the rows of a report file: all of them, or where there are more than sample a sample of so many, drawn by
// the seed alone; then the Sample says so.
func (x *Index) Columns(ctx context.Context, sample int, seed uint64) (Columns, *Sample, error) {
	rows := upTo(x.rows())
	var drawn *Sample
	if len(rows) > sample {
		draw := rand.New(rand.NewPCG(seed, uint64(len(rows))))
		for i := range sample {
			j := i + draw.IntN(len(rows)-i)
			rows[i], rows[j] = rows[j], rows[i]
		}
		rows = rows[:sample]
		slices.Sort(rows)
		drawn = &Sample{Rows: sample, Of: x.rows(), Seed: seed}
	}
	out := Columns{Run: []int{}, ID: []string{}, Group: []int{}, Input: []int{}, Facets: map[string][][]int{},
		Measures: map[string][]*float64{}, Records: []json.RawMessage{}}
	for key := range x.facetAt {
		out.Facets[key] = make([][]int, len(rows))
	}
	for key := range x.measures {
		out.Measures[key] = make([]*float64, len(rows))
	}
	groups, err := x.ints(ctx, "groups", &x.meta.Groups)
	if err != nil {
		return out, nil, err
	}
	inputs, err := x.inputs(ctx)
	if err != nil {
		return out, nil, err
	}
	pairs, err := x.pairs(ctx)
	if err != nil {
		return out, nil, err
	}
	group, input, pair := numbering[int32]{}, numbering[int32]{}, numbering[int32]{}
	for i, n := range rows {
		e, err := x.entry(ctx, n)
		if err != nil {
			return out, nil, err
		}
		s := x.summary(n, e)
		out.Run, out.ID, out.Records = append(out.Run, s.Run), append(out.ID, s.ID), append(out.Records, e.record)
		for key := range out.Facets {
			out.Facets[key][i] = append([]int{}, s.Facets[key]...)
		}
		for key, x := range s.Measures {
			out.Measures[key][i] = x
		}
		out.Group = append(out.Group, int(group.of(groups[n])))
		out.Input = append(out.Input, int(input.of(inputs[n])))
		if pairs != nil {
			out.Pair = append(out.Pair, int(pair.of(pairs[n])))
		}
	}
	return out, drawn, nil
}

// numbering gives equal things equal numbers, from 0 by first appearance.
type numbering[K comparable] map[K]int32

func (l numbering[K]) of(x K) int32 {
	n, known := l[x]
	if !known {
		n = int32(len(l)) // rows are fewer
		l[x] = n
	}
	return n
}
