package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// LogisticFit is a logistic regression.
type LogisticFit struct {
	Coefficients []float64 // by column, in log odds
	Errors       []float64 // standard errors, clustered
}

// Errors of Logistic.
var (
	// ErrSeparated: some combination of the columns tells the outcome without a mistake, and no coefficient is large
	// enough.
	ErrSeparated = errors.New("the outcome follows from the columns without a mistake: no finite coefficient fits")
	// ErrCollinear: a column follows from the others, so that its coefficient cannot be told from theirs.
	ErrCollinear = errors.New("a column follows from the others: their coefficients cannot be told apart")
)

const (
	logisticSteps     = 100
	logisticTolerance = 1e-10
	// separatedFrom is a coefficient, in log odds, that only an outcome without a mistake leads to.
	separatedFrom = 30
)

// Logistic fits the probability of y, 0 to 1, by the columns of x (an intercept is a column of ones), by Newton's
// method. Errors are the sandwich estimate with clusters, numbered from 0, times clusters/(clusters-1).
func Logistic(x [][]float64, y []float64, cluster []int) (*LogisticFit, error) {
	if len(x) == 0 {
		return nil, ErrCollinear
	}
	columns := len(x[0])
	beta := make([]float64, columns)
	var inverse mat.SymDense
	for step := 0; ; step++ {
		gradient, information := logisticDerivatives(x, y, beta)
		var c mat.Cholesky
		if !c.Factorize(information) || c.Cond() > 1e12 {
			if step > 0 && largest(beta) > separatedFrom/2 {
				return nil, ErrSeparated
			}
			return nil, ErrCollinear
		}
		move := mat.NewVecDense(columns, nil)
		if err := c.SolveVecTo(move, gradient); err != nil {
			return nil, ErrCollinear
		}
		for i := range beta {
			beta[i] += move.AtVec(i)
		}
		if largest(beta) > separatedFrom || step == logisticSteps {
			return nil, ErrSeparated
		}
		if mat.Norm(move, math.Inf(1)) < logisticTolerance {
			if err := c.InverseTo(&inverse); err != nil {
				return nil, ErrCollinear
			}
			break
		}
	}
	fit := &LogisticFit{Coefficients: beta, Errors: make([]float64, columns)}
	cov := sandwich(x, y, beta, cluster, &inverse)
	for i := range fit.Errors {
		fit.Errors[i] = math.Sqrt(max(0, cov.At(i, i)))
	}
	return fit, nil
}

func largest(v []float64) float64 {
	m := 0.0
	for _, x := range v {
		m = max(m, math.Abs(x))
	}
	return m
}

func logisticOf(row, beta []float64) float64 {
	sum := 0.0
	for i, b := range beta {
		sum += b * row[i]
	}
	return 1 / (1 + math.Exp(-sum))
}

func logisticDerivatives(x [][]float64, y, beta []float64) (*mat.VecDense, *mat.SymDense) {
	n := len(beta)
	gradient, information := mat.NewVecDense(n, nil), mat.NewSymDense(n, nil)
	for k, row := range x {
		p := logisticOf(row, beta)
		v := mat.NewVecDense(n, row)
		gradient.AddScaledVec(gradient, y[k]-p, v)
		information.SymRankOne(information, p*(1-p), v)
	}
	return gradient, information
}

// sandwich is the covariance of the coefficients, clustered.
func sandwich(x [][]float64, y, beta []float64, cluster []int, inverse *mat.SymDense) *mat.Dense {
	n := len(beta)
	at, scores := map[int]int{}, []*mat.VecDense(nil)
	for k, row := range x {
		i, ok := at[cluster[k]]
		if !ok {
			i = len(scores)
			at[cluster[k]] = i
			scores = append(scores, mat.NewVecDense(n, nil))
		}
		s := scores[i]
		s.AddScaledVec(s, y[k]-logisticOf(row, beta), mat.NewVecDense(n, row))
	}
	meat := mat.NewSymDense(n, nil)
	for _, s := range scores {
		meat.SymRankOne(meat, 1, s)
	}
	clusters := float64(len(scores))
	var half, cov mat.Dense
	half.Mul(inverse, meat)
	cov.Mul(&half, inverse)
	cov.Scale(clusters/(clusters-1), &cov)
	return &cov
}
