package dataset

import "strings"

// pairGiven is what the system was given for each row: hashes of all fields but the first, and of the group field.
type pairGiven struct{ inputs, groups []uint64 }

func (g *pairGiven) add(texts []string, field int, hash func(texts ...string) uint64) {
	inputs, group := uint64(0), uint64(0)
	if given := texts[min(1, len(texts)):]; strings.Join(given, "") != "" {
		inputs = hash(given...)
	}
	if field >= 0 && field < len(texts) && texts[field] != "" {
		group = hash(texts[field])
	}
	g.inputs, g.groups = append(g.inputs, inputs), append(g.groups, group)
}

// isToldApart tells whether inputs hold more than what users said, and in neither file a system was told different
// things for the same words of a user: these may be different tasks.
func (p *Pairing) isToldApart() bool {
	more := false
	for side := range p.sides {
		s, told := &p.sides[side], map[[2]uint64]uint64{}
		for i, asked := range s.asked.groups {
			key := [2]uint64{asked, s.system[i]}
			if first, before := told[key]; before && first != s.groups[i] {
				return false
			}
			told[key] = s.groups[i]
			more = more || asked != s.groups[i]
		}
	}
	return more
}

// swapAsked puts what users said into the place of the inputs, or these back.
func (p *Pairing) swapAsked() {
	for side := range p.sides {
		s := &p.sides[side]
		s.pairGiven, s.asked = s.asked, s.pairGiven
	}
}
