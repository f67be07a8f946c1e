package review

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
)

// dropped are columns of the pool that do not belong to a training row: what a model found, which the labels replace.
var dropped = []string{dataset.ColumnDiagnosis, "verification"}

// Rows are what a merge adds: the decided rows, with their labels and provenance, those of the random slice apart.
// Columns keep their order; what the model found is left out.
func (o *Outcome) Rows(f *Frozen, provenance func(*Decision) any) (train, random []*dataset.Row, err error) {
	for i := range o.Decisions {
		d := &o.Decisions[i]
		source, err := d.Item.Source(f.Taxonomy)
		if err != nil {
			return nil, nil, err
		}
		row, err := labelled(source, d.Item.RowID, d.Labels, provenance(d))
		if err != nil {
			return nil, nil, err
		}
		if d.Item.Reason == Random {
			random = append(random, row)
		} else {
			train = append(train, row)
		}
	}
	return train, random, nil
}

// labelled is the row with its id, labels and provenance.
func labelled(source *dataset.Row, id string, labels []string, provenance any) (*dataset.Row, error) {
	row := &dataset.Row{ID: id}
	err := row.Set(dataset.ColumnID, id)
	for _, name := range source.Columns() {
		if name != dataset.ColumnID && !slices.Contains(dropped, name) {
			raw, _ := source.Get(name)
			err = errors.Join(err, row.Set(name, raw))
		}
	}
	return row, errors.Join(err, row.Set(dataset.ColumnLabels, labels), row.Set("provenance", provenance))
}

// Auto are the rows of auto.jsonl, labelled as the models proposed; by names the models that agreed. A row that was
// reviewed stays out, as does one whose text was marked. No file is no rows.
func (f *Frozen) Auto(marked map[string]time.Time, provenance func(by []string) any) (rows []*dataset.Row, err error) {
	reviewed := map[string]bool{}
	for _, it := range f.All {
		reviewed[it.TextSHA256] = true
	}
	path := filepath.Join(f.Dir, AutoFile)
	data, err := regularfile.Read(path, regularfile.MaxRows)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = eachLine(data, path, func(*dataset.Row) (keys, func() error) {
		it := &Item{}
		return it.keys(), func() error {
			row, text, err := f.autoRow(it, provenance)
			if _, is := marked[text]; err == nil && !reviewed[text] && !is {
				rows = append(rows, row)
			}
			return err
		}
	})
	return rows, err
}

// autoRow makes a training row of an item without its id and reason.
func (f *Frozen) autoRow(it *Item, provenance func(by []string) any) (row *dataset.Row, text string, err error) {
	if it.RowID == "" || it.Row == nil || it.Proposed == nil {
		return nil, "", errors.New(`"row_id", "row" and "proposed" must be there`)
	}
	it.ItemID = it.RowID
	source, err := it.Source(f.Taxonomy)
	if err != nil {
		return nil, "", err
	}
	labels, err := dataset.CanonicalLabels(it.Proposed.Labels, f.Taxonomy)
	if err != nil {
		return nil, "", err
	}
	row, err = labelled(source, it.RowID, labels, provenance(models(source)))
	return row, source.TextHash(), err
}

// models are those that found the row's labels, identifier and verifier.
func models(row *dataset.Row) []string {
	var by []string
	for _, name := range dropped {
		var found struct {
			Model string `json:"model"`
		}
		if raw, ok := row.Get(name); ok && json.Unmarshal(raw, &found) == nil && found.Model != "" {
			by = append(by, found.Model)
		}
	}
	return by
}

// ColumnText is a column's text, or its JSON where it holds another kind of value; "" where it is absent or null.
func ColumnText(row *dataset.Row, column string) (text string) {
	if raw, ok := row.Get(column); ok && json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}
