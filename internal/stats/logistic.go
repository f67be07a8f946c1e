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
	Clusters     int
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
// method. at fills in the columns of observation i, which are 0, and gives its outcome and its cluster; observations
// of a cluster follow each other. Errors are the sandwich estimate with clusters, times clusters/(clusters-1); NaN
// with one.
func Logistic(observations, columns int, at func(i int, x []float64) (y float64, cluster int)) (*LogisticFit, error) {
	if observations == 0 || columns == 0 {
		return nil, ErrCollinear
	}
	l := &logistic{observations: observations, at: at, row: make([]float64, columns), beta: make([]float64, columns)}
	var inverse mat.SymDense
	for step := 0; ; step++ {
		gradient, information := l.derivatives()
		var c mat.Cholesky
		if !c.Factorize(information) || c.Cond() > 1e12 {
			if step > 0 && largest(l.beta) > separatedFrom/2 {
				return nil, ErrSeparated
			}
			return nil, ErrCollinear
		}
		move := mat.NewVecDense(columns, nil)
		if err := c.SolveVecTo(move, gradient); err != nil {
			return nil, ErrCollinear
		}
		for i := range l.beta {
			l.beta[i] += move.AtVec(i)
		}
		if largest(l.beta) > separatedFrom || step == logisticSteps {
			return nil, ErrSeparated
		}
		if mat.Norm(move, math.Inf(1)) < logisticTolerance {
			if err := c.InverseTo(&inverse); err != nil {
				return nil, ErrCollinear
			}
			break
		}
	}
	fit := &LogisticFit{Coefficients: l.beta, Errors: make([]float64, columns)}
	cov, clusters := l.sandwich(&inverse)
	fit.Clusters = clusters
	for i := range fit.Errors {
		if fit.Errors[i] = math.NaN(); clusters > 1 {
			fit.Errors[i] = math.Sqrt(max(0, cov.At(i, i)))
		}
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

// logistic is a regression under way.
type logistic struct {
	observations int
	at           func(i int, x []float64) (y float64, cluster int)
	row, beta    []float64
}

// each gives the columns of an observation that are not 0, what is left of its outcome, and its probability.
func (l *logistic) each(use func(columns []int, residual, p float64, cluster int)) {
	columns := make([]int, 0, len(l.row))
	for k := range l.observations {
		clear(l.row)
		y, cluster := l.at(k, l.row)
		columns = columns[:0]
		sum := 0.0
		for i, x := range l.row {
			if x != 0 {
				columns = append(columns, i)
				sum += l.beta[i] * x
			}
		}
		p := 1 / (1 + math.Exp(-sum))
		use(columns, y-p, p, cluster)
	}
}

func (l *logistic) derivatives() (*mat.VecDense, *mat.SymDense) {
	n := len(l.beta)
	gradient, information := make([]float64, n), make([]float64, n*n)
	l.each(func(columns []int, residual, p float64, _ int) {
		for at, i := range columns {
			gradient[i] += residual * l.row[i]
			for _, j := range columns[at:] {
				information[i*n+j] += p * (1 - p) * l.row[i] * l.row[j]
			}
		}
	})
	return mat.NewVecDense(n, gradient), mat.NewSymDense(n, information)
}

// sandwich is the covariance of the coefficients, clustered.
func (l *logistic) sandwich(inverse *mat.SymDense) (*mat.Dense, int) {
	n := len(l.beta)
	meat, score := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	clusters, last := 0, 0
	l.each(func(columns []int, residual, _ float64, cluster int) {
		if clusters == 0 || cluster != last {
			meat.SymRankOne(meat, 1, score)
			score.Zero()
			clusters, last = clusters+1, cluster
		}
		for _, i := range columns {
			score.SetVec(i, score.AtVec(i)+residual*l.row[i])
		}
	})
	meat.SymRankOne(meat, 1, score)
	var half, cov mat.Dense
	half.Mul(inverse, meat)
	cov.Mul(&half, inverse)
	if clusters > 1 {
		cov.Scale(float64(clusters)/float64(clusters-1), &cov)
	}
	return &cov, clusters
}
