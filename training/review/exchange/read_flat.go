package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// readFlat takes a row of a sheet, of CSV or of JSON Lines apart; nil is a row that says nothing.
func readFlat(r *reader, row *dataset.Row) (*record, error) {
	if !slices.Contains(r.header, r.l.item) {
		return nil, &review.Fault{Place: review.Place{File: r.file},
			Reason: fmt.Sprintf("no column %q; the columns are %s. It is not an export of this batch, or of no kind that is "+
				"known (%s)", r.l.item, strings.Join(r.header, ", "), strings.Join(Formats(), ", "))}
	}
	rec := &record{id: review.ColumnText(row, r.l.item), batch: review.ColumnText(row, r.l.batch),
		hash: review.ColumnText(row, r.l.text), values: map[int]string{}}
	for k, name := range r.l.shown {
		if raw, ok := row.Get(name); ok && string(raw) != "null" {
			rec.values[k] = review.ColumnText(row, name)
		} else if ok {
			rec.values[k] = ""
		}
	}
	v := voice{reviewer: strings.TrimSpace(review.ColumnText(row, r.l.reviewer)), notes: review.ColumnText(row, r.l.notes)}
	if err := r.flatVoice(row, &v); err != nil {
		return nil, err
	}
	if rec.id == "" {
		if v.labels == nil && !v.skipped && v.notes == "" {
			return nil, nil
		}
		return nil, &columnError{r.l.item, fmt.Errorf("an answer without an id; %q must stay as it was exported", r.l.item)}
	}
	rec.voices = []voice{v}
	return rec, nil
}

func (r *reader) flatVoice(row *dataset.Row, v *voice) (err error) {
	if v.skipped, err = r.yes(row, r.l.skipped); err != nil {
		return err
	}
	for _, name := range []string{r.l.resolves, r.l.answered} { // of the page's answers; of a sheet
		if text := review.ColumnText(row, name); text != "" && text != "false" {
			v.resolves = true
		}
	}
	if text := review.ColumnText(row, "time"); text != "" {
		if v.time, err = time.Parse(time.RFC3339, text); err != nil {
			return fmt.Errorf("the time %.40q is not written as 2006-01-02T15:04:05Z", text)
		}
	}
	if raw, ok := row.Get(r.l.labels); ok {
		if i := slices.IndexFunc(r.l.types, func(name string) bool { return slices.Contains(r.header, name) }); i >= 0 {
			return &review.Fault{Place: review.Place{File: r.file},
				Reason: fmt.Sprintf("there are a column %q and columns of single labels, such as %q: delete or rename the one "+
					"that was not exported", r.l.labels, r.l.types[i])}
		}
		v.column = r.l.labels
		v.labels, err = labelList(raw)
		if v.skipped && len(v.labels) == 0 {
			v.labels = nil
		}
		return err
	}
	if _, ok := row.Get(studioMark); ok { // Label Studio leaves out what a task does not have
		return nil
	}
	return r.labelColumns(row, v)
}

// labelList reads a list of names, a text that joins them by semicolons, or what Label Studio's short export has.
// Nothing is nil.
func labelList(raw json.RawMessage) ([]string, error) {
	var list []string
	var text string
	var chosen struct {
		Choices []string `json:"choices"`
	}
	switch {
	case string(raw) == "null":
		return nil, nil
	case json.Unmarshal(raw, &list) == nil:
		return list, nil
	case json.Unmarshal(raw, &text) == nil:
		return splitAt(text, ";"), nil
	case json.Unmarshal(raw, &chosen) == nil && chosen.Choices != nil:
		return chosen.Choices, nil
	}
	return nil, &columnError{"labels", errors.New(`want a list of label names, as in ["A","B"], or one text "A; B"`)}
}

// commas finds the one text that is several labels parted by commas.
func commas(labels []string, t *taxonomy.Taxonomy) (string, bool) {
	for _, text := range labels {
		parts := splitAt(text, ",")
		unknown := func(name string) bool { _, ok := t.Index(name); return !ok && name != None }
		if len(parts) > 1 && unknown(text) && !slices.ContainsFunc(parts, unknown) {
			return text, true
		}
	}
	return "", false
}

func splitAt(text, mark string) (names []string) {
	for part := range strings.SplitSeq(text, mark) {
		if part = strings.TrimSpace(part); part != "" {
			names = append(names, part)
		}
	}
	return names
}

// labelColumns reads one column a label: yes, no or nothing.
func (r *reader) labelColumns(row *dataset.Row, v *voice) error {
	if err := r.wantColumns(); err != nil {
		return err
	}
	said := ""
	for k, name := range r.l.types {
		yes, err := r.yes(row, name)
		if err != nil {
			return err
		}
		if review.ColumnText(row, name) != "" {
			said = name
		}
		if yes {
			v.labels, v.column = append(v.labels, choices(r.f.Taxonomy)[k]), name
		}
	}
	if said != "" && v.labels == nil && !v.skipped {
		return &columnError{said,
			fmt.Errorf("only no; choose yes under %q if nothing is wrong, or empty the row's cells if it is not answered",
				clean(r.f.Taxonomy))}
	}
	return nil
}

// wantColumns misses a label's column, for the file as a whole.
func (r *reader) wantColumns() error {
	for _, name := range r.l.types {
		if !slices.Contains(r.header, name) {
			return &review.Fault{Place: review.Place{File: r.file},
				Reason: fmt.Sprintf("no column %q for that label, and no column %q; the columns are %s. Keep the header as it "+
					"was exported", name, r.l.labels, strings.Join(r.header, ", "))}
		}
	}
	return nil
}

// yes reads a cell that holds yes, no or nothing.
func (r *reader) yes(row *dataset.Row, column string) (bool, error) {
	text := strings.TrimSpace(review.ColumnText(row, column))
	switch strings.ToLower(text) {
	case "yes", "y", "x", "true", "1":
		return true, nil
	case "", "no", "n", "false", "0":
		return false, nil
	}
	return false, &columnError{column, fmt.Errorf("%.40q under %q; write yes or no, or leave it empty", text, column)}
}
