package dataset

import "github.com/erreval/erreval/taxonomy"

// Together finds the rows of several files that belong together, as Pairing does of two.
type Together struct {
	p     *Pairing
	files []pairSide
	// Systems that are paired with others, after Numbers
	Systems []FilePairs
}

// FilePairs are pairs of two files, by their places.
type FilePairs struct {
	A, B    int
	Systems []SystemPairs
}

// NewTogether starts without rows. id is as of NewPairing, system the column that names systems.
func NewTogether(t *taxonomy.Taxonomy, id []string, system string, files int) *Together {
	p := NewPairing(t, id)
	p.System = system
	return &Together{p: p, files: make([]pairSide, files)}
}

// Add adds the next row of a file.
func (g *Together) Add(file int, row *Row) { g.p.add(&g.files[file], row) }

// Numbers gives each row of each file a number below that of all rows. Rows with the same number belong together; no
// two rows of a file have the same. A row's partner in the first of the files that have one counts.
func (g *Together) Numbers() [][]int32 {
	all, next := make([][]int32, len(g.files)), int32(0)
	for k := range g.files {
		numbers, taken, left := make([]int32, g.files[k].rows), map[int32]bool{}, g.files[k].rows
		for i := range numbers {
			numbers[i] = -1
		}
		for j := 0; j < k && left > 0; j++ {
			p := *g.p
			p.sides = [2]pairSide{g.files[j], g.files[k]}
			pairs := p.pair()
			if systems := p.systemPairs(pairs); len(systems) > 0 {
				g.Systems = append(g.Systems, FilePairs{j, k, systems})
			}
			for i, of := range pairs.Of {
				if of < 0 || numbers[i] >= 0 || taken[all[j][of]] {
					continue
				}
				numbers[i], taken[all[j][of]] = all[j][of], true
				left--
			}
		}
		for i := range numbers {
			if numbers[i] < 0 {
				numbers[i] = next
				next++
			}
		}
		all[k] = numbers
	}
	return all
}
