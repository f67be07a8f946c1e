package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/erreval/erreval/internal/words"
)

// RetryOptions bound how often and how long one call is tried again.
type RetryOptions struct {
	Attempts int           // calls in all that may end Transient, >= 1; 1 never tries again
	Base     time.Duration // pause after the first failure, > 0; doubles with each further one
	Longest  time.Duration // the doubling ends here, >= Base
	// MaxWait limits the time that one call spends on Wait errors, >= 0; the last pause may exceed it. The time is
	// limited, not the number: if many calls share a low limit, one call gets many Wait errors though nothing is wrong.
	MaxWait time.Duration
}

// DefaultRetryOptions are 5 calls with about 8 s of pauses, and up to 15 minutes of waiting if the endpoint asks for
// it.
func DefaultRetryOptions() RetryOptions {
	return RetryOptions{Attempts: 5, Base: 500 * time.Millisecond, Longest: 30 * time.Second, MaxWait: 15 * time.Minute}
}

// Retry repeats a call of c if its error is Transient or Wait, until o forbids it: then the error is Unavailable and
// wraps the last one. It returns other errors unchanged. Put it around every decorator that must see each call, such as
// Limit and a budget. o must be valid.
func Retry(c Client, o RetryOptions) Client {
	return ClientFunc(func(ctx context.Context, r *Request) (*Reply, error) {
		state := trial{o: o, pause: o.Base}
		for {
			reply, err := c.Complete(ctx, r)
			if err == nil {
				return reply, nil
			}
			pause, final := state.nextDelay(err)
			if final != nil {
				return nil, final
			}
			if stopped := sleep(ctx, pause); stopped != nil {
				return nil, fmt.Errorf("%w, while waiting to try again after: %s", stopped, err.Error())
			}
		}
	})
}

// trial is the state of one call's retries.
type trial struct {
	o      RetryOptions
	failed int           // calls that ended Transient
	waited time.Duration // spent on Wait
	pause  time.Duration // next pause, before jitter
}

// nextDelay decides on err: the pause before the next call, or the error to give up with.
func (s *trial) nextDelay(err error) (time.Duration, error) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return 0, err
	}
	pause := jitter(s.pause)
	s.pause = min(2*s.pause, s.o.Longest)
	switch e.Kind {
	case Transient:
		if s.failed++; s.failed >= s.o.Attempts {
			return 0, giveUp(e, fmt.Errorf("given up after %s: %w", words.Plural(s.failed, "call", "calls"), err))
		}
		return pause, nil
	case Wait:
		if e.After > 0 { // never less than asked for, and not all at the same moment
			pause = max(pause, e.After+jitter(min(e.After/4, s.o.Longest)))
		}
		if s.waited >= s.o.MaxWait || e.After > s.o.MaxWait-s.waited {
			return 0, giveUp(e, fmt.Errorf("given up: no call may wait longer than %s: %w", s.o.MaxWait, err))
		}
		s.waited += pause
		return pause, nil
	}
	return 0, err
}

func giveUp(last *Error, err error) error {
	return &Error{Kind: Unavailable, Status: last.Status, Err: err}
}

// jitter is between half of d and d.
func jitter(d time.Duration) time.Duration {
	if d <= 1 {
		return d
	}
	return d - rand.N(d/2)
}

// sleep waits for d, or ends early with ctx's cause.
func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ContextError(ctx)
	case <-timer.C:
		return nil
	}
}
