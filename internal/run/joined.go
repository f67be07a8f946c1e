package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	ids     []string                     // in the file's order
	found   map[string]bool
	asked   string // an id of a row without a partner
	ended   bool   // the rows that get the columns were read to their end
}

// ReadJoined reads columns of a file, as in says, by the ids of its rows. The first value that check refuses is an
// error, in which the place and the column stand before what check says; nil takes all values.
func (in Rows) ReadJoined(ctx context.Context, p *Process, file string, columns []string,
	check func(json.RawMessage) error) (*Joined, error) {
	j := &Joined{File: file, columns: columns, rows: map[string][]json.RawMessage{}, found: map[string]bool{}}
	in.Taxonomy, in.Columns, in.Limit = WithoutFields(in.Taxonomy), nil, 0
	there := map[string]bool{}
	var all []string
	var refused error
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
			if refused != nil || values[i] == nil || check == nil {
				continue
			}
			if err := check(values[i]); err != nil {
				refused = fmt.Errorf("%s:%d: column %q %w", row.Source, row.Line, name, err)
			}
		}
		if all == nil {
			all = row.Columns()
		}
		j.rows[id], j.ids = values, append(j.ids, id)
		return nil
	})
	switch {
	case err != nil || refused != nil:
		return nil, cmp.Or(err, refused)
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

// shownAlone is how many ids of rows without a partner are named.
const shownAlone = 3

// Check says which rows of the file have no partner, or that none has one, once all rows were read.
func (j *Joined) Check(p *Process) error {
	if !j.ended {
		return nil
	}
	if len(j.found) == 0 {
		return fmt.Errorf("%s (ids as %s) has no id in common with the rows (ids as %s): name the columns that both have "+
			"with --id COLUMN[,COLUMN]", j.File, words.Printable(j.ids[0]), words.Printable(j.asked))
	}
	alone := slices.DeleteFunc(slices.Clone(j.ids), func(id string) bool { return j.found[id] })
	if len(alone) == 0 {
		return nil
	}
	p.Note([]string{fmt.Sprintf("%s: %s without a partner, left out, as %s", j.File,
		words.Plural(len(alone), "row is", "rows are"), strings.Join(alone[:min(shownAlone, len(alone))], ", "))})
	return nil
}
