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
	rows := make([]int, x.rows())
	for i := range rows {
		rows[i] = i
	}
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
	in := x.newReader()
	var groups, inputs []uint64
	for i, n := range rows {
		e, err := in.read(ctx, n)
		if err != nil {
			return out, nil, err
		}
		s, err := x.summary(n, e)
		if err != nil {
			return out, nil, err
		}
		out.Run, out.ID, out.Records = append(out.Run, s.Run), append(out.ID, s.ID), append(out.Records, e.record)
		for key := range out.Facets {
			out.Facets[key][i] = append([]int{}, s.Facets[key]...)
		}
		for key, x := range s.Measures {
			out.Measures[key][i] = x
		}
		group, err := x.numbers(ctx, partGroup, n/chunkRows)
		if err != nil {
			return out, nil, err
		}
		input, err := x.hashes(ctx, partInput, n/chunkRows)
		if err != nil {
			return out, nil, err
		}
		groups, inputs = append(groups, uint64(group[n%chunkRows])), append(inputs, input[n%chunkRows])
	}
	out.Group, out.Input = equalNumbers(groups), equalNumbers(inputs)
	return out, drawn, nil
}

func equalNumbers(hashes []uint64) []int {
	numbers, _ := numberEqual(hashes)
	out := make([]int, len(numbers))
	for i, n := range numbers {
		out[i] = int(n)
	}
	return out
}
