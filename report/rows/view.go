// Package rows shows tagged rows to people. A View prints those that its options choose, below each other; a Table
// prints rows side by side with what was found in them, as they are tagged.
package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Values of Options.
const (
	AnyLabel     = "any" // in Labels and Not: every error
	TopUncertain = "uncertain"
	DefaultTop   = 20 // rows of Top without Limit

	StatusTagged    = "tagged"
	StatusTruncated = "truncated"
)

// Options say which rows a View shows, and how.
type Options struct {
	Taxonomy    *taxonomy.Taxonomy
	Where       map[string]string // column to the value that rows must have there; nil chooses all
	Labels, Not []string          // names, codes or AnyLabel: rows with one of Labels and none of Not
	Issues      []string          // rows with one of these issues that discover found, by name or id
	IDs         []string          // rows with one of these ids: whole, or the beginning before "…" or "*"
	Status      string            // StatusTagged, dataset.StatusUntagged or StatusTruncated; "" shows all
	Top         string            // TopUncertain: closest to a threshold first; "" keeps the file's order
	Limit       int               // rows; 0 shows all, or DefaultTop with Top
	// Thresholds gives the thresholds with which the rows of a file were tagged, nil where they are unknown. It may be
	// nil itself.
	Thresholds func(file string) dataset.Probabilities

	Columns map[string]string // field to the column that it is read from, where that has another name
	Width   int               // of the terminal in columns; it is kept between 40 and 110
	Color   bool
	// Take gets the rows unchanged, and nothing is printed to Out; nil prints them.
	Take  func(*dataset.Row) error
	Out   io.Writer
	After func(*dataset.Row) error // is called when a row was printed; nil does nothing
	Notes io.Writer                // gets a line on what was shown, and by which measure; nil is silent
}

// Validate finds every option that is wrong, each an *report.OptionError.
func (o *Options) Validate() error {
	_, err := o.resolveNames("--label", o.Labels)
	_, errNot := o.resolveNames("--not", o.Not)
	errs := []error{err, errNot}
	statuses := []string{StatusTagged, dataset.StatusUntagged, StatusTruncated}
	if o.Status != "" && !slices.Contains(statuses, o.Status) {
		errs = append(errs, report.OptionErrorf("--status %q: it is %s", o.Status, strings.Join(statuses, " or ")))
	}
	if o.Top != "" && o.Top != TopUncertain {
		errs = append(errs, report.OptionErrorf("--top %q: there is only %s", o.Top, TopUncertain))
	}
	if o.Limit < 0 {
		errs = append(errs, report.OptionErrorf("--limit %d: give a number of rows, or 0 for all", o.Limit))
	}
	return errors.Join(errs...)
}

// resolveNames gives the names of labels given by name or code.
func (o *Options) resolveNames(option string, given []string) ([]string, error) {
	var names []string
	for _, g := range given {
		if g == AnyLabel {
			names = append(names, o.Taxonomy.Errors()...)
			continue
		}
		i, ok := o.Taxonomy.Index(strings.TrimSpace(g))
		if !ok {
			return nil, report.OptionErrorf("%s %q: %s has no such label; it has %s, and any stands for every error",
				option, g, o.Taxonomy.ID(), strings.Join(o.Taxonomy.Labels(), ", "))
		}
		names = append(names, o.Taxonomy.Types[i].Name)
	}
	return names, nil
}

// View shows tagged rows.
type View struct {
	o         Options
	tagged    report.Tagged
	printer   *printer
	top       topRows
	rows      int            // read, and chosen by Where
	diagnosed bool           // one of them is tagged, or untagged for a reason
	found     map[string]int // by what stands in IDs: rows with that id
	ids       []string       // of rows, where IDs choose: one of the first may have been meant
	issues    map[string]int // by id: rows with that issue
}

const maxSpelled = 100_000 // ids that are compared with one that no row has

// NewView starts a View. The error is that of Options.Validate.
func NewView(o Options) (*View, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Labels, _ = o.resolveNames("--label", o.Labels) // valid
	o.Not, _ = o.resolveNames("--not", o.Not)
	if o.Top != "" && o.Limit == 0 {
		o.Limit = DefaultTop
	}
	return &View{o: o, tagged: report.Tagged{Taxonomy: o.Taxonomy, Where: o.Where}, printer: newPrinter(&o),
		top: topRows{limit: o.Limit}, found: map[string]int{}, issues: map[string]int{}}, nil
}

var errEnough = errors.New("enough rows")

// ReadRows shows the chosen rows of a file. read gives its rows until io.EOF, as a dataset.Reader does; file is its
// name in notes and errors. With Options.Top nothing is shown before Close. A row of another taxonomy is a
// report.ErrUnfit.
func (v *View) ReadRows(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	var thresholds dataset.Probabilities
	if v.o.Thresholds != nil {
		thresholds = v.o.Thresholds(file)
	}
	if v.o.Top != "" {
		v.noteMeasure(file, thresholds)
	}
	err := v.tagged.Each(ctx, file, read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		v.rows++
		v.diagnosed = v.diagnosed || d != nil
		finding, err := issues.Of(row)
		if err != nil {
			finding = nil // the column is the user's own
		}
		if !v.hasID(row) || !v.hasIssue(finding) || !v.o.matches(d) {
			return nil
		}
		s := &shownRow{Row: row, diagnosis: d, finding: finding, thresholds: thresholds}
		if v.o.Top != "" {
			v.top.addRow(s, v.o.Taxonomy)
			return nil
		}
		if err := v.printer.printRow(s); err != nil {
			return err
		}
		if v.IsFull() {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// IsFull tells whether no further file needs to be read.
func (v *View) IsFull() bool { return v.o.Top == "" && v.o.Limit > 0 && v.printer.n == v.o.Limit }

// Faults are the lines that are no rows, each a *dataset.LineError.
func (v *View) Faults() []error { return v.tagged.Faults() }

// Close shows what Options.Top chose, and says how many rows there were. It is an error if there were none, or none
// with one of Options.IDs.
func (v *View) Close() error {
	if v.rows == 0 || !v.diagnosed && len(v.o.Labels)+len(v.o.Not) > 0 {
		return v.tagged.NothingToShow(v.rows)
	}
	for _, s := range v.top.rows {
		if err := v.printer.printRow(s); err != nil {
			return err
		}
	}
	done := "shown"
	if v.o.Take != nil {
		done = "chosen"
	}
	note := fmt.Sprintf("%s %s, %d read", words.Plural(v.printer.n, "row", "rows"), done, v.rows)
	if v.top.without > 0 {
		note += fmt.Sprintf("; %s no probabilities to judge by", words.Plural(v.top.without, "row has", "rows have"))
	}
	v.printNote(note)
	var missing []error
	for _, id := range v.o.IDs {
		if v.found[id] == 0 && !v.IsFull() {
			missing = append(missing, v.noRow(id))
		}
	}
	for _, name := range v.o.Issues {
		if v.issues[issueID(name)] == 0 && !v.IsFull() {
			missing = append(missing, fmt.Errorf("no row of %s has the issue %q; there are: %s", v.tagged.FileNames(), name,
				cmp.Or(strings.Join(slices.Sorted(maps.Keys(v.issues)), ", "), "none")))
		}
	}
	return errors.Join(missing...)
}

// issueID is the id of an issue that is given by its name or id.
func issueID(name string) string { return issues.NewID(name, func(string) bool { return false }) }

// hasIssue tells whether a row has one of Options.Issues, and counts its issues.
func (v *View) hasIssue(f *issues.Finding) bool {
	chosen := len(v.o.Issues) == 0
	if f == nil || chosen {
		return chosen
	}
	for _, id := range f.IDs {
		v.issues[id]++
		chosen = chosen || slices.ContainsFunc(v.o.Issues, func(name string) bool { return issueID(name) == id })
	}
	return chosen
}

// noRow says that no row has an id, and which one is most like it.
func (v *View) noRow(id string) error {
	near := ""
	if meant := spelling.Meant(id, v.ids); meant != "" {
		near = fmt.Sprintf(" (the nearest is %q)", meant)
	}
	return fmt.Errorf("no row of %s has the id %q%s; where erreval diff listed it, the other file may have it",
		v.tagged.FileNames(), id, near)
}

func (v *View) printNote(text string) {
	if v.o.Notes != nil {
		fmt.Fprintf(v.o.Notes, "erreval: %s\n", text)
	}
}

func (v *View) noteMeasure(file string, thresholds dataset.Probabilities) {
	if thresholds == nil {
		v.printNote(fmt.Sprintf("uncertain is a high 1 − |p − 0.5| of an error: the thresholds of %s are not known (no %s)",
			file, runrecord.Path(file)))
		return
	}
	v.printNote("uncertain is a probability close to its threshold, as recorded for " + file)
}

// hasID tells whether a row is one of those that IDs choose.
func (v *View) hasID(row *dataset.Row) bool {
	chosen := len(v.o.IDs) == 0
	if !chosen && len(v.ids) < maxSpelled {
		v.ids = append(v.ids, row.ID)
	}
	for _, id := range v.o.IDs {
		if report.IsSameID(id, row.ID) {
			v.found[id]++
			chosen = true
		}
	}
	return chosen
}

func (o *Options) matches(d *dataset.Diagnosis) bool {
	if len(o.Labels) > 0 && !hasAnyLabel(d, o.Labels) || hasAnyLabel(d, o.Not) {
		return false
	}
	tagged := d != nil && d.Status == ""
	switch o.Status {
	case StatusTagged:
		return tagged
	case dataset.StatusUntagged:
		return !tagged
	case StatusTruncated:
		return d != nil && len(d.Truncated) > 0
	}
	return true
}

func hasAnyLabel(d *dataset.Diagnosis, labels []string) bool {
	return d != nil && slices.ContainsFunc(d.Labels, func(l string) bool { return slices.Contains(labels, l) })
}

type shownRow struct {
	*dataset.Row
	diagnosis  *dataset.Diagnosis    // nil if there is none
	finding    *issues.Finding       // of discover; nil if there is none
	thresholds dataset.Probabilities // nil if they are not known
	closest    closest               // only with Options.Top
}

// threshold is that of an error type, or 0.5 where it is unknown: the probability closest to 0.5 has the largest 1 − |p
// − 0.5|.
func (s *shownRow) threshold(label string) float64 {
	if p, ok := s.thresholds.Get(label); ok {
		return p
	}
	return 0.5
}

// closest is the error type whose probability is nearest to its threshold.
type closest struct {
	label    string // "" without probabilities
	distance float64
}

func (s *shownRow) findClosest(t *taxonomy.Taxonomy) closest {
	best := closest{distance: math.Inf(1)}
	if s.diagnosis == nil {
		return best
	}
	for _, q := range s.diagnosis.Probabilities {
		if i, ok := t.Index(q.Label); !ok || t.Types[i].NoError {
			continue
		}
		if dist := math.Abs(q.P - s.threshold(q.Label)); dist < best.distance {
			best = closest{q.Label, dist}
		}
	}
	return best
}

// topRows keeps the most uncertain rows, closest to a threshold first, equally close ones in the file's order.
type topRows struct {
	limit   int
	rows    []*shownRow
	without int // rows that have no probabilities to judge by
}

func (t *topRows) addRow(s *shownRow, x *taxonomy.Taxonomy) {
	if s.closest = s.findClosest(x); s.closest.label == "" {
		t.without++
		return
	}
	at, _ := slices.BinarySearchFunc(t.rows, s, func(a, b *shownRow) int {
		if a.closest.distance <= b.closest.distance {
			return -1
		}
		return 1
	})
	if at == t.limit {
		return
	}
	t.rows = slices.Insert(t.rows, at, s)
	t.rows = t.rows[:min(len(t.rows), t.limit)]
}
