package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/erreval/erreval/llm"
)

// held is an endpoint whose calls wait.
type held struct {
	called chan struct{}
	answer chan error
}

func (h *held) Complete(context.Context, *llm.Request) (*llm.Reply, error) {
	h.called <- struct{}{}
	if err := <-h.answer; err != nil {
		return nil, err
	}
	return &llm.Reply{Text: "held", Usage: llm.Usage{Input: 1, Output: 1}}, nil
}

// claimed opens a journal twice, as two processes do; the first is in a call. Its end is in done.
func claimed(t *testing.T) (a, b *Journal, first *held, done chan error) {
	t.Helper()
	path := file(t)
	a, b = open(t, path), open(t, path)
	first, done = &held{make(chan struct{}), make(chan error)}, make(chan error, 1)
	c := a.Client(meter(t, a, first, Budget{}, nil), "")
	go func() {
		_, err := c.Complete(context.Background(), request("x"))
		done <- err
	}()
	<-first.called
	return a, b, first, done
}

// Who wants a call that another process makes waits for its reply, and makes it if the other fails.
func TestClaimedCallIsWaitedFor(t *testing.T) {
	for _, fails := range []bool{false, true} {
		_, b, first, done := claimed(t)
		var endpoint counting
		c := b.Client(meter(t, b, &endpoint, Budget{}, nil), "")
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := c.Complete(stopped, request("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v of a stopped call", err)
		}
		var wait sync.WaitGroup
		var reply *llm.Reply
		var fault error
		wait.Go(func() { reply, fault = c.Complete(t.Context(), request("x")) })
		complete(t, c, request("y"))
		var want error
		if fails {
			want = errors.New("no")
		}
		first.answer <- want
		if err := <-done; !errors.Is(err, want) {
			t.Errorf("the first call ended with %v", err)
		}
		wait.Wait()
		if fault != nil || (reply.Text == "held") == fails {
			t.Fatalf("%+v, %v", reply, fault)
		}
		calls := int64(1)
		if fails {
			calls = 2
		}
		if n := endpoint.calls.Load(); n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
	}
}

// withoutClaimSum makes claims those of an older program.
const withoutClaimSum = "UPDATE claim SET calls = substr(calls, 1, length(calls) - 4)"

// A claim that was changed is refused.
func TestChangedClaim(t *testing.T) {
	_, b, first, done := claimed(t)
	execute(t, b.path, "UPDATE claim SET expires = expires - 1")
	_, err := b.Client(meter(t, b, &counting{}, Budget{}, nil), "").Complete(t.Context(), request("x"))
	if err == nil || !strings.Contains(err.Error(), "a claim of process ") {
		t.Errorf("got %v", err)
	}
	if _, err := Verify(b.path); err == nil || !strings.Contains(err.Error(), "a claim of process ") {
		t.Errorf("got %v", err)
	}
	first.answer <- nil
	<-done
}

// A stranger's claim with a checksum makes nobody wait either.
func TestLongClaim(t *testing.T) {
	j := open(t, file(t))
	id, err := hashCall("", request("x"))
	if err != nil {
		t.Fatal(err)
	}
	const never = math.MaxInt64
	calls := append(id[:], make([]byte, 8)...)
	calls = binary.BigEndian.AppendUint32(calls, sumClaim(1, "other", 1, never, calls))
	if _, err := j.store.conn.ExecContext(background, "INSERT INTO claim VALUES (1, 'other', 1, ?, ?)", int64(never),
		calls); err != nil {
		t.Fatal(err)
	}
	var endpoint counting
	complete(t, j.Client(meter(t, j, &endpoint, Budget{}, nil), ""), request("x"))
	if n := endpoint.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// A claim holds no longer where its process has ended, or its lease has, or where that is longer than any: nobody waits
// without end for what a stranger's journal claims.
func TestClaimsThatHoldNoLonger(t *testing.T) {
	if hasEnded(os.Getpid()) || !hasEnded(1<<30) {
		t.Error("a process that lives has ended, or the other way round")
	}
	// On another machine, so that its process is not looked for.
	const far = "UPDATE claim SET machine = 'other', expires = "
	for _, change := range []string{"UPDATE claim SET pid = 1073741824", "UPDATE claim SET expires = 1",
		far + "expires + 120", far + "9223372036854775807"} {
		_, b, first, done := claimed(t)
		execute(t, b.path, withoutClaimSum, change)
		var endpoint counting
		complete(t, b.Client(meter(t, b, &endpoint, Budget{}, nil), ""), request("x"))
		if n := endpoint.calls.Load(); n != 1 {
			t.Errorf("%s: %d calls", change, n)
		}
		first.answer <- nil
		<-done
	}
	// On another machine it cannot be known whether a process has ended.
	_, b, first, done := claimed(t)
	execute(t, b.path, withoutClaimSum, "UPDATE claim SET pid = 1073741824, machine = 'other'")
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := b.Client(meter(t, b, &counting{}, Budget{}, nil), "").Complete(ctx, request("x")); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	first.answer <- nil
	<-done
}
