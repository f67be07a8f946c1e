package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// StorageNotes say what was assumed about how the file stores rows, such as the sheet that is read, without its name.
func (r *Reader) StorageNotes() []string { return slices.Clone(r.in.notes()) }

// Notes say what was assumed about the file: guessed columns, a delimiter, sheets left out. They are
// complete at the end, and those about columns after the first Read.
func (r *Reader) Notes() []string {
	notes := r.StorageNotes()
	for i := range notes {
		notes[i] = r.file + ": " + notes[i]
	}
	if len(r.said) > 0 { // what was assumed about columns, on one line
		notes = append(notes, r.file+": "+strings.Join(r.said, "; "))
	}
	for _, field := range r.fields {
		if cells := r.shown[r.column[field]]; cells.rows > 0 && r.ended {
			notes = append(notes, fmt.Sprintf("%s: Excel shows %s of the %s by number formats: the first, %s, is "+
				"read as %s; make such cells texts in Excel, to have read what it shows", r.file,
				words.Plural(cells.rows, "cell", "cells"), field, cells.place, cells.text))
		}
	}
	if r.repeated > 0 && !r.opt.RepeatedIDs {
		notes = append(notes, r.file+": "+r.repeatNote())
	}
	if r.copies > 0 && !r.opt.CopiesSaid {
		notes = append(notes, fmt.Sprintf("%s: %s the same as one before in every column, and counted all the same "+
			"(first in %s)", r.file, words.Plural(r.copies, "row is", "rows are"), r.firstCopy))
	}
	if 0 < r.unnamed && r.unnamed < r.rows && r.id != nil {
		notes = append(notes, fmt.Sprintf("%s: %s no %s: an id is made of the texts (first in %s)", r.file,
			words.Plural(r.unnamed, "row has", "rows have"), strings.Join(r.id, " and no "), r.firstUnnamed))
	}
	if len(r.likelyIDs) > 0 && r.rows > 1 && !r.opt.RepeatedIDs {
		notes = append(notes, r.file+": "+r.likelyIDNote())
	}
	if note := r.oneWordNote(); note != "" {
		notes = append(notes, r.file+": "+note)
	}
	if note := r.doubtfulNote(); note != "" && r.ended { // its counts are not those of the first row
		notes = append(notes, r.file+": "+note)
	}
	if r.otherParts != "" {
		notes = append(notes, fmt.Sprintf("%s: conversations have pictures, sounds or files (first in %s), which nobody "+
			"reads here: each stands as its kind and a number in the text", r.file, r.otherParts))
	}
	if r.turnsLeftOut != "" {
		how := ""
		if !r.opt.inAddress() {
			how = ", as with erreval show " + words.Quote(r.file) + " --where COLUMN=VALUE -o REST"
		}
		notes = append(notes, fmt.Sprintf("%s: turns behind the last one of the assistant are left out in %s, "+
			"as in %s; where a call failed, an earlier turn is judged: leave such rows out%s", r.file,
			words.Plural(r.cut, "conversation", "conversations"), r.turnsLeftOut, how))
	}
	return notes
}

// Sheet is the name of the sheet that is read; "" of a file without sheets.
func (r *Reader) Sheet() string {
	if s, ok := innermost(r.in).(*sheet); ok {
		return s.in.Sheet()
	}
	return ""
}

// Columns are the fields that are read from a column of another name, each with that column; known after the first
// Read.
func (r *Reader) Columns() map[string]string {
	other := map[string]string{}
	for field, column := range r.column {
		if r.began && column != field {
			other[field] = column
		}
	}
	return other
}
