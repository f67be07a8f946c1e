package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/plainjson"
)

// keys says where each key of a line's object goes.
type keys map[string]any

// eachLine decodes the objects of a JSON Lines file. to gives the places of a line's values and what to do once they
// are there. All faults come back joined, each with file:line.
func eachLine(r io.Reader, file string, to func(row *dataset.Row) (keys, func() error)) error {
	rows := dataset.NewReader(r, file, dataset.Options{})
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
