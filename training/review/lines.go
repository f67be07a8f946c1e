package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/fileerror"
	"github.com/erreval/erreval/internal/plainjson"
)

// keys says where each key of a line's object goes.
type keys map[string]any

// eachLine decodes the objects of a JSON Lines file. to gives the places of a line's values and what to do once they
// are there. All faults come back joined, each with file:line.
func eachLine(data []byte, file string, to func(row *dataset.Row) (keys, func() error)) error {
	rows := dataset.NewReader(bytes.NewReader(data), file, dataset.Options{})
	defer rows.Close()
	var faults []error
	keep := func(fault *dataset.LineError) error { faults = append(faults, fault); return nil }
	for row, err := range dataset.Rows(context.Background(), rows.Read, keep) {
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		places, done := to(row)
		if err = places.decode(row); err == nil {
			err = done()
		}
		if err != nil {
			faults = append(faults, placed(err, Place{File: file, Line: row.Line}))
		}
	}
	return errors.Join(faults...)
}

// placed gives an error its place, unless it has one.
func placed(err error, p Place) error {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault
	}
	return &Fault{Place: p, Reason: err.Error()}
}

// decode puts every column of the row into its place; one without a place is a fault.
func (k keys) decode(row *dataset.Row) error {
	for _, name := range row.Columns() {
		to, ok := k[name]
		if !ok {
			return fmt.Errorf("unknown key %q; there may be %s", name, strings.Join(slices.Sorted(maps.Keys(k)), ", "))
		}
		raw, _ := row.Get(name)
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(to); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// JSON is a JSON file of v, for people as well.
func JSON(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// Lines is a JSON Lines file.
func Lines[T any](list []T) ([]byte, error) {
	var all []byte
	for _, v := range list {
		line, err := plainjson.Marshal(v, "")
		if err != nil {
			return nil, err
		}
		all = append(all, line...)
	}
	return all, nil
}

// Place is where something stands in a file that a reviewer gave back.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // 1-based; 0 is the file as a whole
	Unit string `json:"unit,omitempty"` // what Line counts: "row" of a sheet, "item" of a JSON list; "" is a line
	Cell string `json:"cell,omitempty"` // of a sheet: "F7"
}

func (p Place) String() string {
	switch {
	case p.Cell != "":
		return p.File + ": cell " + p.Cell
	case p.Line == 0:
		return p.File
	case p.Unit != "":
		return fmt.Sprintf("%s: %s %d", p.File, p.Unit, p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Fault is what keeps a file from being merged.
type Fault struct {
	Place
	ItemID string `json:"item_id,omitempty"`
	Reason string `json:"reason"` // what is wrong and what to do
}

func (f *Fault) Error() string {
	switch {
	case f.File != "" && f.ItemID != "":
		return fmt.Sprintf("%s: item %s: %s", f.Place, f.ItemID, f.Reason)
	case f.ItemID != "":
		return fmt.Sprintf("item %s: %s", f.ItemID, f.Reason)
	}
	return fmt.Sprintf("%s: %s", f.Place, f.Reason)
}

// FaultOf is an error of reading a file as a fault; nil stays nil.
func FaultOf(file string, err error) *Fault {
	if err == nil {
		return nil
	}
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault
	}
	if line, ok := errors.AsType[*dataset.LineError](err); ok {
		return &Fault{Place: Place{File: line.File, Line: line.Line, Unit: line.Unit}, Reason: line.Err.Error()}
	}
	return &Fault{Place: Place{File: file}, Reason: strings.TrimPrefix(fileerror.Plain(err).Error(), file+": ")}
}

// FaultsOf takes the joined errors of reading a file apart; without an error there are none.
func FaultsOf(file string, err error) []*Fault {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []*Fault{FaultOf(file, err)}
	}
	var out []*Fault
	for _, part := range joined.Unwrap() {
		out = append(out, FaultsOf(file, part)...)
	}
	return out
}
