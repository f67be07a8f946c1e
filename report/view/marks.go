package view

import (
	"context"
	"sync"
)

// MarkedQuery asks for the mark of a row.
type MarkedQuery struct {
	N int `json:"n"`
}

// MarkQuery marks a row: it says what is right, in the place of an earlier mark.
type MarkQuery struct {
	N      int      `json:"n"`
	Labels []string `json:"labels"` // null takes the mark away
	Notes  string   `json:"notes"`
	Seen   *string  `json:"seen,omitempty"` // Marked.Time of the mark that it replaces, as the page shows it; nil asks nothing
}

// Marked is what a person says of a row.
type Marked struct {
	Labels []string `json:"labels"` // null: nothing
	Notes  string   `json:"notes"`
	Time   string   `json:"time,omitempty"` // RFC 3339, UTC
}

// Marker is a Source that keeps people's marks of rows. One that cannot be is a *QueryError.
type Marker interface {
	Marked(context.Context, MarkedQuery) (*Marked, error)
	Mark(context.Context, MarkQuery) (*Marked, error)
}

// marks are the rows that people marked; they change while they are looked at.
type marks struct {
	mu   sync.Mutex
	rows map[int]*Marked
}

// SetMarked says of a row how a person marked it.
func (x *Index) SetMarked(n int, mark *Marked) {
	x.marks.mu.Lock()
	defer x.marks.mu.Unlock()
	if x.marks.rows == nil {
		x.marks.rows = map[int]*Marked{}
	}
	if x.marks.rows[n] = mark; mark.Labels == nil {
		delete(x.marks.rows, n)
	}
}

// markOf is a row's mark; nil is none.
func (x *Index) markOf(n int) *Marked {
	x.marks.mu.Lock()
	defer x.marks.mu.Unlock()
	return x.marks.rows[n]
}

func (x *Index) isMarked(n int) bool { return x.markOf(n) != nil }

func (x *Index) hasMarks() bool {
	x.marks.mu.Lock()
	defer x.marks.mu.Unlock()
	return len(x.marks.rows) > 0
}

// RowsLike gives the rows of a run that have one of these ids, or whose judged text begins as one of these texts does,
// in order.
func (x *Index) RowsLike(ctx context.Context, run int, ids, texts []string) (rows []int, err error) {
	known, begins := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		known[id] = true
	}
	for _, text := range texts {
		begins[beginningOf([]string{text})] = true
	}
	for n := x.meta.Starts[run]; n < x.meta.Starts[run+1] && len(ids)+len(texts) > 0; n++ {
		e, err := x.entry(ctx, n)
		if err != nil {
			return nil, err
		}
		if known[e.ID] || begins[e.Text] {
			rows = append(rows, n)
		}
	}
	return rows, nil
}

// SameInput gives the rows of a row's run that have its input, itself among them.
func (x *Index) SameInput(ctx context.Context, n int) (rows []int, err error) {
	inputs, err := x.inputs(ctx)
	if err != nil {
		return nil, err
	}
	run := x.runOf(n)
	for other := x.meta.Starts[run]; other < x.meta.Starts[run+1]; other++ {
		if inputs[other] == inputs[n] {
			rows = append(rows, other)
		}
	}
	return rows, nil
}
