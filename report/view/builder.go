package view

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

const (
	memoryRows  = 20_000   // above which an index is a file
	memoryBytes = 64 << 20 // likewise, of what it stores
	blockBytes  = 64 << 10 // of rows that are compressed together
	batchRows   = 64       // that are handed on together while reading
	batchBytes  = 1 << 20  // likewise
)

// builder makes an index of rows in order.
type builder struct {
	o       *Options
	key     string
	task    *taxonomy.Taxonomy
	store   store
	stored  int // bytes
	encoder *zstd.Encoder

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

	rows   int // of all runs
	base   int // first row of the chunk
	words  wordBuild
	names  []byte
	ids    []uint64
	groups []uint64
	inputs []uint64
	block  []byte
	blocks []byte // first rows of blocks
	blockN int
}

type facetBuild struct {
	key    string
	number int
	values map[string]int
	names  []string
	counts []int      // rows by value
	places [][]uint16 // in this chunk, by value
	runs   []bool
	rows   int
	most   int  // values that it may have
	dead   bool // more came, or one that is too long
	why    string
}

type measureBuild struct {
	key       string
	number    int
	list      []float64 // of this chunk; nil: none has one
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
	return &builder{o: o, key: key, store: &memory{parts: map[string][]byte{}}, facetNo: map[string]*facetBuild{},
		measNo: map[string]*measureBuild{}, columns: map[string]*columnBuild{}, issues: map[string]*issueBuild{},
		faults: map[string]*faultBuild{}}
}

func (b *builder) discard() error { return b.store.close() }

func (b *builder) build(ctx context.Context, found []input, notes []string) (*Index, error) {
	var err error
	b.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(128<<10))
	if err != nil {
		return nil, err
	}
	defer b.encoder.Close()
	c := &b.meta.Catalog
	*c = Catalog{Format: Format, Build: b.o.Build, Notes: append([]string{}, notes...), Sections: []Section{},
		Fields: []Field{}}
	for _, in := range found {
		s, note := openSource(in)
		if b.sources = append(b.sources, s); note != "" {
			c.Notes = append(c.Notes, note)
		}
	}
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
	for i, s := range b.sources {
		if err := b.readSource(ctx, s, i); err != nil {
			return nil, err
		}
	}
	return b.finish(ctx)
}

// readSource reads a run's rows: one goroutine reads, some prepare, and one adds them in order.
func (b *builder) readSource(ctx context.Context, s *source, n int) error {
	run, file := s.describe(b.o)
	b.meta.Starts = append(b.meta.Starts, b.rows)
	b.facet(facetRun, len(b.sources)).valueNumber(s.name)
	workers := min(4, runtime.GOMAXPROCS(0))
	jobs, order := make(chan batch), make(chan batch, 2*workers)
	group, ctx := errgroup.WithContext(ctx)
	rejected := 0
	group.Go(func() error {
		defer close(order)
		defer close(jobs)
		return b.sendRows(ctx, s, []chan<- batch{order, jobs}, &rejected)
	})
	for range workers {
		p := newPreparer(b.task, s.columns, s.idColumns(b.o), n)
		group.Go(func() error { return p.prepareBatches(jobs) })
	}
	group.Go(func() error { return b.addBatches(ctx, order, s, n) })
	if err := group.Wait(); err != nil {
		return err
	}
	if s.clipNote != "" {
		b.meta.Catalog.Notes = append(b.meta.Catalog.Notes, s.clipNote)
	}
	run.Rows, run.Rejected = b.rows-b.meta.Starts[n], run.Rejected+rejected
	b.meta.Catalog.Runs, b.meta.Files = append(b.meta.Catalog.Runs, run), append(b.meta.Files, file)
	return nil
}

// batch is rows that are prepared together.
type batch struct {
	rows []*dataset.Row
	done chan []*prepared
}

// sendRows reads the rows, and sends each batch to all channels.
func (b *builder) sendRows(ctx context.Context, s *source, to []chan<- batch, rejected *int) error {
	var rows []*dataset.Row
	size := 0
	flush := func() error {
		next := batch{rows, make(chan []*prepared, 1)}
		rows, size = nil, 0
		for _, c := range to {
			select {
			case c <- next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	err := s.each(ctx, b.o, func(row *dataset.Row) error {
		if s.repeated[row.ID] {
			return nil
		}
		rows = append(rows, row)
		if size += row.Size(); len(rows) < batchRows && size < batchBytes {
			return nil
		}
		return flush()
	}, func(*dataset.LineError) error { *rejected++; return nil })
	if err == nil && len(rows) > 0 {
		err = flush()
	}
	return err
}

func (p *preparer) prepareBatches(jobs <-chan batch) error {
	for next := range jobs {
		all := make([]*prepared, len(next.rows))
		for i, row := range next.rows {
			var err error
			if all[i], err = p.prepare(row); err != nil {
				return err
			}
		}
		next.done <- all
	}
	return nil
}

func (b *builder) addBatches(ctx context.Context, order <-chan batch, s *source, n int) error {
	for next := range order {
		select {
		case all := <-next.done:
			for _, r := range all {
				if err := b.add(r, s, n); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
