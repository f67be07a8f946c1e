package view

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/klauspost/compress/s2"
)

// entry is a row as it is stored: this as a line of JSON, and the record behind it.
type entry struct {
	ID       string              `json:"id"`
	Text     string              `json:"text"`
	Fields   map[string]string   `json:"fields"`
	Facets   map[string]int32    `json:"facets"` // numbers of sets, of those that are not offered too
	Measures map[string]*float64 `json:"measures"`

	record json.RawMessage
}

// entry reads a row.
func (x *Index) entry(ctx context.Context, n int) (*entry, error) {
	places, err := cached(&x.cache, "rows", 8*x.rows(), func() ([]int64, error) { return load(ctx, x, &x.meta.Rows, 0) })
	if err != nil {
		return nil, err
	}
	data, err := x.file.get(ctx, places[n])
	if err != nil {
		return nil, err
	}
	if data, err = s2.Decode(nil, data); err != nil {
		return nil, err
	}
	e := &entry{}
	line, record, _ := bytes.Cut(data, []byte("\n"))
	e.record = record
	return e, json.Unmarshal(line, e)
}

// summary is a row as lists show it.
func (x *Index) summary(n int, e *entry) RowSummary {
	s := RowSummary{N: n, ID: e.ID, Run: x.runOf(n), Text: e.Text, Fields: e.Fields, Facets: map[string][]int{},
		Measures: e.Measures, Marked: x.isMarked(n)}
	for key, c := range x.meta.Facets {
		if set := c.Sets[c.of(e.Facets[key], s.Run)]; len(set) > 0 {
			s.Facets[key] = set
		}
	}
	for key := range s.Measures {
		if _, offered := x.measures[key]; !offered {
			delete(s.Measures, key)
		}
	}
	return s
}

// summaries are those of rows, in the order given.
func (x *Index) summaries(ctx context.Context, rows []int) ([]RowSummary, error) {
	out := make([]RowSummary, len(rows))
	for i, n := range rows {
		e, err := x.entry(ctx, n)
		if err != nil {
			return nil, err
		}
		out[i] = x.summary(n, e)
	}
	return out, nil
}
