package stats

import "math"

// Contingency counts the items that each group of one partition shares with each group of another. Groups have the
// order of their first items.
type Contingency struct {
	A, B         []int   // names of the groups
	SizeA, SizeB []int   // their items
	Count        [][]int // items of A[i] that are in B[j]
	N            int     // items
}

// NewContingency counts two partitions of the same items: a[i] and b[i] name the groups of item i. a and b have the
// same length.
func NewContingency(a, b []int) *Contingency {
	c := &Contingency{N: len(a)}
	var ofA, ofB []int
	c.A, c.SizeA, ofA = numberGroups(a)
	c.B, c.SizeB, ofB = numberGroups(b)
	c.Count = make([][]int, len(c.A))
	for i := range c.Count {
		c.Count[i] = make([]int, len(c.B))
	}
	for i := range a {
		c.Count[ofA[i]][ofB[i]]++
	}
	return c
}

// Numbers are those of things, from 0 on, in the order in which they come.
type Numbers[K comparable] map[K]int

// Of is the number of k, the next one if it has none yet.
func (n Numbers[K]) Of(k K) int {
	i, ok := n[k]
	if !ok {
		i = len(n)
		n[k] = i
	}
	return i
}

// numberGroups gives the groups' names and sizes, and each item's place among them.
func numberGroups(groups []int) (names, sizes, place []int) {
	at := Numbers[int]{}
	place = make([]int, len(groups))
	for i, g := range groups {
		k := at.Of(g)
		if k == len(names) {
			names, sizes = append(names, g), append(sizes, 0)
		}
		sizes[k]++
		place[i] = k
	}
	return names, sizes, place
}

// AdjustedRand is the Rand index corrected for chance (Hubert and Arabie 1985): 1 for equal partitions, 0 on average
// for independent ones of these sizes, below that for worse. As in scikit-learn it is 1 where neither partition
// separates what the other joins: without items, with one, or all alone in both.
func (c *Contingency) AdjustedRand() float64 {
	var both, inA, inB float64
	for i, n := range c.SizeA {
		inA += pairsOf(float64(n))
		for _, m := range c.Count[i] {
			both += pairsOf(float64(m))
		}
	}
	for _, n := range c.SizeB {
		inB += pairsOf(float64(n))
	}
	onlyA, onlyB := inA-both, inB-both
	if onlyA == 0 && onlyB == 0 {
		return 1
	}
	neither := pairsOf(float64(c.N)) - both - onlyA - onlyB
	return 2 * (both*neither - onlyA*onlyB) / (inA*(onlyA+neither) + inB*(onlyB+neither))
}

// VMeasure says how well partition B finds partition A (Rosenberg and Hirschberg 2007). Each figure is in 0..1.
type VMeasure struct {
	Homogeneity  float64 // a group of B holds items of one group of A only
	Completeness float64 // the items of a group of A are in one group of B
	V            float64 // their harmonic mean
}

// VMeasure of c. As in scikit-learn, homogeneity is 1 where A is one group, completeness where B is, and all are 1
// without items.
func (c *Contingency) VMeasure() VMeasure {
	v := VMeasure{Homogeneity: 1, Completeness: 1}
	shared := c.mutualInformation()
	if h := entropy(c.SizeA, c.N); h > 0 {
		v.Homogeneity = math.Min(1, shared/h)
	}
	if h := entropy(c.SizeB, c.N); h > 0 {
		v.Completeness = math.Min(1, shared/h)
	}
	if sum := v.Homogeneity + v.Completeness; sum > 0 {
		v.V = 2 * v.Homogeneity * v.Completeness / sum
	}
	return v
}

// mutualInformation is that of the two partitions, in nats, at least 0.
func (c *Contingency) mutualInformation() float64 {
	var sum float64
	n := float64(c.N)
	for i, row := range c.Count {
		for j, m := range row {
			if m > 0 {
				sum += float64(m) / n * math.Log(n*float64(m)/(float64(c.SizeA[i])*float64(c.SizeB[j])))
			}
		}
	}
	return math.Max(0, roundNoise(sum))
}

// entropy of a partition, in nats; exactly 0 for one group.
func entropy(sizes []int, n int) float64 {
	if len(sizes) < 2 {
		return 0
	}
	var sum float64
	for _, s := range sizes {
		sum -= float64(s) / float64(n) * math.Log(float64(s)/float64(n))
	}
	return sum
}

// BestJaccard is, for each group of A, the largest |a∩b| ÷ |a∪b| over the groups b of B: 1 where B has the same group.
func (c *Contingency) BestJaccard() []float64 {
	out := make([]float64, len(c.A))
	for i, row := range c.Count {
		for j, m := range row {
			out[i] = math.Max(out[i], float64(m)/float64(c.SizeA[i]+c.SizeB[j]-m))
		}
	}
	return out
}

// MeanBestJaccard is, for each group of partition a, the mean of BestJaccard over the other partitions of the same
// items: how stable the group is. The map's keys are the groups' names. NaN without other partitions.
func MeanBestJaccard(a []int, others [][]int) map[int]float64 {
	sums := map[int]float64{}
	for _, g := range a {
		sums[g] = 0
	}
	for _, b := range others {
		c := NewContingency(a, b)
		for i, best := range c.BestJaccard() {
			sums[c.A[i]] += best
		}
	}
	for g := range sums {
		sums[g] = mean(sums[g], float64(len(others)))
	}
	return sums
}
