package comparing

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/audit"
	"github.com/erreval/erreval/pairwise/verdicts"
)

// unreadVerdicts are others' verdicts in no known notation.
type unreadVerdicts struct {
	read, unread int
	first        error
	cells        map[string]error    // what keeps a verdict from the pairs so far; nil where it is about one
	columns      map[string]*numbers // by their names
}

// numbers are those in a column of verdicts.
type numbers struct {
	file  string
	are   map[float64]bool
	named bool // a verdict besides them names the better text
}

func (u *unreadVerdicts) add(cell string, err error) {
	u.unread++
	u.first = cmp.Or(u.first, exit.Usagef("%s: %w", cell, err))
}

// tryCell notes what keeps a cell's verdict from a pair; nil is nothing.
func (u *unreadVerdicts) tryCell(cell string, err error) {
	if u.cells == nil {
		u.cells = map[string]error{}
	}
	if _, before := u.cells[cell]; !before || err == nil {
		u.cells[cell] = err
	}
}

// addNumber notes a verdict that is a number, and whether another one, which is read as value, names a text.
func (u *unreadVerdicts) addNumber(file, column, text, value string, p *audit.Pair) {
	c := u.columns[column]
	if c == nil {
		c = &numbers{file: file, are: map[float64]bool{}}
		if u.columns == nil {
			u.columns = map[string]*numbers{}
		}
		u.columns[column] = c
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && !math.IsNaN(n) && text != p.SystemA && text != p.SystemB {
		c.are[n] = true
	} else if value == verdicts.A || value == verdicts.B {
		c.named = true
	}
}

// check is an error where no verdict could be read, or numbers are of another notation; a few that could not be read
// are said, and counted as unjudged.
func (u *unreadVerdicts) check(p *run.Process) error {
	var errs []error
	for _, column := range slices.Sorted(maps.Keys(u.columns)) {
		errs = append(errs, u.columns[column].check(column))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var numeric []string
	for _, column := range slices.Sorted(maps.Keys(u.columns)) {
		if len(u.columns[column].are) > 0 {
			numeric = append(numeric, words.Quote(column))
		}
	}
	if numeric != nil && p != nil {
		p.Note([]string{fmt.Sprintf("%s: numbers in %s are read as 1 (the first text is better), 2 (the second) and 0 (a "+
			"tie)", u.columns[slices.Min(slices.Collect(maps.Keys(u.columns)))].file, strings.Join(numeric, ", "))})
	}
	for _, cell := range slices.Sorted(maps.Keys(u.cells)) {
		if err := u.cells[cell]; err != nil {
			u.add(cell, err)
		}
	}
	switch {
	case u.unread > 0 && u.read == 0:
		return u.first
	case u.unread > 0 && p != nil:
		p.Note([]string{fmt.Sprintf("%s of %d could not be read, and left unjudged; the first: %v",
			words.Plural(u.unread, "verdict", "verdicts"), u.unread+u.read, u.first)})
	}
	return nil
}

// check refuses a scale, and 0 and 1 alone: to some, 0 is the first text, and here a tie.
func (c *numbers) check(column string) error {
	holds := ""
	if c.are[0] && c.are[1] && !c.are[2] {
		holds = "0 and 1, and never 2"
	}
	for _, n := range slices.Sorted(maps.Keys(c.are)) {
		if n != 0 && n != 1 && n != 2 {
			holds = fmt.Sprint(n)
		}
	}
	return exit.UsageIf(holds != "" && !c.named, "%s: column %q holds %s; as numbers, verdicts are 1 (the first text is "+
		"better), 2 (the second) and 0 (a tie): write them so, or as A, B and tie, or as the better system's name", c.file,
		column, holds)
}
