package cluster

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
