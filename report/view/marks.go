package view

import (
	"context"
	"sync"
)

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
