package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/taxonomy"
)

// Options say how files become an Index. The zero value reads what records say.
type Options struct {
	Taxonomy *taxonomy.Taxonomy // of the rows; nil takes that of the records, or a built-in one that has their columns
	Columns  map[string]string  // field to the column that holds it, as of dataset.Options.Map
	ID       []string           // columns of the id, as of dataset.Options.ID
	// System is the column that names systems; "" is dataset.ColumnSystem, or where no file has that one of a usual name
	System string
	Title  string // of the catalogue; "" is the runs' names
	Build  string // of the program; "" is the running one
	// Thresholds are those of the model (name@version), for records that do not say theirs; nil knows none.
	Thresholds func(model string) map[string]float64
	CacheDir   string         // where files of many rows are made and found again; "" makes a temporary one
	CacheSize  int64          // bytes that these files may take, above which the oldest go; 0 is 8 GiB
	TempDir    string         // for what must not stand in memory; "" is the system's
	Progress   func(rows int) // called now and then while rows are read

	memoryRows int // tests: in the place of memoryRows
}

// File is a file of rows.
type File struct {
	Name     string            `json:"name"` // of its run
	Path     string            `json:"path"`
	Command  string            `json:"command,omitempty"`  // that wrote it, or ""
	Taxonomy string            `json:"taxonomy,omitempty"` // name@version that its record names, or ""
	Columns  map[string]string `json:"columns,omitempty"`  // as of Run
	Rejected int               `json:"rejected,omitempty"` // lines of it that are no rows
	Size     int64             `json:"size"`               // when it was read, as is Time
	Time     time.Time         `json:"time"`
}

// Index is a Source over files. It may be used concurrently.
type Index struct {
	meta     meta
	task     *taxonomy.Taxonomy
	file     *file
	cache    cache
	marks    marks
	facetAt  map[string]int // place in Catalog.Facets
	measures map[string]int // place in Catalog.Measures
}

// meta is what an Index knows without its file, which keeps it.
type meta struct {
	Catalog  Catalog
	Files    []File
	Starts   []int                   // first row of each run, and the number of all rows
	Facets   map[string]*facetColumn // by key; others are not offered
	Measures map[string]*column[float64]
	Rows     column[int64] // places of entries in the file
	Words    []wordBlock
	// IDs has the place of each row's id among all in order, Groups and Inputs equal numbers for equal ones, Pairs for
	// rows of several runs that belong together (dataset.Together).
	IDs, Groups, Inputs, Pairs column[int32]
	// NotOffered says of other columns why no facet has their values, by name.
	NotOffered map[string]string
}

// Open reads files of rows and what lies beside them. A path is a file of rows, a folder of such files, or a ZIP file
// of CLEAR's results. Nothing else is read. The error names the file; it is the context's if that ends.
func Open(ctx context.Context, paths []string, o Options) (*Index, error) {
	if o.Build == "" {
		o.Build = runrecord.ReadBuild().String()
	}
	found, notes, err := findInputs(paths)
	if err != nil {
		return nil, err
	}
	key := ""
	if o.CacheDir != "" {
		if key, err = cacheKey(found, &o); err != nil {
			return nil, err
		}
		if x := openCached(ctx, &o, key); x != nil {
			return x, nil
		}
	}
	b := newBuilder(&o, key)
	x, err := b.build(ctx, found, notes)
	if err != nil {
		return nil, errors.Join(err, b.file.close())
	}
	return x, nil
}

// newIndex makes the tables by which queries name things.
func newIndex(m meta, f *file, task *taxonomy.Taxonomy) *Index {
	x := &Index{meta: m, file: f, task: task, cache: cache{held: map[string]any{}}, facetAt: map[string]int{},
		measures: map[string]int{}}
	for i := range m.Catalog.Facets {
		x.facetAt[m.Catalog.Facets[i].Key] = i
	}
	for i := range m.Catalog.Measures {
		x.measures[m.Catalog.Measures[i].Key] = i
	}
	return x
}

// Close frees what the index took.
func (x *Index) Close() error { return x.file.close() }

// Catalog implements Source. Do not change it.
func (x *Index) Catalog() *Catalog { return &x.meta.Catalog }

// WhyNotOffered says why a column of the rows is no facet, as "has more than 50 values"; "" where that is not known.
func (x *Index) WhyNotOffered(column string) string { return x.meta.NotOffered[column] }

// Files are those of the runs, in their order.
func (x *Index) Files() []File { return slices.Clone(x.meta.Files) }

// IsChanged tells whether a run's file has another size or time than when it was read; not of an address.
func (x *Index) IsChanged(run int) bool {
	f := &x.meta.Files[run]
	info, err := os.Stat(f.Path)
	return !f.Time.IsZero() && (err != nil || info.Size() != f.Size || !info.ModTime().Equal(f.Time))
}

// Taxonomy is that by which the rows were read, or nil.
func (x *Index) Taxonomy() *taxonomy.Taxonomy { return x.task }

func (x *Index) rows() int { return x.meta.Catalog.Rows }

// runOf is the run of a row.
func (x *Index) runOf(n int) int {
	i, found := slices.BinarySearch(x.meta.Starts, n)
	if !found {
		return i - 1
	}
	for x.meta.Starts[i+1] == n { // runs without rows begin at the same place
		i++
	}
	return i
}

// facet finds a facet by key.
func (x *Index) facet(key string) (*Facet, error) {
	if i, ok := x.facetAt[key]; ok {
		return &x.meta.Catalog.Facets[i], nil
	}
	return nil, queryErrorf("there is no facet %q", key)
}

// QueryError says that a query asks for what there is not, or is wrong.
type QueryError struct{ Err error }

func (e *QueryError) Error() string { return e.Err.Error() }

func queryErrorf(format string, args ...any) error { return &QueryError{fmt.Errorf(format, args...)} }

// NoRowError says that there is no row of that number.
type NoRowError struct{ N int }

func (e *NoRowError) Error() string { return fmt.Sprintf("there is no row %d", e.N) }
