// Package llmtest has fake language models for tests. Fake is a Client that a Go function answers; Server is an
// endpoint, OpenAI-compatible or of the Messages API, that behaves as its script says; TestClient tests a Client or
// decorator.
package llmtest

import (
	"context"
	"sync"

	"github.com/erreval/erreval/llm"
)

// Answer is a model: the reply, or the error, to call number n, counted from 0 in the order of arrival. It is called
// concurrently.
type Answer func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error)

// Say answers every call with text, and with the usage that Count gives.
func Say(text string) Answer {
	return func(_ context.Context, _ int, r *llm.Request) (*llm.Reply, error) {
		return &llm.Reply{Text: text, Finish: llm.FinishStop, Model: r.Model, Usage: Count(r, text)}, nil
	}
}

// Hang answers no call: it waits until the caller gives up.
func Hang(ctx context.Context, _ int, _ *llm.Request) (*llm.Reply, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Count is a usage for tests: a token for every four bytes or part of them, of the messages and of the reply.
func Count(r *llm.Request, reply string) llm.Usage {
	usage := llm.Usage{Output: (len(reply) + 3) / 4}
	for _, m := range r.Messages {
		usage.Input += (len(m.Content) + 3) / 4
	}
	return usage
}

// Fake is a Client without a network.
type Fake struct {
	answer Answer
	mu     sync.Mutex
	calls  []llm.Request
	now    int
	peak   int
}

// NewFake makes a Fake that answers by a.
func NewFake(a Answer) *Fake { return &Fake{answer: a} }

// Complete records r and answers it. Like any Client it makes no call if ctx has ended.
func (f *Fake) Complete(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	n := f.begin(r)
	defer f.end()
	return f.answer(ctx, n, r)
}

func (f *Fake) begin(r *llm.Request) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, *r)
	f.now++
	f.peak = max(f.peak, f.now)
	return len(f.calls) - 1
}

func (f *Fake) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now--
}

// Calls are the requests so far, in the order of arrival.
func (f *Fake) Calls() []llm.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]llm.Request(nil), f.calls...)
}

// Peak is the largest number of calls that were in flight at the same time.
func (f *Fake) Peak() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak
}
