package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report/page"
	"github.com/erreval/erreval/report/view"
	"github.com/erreval/erreval/service"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

// openView reads the files that are to be shown, if there are any, and has them shown.
func (o *serveOptions) openView(e *env, so *service.Options) (closeAll func() error, err error) {
	if len(o.Files) == 0 {
		return func() error { return nil }, nil
	}
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	v, err := openViewed(o.Context, e, o.Files, filepath.Join(cache, "views"))
	if err != nil {
		return nil, err
	}
	s := shown{v.index, v.catalog, e, &sync.Mutex{}}
	var source view.Source = s
	closeAll = v.index.Close
	if m := newMarker(o.Context.Context, s); m != nil {
		source, closeAll = m, m.Close
		e.Say("rows that you mark on the page are kept beside their file, as in %s", words.Printable(m.path(0)))
	}
	so.View, so.Guard.Policy = viewHandler(source), page.Policy
	for _, note := range v.catalog.Notes {
		e.Say("%s", words.Printable(note))
	}
	e.Say("%s of %s", words.Plural(v.catalog.Rows, "row", "rows"), words.Plural(len(v.catalog.Runs), "run", "runs"))
	return closeAll, nil
}

// shown is an index with its sections.
type shown struct {
	*view.Index
	catalog *view.Catalog
	e       *env
	saying  *sync.Mutex
}

// Catalog says, besides, which files changed since: what is shown of them is old.
func (s shown) Catalog() *view.Catalog {
	c := *s.catalog
	c.Notes = slices.Clone(c.Notes)
	for run := range c.Runs {
		if err := s.checkUnchanged(run); err != nil {
			c.Notes = slices.Insert(c.Notes, 0, err.Error())
		}
	}
	return &c
}

// checkUnchanged is an error, said once on standard error too, where a run's file changed since it was opened.
func (s shown) checkUnchanged(run int) error {
	if !s.IsChanged(run) {
		return nil
	}
	s.saying.Lock()
	defer s.saying.Unlock()
	err := fmt.Errorf("%s changed since it was opened: start erreval serve again to see it", s.Files()[run].Path)
	s.e.Note([]string{err.Error()})
	return err
}

// viewHandler is the page, its files, and what it asks.
func viewHandler(source view.Source) http.Handler {
	mux := http.NewServeMux()
	for path, file := range map[string]struct {
		kind string
		data []byte
	}{
		"/{$}":      {"text/html; charset=utf-8", page.Served()},
		"/page.js":  {"text/javascript; charset=utf-8", page.Script},
		"/page.css": {"text/css; charset=utf-8", page.Style},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", file.kind)
			_, _ = w.Write(file.data) // nobody is there to be told
		})
		mux.HandleFunc(path, loopback.RefuseMethod(http.MethodGet))
	}
	mux.Handle("/view/", view.Handler(source))
	mux.HandleFunc("/", service.NotFound)
	return mux
}

// marker is a view on whose rows a person says what is right. The marks of each file are beside it.
type marker struct {
	shown
	task *taxonomy.Taxonomy

	mu    sync.Mutex
	files []*review.Marks // parallel to the view's; nil: not opened yet
}

// newMarker has the rows of s marked by the task's labels; nil where there are none, or rows of other columns, as pairs
// are.
func newMarker(ctx context.Context, s shown) *marker {
	m := &marker{shown: s, task: s.Taxonomy(), files: make([]*review.Marks, len(s.Files()))}
	if m.task == nil || len(m.task.Types) == 0 {
		return nil
	}
	if _, _, err := m.read(ctx, 0); err != nil {
		return nil
	}
	for _, t := range m.task.Types {
		s.catalog.Labels = append(s.catalog.Labels, view.Label{Name: t.Name, Category: t.Category,
			Definition: t.Definition, NoError: t.NoError})
	}
	if m.task.NoErrorIndex() < 0 {
		s.catalog.Labels = append(s.catalog.Labels, view.Label{Name: dataset.NoLabel, Definition: "Nothing is wrong.",
			NoError: true})
	}
	for file := range m.files {
		m.findMarked(ctx, file)
	}
	return m
}

// findMarked finds the rows of a file that are marked already. What cannot be read, Marked says when a row is opened.
func (m *marker) findMarked(ctx context.Context, file int) {
	known, err := review.ReadMarks(m.path(file), m.task)
	if err != nil {
		return
	}
	var ids, texts []string // a file that was tagged again may have other ids
	for _, mark := range known {
		ids, texts = append(ids, mark.Row.ID), append(texts, mark.Row.Values[0])
	}
	rows, err := m.RowsLike(ctx, file, ids, texts)
	if err != nil {
		return
	}
	there := m.setMarked(ctx, rows)
	lost := 0
	for _, mark := range known {
		if !there[mark.Row.TextHash()] {
			lost++
		}
	}
	if lost > 0 {
		m.catalog.Notes = append(m.catalog.Notes, fmt.Sprintf("%s: %s no row of these texts (erreval refine merge takes "+
			"them still): were texts changed, or read from other columns?", m.path(file),
			words.Plural(lost, "mark has", "marks have")))
	}
}

// setMarked has rows shown as marked that are, and gives the texts of all.
func (m *marker) setMarked(ctx context.Context, rows []int) (texts map[string]bool) {
	texts = map[string]bool{}
	for _, n := range rows {
		if mark, row, err := m.markOf(ctx, n); err == nil {
			m.SetMarked(n, mark)
			texts[row.TextHash()] = true
		}
	}
	return texts
}

// path is that of a file's marks.
func (m *marker) path(file int) string { return dataset.MarksPath(m.Files()[file].Path) }

// Marked implements view.Marker.
func (m *marker) Marked(ctx context.Context, q view.MarkedQuery) (*view.Marked, error) {
	mark, _, err := m.markOf(ctx, q.N)
	return mark, err
}

// markOf gives a row and its mark.
func (m *marker) markOf(ctx context.Context, n int) (*view.Marked, *dataset.Row, error) {
	row, file, err := m.read(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	marks, err := m.open(file)
	if err != nil {
		return nil, nil, err
	}
	out := &view.Marked{}
	if mark := marks.Of(row); mark != nil {
		out.Labels, out.Notes, out.Time = mark.Labels, mark.Notes, mark.Time.Format(time.RFC3339)
		if len(out.Labels) == 0 { // as Labels of the catalog call it
			out.Labels = []string{dataset.NoLabel}
		}
	}
	return out, row, nil
}

// Mark implements view.Marker.
func (m *marker) Mark(ctx context.Context, q view.MarkQuery) (*view.Marked, error) {
	row, file, err := m.read(ctx, q.N)
	if err != nil {
		return nil, err
	}
	if err := m.checkUnchanged(file); err != nil {
		return nil, &view.QueryError{Err: err}
	}
	marks, err := m.open(file)
	if err != nil {
		return nil, err
	}
	before, err := m.Marked(ctx, view.MarkedQuery{N: q.N})
	if err != nil {
		return nil, err
	}
	if q.Seen != nil && *q.Seen != before.Time { // as by another window
		said := cmp.Or(strings.Join(before.Labels, ", "), "no label")
		return nil, &view.QueryError{Err: fmt.Errorf("the row was marked elsewhere meanwhile: %s; load the page again to "+
			"see it, and mark the row then", said)}
	}
	mark := review.Mark{Labels: slices.Clone(q.Labels), Notes: q.Notes, Time: time.Now().UTC().Truncate(time.Second)}
	if err := marks.Set(row, mark); review.Refused(err) {
		return nil, &view.QueryError{Err: err}
	} else if err != nil {
		return nil, err
	}
	rows, err := m.SameInput(ctx, q.N) // the mark is of all that have the texts
	if err != nil {
		return nil, err
	}
	m.setMarked(ctx, rows)
	return m.Marked(ctx, view.MarkedQuery{N: q.N})
}

// read reads a row with the task's fields, and says of which file it is.
func (m *marker) read(ctx context.Context, n int) (row *dataset.Row, file int, err error) {
	detail, err := m.Row(ctx, view.RowQuery{N: n})
	if err != nil {
		return nil, 0, err
	}
	run := m.catalog.Runs[detail.Row.Run]
	rows := dataset.NewReader(bytes.NewReader(detail.Record), run.Name, dataset.Options{Taxonomy: m.task,
		Map: run.Columns, OwnNames: true, Alone: true})
	row, err = rows.Read()
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, 0, &view.QueryError{Err: err}
	}
	row.ID = detail.Row.ID
	return row, detail.Row.Run, nil
}

// open opens the marks of a file.
func (m *marker) open(file int) (*review.Marks, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[file] == nil {
		marks, err := review.OpenMarks(m.path(file), review.Account(), m.task)
		if err != nil {
			return nil, err
		}
		m.files[file] = marks
	}
	return m.files[file], nil
}

// Close ends the use of the files of marks, and of the rows.
func (m *marker) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, marks := range m.files {
		if marks != nil {
			errs = append(errs, marks.Close())
		}
	}
	return errors.Join(append(errs, m.shown.Close())...)
}
