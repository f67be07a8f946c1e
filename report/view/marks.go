package view

import (
	"context"
	"slices"
	"strings"
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

// RowsWith gives the rows of a run that have one of these ids, in order.
func (x *Index) RowsWith(ctx context.Context, run int, ids []string) (rows []int, err error) {
	places, err := x.ids(ctx)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	rowAt := make([]int, slices.Max(places)+1) // a row whose id has the place
	for n, place := range places {
		rowAt[place] = n
	}
	wanted := map[int]bool{}
	for _, id := range ids {
		place, found := slices.BinarySearchFunc(rowAt, id, func(n int, id string) int {
			e, failed := x.entry(ctx, n)
			if failed != nil {
				err = failed
				return 0
			}
			return strings.Compare(e.ID, id)
		})
		if err != nil {
			return nil, err
		}
		if found {
			wanted[place] = true
		}
	}
	for n := x.meta.Starts[run]; n < x.meta.Starts[run+1]; n++ {
		if wanted[int(places[n])] {
			rows = append(rows, n)
		}
	}
	return rows, nil
}
