package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// LimitOptions say how much an endpoint may be asked. 0 is no limit.
type LimitOptions struct {
	RPM      int // calls per minute, spread evenly
	TPM      int // tokens per minute, input and output
	InFlight int // calls at the endpoint at the same moment
}

// DefaultLimitOptions are 16 calls in flight and no other limit.
func DefaultLimitOptions() LimitOptions { return LimitOptions{InFlight: 16} }

// Validate joins all faults of o.
func (o LimitOptions) Validate() error {
	var faults []error
	for _, f := range []struct {
		name  string
		value int
	}{{"calls per minute", o.RPM}, {"tokens per minute", o.TPM}, {"calls in flight", o.InFlight}} {
		if f.value < 0 {
			faults = append(faults, fmt.Errorf("limit: %d %s: give a number above 0, or 0 for no limit", f.value, f.name))
		}
	}
	return errors.Join(faults...)
}

// Limit keeps the calls of c within o, before the endpoint has to complain. Where it does complain with Wait, no call
// starts before that time has passed, whoever makes it. Calls wait inside Complete, but where that time is longer
// than a minute, they fail with Wait: how long is too long is Retry's to say. Put Retry around Limit, so that a call
// that pauses does not count as one in flight. o must be valid.
func Limit(c Client, o LimitOptions) Client {
	l := NewLimiter(o)
	return l.LimitRates(l.LimitInFlight(c))
}

// Limiter is Limit in two halves, for a decorator between them that has to write something down before and after a
// call: the endpoint need not wait for that.
type Limiter struct {
	inFlight chan struct{} // holds an element for each call at the endpoint; nil: no limit
	begun    chan struct{} // likewise for each call within LimitRates; nil: no limit
	calls    *bucket       // nil: no limit
	tokens   *bucket       // nil: no limit
	pause    pause
}

// NewLimiter makes a Limiter. o must be valid.
func NewLimiter(o LimitOptions) *Limiter {
	l := &Limiter{}
	if o.InFlight > 0 {
		l.inFlight = make(chan struct{}, o.InFlight)
		l.begun = make(chan struct{}, o.InFlight+o.InFlight/aside)
	}
	if o.RPM > 0 {
		l.calls = newBucket(float64(o.RPM)/60, 1)
	}
	if o.TPM > 0 {
		burst := float64(o.TPM) * tokenBurst.Minutes()
		l.tokens = newBucket((float64(o.TPM)-burst)/60, burst) // so that no minute sees more than TPM
	}
	return l
}

const (
	// aside: for two calls at the endpoint, one may be about to go there or have come from there. Enough for writing
	// down calls of 5 ms.
	aside = 2
	// tokenBurst is how much of a minute's tokens may go at once, at the start and after a lull. It is taken off the
	// rate: a long run reaches 58/60 of TPM.
	tokenBurst = 2 * time.Second
	// bytesPerToken guesses the input's tokens for TPM until the endpoint says: about 4 in English, 2 to 3 elsewhere.
	bytesPerToken = 3
	// unnamedWait is how long everybody waits on a 429 that names no time; who met it waits longer each time.
	unnamedWait = time.Second
	// longestPause is how long a call waits for a pause to end; Retry may not want to wait for a day.
	longestPause = time.Minute
)

// LimitRates is the outer half: it keeps the rates, and begins no more calls than can soon be made.
func (l *Limiter) LimitRates(c Client) Client {
	return ClientFunc(func(ctx context.Context, r *Request) (*Reply, error) {
		if err := acquire(ctx, l.begun); err != nil {
			return nil, err
		}
		defer release(l.begun)
		guess := guessTokens(r)
		if err := l.waitForTokens(ctx, guess); err != nil {
			return nil, err
		}
		reply, err := c.Complete(WithAgain(ctx, func(ctx context.Context) error { return l.waitForTokens(ctx, 0) }), r)
		if errors.Is(err, ErrUnsent) {
			l.calls.returnTokens(1)
			l.tokens.returnTokens(guess)
		}
		if reply != nil && reply.Usage.Known() {
			l.tokens.returnTokens(guess - float64(reply.Usage.Input+reply.Usage.Output))
		}
		return reply, err
	})
}

// LimitInFlight is the inner half, around the endpoint's client: it bounds how many calls are there, and heeds Wait.
// Of a call that it did not let go, the error is ErrUnsent.
func (l *Limiter) LimitInFlight(c Client) Client {
	return ClientFunc(func(ctx context.Context, r *Request) (*Reply, error) {
		if err := acquire(ctx, l.inFlight); err != nil {
			return nil, unsent{err}
		}
		defer release(l.inFlight)
		if err := l.pause.waitForEnd(ctx); err != nil { // it began after LimitRates looked
			return nil, unsent{err}
		}
		reply, err := c.Complete(ctx, r)
		if e, ok := errors.AsType[*Error](err); ok && e.Kind == Wait {
			l.pause.beginPause(cmp.Or(e.After, unnamedWait))
		}
		return reply, err
	})
}

// acquire waits until limit has room for one more.
func acquire(ctx context.Context, limit chan struct{}) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	if limit == nil {
		return nil
	}
	select {
	case limit <- struct{}{}:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	}
}

func release(limit chan struct{}) {
	if limit != nil {
		<-limit
	}
}

// waitForTokens waits until the rates and the endpoint allow one call more.
func (l *Limiter) waitForTokens(ctx context.Context, tokens float64) error {
	err := sleep(ctx, max(l.calls.takeTokens(1), l.tokens.takeTokens(tokens)))
	if err == nil {
		err = l.pause.waitForEnd(ctx)
	}
	if err != nil { // never made
		l.calls.returnTokens(1)
		l.tokens.returnTokens(tokens)
	}
	return err
}

// guessTokens is what a call may use: its input by length, its output by the upper bound.
func guessTokens(r *Request) float64 {
	bytes := 0
	for _, m := range r.Messages {
		bytes += len(m.Content)
	}
	if r.Schema != nil {
		bytes += len(r.Schema.JSON)
	}
	return float64(bytes/bytesPerToken + r.MaxTokens)
}

// bucket meters a rate. Who takes more than there is goes into debt and waits until the debt is paid: the average
// holds for amounts of any size. What was taken and not used can be given back, which golang.org/x/time/rate does not
// offer. A nil bucket never makes anybody wait.
type bucket struct {
	mu     sync.Mutex
	rate   float64 // per second
	burst  float64 // most that gathers
	level  float64 // below 0: debt
	filled time.Time
}

func newBucket(rate, burst float64) *bucket {
	return &bucket{rate: rate, burst: burst, level: burst, filled: time.Now()}
}

// takeTokens removes n and tells how long to wait before using it.
func (b *bucket) takeTokens(n float64) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.level = min(b.burst, b.level+now.Sub(b.filled).Seconds()*b.rate)
	b.filled = now
	b.level -= n
	return time.Duration(max(0, -b.level/b.rate) * float64(time.Second))
}

// returnTokens returns n; below 0 it takes what was used over the guess.
func (b *bucket) returnTokens(n float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level = min(b.burst, b.level+n)
}

// pause is what an endpoint asked for.
type pause struct {
	mu    sync.Mutex
	until time.Time
	width time.Duration // after until, callers are spread over this
}

func (p *pause) beginPause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.until) {
		p.until, p.width = until, min(d/4, time.Second)
	}
}

// waitForEnd returns when the pause has been over for a moment, or with ctx's cause, or with Wait.
func (p *pause) waitForEnd(ctx context.Context) error {
	for {
		p.mu.Lock()
		left, width := time.Until(p.until), p.width
		p.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if left > longestPause {
			return &Error{Kind: Wait, After: left,
				Err: fmt.Errorf("the endpoint asked for a pause, of which %s are left; try again then", left.Round(time.Second))}
		}
		if err := sleep(ctx, left+jitter(width)); err != nil {
			return err
		}
	}
}
