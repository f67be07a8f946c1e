package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat/distuv"
)

// DefaultResamples is the number of bootstrap resamples unless the caller says otherwise.
const DefaultResamples = 1000

// Level is the confidence level of the intervals.
const Level = 0.95

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

// WeightOf is how often a weighting counts a group: each once where it is nil.
func WeightOf[G int | int32](weight []int32, group G) float64 {
	if weight == nil {
		return 1
	}
	return float64(weight[group])
}

func drawGroups(weight []int32, seed, resample uint64) {
	clear(weight)
	rng := rand.New(rand.NewPCG(seed, resample))
	for range weight {
		weight[rng.IntN(len(weight))]++
	}
}

// IntervalOf is the percentile interval (Efron 1979) at Level of one figure's values over resamples of so many units,
// such as groups of rows. Undefined values (NaN) are left out. Percentiles of few units lie too close together, as
// normal ones do where Student's belong, and are taken farther out (Hesterberg 2015, "expanded percentile"). NaN where
// nothing tells how far the figure spreads: with fewer than two units, and where all values are the same.
func IntervalOf(values []float64, units int) (low, high float64) {
	if units >= 2 {
		low, high = intervalWithout(values, distuv.UnitNormal.CDF(-T(units)*expansion(units)))
	}
	if low == high {
		return math.NaN(), math.NaN()
	}
	return low, high
}

// expansion is how much farther out than a normal interval the standard error of so many units reaches, since resamples
// divide by their number and not by one less.
func expansion(units int) float64 { return math.Sqrt(float64(units) / float64(units-1)) }

// intervalWithout leaves out such a share of the values at each end.
func intervalWithout(values []float64, tail float64) (low, high float64) {
	defined := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(defined)
	return Quantile(defined, tail), Quantile(defined, 1-tail)
}

// T is how many standard errors an interval at Level reaches to each side where the errors are estimated from so many
// units (Student 1908): Z with many. NaN with fewer than two.
func T(units int) float64 {
	if units < 2 {
		return math.NaN()
	}
	return criticalT(1-Level, units)
}

// criticalT is how many standard errors an interval reaches that misses with probability alpha, in total on both sides.
// Infinite with fewer than two units.
func criticalT(alpha float64, units int) float64 {
	if units < 2 {
		return math.Inf(1)
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(units - 1)} // its Quantile fails far out, with many units
	above := func(x float64) float64 {
		return math.Log(math.Max(2*student.CDF(-math.Expm1(x)), math.SmallestNonzeroFloat64) / alpha)
	}
	high := 1.0
	for above(high) > 0 {
		high *= 2
	}
	return math.Expm1(root(0, high, above))
}

// root finds where f, which falls from 0 or more at low to 0 or less at high, is 0: by false position in its variant of
// Illinois (Dowell and Jarratt 1971).
func root(low, high float64, f func(float64) float64) float64 {
	atLow, atHigh, last := f(low), f(high), 0.0
	x := low
	for range 100 {
		x = (low*atHigh - high*atLow) / (atHigh - atLow)
		at := f(x)
		if math.Abs(at) < 1e-12 {
			break
		}
		if at > 0 {
			low, atLow = x, at
		} else {
			high, atHigh = x, at
		}
		if at > 0 && last > 0 {
			atHigh /= 2
		} else if at < 0 && last < 0 {
			atLow /= 2
		}
		last = at
	}
	return x
}

// DifferenceP is the two-sided p-value of a difference of so many standard errors, estimated from so many units. 1 with
// fewer than two.
func DifferenceP(errors float64, units int) float64 {
	if units < 2 {
		return 1
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(units - 1)}.CDF(-math.Abs(errors))
}

// Column is one figure's values in Bootstrap's result, where stat returns all figures in a fixed order.
func Column(samples [][]float64, at int) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = s[at]
	}
	return out
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
	n := float64(len(without))
	if n < 2 {
		return math.NaN()
	}
	_, squares := meanAndSquares(without)
	return math.Sqrt((n - 1) / n * squares)
}
