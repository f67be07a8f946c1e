package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// ErrUnfit says that a diagnosis, or gold labels, are of another taxonomy.
var ErrUnfit = errors.New("the diagnosis does not fit the taxonomy")

// Unfit is an ErrUnfit with the text of err.
func Unfit(err error) error { return unfit{err} }

type unfit struct{ error }

func (unfit) Unwrap() error { return ErrUnfit }

// OptionError says that an option is wrong, or does not fit the rows. Its text names the option as the command does.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }

// OptionErrorf makes an *OptionError.
func OptionErrorf(format string, args ...any) error { return &OptionError{fmt.Errorf(format, args...)} }

// FileWarning says what the figures leave out of a file, or of several.
type FileWarning struct {
	Faults []error  // lines that are no rows, each a *dataset.LineError
	Notes  []string // one line each
}

// IsAny tells whether anything is left out.
func (w FileWarning) IsAny() bool { return len(w.Faults)+len(w.Notes) > 0 }

// GroupOf gives what the rows of a group share: the text of a task's field, or the JSON of any other column. Without a
// group, or a value for it, it is the row's id: such rows share nothing. A row without that column is an *OptionError.
func GroupOf(row *dataset.Row, t *taxonomy.Taxonomy, group string) (string, error) {
	if group == "" {
		return row.ID, nil
	}
	var text, value string
	if i := slices.Index(t.FieldNames(), group); i >= 0 {
		text, value = row.Values[i], row.Values[i]
	} else {
		raw, ok := row.Find(group)
		if !ok {
			return "", NoColumn("--group", row, group)
		}
		if value = string(raw); value != "null" {
			text = dataset.PlainText(raw)
		}
	}
	if strings.TrimSpace(text) == "" {
		return row.ID, nil
	}
	return value, nil
}

// NoColumn is the *OptionError for an option that names a column which the row does not have.
func NoColumn(option string, row *dataset.Row, column string) error {
	return OptionErrorf("%s: row %s has no column %q; the columns are %s", option, ShortID(row.ID), column,
		strings.Join(row.Columns(), ", "))
}

// Tagged reads files of tagged rows, all with one taxonomy.
type Tagged struct {
	Taxonomy *taxonomy.Taxonomy
	Where    map[string]string // column to the value that rows must have there; nil chooses all

	filter  dataset.Filter // made from Where
	files   []string
	faults  []error
	version string // the first row of another version of the taxonomy that does not tell what was judged
	people  string // the first file of which a row has no diagnosis, but people's labels
}

// Each calls f for every chosen row of a file, with its diagnosis, or nil where there is none. read gives the rows
// until io.EOF, as a dataset.Reader does; file is its name in errors. A row of another taxonomy is an ErrUnfit. Lines
// that are no rows are left out; Faults has them.
func (t *Tagged) Each(ctx context.Context, file string, read func() (*dataset.Row, error),
	f func(*dataset.Row, *dataset.Diagnosis) error) error {
	t.filter.Where, t.files = t.Where, append(t.files, file)
	faults, err := dataset.EachRow(ctx, read, func(row *dataset.Row) error {
		if !t.filter.Match(row) {
			return nil
		}
		d, err := row.Diagnosis()
		if err != nil {
			return err
		}
		if d != nil && !d.MadeWith(t.Taxonomy.ID()) {
			return t.unfit("row "+row.ID, d.Taxonomy)
		}
		if d != nil {
			if err := d.NameLabels(t.Taxonomy); err != nil {
				return Unfit(fmt.Errorf("row %s: %w", row.ID, err))
			}
			if err := d.CheckNoError(t.Taxonomy); err != nil {
				return fmt.Errorf("row %s: %w", row.ID, err)
			}
			if d.Taxonomy != "" && d.Taxonomy != t.Taxonomy.ID() && d.Status == "" && len(d.Probabilities) == 0 {
				t.version = cmp.Or(t.version, file+": row "+row.ID+" was tagged with "+d.Taxonomy)
			}
		}
		if _, has := row.FindAnyCase(dataset.ColumnLabels); has && d == nil {
			t.people = cmp.Or(t.people, file)
		}
		return f(row, d)
	})
	t.faults = append(t.faults, faults...)
	if unfit := t.findForeign(errors.Join(append(faults, err)...)); unfit != nil {
		return unfit
	}
	return err
}

// Faults are the lines so far that are no rows, each a *dataset.LineError.
func (t *Tagged) Faults() []error { return t.faults }

// warnings are the faults in the form of reports.
func (t *Tagged) warnings() []FileWarning {
	w := FileWarning{Faults: t.faults}
	if t.version != "" {
		w.Notes = []string{t.version + " and has no probabilities: error types that are new in " + t.Taxonomy.ID() +
			" count as not found in such rows"}
	}
	return []FileWarning{w}
}

func (t *Tagged) unfit(what, found string) error {
	name, _, _ := strings.Cut(found, "@")
	if name == t.Taxonomy.Name {
		return Unfit(fmt.Errorf("%s was tagged with the taxonomy %s, not %s: versions with another number before the point "+
			"have other types, and are not looked at together; for types that were added alone, count up behind the point",
			what, found, t.Taxonomy.ID()))
	}
	if !slices.Contains(taxonomy.Builtins(), name) {
		name = "FILE"
	}
	return Unfit(fmt.Errorf("%s was tagged with the taxonomy %s, not %s; rows of one taxonomy can be looked at together: "+
		"choose it with --taxonomy %s; one that only adds types to another is compared with it where it has its name, and a "+
		"version that differs behind the point", what, found, t.Taxonomy.ID(), name))
}

// findForeign gives an ErrUnfit if a line is no row, or columns are missing, because the file belongs to another
// taxonomy with other fields.
func (t *Tagged) findForeign(err error) error {
	var fault *dataset.LineError
	var missing *dataset.ColumnsError
	var line struct{ Diagnosis *dataset.Diagnosis }
	place := ""
	switch {
	case errors.As(err, &missing):
		place = fmt.Sprintf("%s:%d", missing.First.Source, missing.First.Line)
		line.Diagnosis, err = missing.First.Diagnosis()
	case errors.As(err, &fault):
		place = fmt.Sprintf("%s:%d", fault.File, fault.Line)
		err = json.Unmarshal(fault.Raw, &line)
	}
	if err != nil || line.Diagnosis == nil || line.Diagnosis.MadeWith(t.Taxonomy.ID()) {
		return nil
	}
	return t.unfit(place, line.Diagnosis.Taxonomy)
}

// UntaggedError says that no row of the files is tagged.
type UntaggedError struct{ text string }

func (e *UntaggedError) Error() string { return e.text }

// NothingToShow says why the files have no tagged row: rows is the number of chosen rows.
func (t *Tagged) NothingToShow(rows int) error {
	files := t.FileNames()
	switch {
	case rows > 0 && len(t.faults) > 0:
		return &UntaggedError{fmt.Sprintf("%s: none of %s is tagged, and %s; the first: %v", files,
			words.Plural(rows, "row", "rows"), words.Plural(len(t.faults), "line is no row", "lines are no rows"), t.faults[0])}
	case rows > 0 && t.people != "":
		return &UntaggedError{fmt.Sprintf("%s: none of %s is tagged; the column %q holds people's labels, which are "+
			"compared with a model's: erreval meta labels TAGGED --gold %s", files, words.Plural(rows, "row", "rows"),
			dataset.ColumnLabels, words.Quote(t.people))}
	case rows > 0:
		return &UntaggedError{fmt.Sprintf("%s: none of %s is tagged; tag them first, as in: erreval identify %s -o OUT",
			files, words.Plural(rows, "row", "rows"), t.files[0])}
	case len(t.faults) > 0:
		return fmt.Errorf("%s: no row could be read; the first fault: %w", files, t.faults[0])
	case len(t.Where) > 0:
		return t.filter.NoMatch(files)
	}
	return fmt.Errorf("%s: there are no rows", files)
}

// FileNames lists the files so far for a sentence.
func (t *Tagged) FileNames() string { return strings.Join(t.files, ", ") }
