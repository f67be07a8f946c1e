package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
)

// Pairing says how the rows of two files were paired.
type Pairing struct {
	By []string `json:"by"` // columns or fields; "id" for ids
	// see dataset.Pairs
	InOrder int  `json:"in_order,omitempty"`
	FewIDs  bool `json:"few_ids,omitempty"`
	Mixed   bool `json:"mixed,omitempty"`
	Other   int  `json:"other_inputs,omitempty"`
	Moved   int  `json:"moved_texts,omitempty"`
	AsAsked bool `json:"as_asked,omitempty"`

	OnlyA int `json:"only_a"`
	OnlyB int `json:"only_b"`
	RowsA int `json:"rows_a"`
	RowsB int `json:"rows_b"`
	// columns for --id by which almost all rows of the smaller file have a partner, and clearly more than now
	Would   []string              `json:"would_pair,omitempty"`
	Systems []dataset.SystemPairs `json:"other_systems,omitempty"`

	column    string // that names systems
	wouldBoth int    // pairs by Would
}

// NewPairing counts the rows without a partner.
func NewPairing(p *dataset.Pairs, rowsA, rowsB int) Pairing {
	if p.Mixed && slices.Equal(p.Would, []string{dataset.ColumnID}) { // which was looked at, and tells nothing
		p.Would = nil
	}
	return Pairing{By: p.By, InOrder: p.InOrder, FewIDs: p.FewIDs, Mixed: p.Mixed, Other: p.Other, Moved: p.Moved,
		AsAsked: p.AsAsked, OnlyA: rowsA - p.Both, OnlyB: rowsB - p.Both, RowsA: rowsA, RowsB: rowsB, Would: p.Would,
		Systems: p.Systems, column: p.Column, wouldBoth: p.WouldBoth}
}

// IsPoor tells whether more rows of a file than dataset.FewUnpaired lack a partner, or have one on another input.
func (p *Pairing) IsPoor() bool { return p.lacksPartners() || p.isMixed() }

func (p *Pairing) lacksPartners() bool { return areMany(p.OnlyA, p.RowsA) || areMany(p.OnlyB, p.RowsB) }

func (p *Pairing) isMixed() bool { return areMany(p.Other, p.RowsB-p.OnlyB) }

// areMany tells whether so many rows may not be left out without a warning.
func areMany(left, rows int) bool { return float64(left) > dataset.FewUnpaired*float64(rows) }

// Fact says it in a line.
func (p *Pairing) Fact() string {
	text := "rows are paired by " + strings.Join(p.By, ", ")
	switch {
	case p.FewIDs && len(p.Systems) > 0: // that share ids
		text += ", as hardly any id is that of the same system in both files"
	case p.FewIDs:
		text += ", as hardly any id is in both files"
	}
	if p.Mixed {
		text += ", as many ids are those of other rows"
	}
	if p.AsAsked {
		text += ", inputs by what users said, as systems were told different things"
	}
	if p.InOrder > 0 {
		text += fmt.Sprintf(", and by their order where that tells no more (%s)", words.Plural(p.InOrder, "pair", "pairs"))
	}
	text += fmt.Sprintf("; without a partner: %d of %d in A, %d of %d in B", p.OnlyA, p.RowsA, p.OnlyB, p.RowsB)
	if len(p.Would) > 0 {
		text += "; " + p.Advice()
	}
	return text
}

// Notes warn of rows that are left out because they have no partner, and of those that have a wrong one.
func (p *Pairing) Notes(a, b string) (notes []string) {
	if p.isMixed() {
		notes = append(notes, fmt.Sprintf("%d of %d pairs are of different rows (by their inputs or systems), and say "+
			"little of what changed: are the ids numbers of lines? Name other columns with --id COLUMN,COLUMN, or compare "+
			"the files with erreval stats %s %s --by file",
			p.Other, p.RowsB-p.OnlyB, words.Quote(a), words.Quote(b)))
	}
	if p.Moved > 0 {
		notes = append(notes, fmt.Sprintf("%s the very text of one with another id in A: where ids are numbers of "+
			"lines, --id none pairs such rows by their texts", words.Plural(p.Moved, "row of B has", "rows of B have")))
	}
	if len(p.Systems) > 0 {
		notes = append(notes, p.systemsText(a))
	}
	if p.lacksPartners() {
		notes = append(notes, fmt.Sprintf("%d of %d rows of %s and %d of %d rows of %s have no partner and are not "+
			"compared; %s", p.OnlyA, p.RowsA, a, p.OnlyB, p.RowsB, b, p.Advice()))
	}
	return notes
}

// shownSystems is how many systems a note names.
const shownSystems = 3

// systemsText says which systems are paired with others: those of one file may be what changed.
func (p *Pairing) systemsText(a string) string {
	return fmt.Sprintf("%s; to compare one system of A alone: erreval show %s %s -o ONE",
		OtherSystems(p.Systems, "A", "B"), words.Quote(a), whereOf(p.column))
}

// OtherSystems says which systems of a file are paired with others of another one.
func OtherSystems(of []dataset.SystemPairs, a, b string) string {
	var parts []string
	name := func(of string) string {
		if of == "" {
			return "none"
		}
		return fmt.Sprintf("%.40q", of)
	}
	for _, s := range of {
		parts = append(parts, fmt.Sprintf("%s with %s (%d)", name(s.A), name(s.B), s.Pairs))
	}
	return fmt.Sprintf("pairs are of systems with other names, %s's with %s's: %s", a, b, someOf(parts))
}

// someOf lists the first of several systems.
func someOf(parts []string) string {
	shown := strings.Join(parts[:min(len(parts), shownSystems)], ", ")
	if more := len(parts) - shownSystems; more > 0 {
		shown += fmt.Sprintf(", and %d more", more)
	}
	return shown
}

// Advice says which columns would pair more rows, or how to find some.
func (p *Pairing) Advice() string {
	if len(p.Would) > 0 {
		return fmt.Sprintf("--id %s would pair %s", words.Quote(strings.Join(p.Would, ",")), rowsText(p.wouldBoth))
	}
	if !areMany(p.OnlyA, p.RowsA) || !areMany(p.OnlyB, p.RowsB) {
		return "the other file has no such rows, or names them otherwise: then --id COLUMN names what pairs them"
	}
	return "no column that both files have would pair them: give rows of the same input the same value in a column, " +
		"and name it with --id COLUMN; of rows on other inputs, erreval stats A B --by file compares the shares, " +
		"with --fail-on grown too"
}
