package dataset

import (
	"cmp"
	"slices"
	"strings"
)

// countOther counts the pairs whose rows have other inputs or systems, and those of moved texts.
func (p *Pairing) countOther(pairs *Pairs) {
	a, b, isOther, isMoved := p.sides[0].groups, p.sides[1].groups, p.isOther(), p.isMoved()
	for j, i := range pairs.Of {
		switch {
		case i < 0:
		case a[i] != b[j] || isOther(i, j):
			pairs.Other++
		case isMoved(i, j):
			pairs.Moved++
		}
	}
}

// count counts the pairs of rows i of A and j of B that are so.
func (p *Pairs) count(are func(i, j int) bool) (n int) {
	for j, i := range p.Of {
		if i >= 0 && are(i, j) {
			n++
		}
	}
	return n
}

// dropStrange parts the pairs of isStrange.
func (p *Pairing) dropStrange(pairs *Pairs) {
	isStrange := p.isStrange()
	for j, i := range pairs.Of {
		if i >= 0 && isStrange(i, j) {
			pairs.Of[j], pairs.Same[j] = -1, false
			pairs.Both--
		}
	}
	pairs.Other, pairs.Moved = 0, 0
	p.countOther(pairs)
}

// isStrange tells whether row j of B is of a group that A has, but not in row i, or of another system, or has a moved
// text: what pairs them is no name of theirs, as the number of a line is none.
func (p *Pairing) isStrange() func(i, j int) bool {
	a, b, isOther, isMoved := p.sides[0].groups, p.sides[1].groups, p.isOther(), p.isMoved()
	has := map[uint64]bool{}
	for _, group := range a {
		has[group] = group != 0
	}
	return func(i, j int) bool { return a[i] != b[j] && has[b[j]] || isOther(i, j) || isMoved(i, j) }
}

// shareSystems tells whether a system that rows name is in both files.
func (p *Pairing) shareSystems() bool {
	for name := range p.sides[0].named {
		if p.sides[1].named[name] {
			return true
		}
	}
	return false
}

// isOther tells whether rows i of A and j of B are of different systems, of which one has rows in both files.
func (p *Pairing) isOther() func(i, j int) bool {
	a, b := &p.sides[0], &p.sides[1]
	return func(i, j int) bool {
		one, other := a.system[i], b.system[j]
		return one != other && a.named[one] && b.named[other] && (b.named[one] || a.named[other])
	}
}

// isMoved tells whether rows i of A and j of B have different texts, and another row of A has B's: as where a row was
// put in front, and ids are numbers. A system may also write what it wrote for another row.
func (p *Pairing) isMoved() func(i, j int) bool {
	a, b, texts := &p.sides[0], &p.sides[1], map[uint64]bool{}
	for _, text := range join(a.text, a.system) {
		texts[text] = true
	}
	ofB := join(b.text, b.system)
	return func(i, j int) bool { return a.text[i] != b.text[j] && texts[ofB[j]] }
}

// systemPairs counts the pairs of systems with other names, where a file names several.
func (p *Pairing) systemPairs(pairs *Pairs) (out []SystemPairs) {
	a, b := p.sides[0].system, p.sides[1].system
	if max(len(p.sides[0].named), len(p.sides[1].named)) < 2 {
		return nil
	}
	n := map[[2]uint64]int{}
	for j, i := range pairs.Of {
		if i >= 0 && a[i] != b[j] {
			n[[2]uint64{a[i], b[j]}]++
		}
	}
	for of, pairs := range n {
		out = append(out, SystemPairs{p.called[of[0]], p.called[of[1]], pairs})
	}
	slices.SortFunc(out, func(x, y SystemPairs) int {
		return cmp.Or(y.Pairs-x.Pairs, strings.Compare(x.A, y.A), strings.Compare(x.B, y.B))
	})
	return out
}
