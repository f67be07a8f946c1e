package view

import "encoding/json"

// Data is what a report file holds.
type Data struct {
	Catalog *Catalog `json:"catalog"`
	// Answers are those about all rows: the first view needs no counting, and a sample of rows has the figures of all.
	// A filter is answered from the rows of the file.
	Answers []Answer `json:"answers,omitempty"`
	Rows    Columns  `json:"rows"`
}

// Answer is a question with an empty filter, and what a Source of all rows says.
type Answer struct {
	Counts    *CountsQuery    `json:"counts,omitempty"` // one of the two
	Histogram *HistogramQuery `json:"histogram,omitempty"`
	Answer    any             `json:"answer"`
}

// Columns are the rows of a report file. Lists have an entry a row, in the order of RowSummary.N; where the file holds
// a sample, N counts the rows of the sample.
type Columns struct {
	Run      []int                 `json:"run"`
	ID       []string              `json:"id"`
	Group    []int                 `json:"group"`          // equal numbers are one group
	Input    []int                 `json:"input"`          // equal numbers are one input
	Pair     []int                 `json:"pair,omitempty"` // equal numbers are rows of several runs that belong together; none of one run
	Facets   map[string][][]int    `json:"facets"`         // by facet and row: places of values
	Measures map[string][]*float64 `json:"measures"`
	Records  []json.RawMessage     `json:"records"` // in a file apart, behind the others
}
