package rating

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Scale is how many points a tenfold chance of winning is on the scale of Elo.
const Scale = 400

// points turns natural units (log odds) into points.
const points = Scale / math.Ln10

// Fit is what a model says about the systems that can be rated.
type Fit struct {
	Strength []float64  // by system, in log odds, mean 0 over those that are rated; NaN for the others
	Errors   []float64  // standard errors of Strength, clustered by item; NaN likewise
	Ties     float64    // Davidson's parameter, 0 without ties, +Inf without a fit; NaN for Bradley-Terry
	Standing []Standing // by system
	Records  []Record   // by system
	Clusters int        // items with games of the rated ones; 0 without errors
	cov      *mat.Dense // of the strengths of the rated ones
	index    []int      // by system: its place in cov, or -1
}

// Points are strengths on the scale of Elo with a mean of 1000 over the systems that are rated.
func Points(strength []float64) []float64 {
	out := make([]float64, len(strength))
	for i, s := range strength {
		out[i] = 1000 + points*s
	}
	return out
}

// DifferenceError is the standard error of the difference of two strengths; NaN where one is not rated.
func (f *Fit) DifferenceError(a, b int) float64 {
	i, j := f.index[a], f.index[b]
	if i < 0 || j < 0 || f.cov == nil {
		return math.NaN()
	}
	return math.Sqrt(max(0, f.cov.At(i, i)+f.cov.At(j, j)-2*f.cov.At(i, j)))
}

const (
	maxSteps  = 100
	tolerance = 1e-12 // of a step, in log odds
)

// BradleyTerry fits the model of Bradley and Terry (1952), a tie as half a win of each, by Newton's method to the games
// of the systems that can be rated together. Errors are the sandwich estimate with items as clusters; none with
// weights.
func (g *Games) BradleyTerry(weight []int32) *Fit {
	f, sums := g.begin(weight)
	n := f.rated()
	if n < 2 {
		return f
	}
	theta := make([]float64, n)
	var hessian *mat.SymDense
	for range maxSteps {
		gradient := mat.NewVecDense(n, nil)
		hessian = mat.NewSymDense(n, nil)
		for p, c := range sums {
			a, b, ok := f.pair(g.pairs[p])
			if !ok || c.games() == 0 {
				continue
			}
			prob := logistic(theta[a] - theta[b])
			addPair(gradient, a, b, c.won+c.tied/2-c.games()*prob)
			addInformation(hessian, a, b, c.games()*prob*(1-prob))
		}
		step := solve(hessian, gradient)
		if move(theta, step) < tolerance {
			break
		}
	}
	f.set(theta)
	if weight == nil {
		g.cluster(f, theta, hessian)
	}
	return f
}

// begin says who can be rated, and counts the games.
func (g *Games) begin(weight []int32) (*Fit, []counts) {
	sums := g.sum(weight)
	f := &Fit{Standing: g.connect(sums), Records: g.records(sums), Strength: make([]float64, g.Systems),
		Errors: make([]float64, g.Systems), Ties: math.NaN(), index: make([]int, g.Systems)}
	n := 0
	for i, s := range f.Standing {
		f.index[i], f.Strength[i], f.Errors[i] = -1, math.NaN(), math.NaN()
		if s == Rated {
			f.index[i] = n
			n++
		}
	}
	return f, sums
}

func (f *Fit) rated() int {
	n := 0
	for _, i := range f.index {
		n = max(n, i+1)
	}
	return n
}

// pair are the places of two systems among those that are rated.
func (f *Fit) pair(p [2]int) (a, b int, ok bool) {
	a, b = f.index[p[0]], f.index[p[1]]
	return a, b, a >= 0 && b >= 0
}

func (f *Fit) set(theta []float64) {
	for i, at := range f.index {
		if at >= 0 {
			f.Strength[i] = theta[at]
		}
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func addPair(v *mat.VecDense, a, b int, x float64) {
	v.SetVec(a, v.AtVec(a)+x)
	v.SetVec(b, v.AtVec(b)-x)
}

func addInformation(h *mat.SymDense, a, b int, x float64) {
	h.SetSym(a, a, h.At(a, a)+x)
	h.SetSym(b, b, h.At(b, b)+x)
	h.SetSym(a, b, h.At(a, b)-x)
}

// solve gives the step with mean 0. The information is singular along equal steps of all, which change nothing: adding
// a matrix of ones takes that direction away without touching the others.
func solve(information *mat.SymDense, gradient *mat.VecDense) *mat.VecDense {
	step := mat.NewVecDense(gradient.Len(), nil)
	var c mat.Cholesky
	if !c.Factorize(withOnes(information, gradient.Len())) || c.SolveVecTo(step, gradient) != nil {
		step.Zero()
	}
	return step
}

// withOnes is the information with a matrix of ones, of its scale, added for the first n parameters: the strengths.
func withOnes(information *mat.SymDense, n int) *mat.SymDense {
	out := mat.NewSymDense(information.SymmetricDim(), nil)
	out.CopySym(information)
	scale := mat.Trace(information.SliceSym(0, n)) / float64(n)
	for i := range n {
		for j := i; j < n; j++ {
			out.SetSym(i, j, information.At(i, j)+scale/float64(n))
		}
	}
	return out
}

// maxStep is the longest step of a strength, in log odds: from afar, Newton's own can lead away.
const maxStep = 3

// move takes the step, and gives its length.
func move(theta []float64, step *mat.VecDense) float64 {
	longest := 0.0
	for i := range theta {
		longest = max(longest, math.Abs(step.AtVec(i)))
	}
	shrink := 1.0
	if longest > maxStep {
		shrink = maxStep / longest
	}
	mean := 0.0
	for i := range theta {
		theta[i] += shrink * step.AtVec(i)
		mean += theta[i] / float64(len(theta))
	}
	for i := range theta {
		theta[i] -= mean
	}
	return longest
}

// cluster sets the errors: the sandwich H⁺ (Σ s sᵀ) H⁺ with the score s of each item, times items/(items-1).
func (g *Games) cluster(f *Fit, theta []float64, hessian *mat.SymDense) {
	n := len(theta)
	meat, score := mat.NewDense(n, n, nil), mat.NewVecDense(n, nil)
	last := int32(-1)
	for _, t := range g.tallies {
		if a, b, ok := f.pair(g.pairs[t.pair]); ok {
			if t.item != last {
				meat.RankOne(meat, 1, score, score)
				score.Zero()
				f.Clusters, last = f.Clusters+1, t.item
			}
			played := float64(t.won + t.lost + t.tied)
			addPair(score, a, b, float64(t.won)+float64(t.tied)/2-played*logistic(theta[a]-theta[b]))
		}
	}
	meat.RankOne(meat, 1, score, score)
	items := float64(f.Clusters)
	var c mat.Cholesky
	if items < 2 || !c.Factorize(withOnes(hessian, n)) {
		return
	}
	var inverse mat.SymDense
	if c.InverseTo(&inverse) != nil {
		return
	}
	var half mat.Dense
	half.Mul(&inverse, meat)
	f.cov = mat.NewDense(n, n, nil)
	f.cov.Mul(&half, &inverse)
	f.cov.Scale(items/(items-1), f.cov)
	for i, at := range f.index {
		if at >= 0 {
			f.Errors[i] = math.Sqrt(max(0, f.cov.At(at, at)))
		}
	}
}
