package exchange

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/dataset/xlsx"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/training/review"
)

// record is an item as a file gives it back.
type record struct {
	id, batch, hash string
	values          map[int]string // the columns for reviewers that the file has, by place in Frozen.Columns
	voices          []voice
}

// voice is what one reviewer says of it; labels is nil where nothing is said.
type voice struct {
	reviewer, notes   string
	labels            []string
	skipped, resolves bool
	chosen            bool // in a tool where nothing chosen is no answer
	time              time.Time
	column            string // that holds the labels, where it is one of a sheet
}

// columnError is a fault in one column of a row.
type columnError struct {
	column string
	err    error
}

func (e *columnError) Error() string { return e.err.Error() }

// reader gathers the answers of one file.
type reader struct {
	f        *review.Frozen
	l        layout
	file     string
	unit     string // of its places
	sheet    bool
	cells    bool     // CSV or TSV: a spreadsheet may have changed what looks like a number or a date
	header   []string // of the row at hand
	reviewer string   // given beside the file; "" is none
	tool     bool     // users are called as the tool does
	unnamed  bool     // it was said that a reviewer's name is missing; once is enough
	named    map[string]bool
	seen     map[[2]string]review.Place // item and reviewer
	answers  []review.Answer
	faults   []error
}

// Read reads the answers of a file, whose format its name and content tell, or of the folder that Argilla writes.
// reviewer names who filled it in where the file does not say so, or says it with a number of the tool's; "" is not
// known. The error joins all faults (*review.Fault) found; a file of another batch has one.
func Read(path string, f *review.Frozen, reviewer string) ([]review.Answer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		records := filepath.Join(path, "records.json")
		if _, err := os.Stat(records); err != nil {
			return nil, review.FaultOf(path,
				errors.New("it is a folder, and not one that Argilla wrote (records.json); name the file that was filled in"))
		}
		path = records
	}
	format, _ := dataset.FormatOf(path)
	if strings.EqualFold(filepath.Ext(path), ".txt") { // what Excel calls text with tabs
		format = dataset.Format{Name: dataset.TSV}
	}
	o := dataset.Options{Format: format}
	var err error
	if format.Name == dataset.XLSX {
		o.Sheet, err = sheetOf(path, layoutOf(f).item)
	}
	if err != nil {
		return nil, review.FaultOf(path, err)
	}
	rows, err := dataset.Open(path, o)
	if err != nil {
		return nil, review.FaultOf(path, err)
	}
	defer rows.Close()
	return read(rows, path, format, f, reviewer)
}

// sheetOf names the sheet that has the items, since people add sheets of their own and move them; "" is none.
func sheetOf(path, item string) (string, error) {
	book, err := regularfile.Open(path)
	if err != nil {
		return "", nil //nolint:nilerror // who reads the rows says what is wrong with the file
	}
	defer book.Close()
	info, err := book.Stat()
	if err != nil {
		return "", nil //nolint:nilerror // likewise
	}
	found, err := xlsx.SheetsWith(book, info.Size(), xlsx.Options{}, item)
	if err != nil || len(found) == 0 {
		return "", nil //nolint:nilerror // likewise
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", fmt.Errorf("the sheets %q all have items; delete those that do not count", found)
}

var units = map[string]string{dataset.XLSX: "row", dataset.Parquet: "row", dataset.JSON: "item"}

func read(rows dataset.Source, path string, format dataset.Format, f *review.Frozen,
	reviewer string) ([]review.Answer, error) {
	r := &reader{f: f, l: layoutOf(f), file: path, unit: units[format.Name], sheet: format.Name == dataset.XLSX,
		cells:    format.Name == dataset.CSV || format.Name == dataset.TSV,
		reviewer: reviewer, named: map[string]bool{}, seen: map[[2]string]review.Place{}}
	n := 0
	keep := func(fault *dataset.LineError) error {
		n++
		r.faults = append(r.faults, review.FaultOf(path, fault))
		return nil
	}
	for row, err := range dataset.Rows(context.Background(), rows.Read, keep) {
		if err != nil {
			return nil, errors.Join(append(r.faults, review.FaultOf(path, err))...)
		}
		if err := r.row(row); err != nil { // the rest would say the same
			return nil, err
		}
		n++
	}
	if n == 0 {
		r.fault(review.Place{File: path}, "", errors.New("the file holds no rows; is it the export that was filled in?"))
	}
	r.rename()
	return r.answers, errors.Join(r.faults...)
}

func (r *reader) fault(p review.Place, item string, err error) {
	if at, ok := errors.AsType[*columnError](err); ok && r.sheet {
		if i := slices.Index(r.header, at.column); i >= 0 {
			p.Cell, _ = excelize.CoordinatesToCellName(i+1, p.Line) // a sheet has no others
		}
	}
	r.faults = append(r.faults, &review.Fault{Place: p, ItemID: item, Reason: err.Error()})
}

// row takes one row; the error is one that holds for the whole file.
func (r *reader) row(row *dataset.Row) error {
	r.header = row.Columns()
	p := review.Place{File: r.file, Line: row.Line, Unit: r.unit}
	rec, err := r.parse(row)
	if err != nil {
		if whole, ok := errors.AsType[*review.Fault](err); ok {
			return whole
		}
		r.fault(p, "", err)
		return nil
	}
	if rec == nil {
		return nil
	}
	if rec.batch != "" && rec.batch != r.f.ID {
		return &review.Fault{Place: p,
			Reason: fmt.Sprintf("the file is of the batch %s, not of %s; merge it with: --batch %[1]s", rec.batch, r.f.ID)}
	}
	if err := r.compare(rec); err != nil {
		r.fault(p, rec.id, err)
		return nil
	}
	for i := range rec.voices {
		r.take(p, rec, &rec.voices[i])
	}
	return nil
}

// parse takes the row at hand apart as its columns tell.
func (r *reader) parse(row *dataset.Row) (*record, error) {
	for _, f := range formats {
		for _, p := range f.parsers {
			if !slices.ContainsFunc(p.columns, func(name string) bool { return !slices.Contains(r.header, name) }) {
				return p.parse(r, row)
			}
		}
	}
	return readFlat(r, row)
}

// compare finds the item and says whether its text is still the one that was given out.
func (r *reader) compare(rec *record) error {
	i, ok := r.f.Find(rec.id)
	if !ok {
		return &columnError{r.l.item, reasonOf(r.f.Fits(&review.Answer{ItemID: rec.id}))}
	}
	for k, name := range r.l.shown {
		if text, ok := rec.values[k]; ok && plain(text) != plain(r.f.Values[i][k]) {
			return &columnError{name, r.changed(name, rec.hash != r.f.All[i].TextSHA256)}
		}
	}
	switch {
	case rec.hash != "" && rec.hash != r.f.All[i].TextSHA256:
		return &columnError{r.l.text, fmt.Errorf("%q is that of another text; export the batch again", r.l.text)}
	case rec.hash == "" && len(rec.values) < len(r.l.shown):
		return fmt.Errorf("neither the text nor %q is there, so that nothing says what was answered; keep the columns of "+
			"the export", r.l.text)
	}
	return nil
}

// changed says what may have changed a text; other tells that the file may be of other rows.
func (r *reader) changed(field string, other bool) error {
	hint := ""
	if other {
		hint = fmt.Sprintf("; or the file is of another draw of %s, as before an undo: export the batch again", r.f.ID)
	}
	if r.cells {
		hint += "; a spreadsheet changes numbers and dates of CSV by itself: give it the xlsx export"
	}
	return fmt.Errorf("the %s was changed; put the text back as it was exported, and write remarks into the notes%s",
		field, hint)
}

// plain is a text without what programs change on the way: kinds of line ends, control characters, white space around.
func plain(s string) string { return strings.TrimSpace(printable(s)) }

// printable has one kind of line ends, and no characters that a sheet cannot hold.
func printable(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' || c == '\ufffe' || c == '\uffff' {
			return -1
		}
		return c
	}, s)
}

// take makes an answer of what a reviewer says.
func (r *reader) take(p review.Place, rec *record, v *voice) {
	if v.labels == nil && !v.skipped {
		return
	}
	i, _ := r.f.Find(rec.id)
	a := review.Answer{ItemID: rec.id, Reviewer: v.reviewer, Labels: v.labels, Notes: v.notes, Skipped: v.skipped,
		Resolves: v.resolves,
		Time:     v.time, TextSHA256: r.f.All[i].TextSHA256, Place: p}
	r.tool = r.tool || v.chosen
	if a.Reviewer == "" {
		a.Reviewer = r.reviewer
	} else {
		r.named[a.Reviewer] = true
	}
	if a.Reviewer == "" && r.unnamed {
		return
	}
	r.unnamed = r.unnamed || a.Reviewer == ""
	if err := r.check(&a, v); err != nil {
		r.fault(p, rec.id, err)
		return
	}
	key := [2]string{a.ItemID, a.Reviewer}
	if first, again := r.seen[key]; again {
		r.fault(p, rec.id, fmt.Errorf("%s answered it already in %s; keep one of the two", a.Reviewer, first))
		return
	}
	r.seen[key] = p
	r.answers = append(r.answers, a)
}

// check puts the labels in the taxonomy's form.
func (r *reader) check(a *review.Answer, v *voice) error {
	if r.f.Taxonomy.NoErrorIndex() < 0 && slices.Contains(a.Labels, None) {
		if len(a.Labels) > 1 {
			return &columnError{v.column, fmt.Errorf("%q stands beside other labels; it means that there is none", None)}
		}
		a.Labels = []string{}
	} else if v.chosen && len(a.Labels) == 0 && !a.Skipped {
		return fmt.Errorf("%s chose no label; %q is for a row in which nothing is wrong", a.Reviewer, clean(r.f.Taxonomy))
	}
	if err := a.Check(r.f.Taxonomy); err != nil {
		if text, ok := commas(a.Labels, r.f.Taxonomy); ok {
			return &columnError{v.column,
				fmt.Errorf("%q: labels are parted by semicolons, since commas may be in their names; write %q", text,
					strings.Join(splitAt(text, ","), "; "))}
		}
		return &columnError{v.column, reasonOf(err)}
	}
	return nil
}

// reasonOf is what is wrong, without the place and the item of a fault.
func reasonOf(err error) error {
	if fault, ok := errors.AsType[*review.Fault](err); ok {
		return errors.New(fault.Reason)
	}
	return err
}

// rename calls the one user of a tool's file as the caller does.
func (r *reader) rename() {
	names := slices.Sorted(maps.Keys(r.named))
	switch {
	case r.reviewer == "" || len(names) == 0 || len(names) == 1 && names[0] == r.reviewer:
	case len(names) > 1:
		r.fault(review.Place{File: r.file}, "",
			fmt.Errorf("it holds answers of %s, and cannot be that of %s alone; name the file without %[2]s=",
				strings.Join(names, ", "), r.reviewer))
	case !r.tool: // a name that was written on purpose
		r.fault(review.Place{File: r.file}, "", fmt.Errorf("it names %s as its reviewer: merge it without %s=, or, if "+
			"%[2]s filled it in, write %[2]s into its column %q (in Excel after Review, Unprotect Sheet)", names[0], r.reviewer,
			"reviewer"))
	default:
		for i := range r.answers {
			r.answers[i].Reviewer = r.reviewer
		}
	}
}
