package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// Joined is columns of another file, such as people's ratings, whose rows need no texts: they belong to rows of the
// same id.
type Joined struct {
	File    string
	columns []string
	rows    map[string][]json.RawMessage // by id: values in the order of columns; nil is none
	example string                       // an id
	found   map[string]bool
	asked   string // an id of a row without a partner
}

// ReadJoined reads columns of a file, as in says, by the ids of its rows.
func (in Rows) ReadJoined(ctx context.Context, p *Process, file string, columns []string) (*Joined, error) {
	j := &Joined{File: file, columns: columns, rows: map[string][]json.RawMessage{}, found: map[string]bool{}}
	in.Taxonomy, in.Columns, in.Limit = WithoutFields(in.Taxonomy), nil, 0
	there := map[string]bool{}
	var all []string
	faults, err := in.EachFit(ctx, p, file, func(row *dataset.Row) error {
		id := row.GivenID()
		switch _, twice := j.rows[id]; {
		case id == "":
			return fmt.Errorf("there is no id: name its columns with --id COLUMN[,COLUMN]")
		case twice:
			return fmt.Errorf("the id %q stands there twice: --id COLUMN,COLUMN names columns that tell the rows apart", id)
		}
		values := make([]json.RawMessage, len(columns))
		for i, name := range columns {
			if raw, ok := row.Get(name); ok {
				values[i], there[name] = bytes.Clone(raw), true
			}
		}
		if all == nil {
			all = row.Columns()
		}
		j.rows[id], j.example = values, cmp.Or(j.example, id)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(j.rows) == 0 && len(faults) > 0:
		return nil, faults[0]
	case len(j.rows) == 0:
		return nil, fmt.Errorf("%s: there are no rows", file)
	}
	for _, name := range columns {
		if !there[name] {
			return nil, fmt.Errorf("%s: no column %q; the columns are %s", file, name, strings.Join(all, ", "))
		}
	}
	return j, p.WarnFaults(faults)
}

// WithoutFields is a taxonomy by which rows without texts are read.
func WithoutFields(t *taxonomy.Taxonomy) *taxonomy.Taxonomy {
	return &taxonomy.Taxonomy{Name: t.Name, Version: t.Version}
}

// set gives a row the columns of its partner.
func (j *Joined) set(row *dataset.Row) error {
	id := cmp.Or(row.GivenID(), row.ID)
	values, there := j.rows[id]
	if !there {
		j.asked = cmp.Or(j.asked, id)
		return nil
	}
	j.found[id] = true
	for i, raw := range values {
		if raw == nil {
			continue
		}
		if err := row.Set(j.columns[i], raw); err != nil {
			return err
		}
	}
	return nil
}

// Check says how many rows of the file have no partner, or that none has one.
func (j *Joined) Check(p *Process) error {
	switch lost := len(j.rows) - len(j.found); {
	case len(j.found) == 0:
		return fmt.Errorf("%s (ids as %s) has no id in common with the rows (ids as %s): name the columns that both have "+
			"with --id COLUMN[,COLUMN]", j.File, words.Printable(j.example), words.Printable(j.asked))
	case lost > 0:
		p.Note([]string{fmt.Sprintf("%s: %s without a partner, left out", j.File, words.Plural(lost, "row is", "rows are"))})
	}
	return nil
}
