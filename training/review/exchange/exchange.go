// Package exchange gives a frozen batch to people in the formats of their tools, and reads what comes back. The formats
// are workbooks, CSV, JSON Lines, records of Argilla and tasks of Label Studio. What tells a reviewer why a row was
// chosen, or which row repeats which, never leaves the workspace.
package exchange

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// Formats of an export.
const (
	XLSX        = "xlsx"
	CSV         = "csv"
	JSONL       = "jsonl"
	Argilla     = "argilla"
	LabelStudio = "label-studio"
)

// format is a way to give a batch out, and to take it back.
type format struct {
	name    string
	export  func(*review.Frozen, Options) ([]File, error)
	parsers []parser // of what a tool gives back; none where that is flat
}

// parser takes a row apart that has all of these columns; nil is a row that says nothing.
type parser struct {
	columns []string
	parse   func(r *reader, row *dataset.Row) (*record, error)
}

var formats = []format{
	{XLSX, exportWorkbook, nil},
	{CSV, func(f *review.Frozen, o Options) ([]File, error) { return exportRows(f, dataset.CSV, o) }, nil},
	{JSONL, func(f *review.Frozen, o Options) ([]File, error) { return exportRows(f, dataset.JSONL, o) }, nil},
	{Argilla, exportArgilla, []parser{{[]string{"fields", "responses"}, readArgilla},
		{[]string{argillaLabels + argillaValues, argillaLabels + argillaUsers}, readArgillaFlat}}},
	{LabelStudio, exportLabelStudio, []parser{{[]string{"data", "annotations"}, readStudio},
		{[]string{"data", "predictions"}, readStudio}}},
}

// Formats are all that Export knows.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Options of an export.
type Options struct {
	Proposals string // one of review.Shows; "" is review.ShowNothing
	Reviewer  string // who will answer, written into the file; "" leaves that to the merge
}

// None stands for "nothing wrong" where the taxonomy has no label for that.
const None = dataset.NoLabel

// choices are what a reviewer chooses among.
func choices(t *taxonomy.Taxonomy) []string {
	names := t.Labels()
	if t.NoErrorIndex() < 0 {
		names = append(names, None)
	}
	return names
}

// File is one file of an export.
type File struct {
	Name string // may have folders in it, parted by slashes
	Data []byte
}

// Export writes a batch in a format.
func Export(f *review.Frozen, name string, o Options) ([]File, error) {
	o.Proposals = cmp.Or(o.Proposals, review.ShowNothing)
	if !slices.Contains(review.Shows(), o.Proposals) {
		return nil, fmt.Errorf("proposals %q: they are %s", o.Proposals, strings.Join(review.Shows(), ", "))
	}
	if i := slices.Index(Formats(), name); i >= 0 {
		return formats[i].export(f, o)
	}
	return nil, fmt.Errorf("there is no format %q; the formats are %s", name, strings.Join(Formats(), ", "))
}

// layout names the columns of the flat formats. What reviewers read and the labels keep their names; a column of
// erreval's own that would be called the same gets underscores.
type layout struct {
	batch, item, reviewer, labels, skipped, notes, text, proposed, resolves, answered string

	shown []string // parallel to Frozen.Columns
	types []string // parallel to choices
}

// freeNames gives a function that adds underscores to a name that it gave already; case does not matter.
func freeNames() func(name string) string {
	taken := map[string]bool{}
	return func(name string) string {
		for taken[strings.ToLower(name)] {
			name += "_"
		}
		taken[strings.ToLower(name)] = true
		return name
	}
}

func layoutOf(b *review.Frozen) layout {
	free, l := freeNames(), layout{}
	for _, c := range b.Columns {
		l.shown = append(l.shown, free(c.Name))
	}
	for _, c := range choices(b.Taxonomy) {
		l.types = append(l.types, free(c))
	}
	for _, c := range []struct {
		to   *string
		name string
	}{{&l.batch, "batch"}, {&l.item, "item_id"}, {&l.reviewer, "reviewer"}, {&l.labels, "labels"}, {&l.skipped,
		"skipped"}, {&l.notes, "notes"},
		{&l.text, "text_sha256"}, {&l.proposed, "proposed"}, {&l.resolves, "resolves"},
		{&l.answered, review.ColumnAnswered}} {
		*c.to = free(c.name)
	}
	return l
}

// exportRows writes one row an item, with a column "labels" to be filled in.
func exportRows(f *review.Frozen, format string, o Options) ([]File, error) {
	var b bytes.Buffer
	sink, err := dataset.NewSink(&b, dataset.Format{Name: format}, dataset.SinkOptions{})
	if err != nil {
		return nil, err
	}
	l := layoutOf(f)
	for i := range f.All {
		r, err := flatRow(f, &l, i, o)
		if err = errors.Join(err, sink.Write(r)); err != nil {
			return nil, err
		}
	}
	if err := sink.Close(); err != nil {
		return nil, err
	}
	return []File{{"review." + format, b.Bytes()}}, nil
}

func flatRow(f *review.Frozen, l *layout, i int, o Options) (*dataset.Row, error) {
	r := &dataset.Row{}
	err := errors.Join(r.Set(l.batch, f.ID), r.Set(l.item, f.All[i].ItemID))
	for k, name := range l.shown {
		err = errors.Join(err, r.Set(name, f.Values[i][k]))
	}
	if o.Proposals != review.ShowNothing {
		err = errors.Join(err, r.Set(l.proposed, proposal(&f.All[i], o.Proposals)))
	}
	return r, errors.Join(err, r.Set(l.labels, nil), r.Set(l.skipped, nil), r.Set(l.notes, ""),
		r.Set(l.reviewer, o.Reviewer), r.Set(l.text, f.All[i].TextSHA256))
}

// leastShown is the probability from which a label that is not proposed is shown.
const leastShown = 0.05

// proposal is what a person reads of it: "Vague 0.83, Spell Error 0.12".
func proposal(it *review.Item, show string) string {
	if it.Proposed == nil {
		return ""
	}
	if show != review.ShowProbabilities || len(it.Proposed.Probabilities) == 0 {
		return strings.Join(it.Proposed.Labels, ", ")
	}
	var parts []string
	for _, p := range it.Proposed.Probabilities {
		if p.P >= leastShown || slices.Contains(it.Proposed.Labels, p.Label) {
			parts = append(parts, fmt.Sprintf("%s %.2f", p.Label, p.P))
		}
	}
	return strings.Join(parts, ", ")
}

// Saved is a file that Save wrote or found.
type Saved struct {
	Path  string
	Found bool   // it was there, with the same content
	Batch string // which is in it
	Items int    // of the batch
}

// Text says what was done, in a line.
func (s Saved) Text() string {
	if s.Found {
		return s.Path + " is there already"
	}
	return fmt.Sprintf("%s: %s of %s", s.Path, words.Plural(s.Items, "item", "items"), s.Batch)
}

// Save writes a batch in a format into a folder, which is made, or, where out has the extension of the only file that
// the format has, to that file. A file that is there with other content may be filled in already: it is replaced only
// with overwrite, else it is an error. Files that come before an error are written and given.
func Save(f *review.Frozen, format, out string, overwrite bool, o Options) (saved []Saved, err error) {
	files, err := Export(f, format, o)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		path := filepath.Join(out, filepath.FromSlash(file.Name))
		if len(files) == 1 && filepath.Ext(out) == filepath.Ext(file.Name) {
			path = out
		}
		old, err := regularfile.Read(path, regularfile.MaxRows)
		found := err == nil && bytes.Equal(old, file.Data)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return saved, err
		case err == nil && !found && !overwrite:
			return saved, fmt.Errorf("%s is there already, and may have been filled in; replace it with --overwrite, "+
				"or choose another place with -o", path)
		case !found:
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), wholefile.Write(path, file.Data)); err != nil {
				return saved, err
			}
		}
		saved = append(saved, Saved{Path: path, Found: found, Batch: f.ID, Items: len(f.All)})
	}
	return saved, nil
}
