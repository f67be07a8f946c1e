package scorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
)

// Score judges the rows that next gives until io.EOF and hands them, in order, with a score for every dimension (key to
// score) to emit. next and emit are called by one goroutine each, at the same time. A few rows for each worker are held in
// memory.
//
// A judgement without a verdict ends as unscored, with its reason; it does not end the run. What does are errors of next
// and emit, errors of calls that concern every call (see llm.Kind.Stops), a judge that gives no reply any more
// (llm.Unavailable), and the end of ctx. Then no call is begun, those that have begun are awaited, and the rows before the
// first that is not whole are emitted; the error is what ended the run. Calls get a context that ends with the run: give
// judges a client that finishes a call all the same, if its reply shall not be lost.
func (p *Panel) Score(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row, map[string]*dataset.Score) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, j := range p.judges {
		j.health.reset()
	}
	jobs := make(chan job)
	rows := make(chan *rowJob, rowsPerWorker*p.o.Workers)
	var g errgroup.Group
	g.Go(func() error {
		defer close(rows)
		defer close(jobs)
		err := p.feed(ctx, next, rows, jobs)
		if err != nil {
			stop(err) // of several errors, the first is the cause
		}
		return err
	})
	for range p.o.Workers {
		g.Go(func() error {
			for j := range jobs {
				j.do(ctx, p, stop)
			}
			return nil
		})
	}
	var torn bool
	g.Go(func() error {
		torn = p.collect(rows, emit, stop)
		return nil
	})
	if err := g.Wait(); err != nil || torn {
		return context.Cause(ctx)
	}
	return nil
}

// rowsPerWorker may be under way or wait for an earlier row that takes longer.
const rowsPerWorker = 4

// rowJob is a row under way.
type rowJob struct {
	row  *dataset.Row
	plan *plan
	left atomic.Int64  // questions
	done chan struct{} // closed when none is left
	torn atomic.Bool   // a question was not answered, since the run ended
}

// job is one question of a row.
type job struct {
	row      *rowJob
	question *Question
}

func (j job) do(ctx context.Context, p *Panel, stop context.CancelCauseFunc) {
	err := context.Cause(ctx)
	if err == nil {
		if err = j.question.ask(ctx, p.o.Attempts); err != nil {
			stop(err)
		}
	}
	j.end(err)
}

func (j job) end(err error) {
	if err != nil {
		j.row.torn.Store(true)
	}
	if j.row.left.Add(-1) == 0 {
		close(j.row.done)
	}
}

// feed reads rows and hands out their questions.
func (p *Panel) feed(ctx context.Context, next func() (*dataset.Row, error), rows chan<- *rowJob, jobs chan<- job) error {
	for ctx.Err() == nil {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		plan, err := p.plan(row)
		if err != nil {
			return err
		}
		r := &rowJob{row: row, plan: plan, done: make(chan struct{})}
		r.left.Store(int64(len(plan.questions)))
		if len(plan.questions) == 0 {
			close(r.done)
		}
		select {
		case rows <- r:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		r.feed(ctx, jobs)
	}
	return context.Cause(ctx)
}

func (r *rowJob) feed(ctx context.Context, jobs chan<- job) {
	for _, q := range r.plan.questions {
		j := job{r, q}
		select {
		case jobs <- j:
		case <-ctx.Done():
			j.end(context.Cause(ctx))
		}
	}
}

// collect emits rows in order, up to the first that is not whole, and tells whether there was one.
func (p *Panel) collect(rows <-chan *rowJob, emit func(*dataset.Row, map[string]*dataset.Score) error, stop context.CancelCauseFunc) (torn bool) {
	for r := range rows { // to its end, as the reader waits for room in it
		<-r.done
		if torn = torn || r.torn.Load(); torn {
			continue
		}
		if err := emit(r.row, p.scores(r.plan)); err != nil {
			stop(err)
			torn = true
		}
	}
	return torn
}

// member is a judge at work.
type member struct {
	Judge
	health health
}

// A judge that gives up call after call is down: stop rather than leave the rest unscored. Each of these was tried again
// by the client already.
const (
	downAtOnce = 3  // that never gave a reply
	downLater  = 24 // that did
)

// health counts the calls given up since the last reply.
type health struct {
	mu      sync.Mutex
	replied bool
	failed  int
}

func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed = false, 0
}

func (h *health) reply() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed = true, 0
}

// fail tells how many calls in a row were given up, and whether that is too many.
func (h *health) fail() (n int, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed++
	return h.failed, h.failed >= downLater || !h.replied && h.failed >= downAtOnce
}

// rejecter is what a journal's client is besides.
type rejecter interface {
	Reject(r *llm.Request, reply *llm.Reply) error
}

// ask fills in the runs. The error is one that ends the run.
func (q *Question) ask(ctx context.Context, attempts int) error {
	best := -1 // verdicts in the reply that is kept
	for attempt := range attempts {
		request := *q.Request
		request.Attempt = attempt
		reply, err := q.judge.Client.Complete(ctx, &request)
		if err != nil {
			return q.fail(ctx, err, best)
		}
		if !reply.Cached {
			q.judge.health.reply()
		}
		verdicts := q.read(reply)
		n := found(verdicts)
		if n > best {
			q.keep(verdicts)
			best = n
		}
		if n == len(verdicts) {
			return nil
		}
		if r, ok := q.judge.Client.(rejecter); ok {
			if err := r.Reject(&request, reply); err != nil {
				return err
			}
		}
	}
	return nil
}

// fail is what a call that gave no reply means for its judgement, or for the run. What an earlier reply held stays.
func (q *Question) fail(ctx context.Context, err error, best int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	u := &Unscored{Detail: err.Error()}
	switch kind := llm.KindOf(err); kind {
	case llm.Refused:
		u.Reason = ReasonRefused
		q.judge.health.reply() // it is there
	case llm.Filtered:
		u.Reason = ReasonFiltered
		q.judge.health.reply()
	case llm.Unavailable, llm.Transient, llm.Wait:
		u.Reason = ReasonUnavailable
		if n, down := q.judge.health.fail(); down {
			return &llm.Error{Kind: llm.Unavailable, Err: fmt.Errorf("judge %s: the last %d calls were given up; the last one: %w", q.Judge, n, err)}
		}
	default:
		return fmt.Errorf("judge %s: %w", q.Judge, err)
	}
	if best <= 0 {
		q.unscored(u)
	}
	return nil
}

func (q *Question) read(reply *llm.Reply) []Verdict {
	if q.Dimension == "" {
		return ParseJoint(reply, q.prompt, q.about)
	}
	value, explanation, err := ParseVerdict(reply, q.prompt, &q.about[0])
	return []Verdict{{value, explanation, err}}
}

func found(verdicts []Verdict) int {
	n := 0
	for _, v := range verdicts {
		if v.Err == nil {
			n++
		}
	}
	return n
}

func (q *Question) keep(verdicts []Verdict) {
	for i, v := range verdicts {
		run := q.runs[i]
		run.Value, run.Status, run.Reason, run.Explanation = nil, "", "", v.Explanation
		if v.Err == nil {
			run.Value = &v.Value
		} else {
			run.Status, run.Reason = dataset.StatusUnscored, reasonText(v.Err)
		}
	}
}

func (q *Question) unscored(u *Unscored) {
	for _, run := range q.runs {
		run.Value, run.Status, run.Reason = nil, dataset.StatusUnscored, reasonText(u)
	}
}

// reasonText is reason and detail as records hold them.
func reasonText(err error) string {
	u, ok := errors.AsType[*Unscored](err)
	switch {
	case !ok:
		return err.Error()
	case u.Detail == "":
		return u.Reason
	}
	return u.Reason + ": " + u.Detail
}
