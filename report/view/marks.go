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
	rows map[int]bool
}

// SetMarked says of a row whether a person marked it.
func (x *Index) SetMarked(n int, marked bool) {
	x.marks.mu.Lock()
	defer x.marks.mu.Unlock()
	if x.marks.rows == nil {
		x.marks.rows = map[int]bool{}
	}
	x.marks.rows[n] = marked
}

func (x *Index) isMarked(n int) bool {
	x.marks.mu.Lock()
	defer x.marks.mu.Unlock()
	return x.marks.rows[n]
}

// RowsWith gives the rows of a run that have an id.
func (x *Index) RowsWith(ctx context.Context, run int, id string) (rows []int, err error) {
	f := &Filter{Facets: map[string]Condition{facetRun: {Any: []string{x.meta.Catalog.Runs[run].Name}}}, Search: id}
	found, err := x.apply(ctx, f)
	if err != nil {
		return nil, err
	}
	for n, there := range found.rows {
		if !there {
			continue
		}
		e, err := x.entry(ctx, n)
		if err != nil {
			return nil, err
		}
		if e.ID == id {
			rows = append(rows, n)
		}
	}
	return rows, nil
}
