package page

import (
	"encoding/json"
	"fmt"

	"github.com/erreval/erreval/internal/wordmatch"
)

// shownBatch is all that the browser gets. It tells nothing by which a control row could be known: of a row only the
// task's fields, of an item neither its reason nor what it repeats.
type shownBatch struct {
	Batch    string       `json:"batch"`
	Reviewer string       `json:"reviewer"`
	Task     string       `json:"task"`
	Next     string       `json:"next"`
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
}

type shownItem struct {
	ID            string             `json:"id"`
	Texts         [][]piece          `json:"texts"` // one a field
	Proposed      []string           `json:"proposed,omitempty"`
	Probabilities map[string]float64 `json:"probabilities,omitempty"`
	Answer        *given             `json:"answer"` // nil where there is none yet
}

// piece is a part of a text; marked where it says another field word for word.
type piece struct {
	Text string `json:"text"`
	Mark bool   `json:"mark,omitempty"`
}

func (p *Page) show(item *Item) (shownItem, error) {
	texts, err := fieldTexts(item.Row, p.review.Taxonomy.FieldNames())
	if err != nil {
		return shownItem{}, err
	}
	out := shownItem{ID: item.ItemID}
	for i, f := range p.review.Taxonomy.Fields {
		var others []string
		if f.Group {
			others = append(append(others, texts[:i]...), texts[i+1:]...)
		}
		out.Texts = append(out.Texts, pieces(texts[i], others))
	}
	if item.Proposed != nil && p.review.ShowLabels {
		out.Proposed = item.Proposed.Labels
	}
	if item.Proposed != nil && p.review.ShowProbabilities {
		out.Probabilities = item.Proposed.Probabilities
	}
	return out, nil
}

// fieldTexts reads the task's fields of a row; what is no text is shown as it stands.
func fieldTexts(row json.RawMessage, fields []string) ([]string, error) {
	var columns map[string]json.RawMessage
	if err := json.Unmarshal(row, &columns); err != nil {
		return nil, err
	}
	texts := make([]string, len(fields))
	for i, f := range fields {
		raw, ok := columns[f]
		if !ok {
			return nil, fmt.Errorf("its row has no field %q", f)
		}
		if json.Unmarshal(raw, &texts[i]) != nil {
			texts[i] = string(raw)
		}
	}
	return texts, nil
}

func pieces(text string, targets []string) []piece {
	out, end := []piece{}, 0
	add := func(to int, mark bool) {
		if to > end {
			out = append(out, piece{text[end:to], mark})
			end = to
		}
	}
	for _, at := range wordmatch.Find(text, targets) {
		add(at[0], false)
		add(at[1], true)
	}
	add(len(text), false)
	return out
}

// batch is the review as it stands.
func (p *Page) batch() *shownBatch {
	r := p.review
	b := &shownBatch{Batch: r.Batch, Reviewer: r.Reviewer, Task: r.Taxonomy.Title, Next: r.Next, Items: make([]shownItem, len(p.shown))}
	for i, key := range keys(r.Taxonomy) {
		y := r.Taxonomy.Types[i]
		b.Types = append(b.Types, shownType{y.Name, y.Category, y.Definition, y.NoError, key})
	}
	for _, f := range r.Taxonomy.Fields {
		b.Fields = append(b.Fields, shownField{f.Name, f.Definition})
	}
	current := p.answers.current()
	for i, item := range p.shown {
		item.Answer = shownAnswerOf(current[item.ID])
		b.Items[i] = item
	}
	return b
}

func shownAnswerOf(a *Answer) *given {
	if a == nil {
		return nil
	}
	return &given{a.ItemID, a.Labels, a.Notes, a.Skipped}
}
