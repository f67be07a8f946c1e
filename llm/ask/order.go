package ask

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Item is something to ask about, such as a row.
type Item struct {
	Questions []func(context.Context) error // asked at the same time, in any order; an error ends the run
	Emit      func() error                  // is called once every question is answered
}

// InOrder asks the questions about the items that next gives until io.EOF, so many at the same time as there are
// workers, and emits the items in order. next and Emit are called by one goroutine each, at the same time. A few
// items for each worker are held in memory.
//
// Errors of next, of questions and of Emit end the run, and so does the end of ctx. Then InOrder asks no further
// question, waits for those in flight, and emits the items before the first one that is not complete; the error is the
// cause. Questions get a context that ends with the run.
func InOrder(ctx context.Context, workers int, next func() (*Item, error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	questions := make(chan question)
	items := make(chan *openItem, itemsPerWorker*workers)
	var g errgroup.Group
	g.Go(func() error {
		defer close(items)
		defer close(questions)
		err := feedItems(ctx, next, items, questions)
		if err != nil {
			stop(err) // of several errors, the first is the cause
		}
		return err
	})
	for range workers {
		g.Go(func() error {
			for q := range questions {
				q.askQuestion(ctx, stop)
			}
			return nil
		})
	}
	var broken bool
	g.Go(func() error {
		broken = emitItems(items, stop)
		return nil
	})
	if err := g.Wait(); err != nil || broken {
		return context.Cause(ctx)
	}
	return nil
}

// About asks models about the things that next gives until io.EOF, such as rows, as InOrder does. plan gives the
// questions about one, and what to do once all are answered. Which calls had no reply in an earlier run is forgotten.
func About[T, Q any](ctx context.Context, models []*Asker, workers int, next func() (T, error),
	plan func(T) ([]Q, func() error, error), ask func(context.Context, Q) error) error {
	for _, m := range models {
		m.Reset()
	}
	return InOrder(ctx, workers, func() (*Item, error) {
		thing, err := next()
		if err != nil {
			return nil, err
		}
		questions, emit, err := plan(thing)
		item := &Item{Emit: emit}
		for _, q := range questions {
			item.Questions = append(item.Questions, func(ctx context.Context) error { return ask(ctx, q) })
		}
		return item, err
	})
}

// itemsPerWorker is how many items for each worker may be in work or wait for an earlier item.
const itemsPerWorker = 4

type openItem struct {
	*Item
	left   atomic.Int64  // questions
	done   chan struct{} // closed when none is left
	broken atomic.Bool   // a question was not answered because the run ended
}

type question struct {
	item *openItem
	do   func(context.Context) error
}

func (q question) askQuestion(ctx context.Context, stop context.CancelCauseFunc) {
	err := context.Cause(ctx)
	if err == nil {
		if err = q.do(ctx); err != nil {
			stop(err)
		}
	}
	q.endQuestion(err)
}

func (q question) endQuestion(err error) {
	if err != nil {
		q.item.broken.Store(true)
	}
	if q.item.left.Add(-1) == 0 {
		close(q.item.done)
	}
}

// feedItems reads items and sends them and their questions to the channels.
func feedItems(ctx context.Context, next func() (*Item, error), items chan<- *openItem,
	questions chan<- question) error {
	for ctx.Err() == nil {
		item, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		o := &openItem{Item: item, done: make(chan struct{})}
		o.left.Store(int64(len(o.Questions)))
		if len(o.Questions) == 0 {
			close(o.done)
		}
		select {
		case items <- o:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		o.feedQuestions(ctx, questions)
	}
	return context.Cause(ctx)
}

func (o *openItem) feedQuestions(ctx context.Context, questions chan<- question) {
	for _, do := range o.Questions {
		q := question{o, do}
		select {
		case questions <- q:
		case <-ctx.Done():
			q.endQuestion(context.Cause(ctx))
		}
	}
}

// emitItems emits items in order, up to the first that is not complete, and tells whether there was one.
func emitItems(items <-chan *openItem, stop context.CancelCauseFunc) (broken bool) {
	for o := range items { // read items to the end, since feedItems waits until it can send
		<-o.done
		if broken = broken || o.broken.Load(); broken {
			continue
		}
		if err := o.Emit(); err != nil {
			stop(err)
			broken = true
		}
	}
	return broken
}
