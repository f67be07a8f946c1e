package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

const (
	memoryRows  = 20_000   // above which an index is a file
	memoryBytes = 64 << 20 // likewise
	batchRows   = 256      // that are prepared together
	batchBytes  = 1 << 20  // likewise
)

// builder makes an index of rows in order.
type builder struct {
	o      *Options
	system string // column
	key    string
	task   *taxonomy.Taxonomy
	file   *file

	meta     meta
	sources  []*source
	facets   []*facetBuild
	facetNo  map[string]*facetBuild
	measures []*measureBuild
	measNo   map[string]*measureBuild
	columns  map[string]*columnBuild
	issues   map[string]*issueBuild
	faults   map[string]*faultBuild
	left     bool // there are more columns, or kinds of values, than are looked at

	rows           int // of all runs
	ids            []string
	groups, inputs numbering[uint64]
	words          wordBuild
	together       *dataset.Together // the rows of several runs
	models         []string          // that tagged rows
}

// facetBuild is a facet whose sets hold numbers of values, until these have their places in the catalogue.
type facetBuild struct {
	facetColumn
	key    string
	values map[string]int
	names  []string
	sets   map[string]int32 // numbers of Sets
	row    []int            // values of the row that is added
	rows   int
	most   int  // values that it may have
	dead   bool // more came, or one that is too long
	why    string
}

type measureBuild struct {
	column[float64]
	key       string
	low, high float64
	integers  bool
	rows      int
	runs      []int
	dead      bool
}

// columnBuild is another column, as a facet and as a measure.
type columnBuild struct {
	facet   *facetBuild
	measure *measureBuild
}

// issueBuild sums up what rows say of an issue.
type issueBuild struct {
	severity, score float64
	severities      int
	scores          int
	examples        []string
}

type faultBuild struct {
	rows  int
	first string
}

func newBuilder(o *Options, key string) *builder {
	return &builder{o: o, key: key, file: &file{}, facetNo: map[string]*facetBuild{}, measNo: map[string]*measureBuild{},
		columns: map[string]*columnBuild{}, issues: map[string]*issueBuild{}, faults: map[string]*faultBuild{},
		groups: numbering[uint64]{}, inputs: numbering[uint64]{}}
}

func (b *builder) build(ctx context.Context, found []input, notes []string) (*Index, error) {
	var err error
	c := &b.meta.Catalog
	*c = Catalog{Format: Format, Build: b.o.Build, Notes: append([]string{}, notes...), Sections: []Section{},
		Fields: []Field{}}
	for _, in := range found {
		s, note := openSource(in)
		if b.sources = append(b.sources, s); note != "" {
			c.Notes = append(c.Notes, note)
		}
	}
	shareColumns(b.sources)
	var note string
	if b.task, note, err = chooseTask(ctx, b.sources, b.o); err != nil {
		return nil, err
	}
	if note != "" {
		c.Notes = append(c.Notes, note)
	}
	kept := b.sources[:0]
	for _, s := range b.sources {
		err := s.prepareReading(ctx, b.o, b.task)
		if s.listed && (err != nil || !s.isOurs()) && ctx.Err() == nil {
			if err == nil {
				err = errors.New("it has none of the task's columns")
			}
			c.Notes = append(c.Notes, fmt.Sprintf("%s: left out: %v", s.name, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		if note := s.textsNote(); note != "" {
			c.Notes = append(c.Notes, note)
		}
		kept = append(kept, s)
	}
	if b.sources = kept; len(kept) == 0 {
		return nil, fmt.Errorf("no file of rows can be read: %v", c.Notes)
	}
	var said []string
	if b.sources, said, err = leaveOutRepeated(ctx, b.sources, b.o); err != nil {
		return nil, err
	}
	c.Notes = append(c.Notes, said...)
	if b.system, err = b.findSystem(ctx); err != nil {
		return nil, err
	}
	if len(b.sources) > 1 {
		b.together = dataset.NewTogether(cmp.Or(b.task, &taxonomy.Taxonomy{}), b.o.ID, b.system, len(b.sources))
	}
	for i, s := range b.sources {
		if err := b.readSource(ctx, s, i); err != nil {
			return nil, err
		}
	}
	return b.finish(ctx)
}

// shareColumns lets sources without a record be read as the first record says: a result that somebody changed and saved
// under another name has none.
func shareColumns(sources []*source) {
	i := slices.IndexFunc(sources, func(s *source) bool { return s.record != nil })
	if i < 0 {
		return
	}
	columns, _ := sources[i].record.ReadFrom(&sources[i].reading.Reading)
	for _, s := range sources {
		s.others = columns
	}
}

// hintRows are read of each source to find the column that names systems.
const hintRows = 2000

// findSystem is the column that names systems.
func (b *builder) findSystem(ctx context.Context) (string, error) {
	has := func(is func(column string) bool) bool {
		return slices.ContainsFunc(b.sources, func(s *source) bool {
			return s.first != nil && slices.ContainsFunc(s.first.Columns(), is)
		})
	}
	isSystem := func(column string) bool { return column == dataset.ColumnSystem }
	if b.o.System != "" || has(isSystem) || !has(report.MayNameSystems) {
		return cmp.Or(b.o.System, dataset.ColumnSystem), nil
	}
	var hints report.Hints
	for _, s := range b.sources {
		rows, enough := 0, errors.New("enough")
		err := s.each(ctx, b.o, func(row *dataset.Row) error {
			hints.Add(row)
			if rows++; rows == hintRows {
				return enough
			}
			return nil
		}, dataset.Skip)
		if err != nil && !errors.Is(err, enough) {
			return "", err
		}
	}
	return cmp.Or(hints.Usual(), dataset.ColumnSystem), nil
}

// readSource reads a run's rows: one goroutine reads, others prepare, and one adds them in order.
func (b *builder) readSource(ctx context.Context, s *source, n int) error {
	run, file := s.describe(b.o)
	b.meta.Starts = append(b.meta.Starts, b.rows)
	b.facet(facetRun, len(b.sources)).valueNumber(s.name)
	order := make(chan chan []*prepared, 2*runtime.GOMAXPROCS(0)) // batches that are being prepared
	group, ctx := errgroup.WithContext(ctx)
	var rejected rejections
	group.Go(func() error {
		defer close(order)
		return b.sendRows(ctx, s, func(rows []*dataset.Row) error {
			done := make(chan []*prepared, 1)
			group.Go(func() error {
				all, err := newPreparer(b.task, s.columns, s.idColumns(b.o), b.system, n).prepareAll(rows)
				done <- all
				return err
			})
			select {
			case order <- done:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, &rejected)
	})
	group.Go(func() error {
		for done := range order {
			for _, r := range <-done {
				if err := errors.Join(ctx.Err(), b.add(r, s, n)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	for _, note := range append(slices.Clip(s.said), s.missingNote()) {
		if note == "" {
			continue
		}
		b.meta.Catalog.Notes = append(b.meta.Catalog.Notes, s.name+": "+note)
	}
	if rejected.n > 0 {
		b.meta.Catalog.Notes = append(b.meta.Catalog.Notes, s.name+": "+rejected.text())
	}
	file.Rejected = rejected.n
	run.Rows, run.Rejected = b.rows-b.meta.Starts[n], run.Rejected+rejected.n
	b.meta.Catalog.Runs, b.meta.Files = append(b.meta.Catalog.Runs, run), append(b.meta.Files, file)
	return nil
}

// rejections are lines of a source that are no rows.
type rejections struct {
	n     int
	first *dataset.LineError
}

func (r *rejections) add(fault *dataset.LineError) error {
	if r.n++; r.first == nil {
		r.first = fault
	}
	return nil
}

func (r *rejections) text() string {
	return fmt.Sprintf("%s, and left out; the first, at %d: %v", words.Plural(r.n, "line is no row", "lines are no rows"),
		r.first.Line, r.first.Err)
}

// sendRows reads the rows, and hands them on in batches.
func (b *builder) sendRows(ctx context.Context, s *source, send func([]*dataset.Row) error,
	rejected *rejections) error {
	var rows []*dataset.Row
	size := 0
	err := s.each(ctx, b.o, func(row *dataset.Row) (err error) {
		if s.repeated[row.ID] {
			return nil
		}
		rows = append(rows, row)
		if size += row.Size(); len(rows) == batchRows || size >= batchBytes {
			err = send(rows)
			rows, size = nil, 0
		}
		return err
	}, rejected.add)
	if err == nil && len(rows) > 0 {
		err = send(rows)
	}
	return err
}

func (p *preparer) prepareAll(rows []*dataset.Row) (all []*prepared, err error) {
	for _, row := range rows {
		r, err := p.prepare(row)
		if err != nil {
			return nil, err
		}
		r.row, all = row, append(all, r)
	}
	return all, nil
}
