// Package reporting works out what a report shows besides its rows. These are leaderboards, figures against people's
// labels, scores and verdicts, the state of discovered issues, and the iterations of a refinement. Each figure is made
// by the function that makes it for the command of that name; here it becomes a table and a picture for the page.
package reporting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/report/view"
)

// Options say what is worked out.
type Options struct {
	Runs       []Run
	Source     view.Source                         // of the runs' rows
	Open       func(path string) (run.Rows, error) // says how a file is read, with its taxonomy
	Human      map[string]string                   // dimension to columns with people's scores, joined by commas
	Verdicts   []string                            // columns with people's verdicts on pairs
	Labels     string                              // column of the joined file that rows get as their labels; "" is none
	System     string                              // column that tells systems apart, where one was named
	Workspaces []string                            // folders of "erreval refine"
	Seed       uint64                              // of resamples
	limited    int                                 // rows that a figure reads of a run, for tests; 0 is maxRows
}

// Run is a file of rows.
type Run struct {
	Name string // in the catalogue
	Path string
}

// maxRows bounds what a figure that keeps its rows reads of a run.
const maxRows = 200_000

// maker gathers sections. What cannot be made becomes a note.
type maker struct {
	o        *Options
	sections []view.Section
	notes    []string
	unused   map[string]string // of Options.Human
	made     map[string]string // what once made, to the run
}

// Compute works out all sections. What could not be worked out is a note, with the name of the run; the error is the
// context's.
func Compute(ctx context.Context, o Options) (all []view.Section, notes []string, err error) {
	m := &maker{o: &o, unused: maps.Clone(o.Human), made: map[string]string{}}
	holds, err := m.lookAtRuns(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i, r := range o.Runs {
		if holds[i].verdicts {
			m.try(ctx, r, "leaderboards", m.leaderboards)
		}
	}
	for i, r := range o.Runs {
		if (holds[i].gold || o.Labels != "") && holds[i].diagnoses {
			m.try(ctx, r, "labels against gold labels", m.once(m.labels))
		}
		if holds[i].scores {
			m.try(ctx, r, "scores", m.scores)
		}
		if len(o.Verdicts) > 0 && holds[i].verdicts {
			m.try(ctx, r, "verdicts against people's", m.people)
		}
	}
	for _, dimension := range slices.Sorted(maps.Keys(m.unused)) {
		m.notes = append(m.notes, fmt.Sprintf("people's scores of %s: no run with scores has %s", dimension,
			m.unused[dimension]))
	}
	if len(o.Verdicts) > 0 && !slices.ContainsFunc(holds, func(h content) bool { return h.verdicts }) {
		m.notes = append(m.notes, fmt.Sprintf("people's verdicts in %s: no run has verdicts on pairs; people's labels "+
			"are named as labels=COLUMN, and scores as DIMENSION=COLUMN", strings.Join(o.Verdicts, ", ")))
	}
	for _, dir := range o.Workspaces {
		m.refinement(dir)
	}
	m.issues(ctx)
	return m.sections, m.notes, ctx.Err()
}

// Complete is the source's catalogue with all sections, and with notes on what could not be worked out.
func Complete(ctx context.Context, o Options) (*view.Catalog, error) {
	made, notes, err := Compute(ctx, o)
	if err != nil {
		return nil, err
	}
	c := *o.Source.Catalog() // which is not changed
	c.Sections = slices.Concat(c.Sections, made)
	for _, note := range notes {
		if !slices.Contains(c.Notes, note) { // reading a file for figures may say what reading it for rows did
			c.Notes = append(c.Notes[:len(c.Notes):len(c.Notes)], note)
		}
	}
	if c.Sections == nil {
		c.Sections = []view.Section{}
	}
	if c.Notes == nil {
		c.Notes = []string{}
	}
	return &c, nil
}

// once leaves out sections that were made of an earlier run: outputs hand diagnoses on.
func (m *maker) once(make makeSections) makeSections {
	return func(ctx context.Context, r Run) ([]view.Section, error) {
		made, err := make(ctx, r)
		if err != nil {
			return nil, err
		}
		var all [][]any
		for _, s := range made {
			all = append(all, []any{s.Title, s.Table, s.Chart})
		}
		key, err := json.Marshal(all)
		if err != nil {
			return nil, err
		}
		if earlier, ok := m.made[string(key)]; ok {
			m.notes = append(m.notes, fmt.Sprintf("%s: its labels are those of %s, and measured there", r.Name, earlier))
			return nil, nil
		}
		m.made[string(key)] = r.Name
		return made, nil
	}
}

type makeSections func(context.Context, Run) ([]view.Section, error)

// try makes the sections of a run, or notes why there are none.
func (m *maker) try(ctx context.Context, r Run, what string, make makeSections) {
	if ctx.Err() != nil {
		return
	}
	made, err := make(ctx, r)
	if err != nil {
		m.note(r, what, err)
		return
	}
	m.add(r, made)
}

func (m *maker) add(r Run, made []view.Section) {
	for i := range made {
		made[i].Run = r.Name
	}
	m.sections = append(m.sections, made...)
}

// note says why something is missing.
func (m *maker) note(r Run, what string, err error) {
	text := strings.TrimPrefix(named(r, err.Error()), r.Name+": ")
	m.notes = append(m.notes, words.Printable(fmt.Sprintf("%s: no %s: %s", r.Name, what, text)))
}

// noted is what reading a run said of its file.
func noted(p *run.Process, r Run) (lines []string) {
	for _, line := range p.Noted() {
		lines = append(lines, words.Printable(named(r, line)))
	}
	return lines
}

// named is a text that names the run as the report does, and not where its file lies.
func named(r Run, text string) string {
	return strings.NewReplacer(r.Path, r.Name, "\n", "; ").Replace(text)
}

// limit is the number of rows that a figure reads of a run.
func (m *maker) limit() int {
	if m.o.limited > 0 {
		return m.o.limited
	}
	return maxRows
}

// quiet is a process that prints nothing; it knows what a terminal would be told of a file.
func quiet() *run.Process { return &run.Process{Err: io.Discard} }

// read hands the rows of a run to take, under the run's name and at most the first of those that it counts.
func (m *maker) read(ctx context.Context, rows *run.Rows, r Run, isCounted func(*dataset.Row) bool,
	take run.TakeRows) (cut bool, err error) {
	err = rows.Read(ctx, quiet(), r.Path, func(ctx context.Context, _ string, read func() (*dataset.Row, error)) error {
		n := 0
		return take(ctx, r.Name, func() (*dataset.Row, error) {
			row, err := read()
			if err == nil && isCounted(row) {
				if n++; n > m.limit() {
					cut = true
					return nil, io.EOF
				}
			}
			return row, err
		})
	})
	return cut, err
}

func isAnyRow(*dataset.Row) bool { return true }

// content is what a run holds that figures can be made of.
type content struct{ gold, diagnoses, verdicts, scores bool }

// lookAtRuns asks the source what each run holds.
func (m *maker) lookAtRuns(ctx context.Context) ([]content, error) {
	holds := make([]content, len(m.o.Runs))
	catalog := m.o.Source.Catalog()
	known := func(facet string, set func(c *content)) error {
		counts, err := m.o.Source.Counts(ctx, view.CountsQuery{Facet: facet, By: "run"})
		if err != nil {
			return err
		}
		for _, column := range counts.Columns {
			i := slices.IndexFunc(m.o.Runs, func(r Run) bool { return r.Name == column.Name })
			if i >= 0 && column.Rows > 0 {
				set(&holds[i])
			}
		}
		return nil
	}
	var errs []error
	for _, f := range catalog.Facets {
		switch {
		case f.Key == "gold":
			errs = append(errs, known(f.Key, func(c *content) { c.gold = true }))
		case f.Key == "label":
			errs = append(errs, known(f.Key, func(c *content) { c.diagnoses = true }))
		case strings.HasPrefix(f.Key, "verdict."):
			errs = append(errs, known(f.Key, func(c *content) { c.verdicts = true }))
		}
	}
	for _, measure := range catalog.Measures {
		if !strings.HasPrefix(measure.Key, "score.") {
			continue
		}
		h, err := m.o.Source.Histogram(ctx, view.HistogramQuery{Measure: measure.Key, By: "run"})
		if errs = append(errs, err); err != nil {
			continue
		}
		for _, column := range h.Columns {
			i := slices.IndexFunc(m.o.Runs, func(r Run) bool { return r.Name == column.Name })
			holds[max(i, 0)].scores = holds[max(i, 0)].scores || i >= 0 && column.Rows > 0
		}
	}
	return holds, errors.Join(errs...)
}

// Columns of tables.

func text(title string) report.Column   { return report.Column{Title: title} }
func number(title string) report.Column { return report.Column{Title: title, Right: true} }

func point(group, name string, f report.Figure) view.Point {
	return view.Point{Group: group, Name: name, Value: f.Value, Low: f.Low, High: f.High}
}

// onPage is a section of a printed report as one of the page.
func onPage(in string, s report.Section) view.Section {
	out := view.Section{View: in, Title: s.Title, Summary: s.Summary, Notes: s.Notes}
	if len(s.Table.Rows) > 0 {
		out.Table = &s.Table
	}
	return out
}
