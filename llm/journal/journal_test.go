package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/erreval/erreval/llm"
)

func closed(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "calls.journal") }

func ptr[T any](x T) *T { return &x }

func request(text string) *llm.Request {
	return &llm.Request{Model: "m", MaxTokens: 10, Messages: []llm.Message{{Role: llm.User, Content: text}}}
}

// counting answers each call with its number, after hook.
type counting struct {
	calls atomic.Int64
	hook  func(n int64) error
}

func (c *counting) Complete(_ context.Context, r *llm.Request) (*llm.Reply, error) {
	n := c.calls.Add(1)
	if c.hook != nil {
		if err := c.hook(n); err != nil {
			return nil, err
		}
	}
	return &llm.Reply{Text: fmt.Sprintf("reply %d", n), Finish: llm.FinishStop, Model: "m-1",
		Usage: llm.Usage{Input: 7, Output: 3}}, nil
}

func complete(t testing.TB, c llm.Client, r *llm.Request) *llm.Reply {
	t.Helper()
	reply, err := c.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestReplay(t *testing.T) {
	path := file(t)
	var endpoint counting
	j := open(t, path)
	first := complete(t, j.Client(&endpoint, "http://a"), request("x"))
	if first.Cached {
		t.Error("a call that was made is marked as replayed")
	}
	again := complete(t, j.Client(&endpoint, "http://a"), request("x"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	reopened := complete(t, open(t, path).Client(&endpoint, "http://a"), request("x"))
	want := *first
	want.Cached = true
	if *again != want || *reopened != want {
		t.Errorf("replays %+v and %+v, want %+v", again, reopened, want)
	}
	if n := endpoint.calls.Load(); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// Every part of a call is part of its key.
func TestKey(t *testing.T) {
	var endpoint counting
	j := open(t, file(t))
	base := func() *llm.Request { return request("x") }
	change := func(f func(*llm.Request)) *llm.Request { r := base(); f(r); return r }
	requests := map[string]*llm.Request{
		"base":          base(),
		"model":         change(func(r *llm.Request) { r.Model = "n" }),
		"role":          change(func(r *llm.Request) { r.Messages[0].Role = llm.System }),
		"content":       change(func(r *llm.Request) { r.Messages[0].Content = "y" }),
		"messages":      change(func(r *llm.Request) { r.Messages = append(r.Messages, llm.Message{}) }),
		"temperature 0": change(func(r *llm.Request) { r.Temperature = ptr(0.0) }),
		"temperature 1": change(func(r *llm.Request) { r.Temperature = ptr(1.0) }),
		"seed 0":        change(func(r *llm.Request) { r.Seed = ptr(int64(0)) }),
		"max tokens":    change(func(r *llm.Request) { r.MaxTokens = 11 }),
		"schema":        change(func(r *llm.Request) { r.Schema = &llm.Schema{Name: "s", JSON: json.RawMessage(`{}`)} }),
		"schema's text": change(func(r *llm.Request) { r.Schema = &llm.Schema{Name: "s", JSON: json.RawMessage(`{"a":1}`)} }),
		"repeat":        change(func(r *llm.Request) { r.Repeat = 1 }),
		"moved text": change(func(r *llm.Request) {
			r.Messages[0].Role, r.Messages[0].Content = r.Messages[0].Role+"x",
				""
		}),
	}
	texts := map[string]string{}
	for name, r := range requests {
		reply := complete(t, j.Client(&endpoint, "http://a"), r)
		if other, ok := texts[reply.Text]; ok {
			t.Errorf("%s is answered by the reply to %s", name, other)
		}
		texts[reply.Text] = name
	}
	if reply := complete(t, j.Client(&endpoint, "http://b"), base()); reply.Cached {
		t.Error("another endpoint's reply was replayed")
	}
	if reply := complete(t, j.Client(&endpoint, "http://a"),
		change(func(r *llm.Request) { r.Attempt = 1 })); reply.Cached {
		t.Error("the reply to an earlier attempt was replayed")
	}
}

func TestCallThatCannotBeSent(t *testing.T) {
	r := request("x")
	r.Schema = &llm.Schema{JSON: json.RawMessage(`{`)}
	c := open(t, file(t)).Client(&counting{}, "")
	_, err := c.Complete(t.Context(), r)
	_, lookup := c.Lookup(r)
	for _, err := range []error{err, lookup, c.Reject(r, &llm.Reply{})} {
		if llm.KindOf(err) != llm.Refused {
			t.Errorf("got %v, want a refused call", err)
		}
	}
}

// Any bytes come back as they were.
func TestReplyText(t *testing.T) {
	j := open(t, file(t))
	for i, text := range []string{"", "a\x00b", "\xff\xfe", "ü😀", strings.Repeat("long ", 1<<20)} {
		c := j.Client(llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
			return &llm.Reply{Text: text}, nil
		}), "")
		r := request(fmt.Sprint(i))
		complete(t, c, r)
		if got := complete(t, c, r); got.Text != text || !got.Cached {
			t.Errorf("reply %d: %.20q came back as %.20q", i, text, got.Text)
		}
		if err := c.Reject(r, &llm.Reply{Text: text}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Lookup(r); got != nil || err != nil {
			t.Errorf("reply %d is still there after Reject: %v %v", i, got, err)
		}
	}
}

// The replies to attempts 0 and 1 are rejected, that to 2 is good: whoever asks again gets that one and nothing else.
func TestReject(t *testing.T) {
	var endpoint counting
	path := file(t)
	j := open(t, path)
	c := j.Client(&endpoint, "")
	r := request("x")
	for r.Attempt = 0; r.Attempt < 2; r.Attempt++ {
		if err := c.Reject(r, complete(t, c, r)); err != nil {
			t.Fatal(err)
		}
	}
	// Killed here, the chain starts anew: nothing in it was final.
	if got, err := c.Lookup(request("x")); got != nil || err != nil {
		t.Fatalf("a rejected reply is replayed: %+v %v", got, err)
	}
	good := complete(t, c, r)
	closed(t, j)
	c = open(t, path).Client(&endpoint, "")
	if got := complete(t, c, request("x")); got.Text != good.Text || !got.Cached {
		t.Errorf("got %+v, want the replay of %+v", got, good)
	}
	if n := endpoint.calls.Load(); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	// Rejecting what was asked for as attempt 0 rejects the reply that came, whatever its attempt.
	if err := c.Reject(request("x"), good); err != nil {
		t.Fatal(err)
	}
	if got := complete(t, c, request("x")); got.Cached {
		t.Errorf("a rejected reply is replayed: %+v", got)
	}
}

// TestReplayRejected: rejected replies come back to their attempts and cost nothing; a later good one goes before them.
func TestReplayRejected(t *testing.T) {
	var endpoint counting
	j := open(t, file(t))
	c := j.Client(&endpoint, "")
	var texts []string
	r := request("x")
	for r.Attempt = 0; r.Attempt < 2; r.Attempt++ {
		reply := complete(t, c, r)
		texts = append(texts, reply.Text)
		if err := c.Reject(r, reply); err != nil {
			t.Fatal(err)
		}
	}
	again := j.Client(&endpoint, "")
	again.ReplayRejected()
	for attempt, want := range texts {
		r := request("x")
		r.Attempt = attempt
		got := complete(t, again, r)
		if got.Text != want || !got.Cached {
			t.Errorf("attempt %d: %+v, want %q", attempt, got, want)
		}
		if err := again.Reject(r, got); err != nil {
			t.Fatal(err)
		}
	}
	if n := endpoint.calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
	good := complete(t, again, r) // attempt 2
	if got := complete(t, again, request("x")); got.Text != good.Text || endpoint.calls.Load() != 3 {
		t.Errorf("%+v after %d calls, want the replay of %+v", got, endpoint.calls.Load(), good)
	}
}

// Who only counts Attempt up gets of each attempt its own reply, in every run.
func TestAttemptsKeepTheirReplies(t *testing.T) {
	var endpoint counting
	c := open(t, file(t)).Client(&endpoint, "")
	var first []string
	for again := range 2 {
		for attempt := range 3 {
			r := request("x")
			r.Attempt = attempt
			got := complete(t, c, r)
			if again == 0 {
				first = append(first, got.Text)
			} else if got.Text != first[attempt] || !got.Cached {
				t.Errorf("attempt %d: %q, was %q", attempt, got.Text, first[attempt])
			}
		}
	}
	if endpoint.calls.Load() != 3 || first[0] == first[1] || first[1] == first[2] {
		t.Errorf("%d calls with %q, want 3", endpoint.calls.Load(), first)
	}
}

// Two who got the same useless reply both reject it, one after the other has asked again.
func TestRejectTwice(t *testing.T) {
	var endpoint counting
	c := open(t, file(t)).Client(&endpoint, "")
	bad := complete(t, c, request("x"))
	second := request("x")
	second.Attempt = 1
	_ = c.Reject(request("x"), bad)
	good := complete(t, c, second)
	if err := c.Reject(request("x"), bad); err != nil {
		t.Fatal(err)
	}
	if got := complete(t, c, second); got.Text != good.Text || !got.Cached {
		t.Errorf("got %+v, want the replay of %+v", got, good)
	}
}

func TestErrorsAreNotRemembered(t *testing.T) {
	endpoint := counting{hook: func(n int64) error {
		if n == 1 {
			return &llm.Error{Kind: llm.Filtered}
		}
		return nil
	}}
	c := open(t, file(t)).Client(&endpoint, "")
	if _, err := c.Complete(t.Context(), request("x")); llm.KindOf(err) != llm.Filtered {
		t.Fatalf("got %v, want the endpoint's error", err)
	}
	if got := complete(t, c, request("x")); got.Cached {
		t.Error("an error was remembered")
	}
}

func TestEqualCallsInFlight(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	endpoint := counting{hook: func(int64) error { close(arrived); <-answer; return nil }}
	c := open(t, file(t)).Client(&endpoint, "")
	const callers = 20
	var wait sync.WaitGroup
	var made, replayed atomic.Int64
	for range callers {
		wait.Go(func() {
			reply, err := c.Complete(t.Context(), request("x"))
			switch {
			case err != nil || reply.Text != "reply 1":
				t.Errorf("got %+v %v", reply, err)
			case reply.Cached:
				replayed.Add(1)
			default:
				made.Add(1)
			}
		})
	}
	<-arrived
	close(answer)
	wait.Wait()
	if made.Load() != 1 || replayed.Load() != callers-1 {
		t.Errorf("%d made and %d replayed, want 1 and %d", made.Load(), replayed.Load(), callers-1)
	}
}

// The one who makes the call gives up: another makes it, and those who wait do not fail. An error of the call is
// theirs too: it would be paid for by each.
func TestLeaderFails(t *testing.T) {
	left, broken := errors.New("left"), &llm.Error{Kind: llm.Unavailable, Err: errors.New("down")}
	for name, c := range map[string]struct {
		err    error // of the first call; nil: it ends with its context
		second string
		calls  int64
	}{"gives up": {nil, "second", 2}, "fails": {broken, "", 1}} {
		t.Run(name, func(t *testing.T) {
			j := open(t, file(t))
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				var calls atomic.Int64
				client := j.Client(llm.ClientFunc(func(own context.Context, _ *llm.Request) (*llm.Reply, error) {
					if calls.Add(1) > 1 {
						return &llm.Reply{Text: c.second}, nil
					}
					<-ctx.Done()
					return nil, cmp.Or(c.err, context.Cause(own))
				}), "")
				base := ctx
				if c.err != nil {
					base = t.Context()
				}
				var wait sync.WaitGroup
				wait.Go(func() {
					if _, err := client.Complete(base, request("x")); !errors.Is(err, cmp.Or(c.err, left)) {
						t.Errorf("the first got %v", err)
					}
				})
				synctest.Wait()
				wait.Go(func() {
					reply, err := client.Complete(t.Context(), request("x"))
					if !errors.Is(err, c.err) || reply != nil && reply.Text != c.second || reply == nil && c.err == nil {
						t.Errorf("the second got %+v %v", reply, err)
					}
				})
				synctest.Wait() // it waits for the first
				gone, leave := context.WithCancelCause(t.Context())
				leave(left)
				if _, err := client.Complete(gone, request("x")); !errors.Is(err, left) {
					t.Errorf("who leaves while waiting got %v, want the cause", err)
				}
				cancel(left)
				wait.Wait()
				if calls.Load() != c.calls {
					t.Errorf("%d calls, want %d", calls.Load(), c.calls)
				}
			})
		})
	}
}

// What is paid for is kept, also if the caller has left by the time that it comes.
func TestReplyAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	endpoint := counting{hook: func(int64) error { cancel(); return nil }}
	c := open(t, file(t)).Client(&endpoint, "")
	if _, err := c.Complete(ctx, request("x")); err != nil {
		t.Fatal(err)
	}
	if got := complete(t, c, request("x")); !got.Cached {
		t.Error("the reply was not kept")
	}
}

// rounds is how often a test tries random things: n times, or a tenth of that under the race detector, which makes
// SQLite ten times slower, and finds what it looks for in each round.
func rounds(n int) int {
	if underRace || testing.Short() {
		return n / 10
	}
	return n
}
