package refine

import (
	"cmp"
	"math"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// chooseThresholds chooses for each error the probability from which it is given. First it takes the one with the
// highest F1 on rows with known labels; of equally good ones the middle of the widest range, which moves least on new
// rows. Then it moves them together. Labels with fewer rows than minSupport share one, at first 0.5: of so few rows,
// the best of each is chance.
func chooseThresholds(t *taxonomy.Taxonomy, gold *labelled, found []*dataset.Diagnosis,
	minSupport int) map[string]float64 {
	d := newDecisions(t, gold, found)
	var chosen [][]int
	var rare []int
	for k := range t.Types {
		d.at[k] = 0.5
		if k == t.NoErrorIndex() {
			continue
		}
		if d.support[k] < minSupport {
			rare = append(rare, k)
			continue
		}
		chosen = append(chosen, []int{k})
		var p []float64
		var yes []bool
		for i, row := range d.p {
			if !math.IsNaN(row[k]) {
				p, yes = append(p, row[k]), append(yes, d.gold[i][k])
			}
		}
		d.at[k] = bestThreshold(p, yes)
	}
	if len(rare) > 0 {
		chosen = append(chosen, rare)
	}
	d.moveTogether(chosen)
	out := map[string]float64{}
	for k, y := range t.Types {
		if !y.NoError {
			out[y.Name] = d.at[k]
		}
	}
	return out
}

// decisions are the probabilities of rows, their known labels, and thresholds; columns are the taxonomy's types.
type decisions struct {
	p       [][]float64 // NaN: not judged
	gold    [][]bool
	support []int // rows that have the label, of those where it is judged
	noError int
	at      []float64
}

func newDecisions(t *taxonomy.Taxonomy, gold *labelled, found []*dataset.Diagnosis) *decisions {
	d := &decisions{support: make([]int, len(t.Types)), noError: t.NoErrorIndex(), at: make([]float64, len(t.Types))}
	for i, one := range found {
		p, has := make([]float64, len(t.Types)), make([]bool, len(t.Types))
		for k, y := range t.Types {
			v, ok := one.Probabilities.Get(y.Name)
			if !ok {
				v = math.NaN()
			}
			p[k], has[k] = v, slices.Contains(gold.labels[i], y.Name)
			d.support[k] += count(has[k] && (ok || y.NoError))
		}
		d.p, d.gold = append(d.p, p), append(d.gold, has)
	}
	return d
}

// moveTogether moves thresholds, one after the other, as long as f1 rises: a label that is given wrongly also takes
// away No Error, which the best threshold of that label alone does not see. Types of one list share theirs.
func (d *decisions) moveTogether(lists [][]int) {
	const cuts = 50
	best := d.f1()
	for gained := true; gained; {
		gained = false
		for _, types := range lists {
			at := d.at[types[0]]
			for cut := 1; cut < cuts; cut++ {
				d.set(types, float64(cut)/cuts)
				if f1 := d.f1(); f1 > best+1e-9 {
					best, at, gained = f1, float64(cut)/cuts, true
				}
			}
			d.set(types, at)
		}
	}
}

func (d *decisions) set(types []int, at float64) {
	for _, k := range types {
		d.at[k] = at
	}
}

// f1 is the sum of the micro-F1 and the macro-F1 of the labels that the thresholds give.
func (d *decisions) f1() float64 {
	hits, sizes := make([]int, len(d.at)), make([]int, len(d.at)) // sizes: given and known
	for i, p := range d.p {
		none := true
		for k, x := range p {
			if k == d.noError {
				continue
			}
			given := x >= d.at[k] // NaN is never given
			none = none && !given
			hits[k] += count(given && d.gold[i][k])
			sizes[k] += count(given) + count(d.gold[i][k])
		}
		if k := d.noError; k >= 0 {
			hits[k] += count(none && d.gold[i][k])
			sizes[k] += count(none) + count(d.gold[i][k])
		}
	}
	allHits, allSizes, macro, seen := 0, 0, 0.0, 0
	for k := range hits {
		allHits, allSizes = allHits+hits[k], allSizes+sizes[k]
		if d.support[k] > 0 {
			seen++
			macro += 2 * float64(hits[k]) / float64(sizes[k])
		}
	}
	return 2*float64(allHits)/float64(max(1, allSizes)) + macro/float64(max(1, seen))
}

// bestThreshold looks at every cut between two neighbouring probabilities.
func bestThreshold(p []float64, yes []bool) float64 {
	order := make([]int, len(p))
	support := 0
	for i := range order {
		order[i] = i
		support += count(yes[i])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) }) // from the highest probability down
	best, width, threshold, hits := -1.0, 0.0, 0.5, 0
	for k, i := range order {
		hits += count(yes[i])
		next := 0.0
		if k+1 < len(order) {
			next = p[order[k+1]]
		}
		if next == p[i] { // no cut between equal ones
			continue
		}
		f1 := 2 * float64(hits) / float64(k+1+support)
		if f1 > best || f1 == best && p[i]-next > width {
			best, width, threshold = f1, p[i]-next, (p[i]+next)/2
		}
	}
	return threshold
}
