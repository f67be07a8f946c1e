package stats

import (
	"cmp"
	"math"
	"slices"
)

// CrossTable counts the rows in which two things hold: an issue and a label, or an issue in one run and in another.
type CrossTable struct {
	Both, OnlyA, OnlyB, Neither int
}

// Phi is the correlation of the two, in -1..1 (Yule 1912). NaN where one of them holds in all rows or in none.
func (t CrossTable) Phi() float64 {
	both, onlyA, onlyB, neither := float64(t.Both), float64(t.OnlyA), float64(t.OnlyB), float64(t.Neither)
	product := (both + onlyA) * (both + onlyB) * (neither + onlyA) * (neither + onlyB)
	if product == 0 {
		return math.NaN()
	}
	return (both*neither - onlyA*onlyB) / math.Sqrt(product)
}

// Lift is how many times as often the two hold together as they would if they were independent: 1 is independence. NaN
// where one of them never holds.
func (t CrossTable) Lift() float64 {
	both, onlyA, onlyB := float64(t.Both), float64(t.OnlyA), float64(t.OnlyB)
	expected := (both + onlyA) * (both + onlyB)
	if expected == 0 {
		return math.NaN()
	}
	return both * (both + onlyA + onlyB + float64(t.Neither)) / expected
}

// Holm corrects the p-values of several tests (Holm 1979): those at or below a level may be called significant together
// at that level. Values that are NaN stay so, and are no tests.
func Holm(p []float64) []float64 {
	var order []int
	for i := range p {
		if !math.IsNaN(p[i]) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	out, largest := slices.Clone(p), 0.0
	for rank, i := range order {
		largest = math.Max(largest, math.Min(1, p[i]*float64(len(order)-rank)))
		out[i] = largest
	}
	return out
}
