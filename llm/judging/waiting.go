package judging

import (
	"context"
	"sync"
	"time"

	"github.com/erreval/erreval/llm"
)

// longWait is how long an endpoint has to put calls off before that is said.
const longWait = 20 * time.Second

// sayWaiting warns once where an endpoint lets no call through for a time: the program must not seem to hang.
func sayWaiting(c llm.Client, longest time.Duration, warn func(format string, args ...any)) llm.Client {
	var mu sync.Mutex
	var since time.Time
	said := warn == nil
	return llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
		reply, err := c.Complete(ctx, r)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil || llm.KindOf(err) != llm.Wait:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case !said && time.Since(since) > longest:
			said = true
			warn("calls wait, for up to %s each: %v; --rpm and --in-flight ask more slowly",
				llm.DefaultRetryOptions().MaxWait, err)
		}
		return reply, err
	})
}
