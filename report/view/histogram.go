package view

import (
	"context"
	"math"
)

// Numbers of bins: where any number may come, and the most where each possible value has its own.
const (
	evenBins  = 20
	valueBins = 21
)

// bins cut a measure's scale.
type bins struct {
	low, width float64 // of all, and of each; the width is 0 where there is one bin
	scale      float64 // bins in high - low; 0: each is of width
	span       float64 // high - low
	n          int
}

func binsOf(m *Measure) bins {
	if m.High == m.Low {
		return bins{low: m.Low, n: 1}
	}
	span := m.High - m.Low
	if m.Step > 0 {
		if n := math.Round(span/m.Step) + 1; n <= valueBins {
			return bins{low: m.Low - m.Step/2, width: m.Step, n: int(n)}
		}
	}
	return bins{low: m.Low, span: span, scale: evenBins, n: evenBins}
}

// of is the bin of a number. The conversions keep processors from rounding a product and a difference once.
func (b *bins) of(x float64) int {
	at := 0.0
	switch {
	case b.n == 1:
		return 0
	case b.scale > 0:
		at = float64((x-b.low)/b.span) * b.scale
	default:
		at = (x - b.low) / b.width
	}
	return int(math.Floor(max(0, min(at, float64(b.n-1)))))
}

func (b *bins) edges(m *Measure) []float64 {
	if b.n == 1 {
		return []float64{m.Low, m.High}
	}
	edges := make([]float64, b.n+1)
	for i := range edges {
		if b.scale > 0 {
			edges[i] = m.Low + float64(float64(b.span*float64(i))/b.scale)
		} else {
			edges[i] = b.low + float64(b.width*float64(i))
		}
	}
	return edges
}

// Histogram implements Source.
func (x *Index) Histogram(ctx context.Context, q HistogramQuery) (*Histogram, error) {
	at, ok := x.measures[q.Measure]
	if !ok {
		return nil, queryErrorf("there is no measure %q", q.Measure)
	}
	columns, err := x.openBy(ctx, q.By)
	if err != nil {
		return nil, err
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	m := &x.meta.Catalog.Measures[at]
	cut := binsOf(m)
	out := &Histogram{Edges: cut.edges(m), Columns: []HistogramColumn{}}
	for _, name := range columns.names() {
		out.Columns = append(out.Columns, HistogramColumn{Name: name, Counts: make([]int, cut.n)})
	}
	for chunk := range x.chunks() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		numbers, err := x.measureChunk(ctx, q.Measure, chunk)
		if err != nil {
			return nil, err
		}
		among := *chosen.chunks[chunk]
		among.and(x.runRows(m.Runs, chunk))
		for c := range out.Columns {
			out.Columns[c].add(columns.rows(c, chunk, &among), numbers, &cut)
		}
	}
	return out, nil
}

// runRows marks the rows of a chunk that belong to some runs, whose rows stand run by run.
func (x *Index) runRows(runs []int, chunk int) *bitmap {
	rows, first := new(bitmap), chunk*chunkRows
	for _, run := range runs {
		rows.fill(max(x.meta.Starts[run]-first, 0), min(x.meta.Starts[run+1]-first, x.chunkLen(chunk)))
	}
	return rows
}

// add counts the numbers of a chunk's rows; nil are none.
func (h *HistogramColumn) add(rows *bitmap, numbers []float64, cut *bins) {
	if numbers == nil {
		h.Missing += rows.count()
		return
	}
	rows.each(func(i int) {
		v := numbers[i]
		if math.IsNaN(v) {
			h.Missing++
			return
		}
		h.Rows++
		h.Sum += v
		h.Squares += float64(v * v)
		h.Counts[cut.of(v)]++
	})
}
