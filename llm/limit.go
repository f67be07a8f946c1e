package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/erreval/erreval/internal/faults"
)

// LimitOptions limit the calls to an endpoint. 0 is no limit.
type LimitOptions struct {
	RPM      int // calls per minute, spread evenly
	TPM      int // tokens per minute, input and output
	InFlight int // calls at the endpoint at the same moment
}

// DefaultLimitOptions are 16 calls in flight and no other limit.
func DefaultLimitOptions() LimitOptions { return LimitOptions{InFlight: 16} }

// Validate joins all faults of o.
func (o LimitOptions) Validate() error {
	var faults faults.List
	for _, f := range []struct {
		name  string
		value int
	}{{"calls per minute", o.RPM}, {"tokens per minute", o.TPM}, {"calls in flight", o.InFlight}} {
		faults.Check(f.value >= 0, "limit: %d %s: give a number above 0, or 0 for no limit", f.value, f.name)
	}
	return faults.Err()
}

// Limit keeps the calls of c within o. If the endpoint answers with Wait, no call starts before that time has passed,
// whoever makes it. Calls wait inside Complete; if the time is longer than a minute, they fail with Wait, and Retry
// decides how long is too long. Put Retry around Limit, so that a call that pauses does not count as one in flight. o
// must be valid.
func Limit(c Client, o LimitOptions) Client {
	l := NewLimiter(o)
	return l.LimitRates(l.LimitInFlight(c))
}

// Limiter is Limit in two parts, for a decorator between them that writes to a file before and after a call, so that
// this time does not count as a call at the endpoint.
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
	// aside: for every two calls at the endpoint, one more may be before or after its exchange. That is enough for 5 ms
	// of writing to a file per call.
	aside = 2
	// tokenBurst is the part of a minute's tokens that calls may use at once, at the start and after a pause. It is
	// subtracted from the rate: a long run reaches 58/60 of TPM.
	tokenBurst = 2 * time.Second
	// bytesPerToken estimates the input's tokens for TPM until the endpoint reports them: about 4 in English, 2 to 3 in
	// other languages.
	bytesPerToken = 3
	// unnamedWait is how long all calls wait after a 429 that names no time; the call that got it waits longer each
	// time.
	unnamedWait = time.Second
	// longestPause is how long a call waits for a pause to end; Retry may not want to wait for a day.
	longestPause = time.Minute
)

// LimitRates is the outer part: it keeps the rates, and starts no more calls than can soon be made.
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

// LimitInFlight is the inner part, around the endpoint's client: it limits the number of calls in flight, and obeys
// Wait. If it does not make a call, the error is ErrUnsent.
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

// acquire waits until limit allows one more.
func acquire(ctx context.Context, limit chan struct{}) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	if limit == nil {
		return nil
	}
	select {
	case limit <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ContextError(ctx)
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

// guessTokens estimates the tokens of a call: its input by length, its output by the upper bound.
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

// bucket is a token bucket. A call that takes more tokens than the bucket has waits until it has refilled to 0: so the
// average rate holds for calls of any size. Unlike golang.org/x/time/rate, it takes unused tokens back. With a nil
// bucket no call waits.
type bucket struct {
	mu     sync.Mutex
	rate   float64 // per second
	burst  float64 // largest level
	level  float64 // tokens that can be taken at once; below 0 callers wait
	filled time.Time
}

func newBucket(rate, burst float64) *bucket {
	return &bucket{rate: rate, burst: burst, level: burst, filled: time.Now()}
}

// takeTokens removes n tokens and returns how long to wait before using them.
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

// returnTokens puts n tokens back; a negative n removes those that were used beyond the estimate.
func (b *bucket) returnTokens(n float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level = min(b.burst, b.level+n)
}

// pause is the time in which an endpoint wants no calls.
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
