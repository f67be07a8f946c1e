package runrecord

// Reading is which rows a run reads, and how. It stands among the options of its record, so that a run with another
// reading cannot go on with its output.
type Reading struct {
	Columns map[string]string `json:"map"`          // field to column, as given
	Limit   int               `json:"limit"`        // rows, over all inputs; 0 is all
	ID      []string          `json:"id,omitempty"` // columns of the id, as given; absent: "id", where there is one
}

// ReadFrom gives the fields that the run read from columns of other names, and the columns from which it read the id. o
// is what its options say. Older records have only those fields that were given.
func (r *Record) ReadFrom(o *Reading) (fields map[string]string, id []string) {
	if r.Command == "simulate" { // its rows are others than it read, with ids of their own
		return o.Columns, nil
	}
	if fields, id = r.Columns, o.ID; fields == nil {
		fields = o.Columns
	}
	if id == nil { // none was given: as the run that made the input had it
		id = r.ID
	}
	return fields, id
}
