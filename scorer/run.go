package scorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/replies"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/taxonomy"
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
	d := &desk{judges: p.judges, workers: p.o.Workers, attempts: p.o.Attempts}
	return d.run(ctx, next, func(row *dataset.Row) ([]*Question, func() error, error) {
		plan, err := p.plan(row)
		if err != nil {
			return nil, nil, err
		}
		return plan.questions, func() error { return emit(row, p.scores(plan)) }, nil
	})
}

// desk is where the questions about rows are asked, many at once, and rows leave in the order they came in.
type desk struct {
	judges   []*member
	workers  int
	attempts int
}

// planner gives a row's questions, and what to do when all are answered.
type planner func(*dataset.Row) (questions []*Question, emit func() error, err error)

// run does what Score promises.
func (d *desk) run(ctx context.Context, next func() (*dataset.Row, error), plan planner) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, j := range d.judges {
		j.health.Reset()
	}
	jobs := make(chan job)
	rows := make(chan *rowJob, rowsPerWorker*d.workers)
	var g errgroup.Group
	g.Go(func() error {
		defer close(rows)
		defer close(jobs)
		err := feed(ctx, next, plan, rows, jobs)
		if err != nil {
			stop(err) // of several errors, the first is the cause
		}
		return err
	})
	for range d.workers {
		g.Go(func() error {
			for j := range jobs {
				j.do(ctx, d.attempts, stop)
			}
			return nil
		})
	}
	var torn bool
	g.Go(func() error {
		torn = collect(rows, stop)
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
	questions []*Question
	emit      func() error
	left      atomic.Int64  // questions
	done      chan struct{} // closed when none is left
	torn      atomic.Bool   // a question was not answered, since the run ended
}

// job is one question of a row.
type job struct {
	row      *rowJob
	question *Question
}

func (j job) do(ctx context.Context, attempts int, stop context.CancelCauseFunc) {
	err := context.Cause(ctx)
	if err == nil {
		if err = j.question.ask(ctx, attempts); err != nil {
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
func feed(ctx context.Context, next func() (*dataset.Row, error), plan planner, rows chan<- *rowJob, jobs chan<- job) error {
	for ctx.Err() == nil {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r := &rowJob{done: make(chan struct{})}
		if r.questions, r.emit, err = plan(row); err != nil {
			return err
		}
		r.left.Store(int64(len(r.questions)))
		if len(r.questions) == 0 {
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
	for _, q := range r.questions {
		j := job{r, q}
		select {
		case jobs <- j:
		case <-ctx.Done():
			j.end(context.Cause(ctx))
		}
	}
}

// collect emits rows in order, up to the first that is not whole, and tells whether there was one.
func collect(rows <-chan *rowJob, stop context.CancelCauseFunc) (torn bool) {
	for r := range rows { // to its end, as the reader waits for room in it
		<-r.done
		if torn = torn || r.torn.Load(); torn {
			continue
		}
		if err := r.emit(); err != nil {
			stop(err)
			torn = true
		}
	}
	return torn
}

// member is a judge at work.
type member struct {
	Judge
	health replies.Health
}

// rejecter is what a journal's client is besides.
type rejecter interface {
	Reject(r *llm.Request, reply *llm.Reply) error
}

// ask fills in the answer. The error is one that ends the run.
func (q *Question) ask(ctx context.Context, attempts int) error {
	best := -1 // found in the reply that is kept
	for attempt := range attempts {
		request := *q.Request
		request.Attempt = attempt
		reply, err := q.judge.Client.Complete(ctx, &request)
		if err != nil {
			return q.fail(ctx, err, best)
		}
		if !reply.Cached {
			q.judge.health.Reply()
		}
		found, whole, keep := q.answer.read(reply, q.prompt)
		if found > best {
			keep()
			best = found
		}
		if whole {
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
		q.judge.health.Reply() // it is there
	case llm.Filtered:
		u.Reason = ReasonFiltered
		q.judge.health.Reply()
	case llm.Unavailable, llm.Transient, llm.Wait:
		u.Reason = ReasonUnavailable
		if n, down := q.judge.health.Fail(); down {
			return &llm.Error{Kind: llm.Unavailable, Err: fmt.Errorf("judge %s: the last %d calls were given up; the last one: %w", q.Judge, n, err)}
		}
	default:
		return fmt.Errorf("judge %s: %w", q.Judge, err)
	}
	if best <= 0 {
		q.answer.unscored(u)
	}
	return nil
}

// judgement is an answer in verdicts.
type judgement struct {
	about []taxonomy.Dimension
	joint bool
	runs  []*dataset.Run // to fill, one for each of about
}

func (j *judgement) read(reply *llm.Reply, prompt string) (n int, whole bool, keep func()) {
	verdicts := j.verdicts(reply, prompt)
	n = found(verdicts)
	return n, n == len(verdicts), func() { j.keep(verdicts) }
}

func (j *judgement) verdicts(reply *llm.Reply, prompt string) []Verdict {
	if j.joint {
		return ParseJoint(reply, prompt, j.about)
	}
	value, explanation, err := ParseVerdict(reply, prompt, &j.about[0])
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

func (j *judgement) keep(verdicts []Verdict) {
	for i, v := range verdicts {
		run := j.runs[i]
		run.Value, run.Status, run.Reason, run.Explanation = nil, "", "", v.Explanation
		if v.Err == nil {
			run.Value = &v.Value
		} else {
			run.Status, run.Reason = dataset.StatusUnscored, reasonText(v.Err)
		}
	}
}

func (j *judgement) unscored(u *Unscored) {
	for _, run := range j.runs {
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
