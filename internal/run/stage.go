package run

import (
	"context"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/taxonomy"
)

// Counts are what a run counted, by the names that stand in the run record: "rows", "rejected" and the stage's own.
type Counts map[string]int

// Names of counts that every stage has, or that limits (--fail-on) know.
const (
	CountRows         = "rows"          // written, or made by an earlier run
	CountRejected     = "rejected"      // lines that are no rows
	CountTagged       = "tagged"        // rows in which the stage could do its work
	CountUntagged     = "untagged"      // the other ones
	CountTruncated    = "truncated"     // rows of which tokens were cut
	CountPartlyRead   = "partly_read"   // rows of which a model read parts alone
	CountWithoutError = "without_error" // tagged rows in which no error was found
	CountLabel        = "label."        // and a label's name: tagged rows that have it
	CountNotJudged    = "not_judged."   // and a label's name: tagged rows in which it could not be judged
)

func (c Counts) add(other Counts) {
	for name, n := range other {
		c[name] += n
	}
}

// Stage is what is special about a command that reads rows and writes them back with a column more.
type Stage struct {
	Command  string              // in the run record: "identify"
	Taxonomy *taxonomy.Taxonomy  // whose fields the rows have
	Column   string              // that it sets; it is taken from the rows of an earlier run
	Model    *runrecord.Artefact // that does the work, or nil
	Options  any                 // for the run record: all that makes other rows where it differs, and "workers"

	// Work takes rows from next until io.EOF, sets Column in each and gives it to emit, in the order in which they came.
	// next and emit may be called from two goroutines. next ends with io.EOF when ctx does; a stage that can finish the
	// rows in flight then does so and returns nil.
	Work func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error
	// Count adds a row that was emitted, or one that an earlier run made (resumed), to its file's counts.
	Count func(row *dataset.Row, resumed bool, counts Counts) error
	// Zero are the counts that stand in the record also where nothing was counted; nil is CountRows and CountRejected.
	Zero Counts

	Verb, Past string              // in messages: "tag", "tagged"; rows without Column's content are "un" + Past
	Why        func(Counts) string // why rows are untagged, or where that is said: "diagnosis.reason says why"

	// What follows may be nil.

	Weak  []string                   // what the model is not to be relied on for, a sentence each
	Show  func(*dataset.Row) error   // shows a row that was emitted or recalled, such as in a table
	Meter func() func() (any, error) // is called as a file begins; what it returns gives the record's usage for the file
	// tells an error of Work that ends a run in good order from others, for which it gives nil
	Stop func(err error) *Stop
}

// Stop is why a run ended before its input did, such as a budget that is spent.
type Stop struct {
	Reason string // for the record: "budget"
	GoOn   string // a sentence that says how the run goes on
	Code   int    // exit code
}

// missing is the name under which rows without Column's content are counted.
func (s *Stage) missing() string { return "un" + s.Past }

// record begins the record of an output.
func (s *Stage) record(shard *runrecord.Shard) *runrecord.Record {
	r := newRecord(s.Command, s.Options, s.Taxonomy)
	r.Shard, r.Model = shard, s.Model
	return r
}

func newRecord(command string, options any, t *taxonomy.Taxonomy) *runrecord.Record {
	r := runrecord.New(command, options)
	r.Taxonomy = &runrecord.Artefact{ID: t.ID(), SHA256: t.Hash()}
	return r
}

// Each is a Work that handles one row after the other.
func Each(set func(*dataset.Row) error) func(context.Context, func() (*dataset.Row, error),
	func(*dataset.Row) error) error {
	return func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
		// next ends when ctx does
		return dataset.Each(context.WithoutCancel(ctx), next, nil, func(row *dataset.Row) error {
			if err := set(row); err != nil {
				return err
			}
			return emit(row)
		})
	}
}
