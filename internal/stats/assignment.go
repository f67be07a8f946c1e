package stats

import "math"

// Assign pairs rows with columns so that the sum of the pairs' scores is as large as possible, and returns each row's
// column, or -1 for the rows that are left over where there are more rows than columns. All rows of score have the same
// length, and all scores are finite. It is the Hungarian method by shortest augmenting paths (Jonker and Volgenant
// 1987), in O(short² · long) of the two sides.
func Assign(score [][]float64) []int {
	rows, columns := len(score), 0
	if rows > 0 {
		columns = len(score[0])
	}
	out := make([]int, rows)
	for i := range out {
		out[i] = -1
	}
	if rows <= columns {
		for column, row := range assignShort(rows, columns, func(i, j int) float64 { return -score[i][j] }) {
			if row >= 0 {
				out[row] = column
			}
		}
		return out
	}
	copy(out, assignShort(columns, rows, func(i, j int) float64 { return -score[j][i] }))
	return out
}

// assignment is the state of assignShort: short rows are assigned to long columns, one row a step.
type assignment struct {
	cost      func(i, j int) float64
	priceRow  []float64
	priceCol  []float64
	rowOf     []int     // of each column, or -1
	distance  []float64 // of each column from the row of this step
	previous  []int     // the column before it on the shortest path, or -1
	inTheTree []bool
}

// assignShort assigns each of short rows to one of long columns, short <= long, at the least cost. It returns each
// column's row, or -1.
func assignShort(short, long int, cost func(i, j int) float64) []int {
	a := &assignment{cost: cost, priceRow: make([]float64, short), priceCol: make([]float64, long),
		rowOf: make([]int, long), distance: make([]float64, long), previous: make([]int, long),
		inTheTree: make([]bool, long)}
	for j := range a.rowOf {
		a.rowOf[j] = -1
	}
	for i := range short {
		a.augment(i)
	}
	return a.rowOf
}

// augment assigns one more row along the shortest path to a free column.
func (a *assignment) augment(start int) {
	for j := range a.distance {
		a.distance[j], a.previous[j], a.inTheTree[j] = math.Inf(1), -1, false
	}
	row, column, reached := start, -1, 0.0
	for {
		next := a.extend(row, column, reached)
		a.inTheTree[next] = true
		column, reached = next, a.distance[next]
		if a.rowOf[column] < 0 {
			break
		}
		row = a.rowOf[column]
	}
	a.reprice(start, reached)
	for column >= 0 {
		before := a.previous[column]
		if before < 0 {
			a.rowOf[column] = start
		} else {
			a.rowOf[column] = a.rowOf[before]
		}
		column = before
	}
}

// extend reaches columns through row, which lies at the distance reached behind column, and gives the nearest column
// outside the tree.
func (a *assignment) extend(row, column int, reached float64) int {
	nearest := -1
	for j := range a.distance {
		if a.inTheTree[j] {
			continue
		}
		if d := reached + a.cost(row, j) - a.priceRow[row] - a.priceCol[j]; d < a.distance[j] {
			a.distance[j], a.previous[j] = d, column
		}
		if nearest < 0 || a.distance[j] < a.distance[nearest] {
			nearest = j
		}
	}
	return nearest
}

// reprice keeps reduced costs at 0 or above, and at 0 along assigned pairs.
func (a *assignment) reprice(start int, reached float64) {
	a.priceRow[start] += reached
	for j, in := range a.inTheTree {
		if !in {
			continue
		}
		if i := a.rowOf[j]; i >= 0 {
			a.priceRow[i] += reached - a.distance[j]
		}
		a.priceCol[j] -= reached - a.distance[j]
	}
}
