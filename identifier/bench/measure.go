package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
)

// Count returns the operations that a graph executes for rows of the lengths given, one row a Run, and its products
// with weights. openTraced opens the graph with a trace of that prefix, which is written to dir.
//
// The operations of an encoder are a polynomial of second degree in the number of tokens (weights times tokens, tokens
// times tokens), so three lengths are run and tell all others.
func Count(ctx context.Context, openTraced func(profile string) (*ort.Runner, error), labels int, lengths []int,
	dir string) (Operations, []ort.Product, error) {
	runner, err := openTraced(filepath.Join(dir, "trace"))
	if err != nil {
		return Operations{}, nil, err
	}
	sampled := sampleLengths(lengths)
	for _, n := range sampled {
		if err = runner.Run(ctx, zeroInput(n), make([]float32, labels)); err != nil {
			break
		}
	}
	if closeErr := runner.Close(); err == nil { // Close writes the trace
		err = closeErr
	}
	if err != nil {
		return Operations{}, nil, err
	}
	runs, products, err := readTraceIn(dir)
	if err == nil && len(runs) != len(sampled) {
		err = fmt.Errorf("the trace holds %d runs, %d were made", len(runs), len(sampled))
	}
	if err != nil {
		return Operations{}, nil, err
	}
	var sum Operations
	for _, n := range lengths {
		o := interpolate(sampled, runs, n)
		sum.Int8, sum.Float = sum.Int8+o.Int8, sum.Float+o.Float
	}
	return sum, products, nil
}

// sampleLengths is the shortest, a middle and the longest of lengths, without repetition.
func sampleLengths(lengths []int) []int {
	least, most := slices.Min(lengths), slices.Max(lengths)
	return slices.Compact([]int{least, (least + most) / 2, most})
}

// zeroInput is one row of n tokens of the id 0.
func zeroInput(n int) identifier.Input {
	in := identifier.Input{IDs: make([]int64, n), Mask: make([]int64, n), Types: make([]int64, n), Width: n}
	for i := range in.Mask {
		in.Mask[i] = 1
	}
	return in
}

func readTraceIn(dir string) ([]Operations, []ort.Product, error) {
	found, err := filepath.Glob(filepath.Join(dir, "trace*"))
	if err != nil || len(found) != 1 {
		return nil, nil, fmt.Errorf("ONNX Runtime wrote %d traces to %s, expected one", len(found), dir)
	}
	f, err := os.Open(found[0])
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ReadTrace(f)
}

// interpolate is Lagrange's polynomial through the points (xs, ys), at x.
func interpolate(xs []int, ys []Operations, x int) Operations {
	var o Operations
	for i := range xs {
		weight := 1.0
		for j := range xs {
			if j != i {
				weight *= float64(x-xs[j]) / float64(xs[i]-xs[j])
			}
		}
		o.Int8 += weight * ys[i].Int8
		o.Float += weight * ys[i].Float
	}
	return o
}

// Share is the speed of o as a share of a machine's peak: the time that o would take at the peak, in operations a
// second of each kind, divided by took. It is 0 if no peak is known.
func (o Operations) Share(peak Operations, took time.Duration) float64 {
	if o.Int8 > 0 && peak.Int8 == 0 || o.Float > 0 && peak.Float == 0 {
		return 0
	}
	seconds := 0.0
	if o.Int8 > 0 {
		seconds += o.Int8 / peak.Int8
	}
	if o.Float > 0 {
		seconds += o.Float / peak.Float
	}
	return seconds / took.Seconds()
}

// PeakMeter measures the peak with plain products of a model's shapes, each also in fp32, which attention always uses.
type PeakMeter struct {
	runners []*ort.ProductRunner
	cores   int
	Peak    Operations // a second, the fastest so far of each kind
}

// fewRows is the M below which a product is too small for the peak.
const fewRows = 32

// NewPeakMeter opens the products on the CPU. Rates are those of all cores together.
func NewPeakMeter(library string, products []ort.Product, cores int) (*PeakMeter, error) {
	m := &PeakMeter{cores: cores}
	most := 0
	for _, p := range products {
		most = max(most, p.M)
	}
	opened := map[ort.Product]bool{}
	for _, p := range products {
		if p.M < min(fewRows, most) {
			continue
		}
		for _, integer := range []bool{false, p.Int8} {
			p.Int8 = integer
			if opened[p] {
				continue
			}
			opened[p] = true
			r, err := ort.OpenProduct(library, p)
			if err != nil {
				_ = m.Close()
				return nil, err
			}
			m.runners = append(m.runners, r)
		}
	}
	return m, nil
}

// Measure runs every product for d and keeps the fastest of its kind.
func (m *PeakMeter) Measure(ctx context.Context, d time.Duration) error {
	for _, r := range m.runners {
		rate, err := r.Rate(ctx, m.cores, d)
		if err != nil {
			return err
		}
		to := &m.Peak.Float
		if r.Product().Int8 {
			to = &m.Peak.Int8
		}
		*to = max(*to, rate)
	}
	return nil
}

// Close frees the products.
func (m *PeakMeter) Close() (err error) {
	for _, r := range m.runners {
		if closeErr := r.Close(); err == nil {
			err = closeErr
		}
	}
	m.runners = nil
	return err
}
