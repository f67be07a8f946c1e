package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// DefaultResamples is the number of bootstrap resamples unless the caller says otherwise.
const DefaultResamples = 1000

// Level is the confidence level of the intervals.
const Level = 0.95

// Interval is a percentile bootstrap interval (Efron 1979) at Level.
type Interval struct {
	Low, High float64
	// Resamples counts those in which the figure was defined; without any, Low and High are NaN.
	Resamples int
}

// Bootstrap draws resamples of the groups with replacement and returns the result of stat for each. The argument of
// stat says how often each group was drawn; stat is called concurrently and must not keep the slice. Several figures or
// predictions in one stat are paired. Resample i depends on seed and i alone, so the result does not depend on the
// number of cores. The error is the context's.
func Bootstrap[T any](ctx context.Context, groups, resamples int, seed uint64,
	stat func(weight []int32) T) ([]T, error) {
	out := make([]T, resamples)
	workers := min(runtime.GOMAXPROCS(0), max(resamples, 1))
	jobs, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		jobs.Go(func() error {
			weight := make([]int32, groups)
			for i := w; i < resamples; i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				drawGroups(weight, seed, uint64(i))
				out[i] = stat(weight)
			}
			return nil
		})
	}
	return out, jobs.Wait()
}

func drawGroups(weight []int32, seed, resample uint64) {
	clear(weight)
	rng := rand.New(rand.NewPCG(seed, resample))
	for range weight {
		weight[rng.IntN(len(weight))]++
	}
}

// IntervalOf gives the percentile interval of one figure's values over the resamples. Undefined values (NaN) are left
// out.
func IntervalOf(values []float64) Interval {
	defined := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(defined)
	return Interval{Quantile(defined, (1-Level)/2), Quantile(defined, (1+Level)/2), len(defined)}
}

// Column is one figure's values in Bootstrap's result, where stat returns all figures in a fixed order.
func Column(samples [][]float64, at int) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = s[at]
	}
	return out
}

// IntervalBy gives the interval of one figure over Bootstrap's result; value finds it in the result of stat.
func IntervalBy[T any](samples []T, value func(T) float64) Interval {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = value(s)
	}
	return IntervalOf(values)
}

// Quantile interpolates linearly between the order statistics of sorted values, as numpy.quantile does. NaN without
// values.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	h := q * float64(len(sorted)-1)
	i := min(int(h), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	return sorted[i] + (h-float64(i))*(sorted[j]-sorted[i])
}

// JackknifeError is the standard error of a figure by its values without each of several equal parts of the data (Tukey
// 1958; Shao and Wu 1989). NaN with fewer than two parts.
func JackknifeError(without []float64) float64 {
	n, sum := float64(len(without)), 0.0
	for _, x := range without {
		sum += x
	}
	squares := 0.0
	for _, x := range without {
		squares += (x - sum/n) * (x - sum/n)
	}
	if n < 2 {
		return math.NaN()
	}
	return math.Sqrt((n - 1) / n * squares)
}
