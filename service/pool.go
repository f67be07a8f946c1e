package service

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
)

// task is a row on its way through the model.
type task struct {
	row       *dataset.Row
	diagnosis *dataset.Diagnosis
	err       error // why there is no diagnosis: the pool was closed
	done      chan struct{}
}

func newTask(row *dataset.Row) *task { return &task{row: row, done: make(chan struct{})} }

func (t *task) finish(d *dataset.Diagnosis, err error) {
	t.diagnosis, t.err = d, err
	close(t.done)
}

// share is the part of a pool that one request has.
type share struct{ waiting []*task }

// pool runs the rows of all requests through one identifier. Requests take turns, row by row, so that one of many rows
// does not keep the others waiting.
type pool struct {
	id    *identifier.Identifier
	batch int // rows that are read at once, for a model that computes batches; 0 feeds it row by row

	mu      sync.Mutex
	some    sync.Cond // a share has rows, or the pool is closed
	turns   []*share  // with rows; the next one first
	waiting int       // rows
	closed  bool

	stop context.CancelFunc // ends what is being computed
	ends sync.WaitGroup
}

// batchRounds is how many batches are read and computed at the same time: while one is computed, the next is encoded.
const batchRounds = 2

// errClosed is the error of rows that a closed pool did not compute.
var errClosed = errors.New("the server has ended")

func newPool(id *identifier.Identifier, batch int) *pool {
	ctx, stop := context.WithCancel(context.Background())
	p := &pool{id: id, batch: batch, stop: stop}
	p.some.L = &p.mu
	rounds := 1
	if batch > 0 {
		rounds = batchRounds
	}
	for range rounds {
		p.ends.Go(func() { p.run(ctx) })
	}
	return p
}

// add queues a row. It does not wait.
func (p *pool) add(s *share, t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		t.finish(nil, errClosed)
		return
	}
	if len(s.waiting) == 0 {
		p.turns = append(p.turns, s)
	}
	s.waiting = append(s.waiting, t)
	p.waiting++
	p.some.Signal()
}

// drop forgets the rows of a request that nobody waits for any more. Those under way are computed.
func (p *pool) drop(s *share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting -= len(s.waiting)
	s.waiting = nil
	p.turns = slices.DeleteFunc(p.turns, func(other *share) bool { return other == s })
}

// take gives the next row; nil if there is none, which for a row at a time is once the pool is closed.
func (p *pool) take() *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.turns) == 0 && p.batch == 0 && !p.closed {
		p.some.Wait()
	}
	if len(p.turns) == 0 {
		return nil
	}
	s := p.turns[0]
	t := s.waiting[0]
	s.waiting, p.turns = s.waiting[1:], p.turns[1:]
	if len(s.waiting) > 0 {
		p.turns = append(p.turns, s)
	}
	p.waiting--
	return t
}

// awaitRow waits for a row; false is the end.
func (p *pool) awaitRow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.turns) == 0 && !p.closed {
		p.some.Wait()
	}
	return !p.closed
}

// run computes rows until the pool is closed.
func (p *pool) run(ctx context.Context) {
	for p.awaitRow() {
		var u underWay
		n := 0
		err := p.id.Identify(ctx, func() (*dataset.Row, error) {
			if p.batch > 0 && n == p.batch {
				return nil, io.EOF
			}
			n++
			t := p.take()
			if t == nil {
				return nil, io.EOF
			}
			u.push(t)
			return t.row, nil
		}, func(_ *dataset.Row, d *dataset.Diagnosis) error {
			u.pop().finish(d, nil)
			return nil
		})
		for t := u.pop(); t != nil; t = u.pop() {
			t.finish(nil, errors.Join(errClosed, err))
		}
	}
}

// length is the number of rows that wait.
func (p *pool) length() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// close ends what is under way, and waits for that. Rows that are left have an error.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.turns {
		for _, t := range s.waiting {
			t.finish(nil, errClosed)
		}
		s.waiting = nil
	}
	p.turns, p.waiting = nil, 0
	p.mu.Unlock()
	p.some.Broadcast()
	p.stop()
	p.ends.Wait()
}

// underWay are the tasks of which the identifier has the rows, in order.
type underWay struct {
	mu    sync.Mutex
	tasks []*task
}

func (u *underWay) push(t *task) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tasks = append(u.tasks, t)
}

// pop is nil where there is none.
func (u *underWay) pop() *task {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.tasks) == 0 {
		return nil
	}
	t := u.tasks[0]
	u.tasks = u.tasks[1:]
	return t
}
