package page

import (
	"maps"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/wordmatch"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// shownBatch is all that the browser gets. It tells nothing by which a control row could be known: of a row only its
// columns for reviewers, of an item neither its reason nor what it repeats.
type shownBatch struct {
	Batch    string       `json:"batch"`
	Reviewer string       `json:"reviewer"`
	Task     string       `json:"task"`
	Next     string       `json:"next"`
	Merges   bool         `json:"merges"` // the end of the review merges what was answered
	Types    []shownType  `json:"types"`
	Fields   []shownField `json:"fields"`
	Items    []shownItem  `json:"items"`
}

type shownType struct {
	Name       string `json:"name"`
	Category   string `json:"category"`
	Definition string `json:"definition"`
	NoError    bool   `json:"no_error"`
	Key        string `json:"key"`
}

type shownField struct {
	Name       string `json:"name"`
	Definition string `json:"definition"`
	Group      bool   `json:"group,omitempty"` // rows may share it: it is long, and scrolls by itself
}

type shownItem struct {
	ID            string                `json:"id"`
	Texts         [][]wordmatch.Piece   `json:"texts"` // one a field; marked where it says another one word for word
	Proposed      []string              `json:"proposed,omitempty"`
	Probabilities dataset.Probabilities `json:"probabilities,omitempty"`
	Answer        *given                `json:"answer"` // nil where there is none yet
	Choices       []choice              `json:"choices,omitempty"`
}

// choice is what some of the reviewers answered to an item on which they differ.
type choice struct {
	By     string   `json:"by"` // their names
	Labels []string `json:"labels"`
}

// choices are the different answers to an item, in the order of the names of those who gave them.
func choices(c *review.Conflict) (all []choice) {
	for _, name := range slices.Sorted(maps.Keys(c.Answers)) {
		labels := c.Answers[name]
		at := slices.IndexFunc(all, func(o choice) bool { return slices.Equal(o.Labels, labels) })
		if at >= 0 {
			all[at].By += ", " + name
		} else {
			all = append(all, choice{By: name, Labels: labels})
		}
	}
	return all
}

// batch is the review as it stands.
func (p *Page) batch() *shownBatch {
	t := p.review.Batch.Taxonomy
	b := &shownBatch{Batch: p.review.Batch.ID, Reviewer: p.review.Reviewer, Task: t.Title, Next: p.review.Next,
		Merges: p.review.Batch.Decides}
	types := inOrder(t.Types)
	for i, key := range keys(types) {
		y := types[i]
		b.Types = append(b.Types, shownType{y.Name, y.Category, y.Definition, y.NoError, key})
	}
	for _, c := range p.review.Batch.Columns {
		b.Fields = append(b.Fields, shownField{c.Name, c.Definition, c.Group})
	}
	answers := p.given()
	for i := range p.review.Batch.All {
		item := p.show(i)
		item.Answer = answers[item.ID]
		if p.review.Batch.Decides {
			item.Choices = choices(&p.review.Batch.Differ[i])
		}
		b.Items = append(b.Items, item)
	}
	return b
}

// show makes what is shown of the ith item.
func (p *Page) show(i int) shownItem {
	item, values := &p.review.Batch.All[i], p.review.Batch.Values[i]
	out := shownItem{ID: item.ItemID}
	for j, c := range p.review.Batch.Columns {
		var others []string
		if c.Group {
			others = slices.Concat(values[:j], values[j+1:])
		}
		out.Texts = append(out.Texts, wordmatch.Cut(values[j], others))
	}
	if item.Proposed != nil && p.review.ShowLabels {
		out.Proposed = item.Proposed.Labels
	}
	if item.Proposed != nil && p.review.ShowProbabilities {
		out.Probabilities = item.Proposed.Probabilities
	}
	return out
}

// given are the answers that count, by item.
func (p *Page) given() map[string]*given {
	m := map[string]*given{}
	for _, a := range p.answers() {
		m[a.ItemID] = givenOf(&a)
	}
	return m
}

func givenOf(a *review.Answer) *given { return &given{a.ItemID, a.Labels, a.Notes, a.Skipped} }

// Keys that labels may have. What is missing among the letters is a command of the page: d, j, k, n, s, u, z. The
// semicolon begins keys of two strokes, so that there are always enough.
const (
	noErrorKey = "0"
	labelKeys  = "123456789abcefghilmopqrtvwxyABCDEFGHIJKLMNOPQRSTUVWXYZ"
	prefixKey  = ";"
)

// inOrder puts types as the page shows them: the no-error label first, then category by category.
func inOrder(types []taxonomy.Type) []taxonomy.Type {
	rank := map[string]int{}
	for _, y := range types {
		if _, ok := rank[y.Category]; !ok {
			rank[y.Category] = len(rank)
		}
	}
	out := slices.Clone(types)
	place := func(y taxonomy.Type) int {
		if y.NoError {
			return -1
		}
		return rank[y.Category]
	}
	slices.SortStableFunc(out, func(a, b taxonomy.Type) int { return place(a) - place(b) })
	return out
}

// keys gives each type its key, in order: digits, letters, capitals, then ";1" and so on. None begins another.
func keys(types []taxonomy.Type) []string {
	out := make([]string, len(types))
	prefix, next := "", 0
	for i, y := range types {
		if y.NoError {
			out[i] = noErrorKey
			continue
		}
		if next == len(labelKeys) {
			prefix, next = prefix+prefixKey, 0
		}
		out[i] = prefix + labelKeys[next:next+1]
		next++
	}
	return out
}
