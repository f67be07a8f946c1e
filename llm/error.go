package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind is what a caller can do about an Error.
type Kind int

// Kinds of errors. The zero Kind is no kind: KindOf gives it for errors that are not from a Client.
const (
	Transient   Kind = iota + 1 // the same call may succeed at once: time-outs, 5xx, cut replies
	Wait                        // the same call may succeed, but not before Error.After: 429, or 5xx with Retry-After
	Refused                     // the endpoint will never accept this call: 400 and similar. Concerns this call alone
	Auth                        // key, permission, account or address: 401 to 404. No call will succeed: stops the run
	Filtered                    // the prompt met the endpoint's content filter. Concerns this call alone
	Unavailable                 // retries are used up for this call; others may get through
	Budget                      // the user's budget does not allow the call: stops the run
	Broken                      // the store of the calls failed, for example the journal's disk: stops the run
)

var kindNames = [...]string{"none", "transient", "wait", "refused", "auth", "filtered", "unavailable",
	"budget", "broken"}

// String is the kind's name in lower case.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// Stops tells whether an error of this kind concerns every further call, not only the one that failed.
func (k Kind) Stops() bool { return k == Auth || k == Budget || k == Broken }

// Error is why a call has no reply. Find it with errors.As, or its kind with KindOf.
type Error struct {
	Kind   Kind
	Status int           // of HTTP; 0 if there was no response
	After  time.Duration // Wait: make no call before this time has passed; 0 if the endpoint named no time
	Err    error         // says what happened, where, and what to try; never holds a key
}

// Error is the text of Err; without one, kind and status.
func (e *Error) Error() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Status != 0:
		return fmt.Sprintf("call failed (%s): %d %s", e.Kind, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("call failed (%s)", e.Kind)
}

// Unwrap is Err.
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of the first *Error in err's chain, 0 if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// ErrUnsent is in the chain of an error if the call is known not to have been sent.
var ErrUnsent = errors.New("the call was not made")

// unsent is an error that is also ErrUnsent, without a further text.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

func (unsent) Is(target error) bool { return target == ErrUnsent }

// ContextError is an error for the end of ctx: both its cause and context.Canceled or DeadlineExceeded.
func ContextError(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return context.Cause(ctx)
}
