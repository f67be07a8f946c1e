package review

import "slices"

// droppers are those who were to decide between others, and skipped the item.
func droppers(answers []Answer) (names []string) {
	for _, a := range answers {
		if a.Resolves && a.Skipped {
			names = append(names, a.Reviewer)
		}
	}
	return names
}

// others are the names of whom no answer is.
func others(names []string, answers []Answer) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(answers, func(a Answer) bool { return a.Reviewer == name })
	})
}

// drop leaves an item out for good. What was merged before keeps its labels, since a merge only adds.
func (o *Outcome) drop(it *Item, by []string, merged bool) {
	if o.Dropped == nil {
		o.Dropped = map[string][]string{}
	}
	o.Dropped[it.ItemID] = by
	if merged {
		o.Kept++
	}
}

// countSettled counts what the merge before left in conflict and this one does not. A mark is a step of its own.
func (g *gathered) countSettled(out *Outcome) {
	for _, c := range g.earlier.Conflicts {
		i, ok := g.f.index[c.ItemID]
		open := slices.ContainsFunc(out.Conflicts, func(o Conflict) bool { return o.ItemID == c.ItemID })
		if !ok || open {
			continue
		}
		if _, marked := g.earlier.Marked[g.f.All[i].TextSHA256]; !marked {
			out.Settled++
		}
	}
}

// DecidedBy are the items on which reviewers differed and that one person decided, with what the others answered, and
// the decisions. others are those who decided the rest.
func (f *Frozen) DecidedBy(e *Earlier, name string) (items []Conflict, decisions []Answer, others []string) {
	byItem := (&gathered{f: f, answers: e.stored()}).byItem()
	for i := range f.All {
		answers := byItem[f.All[i].ItemID]
		for _, a := range answers {
			switch {
			case !a.Resolves:
			case a.Reviewer == name:
				items = append(items, conflict(&f.All[i], decided(answers, false)))
				decisions = append(decisions, a)
			default:
				others = append(others, a.Reviewer)
			}
		}
	}
	slices.Sort(others)
	return items, decisions, slices.Compact(others)
}

func conflict(it *Item, voices []Answer) Conflict {
	c := Conflict{ItemID: it.ItemID, Answers: map[string][]string{}}
	for _, a := range voices {
		c.Answers[a.Reviewer] = a.Labels
	}
	return c
}
