package view

import (
	"context"
	"math"
	"slices"
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
	columns, err := x.columns(ctx, q.By)
	if err != nil {
		return nil, err
	}
	chosen, err := x.choose(ctx, &q.Filter)
	if err != nil {
		return nil, err
	}
	numbers, err := x.measure(ctx, q.Measure)
	if err != nil {
		return nil, err
	}
	m := &x.meta.Catalog.Measures[at]
	cut := binsOf(m)
	out := &Histogram{Edges: cut.edges(m), Columns: []HistogramColumn{}}
	for _, v := range columns.Values {
		out.Columns = append(out.Columns, HistogramColumn{Name: v.Name, Counts: make([]int, cut.n)})
	}
	sums, counts := make([]float64, len(out.Columns)), make([]float64, len(out.Columns)) // of one group
	var touched []int
	endGroup := func() {
		for _, c := range touched {
			out.Columns[c].addGroup(sums[c], counts[c])
			sums[c], counts[c] = 0, 0
		}
		touched = touched[:0]
	}
	all := len(m.Runs) == len(x.meta.Catalog.Runs)
	err = x.eachByGroup(ctx, chosen, func(n int) {
		if !all && !slices.Contains(m.Runs, x.runOf(n)) {
			return
		}
		for _, c := range columns.row(n) {
			if out.Columns[c].add(numbers[n], &cut) {
				if counts[c] == 0 {
					touched = append(touched, c)
				}
				sums[c] += numbers[n]
				counts[c]++
			}
		}
	}, endGroup)
	return out, err
}

// add counts a number; NaN is none.
func (h *HistogramColumn) add(x float64, cut *bins) bool {
	if math.IsNaN(x) {
		h.Missing++
		return false
	}
	h.Rows++
	h.Sum += x
	h.Counts[cut.of(x)]++
	return true
}
