package cluster

import "slices"

// Agglomerate joins the two nearest groups again and again, while their distance is at most cut, and returns each
// item's group, numbered in the order of first items. How far apart two groups are is the mean distance of an item of
// one and an item of the other (average linkage). An item of weight w, at least 1, counts as w equal ones. distance is
// called for i < j; items whose distance is NaN are not joined. The result is that of
// scipy.cluster.hierarchy.fcluster(…, cut, "distance"), by nearest-neighbour chains (Murtagh 1983) in O(n²) time and
// 4n² bytes; of equal distances the one of the first items comes first.
func Agglomerate(weights []int, distance func(i, j int) float64, cut float64) []int {
	d := newDistances(len(weights))
	for i := range weights {
		for j := i + 1; j < len(weights); j++ {
			d.set(i, j, distance(i, j))
		}
	}
	return agglomerate(weights, d, cut)
}

// distances are those of n items to each other.
type distances struct {
	n     int
	upper []float64 // row by row, without the diagonal
}

func newDistances(n int) *distances { return &distances{n, make([]float64, n*max(n-1, 0)/2)} }

func (d *distances) place(i, j int) int {
	if i > j {
		i, j = j, i
	}
	return i*(2*d.n-i-1)/2 + j - i - 1
}

func (d *distances) at(i, j int) float64         { return d.upper[d.place(i, j)] }
func (d *distances) set(i, j int, value float64) { d.upper[d.place(i, j)] = value }

// row is the distances of i to i+1, i+2, …
func (d *distances) row(i int) []float64 {
	if i == d.n-1 {
		return nil
	}
	at := d.place(i, i+1)
	return d.upper[at : at+d.n-i-1]
}

// joining is the state of agglomerate.
type joining struct {
	*distances
	cut    float64
	weight []float64 // of the group that has its first item's place
	active []int     // groups that may still grow, in order
	into   []int     // an item's place to the one it was joined with
}

// agglomerate is Agglomerate; it overwrites d.
func agglomerate(weights []int, d *distances, cut float64) []int {
	j := &joining{distances: d, cut: cut}
	for i, w := range weights {
		j.weight, j.active, j.into = append(j.weight, float64(w)), append(j.active, i), append(j.into, i)
	}
	// A chain leads from group to nearest group; its last two are nearest to each other. Joining others brings
	// no groups nearer (the linkage is reducible), so a group whose nearest one is beyond the cut has its final size.
	var chain []int
	for len(j.active) > 0 {
		if len(chain) == 0 {
			chain = append(chain, j.active[0])
		}
		last, before := chain[len(chain)-1], -1
		if len(chain) > 1 {
			before = chain[len(chain)-2]
		}
		switch nearest := j.nearest(last, before); {
		case nearest < 0:
			j.retire(last)
			chain = chain[:len(chain)-1]
		case nearest == before:
			j.join(min(last, before), max(last, before))
			chain = chain[:len(chain)-2]
		default:
			chain = append(chain, nearest)
		}
	}
	return j.groups()
}

// nearest is the group nearest to g within the cut, or -1; of equal ones first, if it is one of them.
func (j *joining) nearest(g, first int) int {
	best, at := j.cut, -1
	if first >= 0 {
		best, at = j.at(g, first), first
	}
	for _, k := range j.active {
		if k == g || k == first {
			continue
		}
		if d := j.at(g, k); d < best || at < 0 && d <= best {
			best, at = d, k
		}
	}
	return at
}

func (j *joining) retire(g int) {
	at := slices.Index(j.active, g)
	j.active = slices.Delete(j.active, at, at+1)
}

// join adds group b to group a.
func (j *joining) join(a, b int) {
	j.retire(b)
	wa, wb := j.weight[a], j.weight[b]
	for _, k := range j.active {
		if k != a {
			j.set(a, k, (wa*j.at(a, k)+wb*j.at(b, k))/(wa+wb))
		}
	}
	j.weight[a], j.into[b] = wa+wb, a
}

// groups numbers the items' groups. An item is joined with one before it.
func (j *joining) groups() []int {
	out, n := make([]int, len(j.into)), 0
	for i, to := range j.into {
		if to == i {
			out[i] = n
			n++
		} else {
			out[i] = out[to]
		}
	}
	return out
}
