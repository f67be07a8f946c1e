package run

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
)

// textID is an id that is made of a row's texts, or one of a pair with such.
var textID = regexp.MustCompile(`^[0-9a-f]{64}(#[0-9]+)?( \| |$)`)

// shownAlone is how many ids of rows without a partner are named.
const shownAlone = 3

// fewOther is the part of the file's rows, one in so many, from which on rows of its ids that differ cast doubt on all.
const fewOther = 4

// fewestOther is how many rows have to say something else in a column of both files before it is said.
const fewestOther = 3

// LeftOut counts the lines of the file that nothing was taken from, and changed.
func (j *Joined) LeftOut() int {
	if j == nil {
		return 0
	}
	return len(j.faults) + j.changedRows()
}

// changedRows counts the rows of the file of whose ids there are other texts or systems alone.
func (j *Joined) changedRows() (n int) {
	for _, r := range j.order {
		if r.changed && !r.found {
			n++
		}
	}
	return n
}

// noteShared says which columns of both files say something else in most rows that are joined, or, where they look like
// ids, in some.
func (j *Joined) noteShared(p *Process) {
	for _, column := range slices.Sorted(maps.Keys(j.shared)) {
		n, isID := j.shared[column], dataset.LikelyID([]string{column}) != "" || len(named([]string{column}, itemNames)) > 0
		if n[1] >= fewestOther && (n[1] > n[0] || isID && float64(n[1]) > dataset.FewUnpaired*float64(n[0])) {
			p.Note([]string{fmt.Sprintf("%s: in %d of %d rows that are joined the column %s, which both files have, says "+
				"something else: are these the same rows? Where it is the id: --id %s", j.File, n[1], n[0]+n[1],
				words.Printable(column), words.Quote(column))})
		}
	}
}

// Check says which rows of the file have no partner, or that none has one, once all rows were read.
func (j *Joined) Check(p *Process) error {
	if !j.ended {
		return nil
	}
	alone := j.alone()
	if len(alone) == len(j.order) && (j.others > 0 || j.other != "") {
		what := "name other systems in their column system or model than it does: write them alike, or leave that column " +
			"out of one of the files"
		if j.other != "" {
			what = fmt.Sprintf("have other texts than its column %q: are the ids numbers of lines? Name other columns with "+
				"--id COLUMN[,COLUMN]", j.other)
		}
		return fmt.Errorf("%s: rows with its ids %s", j.File, what)
	}
	if len(alone) == len(j.order) {
		hint := ""
		switch {
		case j.Item != "" && strings.Contains(j.asked, " | "):
			hint = "; those of the rows are made of both texts' ids: make the pairs anew with erreval compare --pair-by " +
				"COLUMN, as in --pair-by id, and they are joined by what that column says too"
		case textID.MatchString(j.asked):
			hint = "; those of the rows are made of texts: make their file again with --id COLUMN, if there is one"
		}
		if len(j.mayID) > 0 && j.textID == nil {
			hint += "; --id none joins by the texts in a column called " + j.mayID[0].names[0]
		}
		return fmt.Errorf("%s (ids as %s) has no id in common with the rows (ids as %s): name the columns that both have "+
			"with --id COLUMN[,COLUMN]%s", j.File, words.Printable(j.order[0].id), words.Printable(j.asked), hint)
	}
	if j.unsaid {
		return fmt.Errorf("%s: its id %s is that of rows of several systems, and the row with that id says none: --where "+
			"COLUMN=NAME chooses one", j.File, words.Printable(j.spread))
	}
	if j.spread != "" {
		return fmt.Errorf("%s: its id %s is that of several rows with different texts, and what it says may be of one: name "+
			"columns of both files that tell them apart with --id COLUMN,COLUMN; or if it is of one system, give its rows "+
			"alone: erreval show FILE --where COLUMN=NAME -o ONE", j.File, words.Printable(j.spread))
	}
	j.noteShared(p)
	if j.again != "" {
		p.Note([]string{fmt.Sprintf("%s: several of the rows that it is about have one id, as %s, and each of them gets "+
			"what the file says of it; if that is said of one alone, name columns that tell them apart with --id "+
			"COLUMN,COLUMN", j.File, words.Printable(j.again))})
	}
	if len(alone) == 0 {
		return nil
	}
	note := fmt.Sprintf("%s: of %s %d without a partner, as %s", j.File, words.Plural(len(j.order), "row", "rows"),
		len(alone), strings.Join(idsOf(alone[:min(shownAlone, len(alone))]), ", "))
	if n := j.changedRows(); n > 0 {
		note += fmt.Sprintf("; %s another text or system there", words.Plural(n, "id has", "ids have"))
		if j.other != "" {
			note += ", as in its column " + words.Printable(j.other)
		}
		if n > len(j.order)/fewOther {
			note += ": are the others the same rows? Ids may be numbers of another order"
		}
	}
	p.Note([]string{note})
	return nil
}
