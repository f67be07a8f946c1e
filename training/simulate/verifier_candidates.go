package simulate

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/erreval/erreval/dataset"
)

// candidate is a wrong set with its weight.
type candidate struct {
	set    labelSet
	weight float64
}

// emit gives the rows made of r.
func (p *perturber) emit(r Judged, right labelSet, emit func(VerifierRow) error) error {
	if err := emit(VerifierRow{Row: r.Row, Labels: p.names(right), Right: true}); err != nil {
		return err
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(r.Row.ID)) // never fails
	rng := rand.New(rand.NewPCG(p.o.Seed, h.Sum64()))
	each := p.o.Negatives / (1 - p.o.Negatives) // for each right set
	n := int(each)
	if rng.Float64() < each-float64(n) {
		n++
	}
	taken := map[string]bool{right.key(): true}
	for nth := range n {
		set, mechanism := p.wrong(rng, r, right, taken)
		if set == nil { // as many wrong sets as the taxonomy has are made
			break
		}
		taken[set.key()] = true
		if err := emit(VerifierRow{Row: r.Row, Labels: p.names(set), Nth: nth + 1, Mechanism: mechanism}); err != nil {
			return err
		}
	}
	return nil
}

// wrong draws a set that is not taken; nil if there is none.
func (p *perturber) wrong(rng *rand.Rand, r Judged, right labelSet, taken map[string]bool) (labelSet, string) {
	if rng.Float64() < nearMissShare {
		if c := drawSet(rng, p.nearMisses(r, right), taken); c != nil {
			return c, NearMiss
		}
	}
	kinds := []string{Dropped, Added, Swapped}
	rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds {
		if c := drawSet(rng, p.edits(right, kind), taken); c != nil {
			return c, kind
		}
	}
	return nil, ""
}

// edits are the sets of one kind; a set weighs as often as it is right, and one more.
func (p *perturber) edits(right labelSet, kind string) (out []candidate) {
	add := func(set labelSet) { out = append(out, candidate{set, 1 + float64(p.sets[set.key()])}) }
	p.each(right, func(drop, plus int) {
		switch {
		case kind == Dropped && plus < 0:
			add(right.flipped(drop))
		case kind == Added && drop < 0:
			add(right.flipped(plus))
		case kind == Swapped && drop >= 0 && plus >= 0:
			add(right.flipped(drop, plus))
		}
	})
	return out
}

// each visits the pairs of a type of the set, or -1, and one that it lacks, or -1; not -1 and -1.
func (p *perturber) each(right labelSet, visit func(drop, plus int)) {
	for drop := -1; drop < len(right); drop++ {
		if drop >= 0 && !right[drop] {
			continue
		}
		for plus := -1; plus < len(right); plus++ {
			if plus >= 0 && (right[plus] || plus == p.no) || drop < 0 && plus < 0 {
				continue
			}
			visit(drop, plus)
		}
	}
}

// nearMisses are the identifier's own set, if it is wrong, and single changes by what it thinks of each label: by its
// probabilities on the row, else by how it confuses labels on all rows. None where nothing is known.
func (p *perturber) nearMisses(r Judged, right labelSet) (out []candidate) {
	if known(r.Diagnosis) {
		if found, err := p.set(r.Diagnosis.Labels); err == nil && !slices.Equal(found, right) {
			out = append(out, candidate{found, 1})
		}
	}
	wrongly, missed := p.opinion(r.Diagnosis, right)
	if wrongly == nil {
		return out
	}
	p.each(right, func(drop, plus int) {
		switch {
		case plus < 0:
			out = append(out, candidate{right.flipped(drop), missed[drop]})
		case drop < 0:
			out = append(out, candidate{right.flipped(plus), wrongly[plus]})
		default:
			out = append(out, candidate{right.flipped(drop, plus), missed[drop] * wrongly[plus]})
		}
	})
	return out
}

// opinion is how likely the identifier is to give each label wrongly, and to miss it; nil if it is not known.
func (p *perturber) opinion(d *dataset.Diagnosis, right labelSet) (wrongly, missed []float64) {
	n := len(right)
	wrongly, missed = make([]float64, n), make([]float64, n)
	if known(d) && len(d.Probabilities) > 0 {
		for i, y := range p.o.Taxonomy.Types {
			if q, ok := d.Probabilities.Get(y.Name); ok {
				wrongly[i], missed[i] = q, 1-q
			}
		}
		return wrongly, missed
	}
	if p.diagnosed == nil {
		return nil, nil
	}
	for a := range p.causes(right) {
		if p.diagnosed[a] == 0 {
			continue
		}
		for b := range wrongly {
			wrongly[b] = max(wrongly[b], p.confused[a][b]/p.diagnosed[a])
		}
		if a < n {
			missed[a] = p.missed[a] / p.diagnosed[a]
		}
	}
	return wrongly, missed
}

// drawSet draws by weight among the sets that are not taken; nil if none has weight.
func drawSet(rng *rand.Rand, from []candidate, taken map[string]bool) labelSet {
	from = slices.DeleteFunc(from, func(c candidate) bool { return taken[c.set.key()] || !(c.weight > 0) })
	i := Draw(rng, from, func(c candidate) float64 { return c.weight })
	if len(from) == 0 {
		return nil
	}
	if i < 0 { // rounding
		i = len(from) - 1
	}
	return from[i].set
}
