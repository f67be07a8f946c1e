package identifier

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/erreval/erreval/dataset"
)

// The schedule for a GPU. Unlike a CPU it needs many rows in a Run, so that its products are large, and the next Run
// ready when one ends.
const (
	gpuTokens = 32 << 10 // padded tokens in a batch
	gpuWindow = 8 << 10  // rows sorted by length together
	gpuRuns   = 2        // in flight
)

// GPUOptions is the schedule for a GPU: batches of 32,768 padded tokens out of windows of 8,192 rows, two at a time.
// With fewer tokens a GPU idles, with more it computes padding or runs out of memory.
func GPUOptions() Options {
	return Options{Workers: gpuRuns, Window: 2 * gpuWindow, BatchTokens: gpuTokens, RowTimeout: defaultRowTimeout}
}

// item is a row of a window, encoded.
type item struct {
	job        *job
	ids, types []int32
	seen       Extent
}

// identifyBatches is Identify in batches. One goroutine reads windows of rows, one encodes a window on all cores and
// cuts it into batches, Options.Workers run them: while one window is computed, the next is read and encoded. Which
// rows share a batch depends on the rows alone, so a second run gives the same logits.
func (id *Identifier) identifyBatches(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row,
	*dataset.Diagnosis) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	size := max(1, id.options.Window/2) // one window is computed while the other fills
	var g errgroup.Group
	windows := make(chan []*job)
	batches := make(chan []*item, size) // a whole window's, so that encoding never waits for the device
	queue := make(chan *job, id.options.Window)
	held := semaphore.NewWeighted(maxHeld)
	g.Go(func() error {
		defer close(queue)
		defer close(windows)
		f := feeder{size: size, held: held, windows: windows, queue: queue, prompt: id.options.Prompt}
		defer f.handOver()
		if id.options.Prompt {
			return f.feedPromptly(ctx, next)
		}
		return eachRow(ctx, next, func(row *dataset.Row) bool { return f.add(ctx, row) })
	})
	g.Go(func() error {
		defer close(batches)
		encoders := id.newEncoders()
		for w := range windows {
			for _, b := range id.cutBatches(id.encodeAll(ctx, encoders, w)) {
				batches <- b
			}
		}
		return nil
	})
	for range id.options.Workers {
		g.Go(func() error {
			r := batchRunner{id: id}
			for b := range batches {
				r.runBatch(ctx, b)
			}
			return nil
		})
	}
	return cmp.Or(emitInOrder(queue, held, emit, cancel), g.Wait())
}

// feeder fills windows with rows and hands them over. The queue cannot fill up for good: it holds two windows, so its
// oldest row is in one that was handed over. Neither can held, for the same reason.
type feeder struct {
	size    int // rows of a full window
	held    *semaphore.Weighted
	windows chan<- []*job
	queue   chan<- *job

	window []*job // that fills
	bytes  int64

	prompt   bool             // what follows is for Options.Prompt alone
	idle     <-chan struct{}  // closed once all windows that were handed over are computed
	lingered <-chan time.Time // tells that the first row of the window has waited for others; nil once it told
}

// linger is how long a row waits for others to share a batch with, where a worker has nothing to compute.
const linger = 10 * time.Millisecond

func (f *feeder) handOver() {
	if len(f.window) == 0 {
		return
	}
	if f.prompt {
		f.idle = whenDone(f.idle, f.window)
	}
	f.windows <- f.window
	f.window, f.bytes = nil, 0
}

// whenDone is closed once before is and all jobs are done.
func whenDone(before <-chan struct{}, jobs []*job) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-before
		for _, j := range jobs {
			<-j.done
		}
	}()
	return done
}

// add adds a row, and hands the window over that has size rows, or half of maxHeld. It tells false once ctx has ended.
func (f *feeder) add(ctx context.Context, row *dataset.Row) bool {
	j := newJob(row)
	if f.bytes+j.size > maxHeld/2 { // by the rows alone, not by what was given out meanwhile
		f.handOver()
	}
	if f.held.Acquire(ctx, j.size) != nil {
		return false
	}
	if f.prompt && len(f.window) == 0 {
		f.lingered = time.After(linger)
	}
	f.window, f.bytes = append(f.window, j), f.bytes+j.size
	f.queue <- j
	if len(f.window) == f.size {
		f.handOver()
	}
	return true
}

// feedPromptly hands over what there is where nothing is computed. While rows come faster than they are computed,
// windows are full.
func (f *feeder) feedPromptly(ctx context.Context, next func() (*dataset.Row, error)) error {
	computed := make(chan struct{})
	close(computed)
	f.idle = computed
	rows, ended := make(chan *dataset.Row), make(chan error, 1)
	go func() {
		defer close(rows)
		ended <- eachRow(ctx, next, func(row *dataset.Row) bool {
			select {
			case rows <- row:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	for {
		var free <-chan struct{} // nil blocks
		if len(f.window) > 0 && f.lingered == nil {
			free = f.idle
		}
		select {
		case row, more := <-rows:
			if !more {
				return <-ended
			}
			f.add(ctx, row) // where it cannot, reading ends as well
		case <-f.lingered:
			f.lingered = nil
		case <-free:
			f.handOver()
		}
	}
}

func (id *Identifier) newEncoders() []*Encoder {
	encoders := make([]*Encoder, runtime.GOMAXPROCS(0))
	for i := range encoders {
		encoders[i] = id.layout.newEncoder()
	}
	return encoders
}

// encodeAll encodes a window. Rows that cannot be encoded, and all rows once ctx has ended, are finished and left out.
func (id *Identifier) encodeAll(ctx context.Context, encoders []*Encoder, window []*job) []*item {
	items := make([]*item, len(window))
	var at atomic.Int64
	var wg sync.WaitGroup
	for _, enc := range encoders {
		wg.Go(func() {
			for i := int(at.Add(1)) - 1; i < len(window); i = int(at.Add(1)) - 1 {
				items[i] = id.encodeItem(ctx, enc, window[i])
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(items, func(it *item) bool { return it == nil })
}

func (id *Identifier) encodeItem(ctx context.Context, enc *Encoder, j *job) *item {
	if ctx.Err() != nil {
		j.finish(nil, ctx.Err())
		return nil
	}
	err := id.readable(j.row.Values)
	var e *Encoding
	if err == nil {
		e, err = enc.Encode(j.row.Values)
	}
	if err != nil {
		j.finish(id.untagged(err), nil)
		return nil
	}
	n := len(e.IDs)
	both := make([]int32, 2*n) // half of what int64 would take, of two windows
	for i := range e.IDs {
		both[i], both[n+i] = int32(e.IDs[i]), int32(e.Types[i])
	}
	return &item{job: j, ids: both[:n], types: both[n:], seen: e.Extent.clone()}
}

// finish ends a job.
func (j *job) finish(d *dataset.Diagnosis, err error) {
	j.diagnosis, j.err = d, err
	close(j.done)
}

// cutBatches sorts items by length and cuts them into batches of at most Options.BatchTokens tokens, padding included.
// The longest come first, so that the device's memory grows once.
func (id *Identifier) cutBatches(items []*item) [][]*item {
	slices.SortStableFunc(items, func(a, b *item) int { return cmp.Compare(len(b.ids), len(a.ids)) })
	_, pads := id.padding()
	var batches [][]*item
	for len(items) > 0 {
		width, n := len(items[0].ids), 1
		for n < len(items) && (n+1)*width <= id.options.BatchTokens && (pads || len(items[n].ids) == width) {
			n++
		}
		batches = append(batches, items[:n])
		items = items[n:]
	}
	return batches
}

// padding is the id that fills a batch up. Without a mask, or a token to fill with, only rows of one length may share a
// batch.
func (id *Identifier) padding() (token int64, ok bool) {
	pad, ok := id.layout.tokenizer.ID(id.manifest.Pad)
	return int64(pad), ok && slices.Contains(id.manifest.Inputs, "attention_mask")
}

// batchRunner holds the buffers of one Run at a time.
type batchRunner struct {
	id     *Identifier
	in     Input
	logits []float32
}

// runBatch computes a batch and finishes its rows. A batch that fails is tried again in halves: a row that is at fault
// does not affect the others, and a batch too large for the device's memory fits in the end.
func (r *batchRunner) runBatch(ctx context.Context, items []*item) {
	err := ctx.Err()
	if err == nil {
		err = r.computeLogits(ctx, items)
	}
	switch {
	case err == nil:
		labels := len(r.id.manifest.Labels)
		for i, it := range items {
			it.job.finish(r.id.diagnose(r.logits[i*labels:(i+1)*labels], it.seen, it.job.row.Values), nil)
		}
	case ctx.Err() != nil:
		for _, it := range items {
			it.job.finish(nil, ctx.Err())
		}
	case len(items) == 1:
		items[0].job.finish(r.id.untagged(fmt.Errorf("the model failed: %w", err)), nil)
	default:
		half := len(items) / 2
		r.runBatch(ctx, items[:half])
		r.runBatch(ctx, items[half:])
	}
}

func (r *batchRunner) computeLogits(ctx context.Context, items []*item) error {
	r.fillInput(items)
	n := len(items) * len(r.id.manifest.Labels)
	r.logits = slices.Grow(r.logits[:0], n)[:n]
	return r.id.runModel(ctx, r.in, r.logits)
}

// fillInput lays items out as rows of the first one's length, which is the longest.
func (r *batchRunner) fillInput(items []*item) {
	pad, _ := r.id.padding()
	in := &r.in
	in.Width, in.IDs, in.Mask, in.Types = len(items[0].ids), in.IDs[:0], in.Mask[:0], in.Types[:0]
	for _, it := range items {
		for i := range in.Width {
			id, mask, segment := pad, int64(0), int64(0)
			if i < len(it.ids) {
				id, mask, segment = int64(it.ids[i]), 1, int64(it.types[i])
			}
			in.IDs, in.Mask, in.Types = append(in.IDs, id), append(in.Mask, mask), append(in.Types, segment)
		}
	}
}
