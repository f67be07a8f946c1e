package run

import (
	"io"
	"sync"

	"github.com/erreval/erreval/dataset"
)

// maxWaiting is how many bytes of rejected lines may wait for the rows before them.
const maxWaiting = 16 << 20

// answers puts the rejected lines of a worker into their place among its rows. Its methods but expect are called with
// the lock held that newAnswers got.
type answers struct {
	expected int // rows that the stage was given; known to the goroutine alone that reads
	emitted  int
	waiting  []rejected
	size     int // bytes of waiting
	less     *sync.Cond
	failed   bool // nothing can be written any more
}

// rejected is a line that is answered behind so many rows.
type rejected struct {
	behind int
	answer *dataset.Row
}

func newAnswers(mu *sync.Mutex) *answers { return &answers{less: sync.NewCond(mu)} }

// expect is a row that will be emitted.
func (a *answers) expect() { a.expected++ }

// reject answers a line, once the rows before it have been emitted. It lets go of the lock while too much waits.
func (a *answers) reject(fault *dataset.LineError, to dataset.Sink) error {
	answer, err := fault.Answer()
	if err != nil {
		return err
	}
	for a.size > maxWaiting && !a.failed {
		a.less.Wait()
	}
	if a.failed {
		return io.EOF // nothing more is read; the error is the one of what failed
	}
	a.waiting = append(a.waiting, rejected{a.expected, answer})
	a.size += answer.Size()
	return a.release(to)
}

// written tells that one more row was emitted.
func (a *answers) written(to dataset.Sink) error {
	a.emitted++
	return a.release(to)
}

// release writes what no longer waits.
func (a *answers) release(to dataset.Sink) error {
	for len(a.waiting) > 0 && a.waiting[0].behind <= a.emitted && !a.failed {
		if err := a.fail(writeNow(to, a.waiting[0].answer)); err != nil {
			return err
		}
		a.size -= a.waiting[0].answer.Size()
		a.waiting = a.waiting[1:]
		a.less.Signal()
	}
	return nil
}

// fail gives err. Behind an error nothing is emitted, so nobody may wait for it. a may be nil.
func (a *answers) fail(err error) error {
	if a != nil && err != nil {
		a.failed = true
		a.less.Signal()
	}
	return err
}
