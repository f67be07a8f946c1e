package judging

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/llm"
)

// A user is told once that an endpoint puts calls off, and not before it has done so for a while.
func TestSayWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		said := ""
		c := sayWaiting(llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) { return nil, err }), longWait,
			func(format string, args ...any) { said += fmt.Sprintf(format, args...) + "\n" })
		ask := func(e error) {
			err = e
			_, _ = c.Complete(t.Context(), &llm.Request{})
			<-time.After(15 * time.Second)
		}
		wait := &llm.Error{Kind: llm.Wait, Err: errors.New("429")}
		for _, e := range []error{wait, nil, wait, wait} {
			ask(e)
		}
		if said != "" {
			t.Error("said too early:", said)
		}
		ask(wait)
		ask(wait)
		const want = "calls wait, for up to 15m0s each: 429; --rpm and --in-flight ask more slowly\n"
		if said != want {
			t.Errorf("%q, want %q", said, want)
		}
	})
}
