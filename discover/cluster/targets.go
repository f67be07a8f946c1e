package cluster

import "math"

// targets are vectors with which items are compared: other items, or the means of groups.
type targets struct {
	words *postings
	dense [][]float32 // centred, of length 1 or means of such; nil without vectors
	first int         // number of group 0 in grouping, where targets are groups
}

// itemTargets are items.
func (g *grouping) itemTargets(items []int) *targets {
	t := &targets{}
	rows := make([]sparse, len(items))
	for i, at := range items {
		rows[i] = g.space.rows[at]
		if g.centre != nil {
			t.dense = append(t.dense, g.unit(at))
		}
	}
	t.words = newPostings(rows, len(g.space.idf))
	return t
}

// groupTargets are the means of a sample's groups: the mean similarity to the items of a group is the similarity to
// their mean.
func (g *grouping) groupTargets(sample []int) *targets {
	t := &targets{first: g.groups}
	for _, at := range sample {
		t.first = min(t.first, g.group[at])
	}
	means := g.newMeans(g.groups - t.first)
	for _, at := range sample {
		means.add(g, g.group[at]-t.first, at)
	}
	var rows []sparse
	rows, t.dense = means.vectors()
	t.words = newPostings(rows, len(g.space.idf))
	return t
}

// unit is an item's vector, centred and of length 1, or of length 0 where it is the centre; nil without vectors.
func (g *grouping) unit(at int) []float32 {
	if g.centre == nil {
		return nil
	}
	out, sum := make([]float32, len(g.centre)), 0.0
	for k, x := range g.items[at].vector {
		out[k] = x - g.centre[k]
		sum += float64(out[k]) * float64(out[k])
	}
	if sum > 0 {
		by := float32(1 / math.Sqrt(sum))
		for k := range out {
			out[k] *= by
		}
	}
	return out
}

// scores gives the similarity of an item to each target from number from on; the others' are of no meaning.
func (t *targets) scores(g *grouping, at, from int, out []float64) {
	clear(out)
	row, unit := g.space.rows[at], g.unit(at)
	if unit == nil {
		t.words.scores(row, 1, out)
		return
	}
	t.words.scores(row, lexicalShare, out)
	for j := from; j < len(out); j++ {
		out[j] += (1 - lexicalShare) * float64(dot(unit, t.dense[j]))
	}
}

// Of more than likelyTargets groups' means, only those that are most alike by words are compared by vectors too.
const likelyTargets = 256

// scoresOfLikely gives the similarity of an item to each target, or -Inf for those that are left out.
func (t *targets) scoresOfLikely(g *grouping, at int, out []float64) {
	if g.centre == nil || len(out) <= likelyTargets {
		t.scores(g, at, 0, out)
		return
	}
	clear(out)
	t.words.scores(g.space.rows[at], lexicalShare, out)
	least, v := largest(out, likelyTargets), g.unit(at)
	for j, s := range out {
		if s < least {
			out[j] = math.Inf(-1)
		} else {
			out[j] = s + (1-lexicalShare)*float64(dot(v, t.dense[j]))
		}
	}
}

// largest gives a number that at least n of scores, all in 0..1, reach, and few more do.
func largest(scores []float64, n int) float64 {
	const steps = 1 << 10
	var count [steps + 1]int
	for _, s := range scores {
		count[min(int(s*steps), steps)]++
	}
	for step := steps; step > 0; step-- {
		if n -= count[step]; n <= 0 {
			return float64(step) / steps
		}
	}
	return 0
}

// dot is the product of two vectors of one length, in four sums that a processor can compute at a time.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

// means are sums of the items of groups, each as often as its sentence occurs.
type means struct {
	place  []map[int32]int // of an n-gram among a group's
	at     [][]int32
	sum    [][]float64
	dense  [][]float64 // nil without vectors
	weight []float64
}

func (g *grouping) newMeans(groups int) *means {
	m := &means{}
	for range groups {
		m.grow(len(g.centre))
	}
	return m
}

// grow adds a group without items; size is that of vectors, 0 without.
func (m *means) grow(size int) {
	m.place, m.at, m.sum = append(m.place, map[int32]int{}), append(m.at, nil), append(m.sum, nil)
	m.weight = append(m.weight, 0)
	if size > 0 {
		m.dense = append(m.dense, make([]float64, size))
	}
}

// similarity is that of a vector to a group's mean, 0 to a group without items. unit is nil without vectors.
func (m *means) similarity(group int, row sparse, unit []float32) float64 {
	words, dense, w := 0.0, 0.0, m.weight[group]
	for j, gram := range row.at {
		if p, ok := m.place[group][gram]; ok {
			words += float64(row.value[j]) * m.sum[group][p]
		}
	}
	if w == 0 || unit == nil {
		return words / max(w, 1)
	}
	for k, x := range unit {
		dense += float64(x) * m.dense[group][k]
	}
	return (lexicalShare*words + (1-lexicalShare)*dense) / w
}

// add adds an item to a group.
func (m *means) add(g *grouping, group, item int) {
	w, row := float64(g.items[item].weight), g.space.rows[item]
	m.weight[group] += w
	for j, gram := range row.at {
		p, ok := m.place[group][gram]
		if !ok {
			p = len(m.at[group])
			m.place[group][gram] = p
			m.at[group], m.sum[group] = append(m.at[group], gram), append(m.sum[group], 0)
		}
		m.sum[group][p] += w * float64(row.value[j])
	}
	if m.dense != nil {
		for k, x := range g.unit(item) {
			m.dense[group][k] += w * float64(x)
		}
	}
}

// vectors are the groups' means.
func (m *means) vectors() (rows []sparse, dense [][]float32) {
	for k, w := range m.weight {
		rows = append(rows, sparse{m.at[k], divided(m.sum[k], w)})
		if m.dense != nil {
			dense = append(dense, divided(m.dense[k], w))
		}
	}
	return rows, dense
}

func divided(sum []float64, by float64) []float32 {
	out := make([]float32, len(sum))
	for k, x := range sum {
		out[k] = float32(x / by)
	}
	return out
}

// postings find, for each n-gram, the targets that have it: vectors with which others are compared.
type postings struct {
	begin  []int32 // of an n-gram's entries; one more at the end
	target []int32
	value  []float32
}

// newPostings holds the vectors of targets over n-grams 0 to grams-1.
func newPostings(targets []sparse, grams int) *postings {
	p := &postings{begin: make([]int32, grams+1)}
	total := 0
	for _, t := range targets {
		total += len(t.at)
		for _, k := range t.at {
			p.begin[k+1]++
		}
	}
	for k := range grams {
		p.begin[k+1] += p.begin[k]
	}
	p.target, p.value = make([]int32, total), make([]float32, total)
	next := append([]int32(nil), p.begin...)
	for i, t := range targets {
		for j, k := range t.at {
			p.target[next[k]], p.value[next[k]] = int32(i), t.value[j]
			next[k]++
		}
	}
	return p
}

// scores adds weight × the cosine of row with each target to out.
func (p *postings) scores(row sparse, weight float64, out []float64) {
	for j, k := range row.at {
		x := weight * float64(row.value[j])
		for e := p.begin[k]; e < p.begin[k+1]; e++ {
			out[p.target[e]] += x * float64(p.value[e])
		}
	}
}
