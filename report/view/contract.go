// Package view answers the questions of the page about rows and the records that the commands write. It has a Catalog
// of what there is, and a Source that counts, lists and compares rows. The page (report/page) asks the same questions
// of a Source over HTTP, or answers them itself from the data in a report file; report/page/src/contract.ts is this
// file and data.go in TypeScript, and the fixtures in testdata/queries are answered equally by both.
//
// An index is one file: each row as lists show it with its record, compressed, and for each facet and measure a column
// of numbers by row, besides an inverted index of words. A question reads the columns that it is about into memory,
// where they stay for the next one, and goes through all rows. Up to 20,000 rows are in memory; the file of more
// appears whole or not at all, and is found again while its inputs stay as they are.
package view

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/erreval/erreval/report"
)

// Format is the version of the contract.
const Format = 1

// Catalog says what there is to see. It is the first thing that the page reads.
type Catalog struct {
	Format   int       `json:"format"` // Format
	Title    string    `json:"title"`
	Build    string    `json:"build"`            // of the program
	Rows     int       `json:"rows"`             // of all runs
	Sample   *Sample   `json:"sample,omitempty"` // absent where every row can be reached
	Task     string    `json:"task"`             // the taxonomy's name@version; "" if no run has one
	Runs     []Run     `json:"runs"`
	Fields   []Field   `json:"fields"`
	Facets   []Facet   `json:"facets"`
	Measures []Measure `json:"measures"`
	Sections []Section `json:"sections"`
	Notes    []string  `json:"notes"` // what was left out, one line each
	// Labels are what a person can mark rows with; only when served, where marks are kept (Marker).
	Labels []Label `json:"labels,omitempty"`
}

// IsBare tells whether nothing was looked for in the rows.
func (c *Catalog) IsBare() bool {
	return !slices.ContainsFunc(c.Facets, func(f Facet) bool {
		return f.Key == facetLabel || f.Key == facetIssue || f.Key == facetGold || strings.HasPrefix(f.Key, prefixVerdict)
	}) && !slices.ContainsFunc(c.Measures, func(m Measure) bool { return strings.HasPrefix(m.Key, prefixScore) })
}

// Label is one of the task's error types, or the one for rows without any.
type Label struct {
	Name       string `json:"name"`
	Category   string `json:"category,omitempty"`
	Definition string `json:"definition"`
	NoError    bool   `json:"no_error,omitempty"`
}

// Sample says which rows a report holds when it does not hold all.
type Sample struct {
	Rows int    `json:"rows"`
	Of   int    `json:"of"`
	Seed uint64 `json:"seed"`
}

// Run is one file of rows, in the order in which they were given.
type Run struct {
	Name     string            `json:"name"`              // unique; the file's name, with as much of its folder as tells runs apart
	Command  string            `json:"command"`           // "identify"; "" if no record lies beside the file
	Columns  map[string]string `json:"columns,omitempty"` // field to the column that it is read from, where the names differ
	Rows     int               `json:"rows"`
	Rejected int               `json:"rejected"` // lines that are no rows
	Facts    []Fact            `json:"facts"`    // of the run's record: model, judge, calls, cost, time …
	// Thresholds are those of error types in this run, where they are known: from here on the error is a label.
	Thresholds map[string]report.Number `json:"thresholds,omitempty"`
}

// Fact is a name with a value for people.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Field is one of the task's texts. A row has it in the column that Run.Columns says, else in that of its name: a text,
// a number's JSON, or, up to three levels deep, the first item of a list or what an object has as "text". Pairs have
// two, in the columns NAME_a and NAME_b.
type Field struct {
	Name       string `json:"name"`
	Definition string `json:"definition"`
	Judged     bool   `json:"judged"`          // the text in which errors are looked for
	Group      bool   `json:"group,omitempty"` // rows that share it stand and fall together
}

// Roles of a facet's values.
const (
	RoleNone    = "none"    // looked at, and nothing found: No Error, No Issue
	RoleUnknown = "unknown" // not looked at: untagged, unassigned, unjudged. Left out of shares
)

// Facet is what rows can be told apart by. A row has one value, or with Multi any number.
//
// Keys: "run"; "system"; "system_run" (both, where several runs have several systems); "label" (errors found, No Error,
// untagged); "gold" (a person's labels); "issue" (discovered issues by name, No Issue, unassigned); "unscored"
// (dimensions without a score, else scored); "truncated" (fields that were cut or read in parts, else whole);
// "not_judged" (errors for which a row lacks a field: it is outside of their shares); "verdict.TYPE" (A, B, both_good,
// both_bad, unjudged); "column.NAME" (any other column with few short values). Values that are none come first, those
// that are unknown last.
type Facet struct {
	Key    string  `json:"key"`
	Title  string  `json:"title"`
	Multi  bool    `json:"multi"`
	Values []Value `json:"values"` // in the order in which they are shown
}

// Value is one of a facet.
type Value struct {
	Name string `json:"name"` // unique in the facet; filters name it
	Note string `json:"note,omitempty"`
	Role string `json:"role,omitempty"`
	// Severity is the mean of an issue's rows, 1 to 3 as in OUT.issues.json; of CLEAR's results 1 - mean score, as there.
	Severity  *report.Number `json:"severity,omitempty"`
	Stability *report.Number `json:"stability,omitempty"` // of an issue, 0 to 1
	Related   []Related      `json:"related,omitempty"`   // error types that coincide with an issue
	Examples  []string       `json:"examples,omitempty"`  // sentences about an issue, with quotes

	key string // the name by which rows were counted
}

// Related is an error type that stands on the same rows as an issue more often than by chance.
type Related struct {
	Name string        `json:"name"`
	Rows int           `json:"rows"`
	Phi  report.Number `json:"phi"` // correlation of both, -1 to 1
}

// Measure is a number that rows have, or lack.
//
// Keys: "score.DIMENSION"; "probability.TYPE"; "severity" (of the row's issue); "column.NAME" (any other column of
// numbers).
type Measure struct {
	Key   string  `json:"key"`
	Title string  `json:"title"`
	Low   float64 `json:"low"` // of the scale where there is one, else the least and greatest value
	High  float64 `json:"high"`
	Step  float64 `json:"step,omitempty"` // between possible values; absent if any number may come
	Runs  []int   `json:"runs"`           // places in Catalog.Runs of those in which any row has it
}

// Filter chooses rows; an empty one chooses all. All its conditions hold at the same time.
type Filter struct {
	Facets map[string]Condition `json:"facets,omitempty"`
	Ranges map[string]Range     `json:"ranges,omitempty"` // rows without that number are not chosen
	// Search holds words; a row is chosen if each begins a word of one of its fields or of its id, in any case.
	// Words are runs of letters and digits (Unicode L and N), of which the first 64 count. Case is that of each code
	// point by itself, and a final sigma is a sigma. Without words all rows are chosen.
	Search string `json:"search,omitempty"`
	Marked bool   `json:"marked,omitempty"` // rows that a person marked alone
}

// Condition is about one facet; values are names.
type Condition struct {
	Any  []string `json:"any,omitempty"`  // at least one of these
	All  []string `json:"all,omitempty"`  // every one of these
	None []string `json:"none,omitempty"` // not one of these
	Only bool     `json:"only,omitempty"` // no value but those in Any and All
}

// Range holds both ends; nil is open.
type Range struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// Sort orders rows: by "row" (the order of files), "id" (its code points), a measure, or a facet (number of values that
// are neither none nor unknown where it is Multi, else the value's place). Rows without a number come last. Ties keep
// the order of files. An empty key is "row".
type Sort struct {
	Key        string `json:"key"`
	Descending bool   `json:"descending,omitempty"`
}

// CountsQuery counts rows by the values of a facet, and of a second one in columns.
type CountsQuery struct {
	Filter Filter `json:"filter"`
	Facet  string `json:"facet"`
	By     string `json:"by,omitempty"` // a facet that is not Multi; "" gives one column of all rows
}

// Counts are sums from which shares and their intervals follow. Groups are rows that share the task's group field,
// such as the questions on one passage; they stand and fall together.
type Counts struct {
	Total   int           `json:"total"`   // rows that the filter chooses
	Columns []CountColumn `json:"columns"` // every value of By, in the catalogue's order, or one without a name
	Values  []CountValue  `json:"values"`  // every value of Facet, in the catalogue's order
}

// CountColumn is what shares in a column are of: the rows that have any value that is not unknown.
type CountColumn struct {
	Name string `json:"name"`
	CountBase
}

// CountBase is what shares are of.
type CountBase struct {
	Rows   int `json:"rows"` // or pairs
	Groups int `json:"groups"`
	// Squares is Σ n² over groups, n a group's number of these rows.
	Squares float64 `json:"squares"`
}

// CountValue is a value with a cell for each column.
type CountValue struct {
	Name  string      `json:"name"`
	Cells []CountCell `json:"cells"`
}

// CountCell is Σ y, Σ y² and Σ y·n over groups: y a group's number of rows with the value, n as in CountBase.Squares.
// Values that are unknown have Squares and Products 0.
type CountCell struct {
	Rows     int     `json:"rows"`
	Squares  float64 `json:"squares"`
	Products float64 `json:"products"`
	// Of is what the value's share is of, in the column's place, where rows of it were not judged for the value.
	Of *CountBase `json:"of,omitempty"`
}

// BaseOf is what the share of a value in a column is of.
func (c *Counts) BaseOf(value, column int) CountBase {
	if own := c.Values[value].Cells[column].Of; own != nil {
		return *own
	}
	return c.Columns[column].CountBase
}

// HistogramQuery is about the distribution of a measure.
type HistogramQuery struct {
	Filter  Filter `json:"filter"`
	Measure string `json:"measure"`
	By      string `json:"by,omitempty"` // as in CountsQuery
}

// Histogram has 20 equal bins from Low to High; with a Step that gives no more than 21 values, one bin a value, which
// is its middle; where High is Low, one. The last bin holds High. Numbers outside are counted in the first or last bin.
type Histogram struct {
	Edges   []float64         `json:"edges"` // one more than bins
	Columns []HistogramColumn `json:"columns"`
}

// HistogramColumn is one column of a Histogram.
type HistogramColumn struct {
	Name    string  `json:"name"`
	Rows    int     `json:"rows"`    // with a number
	Missing int     `json:"missing"` // without one, in the measure's runs
	Sum     float64 `json:"sum"`
	Counts  []int   `json:"counts"`
	MeanSums
}

// MeanSums are sums over groups of rows, or pairs, with a number: y is the sum of a group's n numbers, or differences.
type MeanSums struct {
	Groups     int     `json:"groups"`
	Squares    float64 `json:"squares"`     // Σ y²
	RowSquares float64 `json:"row_squares"` // Σ n²
	Products   float64 `json:"products"`    // Σ y·n
}

func (m *MeanSums) addGroup(sum, n float64) {
	m.Groups++
	m.Squares += float64(sum * sum)
	m.RowSquares += float64(n * n)
	m.Products += float64(sum * n)
}

// RowsQuery lists rows.
type RowsQuery struct {
	Filter Filter `json:"filter"`
	Sort   Sort   `json:"sort"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"` // 1 to 1000
}

// RowsPage is a part of a list.
type RowsPage struct {
	Total int          `json:"total"`
	Rows  []RowSummary `json:"rows"`
}

// RowSummary is a row in a list.
type RowSummary struct {
	N        int                 `json:"n"` // its number over all runs, from 0
	ID       string              `json:"id"`
	Run      int                 `json:"run"`      // place in Catalog.Runs
	Text     string              `json:"text"`     // the judged field's first 200 code points; of a pair "A | B"
	Fields   map[string]string   `json:"fields"`   // likewise the other fields; those that are empty are left out
	Facets   map[string][]int    `json:"facets"`   // places of values; facets without any value are left out
	Measures map[string]*float64 `json:"measures"` // those without a number are left out
	Marked   bool                `json:"marked,omitempty"`
}

// RowQuery asks for a row.
type RowQuery struct {
	N int `json:"n"`
}

// RowDetail is a whole row.
type RowDetail struct {
	Row    RowSummary      `json:"row"`
	Record json.RawMessage `json:"record"` // the row as its run wrote it; from flat formats nested as in JSON Lines
	// Partners are rows of other runs that belong together with it, then of other systems on the same input; at most 100.
	Partners []RowSummary `json:"partners"`
}

// OutputsQuery lists inputs, each with what all systems, or runs, made of it: a line of rows. Rows of systems stand in
// one line where they have one input, rows of runs where they belong together (Columns.Pair). Of several rows of one
// column with one key, the first stands in the first line, and so on.
type OutputsQuery struct {
	// Filter chooses columns by its condition on By; a line is chosen if the whole filter holds for one of its rows.
	Filter Filter `json:"filter"`
	By     string `json:"by"`               // "run" or "system", whose values are the columns
	Differ string `json:"differ,omitempty"` // a facet: only lines whose rows differ in it, of those where it is known
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"` // 1 to 100
}

// Outputs is a part of a list of inputs.
type Outputs struct {
	Total   int            `json:"total"`
	Without int            `json:"without"` // rows that the filter chooses, and that are in no column
	Rows    [][]RowSummary `json:"rows"`    // by line, in the order of the lines' first rows
}

// Side is one of two sets of rows that are compared: a value of "run" or of "system".
type Side struct {
	Facet string `json:"facet"`
	Value string `json:"value"`
}

// PairsQuery compares the rows of two sides: of two runs those that belong together (Columns.Pair), of two systems by
// all fields but the judged one, and what is left of a group where both have as many. Of several rows with one key the
// first is compared with the first in the order of their ids, and so on.
type PairsQuery struct {
	A      Side   `json:"a"`
	B      Side   `json:"b"`
	Filter Filter `json:"filter"`          // holds for a pair if it holds for either row
	Facet  string `json:"facet"`           // "label", "issue", "gold" or "verdict.TYPE"
	Value  string `json:"value,omitempty"` // only pairs in which one side has this value and the other has not
	Only   string `json:"only,omitempty"`  // "a" or "b": which side has it; without Value, any that the other has not
	Offset int    `json:"offset"`          // in the list of changed pairs
	Limit  int    `json:"limit"`           // 0 to 1000
}

// Pairs are what came of it.
type Pairs struct {
	Pairs    int             `json:"pairs"`   // that the filter chooses
	Paired   int             `json:"paired"`  // pairs, whatever the filter says
	AloneA   int             `json:"alone_a"` // rows of A without a partner, whatever the filter says
	AloneB   int             `json:"alone_b"`
	MissedA  int             `json:"missed_a"` // of AloneA, those of groups in which B has rows
	MissedB  int             `json:"missed_b"`
	Unknown  int             `json:"unknown"`  // pairs in which the facet is unknown on either side; left out below
	Changed  int             `json:"changed"`  // pairs whose sets of values differ, or as Value and Only say
	Groups   int             `json:"groups"`   // of the pairs that are not unknown; a pair is of its first row's group
	Squares  float64         `json:"squares"`  // Σ n² over these groups, n a group's number of pairs
	Values   []PairValue     `json:"values"`   // but those that are unknown
	Measures []PairMeasure   `json:"measures"` // that any pair has
	Rows     [][2]RowSummary `json:"rows"`     // the changed pairs asked for, A first, in A's order
}

// PairValue counts pairs by who has a value.
type PairValue struct {
	Name    string `json:"name"`
	Both    int    `json:"both"`
	OnlyA   int    `json:"only_a"`
	OnlyB   int    `json:"only_b"`
	Neither int    `json:"neither"`
	// Of is what the shares are of, in the place of all pairs, where rows of some were not judged for the value; these
	// are not counted here.
	Of *CountBase `json:"of,omitempty"`
	// Squares is Σ d², Products Σ d·n over groups: d a group's number of pairs in OnlyB less that in OnlyA, n as in Pairs.
	Squares  float64 `json:"squares"`
	Products float64 `json:"products"`
}

// PairMeasure holds sums over pairs in which both sides have the number.
type PairMeasure struct {
	Key      string  `json:"key"`
	Pairs    int     `json:"pairs"`
	SumA     float64 `json:"sum_a"`
	SumB     float64 `json:"sum_b"`
	MeanSums         // of b less a
}

// Source answers questions about rows. Unknown facets, values, measures and rows are errors that name them.
type Source interface {
	Catalog() *Catalog
	Counts(context.Context, CountsQuery) (*Counts, error)
	Histogram(context.Context, HistogramQuery) (*Histogram, error)
	Rows(context.Context, RowsQuery) (*RowsPage, error)
	Row(context.Context, RowQuery) (*RowDetail, error)
	Pairs(context.Context, PairsQuery) (*Pairs, error)
	Outputs(context.Context, OutputsQuery) (*Outputs, error)
}
