package identifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/erreval/erreval/dataset"
)

// maxHeld is how many bytes of rows are held that were read and not yet given out. Ordinary rows stay below; of rows
// near --max-record there are fewer than Options.Window.
const maxHeld = 64 << 20

// job is a row on its way through the workers.
type job struct {
	row       *dataset.Row
	size      int64 // bytes held for it
	diagnosis *dataset.Diagnosis
	err       error // only that of a context that ended
	done      chan struct{}
}

// Identify reads rows from next until it gives io.EOF, and gives each with its diagnosis to emit, in the order of
// reading. A row that cannot be tagged gets a diagnosis that says why, and the others are not touched by it.
//
// Options.Window bounds the rows that are held, and 64 MiB their bytes, or two rows. next and emit are each called by
// one goroutine at a time. An error of next ends the reading, one of emit everything; either is returned after all that
// was begun has ended. When ctx ends, native calls are told to stop and awaited, and the rows finished before the first
// unfinished one are emitted; to finish what is in flight instead, let next give io.EOF.
func (id *Identifier) Identify(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row,
	*dataset.Diagnosis) error) error {
	if id.options.BatchTokens > 0 {
		return id.identifyBatches(ctx, next, emit)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	work := make(chan *job)
	queue := make(chan *job, id.options.Window) // in order
	held := semaphore.NewWeighted(maxHeld)
	g.Go(func() error { return feedRows(ctx, next, held, work, queue) })
	for range id.options.Workers {
		g.Go(func() error {
			w := id.newWorker()
			for j := range work {
				j.finish(w.tag(ctx, j.row.Values))
			}
			return nil
		})
	}
	return cmp.Or(emitInOrder(queue, held, emit, cancel), g.Wait())
}

// newJob is a job for a row. Half of maxHeld is the most that it counts for, so that two always fit.
func newJob(row *dataset.Row) *job {
	return &job{row: row, size: min(int64(row.Size()), maxHeld/2), done: make(chan struct{})}
}

// feedRows hands rows to the workers, and queues what was handed over.
func feedRows(ctx context.Context, next func() (*dataset.Row, error), held *semaphore.Weighted,
	work, queue chan<- *job) error {
	defer close(queue)
	defer close(work)
	return eachRow(ctx, next, func(row *dataset.Row) bool {
		j := newJob(row)
		if held.Acquire(ctx, j.size) != nil {
			return false
		}
		select {
		case work <- j:
			queue <- j // never for good: emitInOrder empties the queue
		case <-ctx.Done():
		}
		return true
	})
}

// eachRow gives the rows of next to take until next ends, take tells false or ctx ends.
func eachRow(ctx context.Context, next func() (*dataset.Row, error), take func(*dataset.Row) bool) error {
	for ctx.Err() == nil {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !take(row) {
			break
		}
	}
	return ctx.Err()
}

// emitInOrder emits jobs in order until one fails, and waits for all of them. What it is done with is no longer held.
func emitInOrder(queue <-chan *job, held *semaphore.Weighted, emit func(*dataset.Row, *dataset.Diagnosis) error,
	cancel func()) error {
	var err error
	for j := range queue {
		<-j.done
		if err == nil {
			if err = j.err; err == nil {
				err = emit(j.row, j.diagnosis)
			}
			if err != nil {
				cancel()
			}
		}
		held.Release(j.size)
	}
	return err
}

// Tag diagnoses one row, given its values in the taxonomy's order. For many rows Identify is faster. The error is that
// of ctx; whatever else fails is in the diagnosis.
func (id *Identifier) Tag(ctx context.Context, values ...string) (*dataset.Diagnosis, error) {
	if want := len(id.taxonomy.Fields); len(values) != want {
		return nil, fmt.Errorf("%d values for the %d fields of %s (%q)", len(values), want, id.taxonomy.ID(),
			id.taxonomy.FieldNames())
	}
	return id.newWorker().tag(ctx, values)
}

// worker holds what one goroutine needs to tag rows.
type worker struct {
	id      *Identifier
	encoder *Encoder
	mask    []int64 // ones
	logits  []float32
}

func (id *Identifier) newWorker() *worker {
	return &worker{id: id, encoder: id.layout.newEncoder(), logits: make([]float32, len(id.manifest.Labels))}
}

// tag diagnoses one row. Its error is that of ctx; whatever else fails is in the diagnosis.
func (w *worker) tag(ctx context.Context, values []string) (*dataset.Diagnosis, error) {
	if err := w.id.readable(values); err != nil {
		return w.id.untagged(err), nil
	}
	seen, err := w.computeLogits(ctx, values)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return w.id.untagged(err), nil
	}
	return w.id.diagnose(w.logits, seen, values), nil
}

// computeLogits encodes one row and computes its logits, at its exact length.
func (w *worker) computeLogits(ctx context.Context, values []string) (seen Extent, err error) {
	enc, err := w.encoder.Encode(values)
	if err != nil {
		return Extent{}, err
	}
	for len(w.mask) < len(enc.IDs) {
		w.mask = append(w.mask, 1)
	}
	in := Input{IDs: enc.IDs, Mask: w.mask[:len(enc.IDs)], Types: enc.Types, Width: len(enc.IDs)}
	if err := w.id.runModel(ctx, in, w.logits); err != nil {
		return Extent{}, fmt.Errorf("the model failed: %w", err)
	}
	return enc.Extent, nil
}

// runModel computes the logits of in.
func (id *Identifier) runModel(ctx context.Context, in Input, logits []float32) error {
	err := id.runInTime(ctx, in, logits)
	if err == nil && id.options.Ran != nil {
		id.options.Ran(in.Rows())
	}
	return err
}

// runInTime runs the model within the time that its rows may take.
func (id *Identifier) runInTime(ctx context.Context, in Input, logits []float32) error {
	if id.options.RowTimeout == 0 {
		return id.runner.Run(ctx, in, logits)
	}
	limited, cancel := context.WithTimeout(ctx, id.options.RowTimeout*time.Duration(in.Rows()))
	defer cancel()
	err := id.runner.Run(limited, in, logits)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("a row took longer than %v; give it more time with --row-timeout, or take another model",
			id.options.RowTimeout)
	}
	return err
}

// Tolerances of Check: how far a logit may lie from the one that another program computed with the same weights.
// Quantised products round differently from one processor to the next.
const (
	toleranceFP32      = 1e-3
	toleranceQuantised = 2e-2
)

// Examine diagnoses one row, given its fields by name, and returns its logits as well, in the order of the manifest's
// labels.
func (id *Identifier) Examine(ctx context.Context, fields map[string]string) ([]float32, *dataset.Diagnosis, error) {
	w := id.newWorker()
	values := id.values(fields)
	seen, err := w.computeLogits(ctx, values)
	if err != nil {
		return nil, nil, err
	}
	return w.logits, id.diagnose(w.logits, seen, values), nil
}

// Check runs the model's probe rows and compares their logits with those in the manifest. It gives the largest
// difference; the error says which probe is off.
func (id *Identifier) Check(ctx context.Context) (worst float64, err error) {
	tolerance := cmp.Or(id.manifest.ProbeTolerance, toleranceQuantised)
	if id.manifest.Precision == "fp32" {
		tolerance = cmp.Or(id.manifest.ProbeTolerance, toleranceFP32)
	}
	w := id.newWorker()
	var errs []error
	for i, probe := range id.manifest.Probes {
		if _, err := w.computeLogits(ctx, id.values(probe.Fields)); err != nil {
			return worst, fmt.Errorf("probe %d: %w", i+1, err)
		}
		diff := LargestDifference(w.logits, probe.Logits)
		if !(diff <= tolerance) {
			errs = append(errs, fmt.Errorf("probe %d: a logit differs by %.2g from the manifest's (tolerance %g); "+
				"this processor or library computes the model differently", i+1, diff, tolerance))
		}
		worst = max(worst, diff)
	}
	return worst, errors.Join(errs...)
}

// Unusable tells from the worst difference of Check a wrong result from one that is rounded differently: more than ten
// times the tolerance, from 1.1 to 5. The default model's logits move by up to 0.3 from processor to processor, and
// moved by 13 with a broken kernel.
func (id *Identifier) Unusable(worst float64) bool {
	return !(worst <= max(1.1, min(5, 10*id.manifest.ProbeTolerance)))
}

// values puts a probe's fields into the taxonomy's order.
func (id *Identifier) values(fields map[string]string) []string {
	values := make([]string, len(id.taxonomy.Fields))
	for i, name := range id.taxonomy.FieldNames() {
		values[i] = fields[name]
	}
	return values
}

// LargestDifference is that between two lists of logits of one length, position by position; NaN if one of them is NaN.
func LargestDifference(a, b []float32) float64 {
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i])-float64(b[i])))
	}
	return worst
}
