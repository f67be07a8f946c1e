package runrecord

// Reading is which rows a run reads, and how. It stands among the options of its record, so that a run with another
// reading cannot go on with its output.
type Reading struct {
	Columns map[string]string `json:"map"`          // field to column, as given
	Limit   int               `json:"limit"`        // rows, over all inputs; 0 is all
	ID      []string          `json:"id,omitempty"` // columns of the id, as given; absent: "id", where there is one
}
