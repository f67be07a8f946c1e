// Package ask asks language models until a reply can be read. [Asker.Ask] repeats one call until its reply can be read;
// [InOrder] asks about many items at the same time, such as rows, and emits them in their order. Begin with it.
//
// It decides whether a call without a reply concerns its question alone, or ends the run.
package ask

import (
	"context"
	"fmt"
	"sync"

	"github.com/erreval/erreval/llm"
)

// Asker asks one model, and ends the run if the model no longer replies. Safe for concurrent use.
type Asker struct {
	llm.Model
	health health
}

// New makes an Asker of a valid model.
func New(m llm.Model) *Asker { return &Asker{Model: m} }

// Reset forgets which calls had no reply. Call it at the beginning of a run.
func (a *Asker) Reset() { a.health.reset() }

// rejecter is a client with a method Reject, such as a journal's.
type rejecter interface {
	Reject(r *llm.Request, reply *llm.Reply) error
}

// Ask makes the call r, and repeats it up to attempts times in all until read accepts the reply. It calls read once for
// each reply.
//
// unanswered is why the last call gave no reply; it concerns this question alone. err ends the run: it concerns every
// call (see llm.Kind.Stops), the model no longer replies (llm.Unavailable) or refuses all that it
// is asked (llm.Refused), or ctx has ended.
func (a *Asker) Ask(ctx context.Context, r *llm.Request, attempts int,
	read func(*llm.Reply) bool) (unanswered, err error) {
	for attempt := range attempts {
		request := *r
		request.Attempt = attempt
		reply, err := a.Client.Complete(ctx, &request)
		if err != nil {
			return a.classify(ctx, err)
		}
		if !reply.Cached {
			a.health.reply()
		}
		if read(reply) {
			return nil, nil
		}
		if c, ok := a.Client.(rejecter); ok {
			if err := c.Reject(&request, reply); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// classify tells whether an error of a call concerns its question alone, or ends the run.
func (a *Asker) classify(ctx context.Context, err error) (unanswered, final error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	switch llm.KindOf(err) {
	case llm.Filtered:
		a.health.reply() // the model replies
	case llm.Refused:
		if n := a.health.refuse(err.Error()); n >= RefusesAll {
			return nil, &llm.Error{Kind: llm.Refused,
				Err: fmt.Errorf("judge %s: it refused all of %d calls, in the same words: %w", a.Name, n, err)}
		}
	case llm.Unavailable, llm.Transient, llm.Wait:
		if n, down := a.health.fail(); down {
			return nil, &llm.Error{Kind: llm.Unavailable,
				Err: fmt.Errorf("judge %s: the last %d calls were given up; the last one: %w", a.Name, n, err)}
		}
	default:
		return nil, fmt.Errorf("judge %s: %w", a.Name, err)
	}
	return err, nil
}

// A model is down if so many calls in a row failed; then the run stops. The client has already retried each of them.
const (
	DownAtOnce = 3  // that never gave a reply
	DownLater  = 24 // that did
)

// RefusesAll is how many calls in a row a model that never gave a reply may refuse in the same words: a setting is at
// fault, and no text of a row, such as one that is too long. Then the run stops.
const RefusesAll = 12

// health counts the calls to a model that have failed since its last reply. Safe for concurrent use.
type health struct {
	mu      sync.Mutex
	replied bool
	failed  int
	refused int // calls before the first reply, the last ones, in the words of refusal
	refusal string
}

// reset sets the count to 0 and forgets earlier replies.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed, h.refused = false, 0, 0
}

// reply counts a reply.
func (h *health) reply() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed = true, 0
}

// refuse counts a call that was refused, and gives how many were in the same words before the first reply; after it 0.
func (h *health) refuse(words string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = 0
	if h.replied {
		return 0
	}
	if h.refusal != words {
		h.refused, h.refusal = 0, words
	}
	h.refused++
	return h.refused
}

// fail counts a failed call. It returns how many failed in a row, and whether that is too many.
func (h *health) fail() (n int, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed++
	return h.failed, h.failed >= DownLater || !h.replied && h.failed >= DownAtOnce
}
