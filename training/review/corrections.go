package review

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/erreval/erreval/internal/words"
)

// recall adds what earlier merges used, unless it is given anew. A file takes no word back by which a row was merged:
// it may be an old one. On the review page a word that no merge used was given later.
func (g *gathered) recall() {
	g.takeCorrections()
	for k, a := range g.answers {
		labels, merged := g.earlier.Decided[a.ItemID]
		old := g.stored[k]
		switch {
		case !merged || a.Skipped || old == nil || old.Skipped || old.same(a) || !slices.Equal(labels, old.Labels):
		case a.onPage:
			g.corrected[a.ItemID] = true
		default:
			g.fault(a.Place, a.ItemID, "%s answers %s, but it is merged already as %s by the same reviewer; take that merge "+
				"back with refine undo and merge all files at once, or correct it on the page of: %s", a.Reviewer, a.says(),
				says(labels), g.f.pageOf(a))
		}
	}
	for k, a := range g.stored {
		if g.answers[k] == nil {
			g.answers[k] = a
		}
	}
	slices.SortFunc(g.faults, func(a, b *Fault) int { // a map has no order
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, cmp.Compare(a.Cell, b.Cell),
			cmp.Compare(a.ItemID, b.ItemID))
	})
}

// pageOf is the command that opens the page on which an answer is corrected.
func (f *Frozen) pageOf(a *Answer) string {
	line := fmt.Sprintf("erreval refine review %s %s --reviewer %s", words.Quote(filepath.Dir(filepath.Dir(f.Dir))), f.ID,
		words.Quote(a.Reviewer))
	if a.Resolves {
		line += " --conflicts"
	}
	return line
}

// takeCorrections takes what somebody who decided between reviewers said later on the page for the decision, and not
// for one more voice. The page where it was decided keeps its answer, which is the older one.
func (g *gathered) takeCorrections() {
	for k, a := range g.answers {
		deciding := answerKey{k.item, k.reviewer, true}
		decision, old, again := g.stored[deciding], g.stored[k], g.answers[deciding]
		later := false
		switch {
		case k.resolves || !a.onPage || a.Skipped:
		case again != nil && again.onPage:
			later = !again.Skipped && a.Time.After(again.Time)
		case decision != nil && !decision.Skipped && (again == nil || again.same(decision)): // it came in a file
			later = old == nil || !old.same(a)
		}
		if !later {
			continue
		}
		delete(g.answers, k)
		corrected := *a
		corrected.Resolves = true
		g.answers[deciding] = &corrected
		if decision == nil || !decision.same(a) {
			g.corrected[k.item] = true
		}
	}
}

// areAfter tells whether all answers were given later.
func areAfter(at time.Time, answers []Answer) bool {
	return !slices.ContainsFunc(answers, func(a Answer) bool { return !a.Time.After(at) })
}

// isLater tells whether an answer that no merge used says otherwise than the item was decided.
func (g *gathered) isLater(a *Answer, decided []string) bool {
	old := g.stored[keyOf(a)]
	return !a.Resolves && !a.Skipped && !slices.Equal(a.Labels, decided) && (old == nil || !old.same(a))
}
