package llm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
)

func TestRetryIsAClient(t *testing.T) {
	llmtest.TestClient(t, func(_ *testing.T, model llm.Client) llm.Client {
		return llm.Retry(model, llm.DefaultRetryOptions())
	})
}

func TestLimitIsAClient(t *testing.T) {
	for name, o := range map[string]llm.LimitOptions{
		"default": llm.DefaultLimitOptions(), "none": {}, "all": {RPM: 60, TPM: 6000, InFlight: 2},
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestClient(t, func(_ *testing.T, model llm.Client) llm.Client { return llm.Limit(model, o) })
		})
	}
}

func TestRetryAroundLimitIsAClient(t *testing.T) {
	llmtest.TestClient(t, func(_ *testing.T, model llm.Client) llm.Client {
		return llm.Retry(llm.Limit(model, llm.DefaultLimitOptions()), llm.DefaultRetryOptions())
	})
}

// failing answers with the errors given, one a call, and then with a reply.
func failing(faults ...*llm.Error) llmtest.Answer {
	return func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		if n < len(faults) {
			return nil, faults[n]
		}
		return llmtest.Say("Score: 3")(ctx, n, r)
	}
}

func fault(kind llm.Kind, after time.Duration) *llm.Error {
	return &llm.Error{Kind: kind, Status: 500, After: after, Err: errors.New("endpoint llm.test: busy; try later")}
}

func TestRetry(t *testing.T) {
	o := llm.RetryOptions{Attempts: 3, Base: time.Second, Longest: 4 * time.Second, MaxWait: time.Minute}
	transient, wait := fault(llm.Transient, 0), fault(llm.Wait, 0)
	for _, c := range []struct {
		name      string
		faults    []*llm.Error
		calls     int
		from, to  time.Duration // that the pauses take together
		want      llm.Kind
		errorText string
	}{
		{name: "no fault", calls: 1},
		// Pauses are between half and all of 1 s, 2 s, 4 s, 4 s, …
		{name: "one transient", faults: []*llm.Error{transient}, calls: 2, from: time.Second / 2, to: time.Second},
		{name: "two transient", faults: []*llm.Error{transient, transient}, calls: 3, from: 3 * time.Second / 2,
			to: 3 * time.Second},
		{name: "used up", faults: []*llm.Error{transient, transient, transient}, calls: 3, from: 3 * time.Second / 2,
			to: 3 * time.Second, want: llm.Unavailable, errorText: "given up after 3 calls: endpoint llm.test: busy"},
		{name: "refused after transient", faults: []*llm.Error{transient, fault(llm.Refused, 0)}, calls: 2,
			from: time.Second / 2,
			to:   time.Second, want: llm.Refused},
		{name: "budget", faults: []*llm.Error{fault(llm.Budget, 0)}, calls: 1, want: llm.Budget},
		{name: "unavailable", faults: []*llm.Error{fault(llm.Unavailable, 0)}, calls: 1, want: llm.Unavailable},
		// Ten waits of 1 s to 1.25 s each are no three attempts. From the third on the own pause is longer: 2 s to 4 s.
		{name: "waits are not attempts", faults: repeat(fault(llm.Wait, time.Second), 10), calls: 11,
			from: 17 * time.Second, to: 36 * time.Second},
		{name: "waits without a time", faults: []*llm.Error{wait, wait}, calls: 3, from: 3 * time.Second / 2,
			to: 3 * time.Second},
		{name: "a wait as long as allowed", faults: []*llm.Error{fault(llm.Wait, time.Minute)}, calls: 2, from: time.Minute,
			to: 64 * time.Second},
		{name: "a wait too long", faults: []*llm.Error{fault(llm.Wait, time.Hour)}, calls: 1, want: llm.Unavailable,
			errorText: "given up: no call may wait longer than 1m0s: endpoint llm.test: busy"},
		{name: "too many waits", faults: repeat(fault(llm.Wait, 25*time.Second), 10), calls: 3, from: 50 * time.Second,
			to: 58 * time.Second, want: llm.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := llmtest.NewFake(failing(c.faults...))
				start := time.Now()
				reply, err := llm.Retry(model, o).Complete(t.Context(), llmtest.Sample(0))
				if llm.KindOf(err) != c.want || (reply == nil) != (c.want != 0) {
					t.Errorf("reply %v and error %v, want kind %s", reply, err, c.want)
				}
				if err != nil && !strings.Contains(err.Error(), c.errorText) {
					t.Errorf("error %q, want %q in it", err, c.errorText)
				}
				if n := len(model.Calls()); n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
				if took := time.Since(start); took < c.from || took > c.to {
					t.Errorf("took %s, want %s to %s", took, c.from, c.to)
				}
			})
		})
	}
}

func repeat(e *llm.Error, n int) []*llm.Error {
	all := make([]*llm.Error, n)
	for i := range all {
		all[i] = e
	}
	return all
}

func TestRetryPassesErrorsThatHaveNoKind(t *testing.T) {
	odd := errors.New("odd")
	model := llmtest.NewFake(func(context.Context, int, *llm.Request) (*llm.Reply, error) { return nil, odd })
	if _, err := llm.Retry(model, llm.DefaultRetryOptions()).Complete(t.Context(),
		llmtest.Sample(0)); !errors.Is(err, odd) {
		t.Errorf("got %v", err)
	}
	if n := len(model.Calls()); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := llm.Retry(llmtest.NewFake(failing(fault(llm.Wait, time.Minute))), llm.DefaultRetryOptions()).Complete(ctx,
			llmtest.Sample(0))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "busy") {
			t.Errorf("got %v, want the deadline and what it waited for", err)
		}
		if llm.KindOf(err) != 0 {
			t.Errorf("the end of the context has kind %s, want none", llm.KindOf(err))
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("ended after %s, want 10 s", took)
		}
	})
}

// run makes n calls at once and returns how long all took and when each call reached the model.
func run(t *testing.T, n int, client func(llm.Client) llm.Client, answer llmtest.Answer) (time.Duration,
	[]time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var arrived []time.Duration
	start := time.Now()
	c := client(llmtest.NewFake(func(ctx context.Context, i int, r *llm.Request) (*llm.Reply, error) {
		mu.Lock()
		arrived = append(arrived, time.Since(start))
		mu.Unlock()
		return answer(ctx, i, r)
	}))
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			if _, err := c.Complete(t.Context(), llmtest.Sample(i)); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	callers.Wait()
	return time.Since(start), arrived
}

// busiest is the largest number of calls in any minute.
func busiest(arrived []time.Duration) int {
	most, from := 0, 0
	for to := range arrived {
		for arrived[to]-arrived[from] >= time.Minute {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

func TestLimitRPM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, arrived := run(t, 600, func(c llm.Client) llm.Client { return llm.Limit(c, llm.LimitOptions{RPM: 120}) },
			llmtest.Say("Score: 3"))
		if want := 599 * time.Second / 2; took < want-time.Millisecond || took > want+time.Second {
			t.Errorf("600 calls at 120 a minute took %s, want %s: the first starts at once", took, want)
		}
		if n := busiest(arrived); n > 121 {
			t.Errorf("%d calls within one minute, limit 120", n)
		}
	})
}

// The exchanges of one call keep to the rate as well, and each of nested decorators has its say.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llm.ClientFunc(func(ctx context.Context, _ *llm.Request) (*llm.Reply, error) {
			for range 2 {
				if err := llm.Again(ctx); err != nil {
					return nil, err
				}
			}
			return &llm.Reply{Text: "3"}, nil
		})
		asked := 0
		outer := llm.WithAgain(t.Context(), func(context.Context) error { asked++; return nil })
		start := time.Now()
		if _, err := llm.Limit(model, llm.LimitOptions{RPM: 60}).Complete(outer, llmtest.Sample(0)); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 2*time.Second || asked != 2 {
			t.Errorf("three exchanges at 60 a minute took %s, and the outer decorator was asked %d times", took, asked)
		}
		enough := errors.New("enough")
		never := llm.WithAgain(t.Context(), func(context.Context) error { return enough })
		if _, err := llm.Limit(model, llm.LimitOptions{InFlight: 1}).Complete(never,
			llmtest.Sample(0)); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
	})
}

// A call is guessed at its input's bytes / 3 + 64 and uses fewer: the rest has to come back.
func TestLimitTPM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perCall, limit, calls = 50, 6000, 1000
		var used atomic.Int64
		took, arrived := run(t, calls, func(c llm.Client) llm.Client {
			return llm.Limit(c, llm.LimitOptions{TPM: limit, InFlight: 32})
		}, func(_ context.Context, _ int, r *llm.Request) (*llm.Reply, error) {
			used.Add(perCall)
			return &llm.Reply{Text: "3", Usage: llm.Usage{Input: perCall - 1, Output: 1}}, nil
		})
		if n := busiest(arrived) * perCall; n > limit {
			t.Errorf("%d tokens within one minute, limit %d", n, limit)
		}
		if best := time.Duration(used.Load()) * time.Minute / limit; took > best*11/10 {
			t.Errorf("took %s, the limit allows %s", took, best)
		}
	})
}

func TestLimitTPMWithoutUsageGoesByTheGuess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := llmtest.Sample(0)
		guess := (len(request.Messages[0].Content)+len("Row 0")+len(request.Schema.JSON))/3 + request.MaxTokens
		took, _ := run(t, 10, func(c llm.Client) llm.Client { return llm.Limit(c, llm.LimitOptions{TPM: 60 * guess}) },
			func(context.Context, int, *llm.Request) (*llm.Reply, error) { return &llm.Reply{Text: "3"}, nil })
		// 2 s of tokens are there at once, the other 8 s come at 58/60 of the rate.
		if want := 8 * 60 * time.Second / 58; took < want-time.Second/10 || took > want+time.Second/10 {
			t.Errorf("took %s, want about %s", took, want)
		}
	})
}

func TestLimitLargeCallGetsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, _ := run(t, 1, func(c llm.Client) llm.Client { return llm.Limit(c, llm.LimitOptions{TPM: 30}) },
			func(context.Context, int, *llm.Request) (*llm.Reply, error) { return &llm.Reply{Text: "3"}, nil })
		if took < time.Minute || took > 5*time.Minute {
			t.Errorf("a call of some 80 tokens at 30 a minute took %s", took)
		}
	})
}

func TestLimitInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
			<-time.After(time.Second)
			return llmtest.Say("3")(ctx, n, r)
		})
		took, _ := run(t, 20, func(llm.Client) llm.Client { return llm.Limit(model, llm.LimitOptions{InFlight: 4}) }, nil)
		if model.Peak() != 4 || took != 5*time.Second {
			t.Errorf("20 calls of 1 s, 4 in flight: %s with %d in flight, want 5 s", took, model.Peak())
		}
	})
}

// The first call is told to wait; no other starts before, those that queue for a place or a rate included.
func TestAWaitStopsEverybody(t *testing.T) {
	for name, o := range map[string]llm.LimitOptions{
		"in flight": {InFlight: 1}, "rate": {RPM: 600}, "both": {RPM: 600, TPM: 60000, InFlight: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, arrived := run(t, 30, func(c llm.Client) llm.Client {
					return llm.Retry(llm.Limit(c, o), llm.DefaultRetryOptions())
				}, failing(fault(llm.Wait, 20*time.Second)))
				if len(arrived) != 31 {
					t.Errorf("%d calls, want 30 and one again", len(arrived))
				}
				if arrived[1] < 20*time.Second {
					t.Errorf("a call started after %s, before the 20 s had passed", arrived[1])
				}
			})
		})
	}
}

// A wait that is longer than Retry allows fails each call, rather than hold all but the first until it is over.
func TestAWaitTooLongHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewFake(failing(fault(llm.Wait, 24*time.Hour)))
		c := llm.Retry(llm.Limit(model, llm.LimitOptions{InFlight: 1}), llm.DefaultRetryOptions())
		start := time.Now()
		for i := range 3 {
			if _, err := c.Complete(t.Context(), llmtest.Sample(i)); llm.KindOf(err) != llm.Unavailable {
				t.Errorf("call %d: %v, want it given up", i, err)
			}
		}
		if took := time.Since(start); took > time.Hour || len(model.Calls()) != 1 {
			t.Errorf("took %s and %d calls, want 1 and none that waits a day", took, len(model.Calls()))
		}
		<-time.After(25 * time.Hour)
		if _, err := c.Complete(t.Context(), llmtest.Sample(3)); err != nil {
			t.Errorf("a day later: %v", err)
		}
	})
}

func TestAWaitWithoutATimeStopsEverybodyForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, arrived := run(t, 5, func(c llm.Client) llm.Client {
			return llm.Retry(llm.Limit(c, llm.LimitOptions{InFlight: 1}), llm.DefaultRetryOptions())
		}, failing(fault(llm.Wait, 0)))
		if arrived[1] < time.Second {
			t.Errorf("the second call started after %s, want 1 s or more", arrived[1])
		}
	})
}

// A limiter that is left must not have counted the call that was never made.
func TestLimitGivesBackWhatWasNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewFake(llmtest.Say("3"))
		client := llm.Limit(model, llm.LimitOptions{RPM: 1, InFlight: 1})
		complete := func(patience time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := client.Complete(ctx, llmtest.Sample(0))
			return err
		}
		if err := complete(time.Second); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := complete(time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v, want the deadline", err)
			}
		}
		if err := complete(time.Minute); err != nil {
			t.Errorf("calls that never started were counted: %v", err)
		}
	})
}

func TestOptionsNameTheirFaults(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{llm.DefaultLimitOptions().Validate(), nil},
		{llm.LimitOptions{}.Validate(), nil},
		{llm.LimitOptions{RPM: -1, TPM: -2, InFlight: -3}.Validate(),
			[]string{"-1 calls per minute", "-2 tokens per minute", "-3 calls in flight"}},
	} {
		if (c.err == nil) != (c.want == nil) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
		for _, want := range c.want {
			if !strings.Contains(c.err.Error(), want) {
				t.Errorf("%q is not in %q", want, c.err)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&llm.Error{Kind: llm.Wait, Status: 429}, "call failed (wait): 429 Too Many Requests"},
		{&llm.Error{Kind: llm.Budget}, "call failed (budget)"},
		{&llm.Error{Kind: llm.Kind(99)}, "call failed (Kind(99))"},
		{&llm.Error{Kind: llm.Auth, Err: errors.New("text")}, "text"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := llm.KindOf(errors.New("x")); got != 0 {
		t.Errorf("kind %s of an error without one", got)
	}
}

// Between the halves of a Limiter calls can be written down while others are at the endpoint: there are never more
// than InFlight there, and half as many again begun.
func TestLimiterHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const inFlight, calls = 4, 40
		var there, begun, most, mostBegun atomic.Int64
		count := func(n, most *atomic.Int64, c llm.Client) llm.Client {
			return llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
				most.Store(max(most.Load(), n.Add(1)))
				defer n.Add(-1)
				<-time.After(time.Second)
				return c.Complete(ctx, r)
			})
		}
		l := llm.NewLimiter(llm.LimitOptions{InFlight: inFlight})
		endpoint := count(&there, &most, llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply,
			error) {
			return &llm.Reply{}, nil
		}))
		client := l.LimitRates(count(&begun, &mostBegun, l.LimitInFlight(endpoint)))
		start := time.Now()
		var wait sync.WaitGroup
		for n := range calls {
			wait.Go(func() {
				if _, err := client.Complete(t.Context(), llmtest.Sample(n)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if most.Load() != inFlight || mostBegun.Load() != inFlight*3/2 {
			t.Errorf("%d at the endpoint and %d begun; want %d and %d", most.Load(), mostBegun.Load(), inFlight, inFlight*3/2)
		}
		// Each takes a second at the endpoint and one before; six begun, of which four may be there, make three a
		// second.
		if took := time.Since(start); took > (calls/3+2)*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A call on its way to the endpoint when another one hears Wait is held back, and is ErrUnsent where its caller
// leaves, or where the pause is long.
func TestPlaceHeedsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pause := 10 * time.Second
		endpoint := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
			return nil, &llm.Error{Kind: llm.Wait, After: pause, Err: errors.New("slower")}
		})
		client := llm.NewLimiter(llm.LimitOptions{InFlight: 2}).LimitInFlight(endpoint)
		start := time.Now()
		if _, err := client.Complete(t.Context(), llmtest.Sample(0)); errors.Is(err, llm.ErrUnsent) ||
			llm.KindOf(err) != llm.Wait {
			t.Errorf("got %v from the endpoint", err)
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := client.Complete(ctx, llmtest.Sample(1)); !errors.Is(err, llm.ErrUnsent) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the call unsent", err)
		}
		pause = time.Hour
		if _, err := client.Complete(t.Context(), llmtest.Sample(2)); errors.Is(err, llm.ErrUnsent) ||
			time.Since(start) < 10*time.Second {
			t.Errorf("got %v after %v, want the endpoint's word after the pause", err, time.Since(start))
		}
		if _, err := client.Complete(t.Context(), llmtest.Sample(3)); !errors.Is(err, llm.ErrUnsent) ||
			llm.KindOf(err) != llm.Wait {
			t.Errorf("got %v, want the call unsent", err)
		}
	})
}
