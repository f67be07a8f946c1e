package stats

import "slices"

// MostFrequentSet is the label set that most gold rows have: predicted for every row, it is the constant baseline
// (scikit-learn's DummyClassifier(strategy="most_frequent") over whole sets). Of equally frequent sets the one that is
// smallest as a string of 0 and 1 in column order wins, whatever the order of rows. Nil without rows.
func MostFrequentSet(gold [][]bool) []bool {
	count := map[string]int{}
	var best []bool
	for _, row := range gold {
		count[bitKey(row)]++
	}
	for _, row := range gold {
		b, most := bitKey(row), bitKey(best)
		if best == nil || count[b] > count[most] || count[b] == count[most] && b < most {
			best = row
		}
	}
	return best
}

func bitKey(row []bool) string {
	b := make([]byte, len(row))
	for i, x := range row {
		b[i] = '0'
		if x {
			b[i] = '1'
		}
	}
	return string(b)
}

// Constant predicts the same set for every one of n rows.
func Constant(set []bool, n int) [][]bool {
	return slices.Repeat([][]bool{set}, n)
}

// Confusion counts, over rows, which labels were predicted instead of which.
type Confusion struct {
	// Instead[g][p] counts rows where gold label g was missed and label p predicted wrongly.
	Instead [][]int
	// Missed[g] counts rows where g was missed, Alone[g] those of them in which nothing was predicted wrongly.
	Missed, Alone []int
	// Spurious[p] counts rows where p was predicted wrongly and no gold label missed.
	Spurious []int
}

// NewConfusion counts the table's rows; rows without prediction are left out. The table must be valid.
func NewConfusion(t *Table) *Confusion {
	k := len(t.Gold[0])
	c := &Confusion{make([][]int, k), make([]int, k), make([]int, k), make([]int, k)}
	for g := range c.Instead {
		c.Instead[g] = make([]int, k)
	}
	for i, gold := range t.Gold {
		if t.Pred[i] != nil {
			c.add(difference(gold, t.Pred[i]), difference(t.Pred[i], gold))
		}
	}
	return c
}

func (c *Confusion) add(missed, wrong []int) {
	for _, g := range missed {
		c.Missed[g]++
		if len(wrong) == 0 {
			c.Alone[g]++
		}
		for _, p := range wrong {
			c.Instead[g][p]++
		}
	}
	if len(missed) == 0 {
		for _, p := range wrong {
			c.Spurious[p]++
		}
	}
}

// difference lists the columns in a and not in b.
func difference(a, b []bool) []int {
	var out []int
	for k := range a {
		if a[k] && !b[k] {
			out = append(out, k)
		}
	}
	return out
}
