package view

import "github.com/erreval/erreval/report"

// Views that a Section stands in.
const (
	ViewCompare  = "compare"
	ViewMeasured = "measured"
	ViewIssues   = "issues"
)

// Section is a result that was worked out when the records were read, and does not follow the filter.
type Section struct {
	View  string   `json:"view"`
	Title string   `json:"title"`
	Run   string   `json:"run,omitempty"` // the run's name
	Notes []string `json:"notes,omitempty"`

	// Summary is the result in a sentence, of sections that say how sure others are; the page folds these below it.
	Summary string `json:"summary,omitempty"`

	Table *report.Table `json:"table,omitempty"`
	Chart *Chart        `json:"chart,omitempty"`
}

// Chart is a picture: "forest" (Points with intervals, one below the other), "matrix" (Cells), or "lines" (Series).
type Chart struct {
	Kind     string   `json:"kind"`
	X        string   `json:"x"` // title of the axis
	Y        string   `json:"y,omitempty"`
	Line     *float64 `json:"line,omitempty"`     // of a forest, a matrix: where nothing differs
	Diagonal bool     `json:"diagonal,omitempty"` // of lines: x = y is where it should be; of a matrix: there are hits
	Points   []Point  `json:"points,omitempty"`
	Cells    []Cell   `json:"cells,omitempty"`
	Series   []Series `json:"series,omitempty"`
}

// Point is a value with its interval; Low and High are null where there is none.
type Point struct {
	Group string        `json:"group,omitempty"` // points of one group stand together, as an error type's systems
	Name  string        `json:"name"`
	Value report.Number `json:"value"`
	Low   report.Number `json:"low"`
	High  report.Number `json:"high"`
}

// Cell is one of a matrix.
type Cell struct {
	Row    string        `json:"row"`
	Column string        `json:"column"`
	Value  report.Number `json:"value"`
}

// Series is one line of a chart.
type Series struct {
	Name   string       `json:"name"`
	Points [][4]float64 `json:"points"` // x, y, low, high; low = high = y where there is no interval
}
