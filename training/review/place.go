package review

import (
	"errors"
	"fmt"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/fileerror"
)

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
