package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/erreval/erreval/llm"
)

func meter(t testing.TB, j *Journal, next llm.Client, b Budget, p *Prices) *Meter {
	t.Helper()
	m, err := j.Meter(next, b, p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func prices(currency string, p Price) *Prices {
	return &Prices{Currency: currency, Models: map[string]Price{"m": p}}
}

func spent(t testing.TB, j *Journal) Spent {
	t.Helper()
	s, err := j.Spent()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func answer(u llm.Usage) llm.Client {
	return llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		return &llm.Reply{Text: "x", Usage: u}, nil
	})
}

func silent(u llm.Usage) llm.Client {
	return llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) { return &llm.Reply{Usage: u}, nil })
}

func failing(err error) llm.Client {
	return llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) { return nil, err })
}

func TestWorstCase(t *testing.T) {
	r := request("twelve bytes")
	r.Schema = &llm.Schema{Name: "nm", JSON: []byte(`{"a":1}`)}
	// 128 + (4 "user" + 12 + 16) + (2 + 7)
	if got := WorstCase(r); got != (llm.Usage{Input: 169, Output: 10}) {
		t.Errorf("got %+v", got)
	}
}

func TestBudgetValidate(t *testing.T) {
	if err := (Budget{}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (Budget{ptr(0.0), ptr(int64(0)), ptr(int64(0))}).Validate(); err != nil {
		t.Error(err)
	}
	err := Budget{ptr(-1.0), ptr(int64(-2)), ptr(int64(-3))}.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three faults", err)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), 2e9} {
		if (Budget{MaxCost: &x}).Validate() == nil {
			t.Errorf("a limit of %g is taken", x)
		}
	}
	j := open(t, file(t))
	if _, err := j.Meter(nil, Budget{MaxCost: ptr(-1.0)}, prices("USD", Price{})); err == nil {
		t.Error("a faulty budget is taken")
	}
	if _, err := j.Meter(nil, Budget{MaxCost: ptr(1.0)}, nil); err == nil || !strings.Contains(err.Error(), "price file") {
		t.Errorf("got %v for a limit of the cost without prices", err)
	}
}

// What is charged for each way a call may end. The request reserves 128 + 4 + 1 + 16 = 149 and 10 tokens.
func TestCharges(t *testing.T) {
	worst := Spent{Calls: 1, Input: 149, Output: 10}
	free := Spent{Calls: 1}
	fail := func(e llm.Error) llm.Client { e.Err = errors.New("x"); return failing(&e) }
	for name, c := range map[string]struct {
		next llm.Client
		want Spent
	}{
		"reported":          {answer(llm.Usage{Input: 70, Output: 3}), Spent{Calls: 1, Input: 70, Output: 3}},
		"empty reply":       {silent(llm.Usage{Input: 70}), Spent{Calls: 1, Input: 70}},
		"output missing":    {answer(llm.Usage{Input: 70}), Spent{Calls: 1, Input: 70, Output: 10}},
		"not reported":      {answer(llm.Usage{}), worst},
		"input missing":     {answer(llm.Usage{Output: 4}), Spent{Calls: 1, Input: 149, Output: 4}},
		"nonsense":          {answer(llm.Usage{Input: -5, Output: -5}), worst},
		"time-out":          {fail(llm.Error{Kind: llm.Transient}), worst},
		"cut":               {fail(llm.Error{Kind: llm.Transient, Status: 200}), worst},
		"cancelled":         {failing(context.Canceled), worst},
		"bad gateway":       {fail(llm.Error{Kind: llm.Transient, Status: 502}), worst},
		"request time-out":  {fail(llm.Error{Kind: llm.Transient, Status: 408}), worst},
		"client closed":     {fail(llm.Error{Kind: llm.Transient, Status: 499}), worst},
		"Cloudflare":        {fail(llm.Error{Kind: llm.Transient, Status: 524}), worst},
		"gateway":           {fail(llm.Error{Kind: llm.Transient, Status: 504}), worst},
		"unknown":           {failing(io.ErrUnexpectedEOF), worst},
		"server error":      {fail(llm.Error{Kind: llm.Transient, Status: 500}), free},
		"rate limit":        {fail(llm.Error{Kind: llm.Wait, Status: 429}), free},
		"refused":           {fail(llm.Error{Kind: llm.Refused, Status: 400}), free},
		"filtered":          {fail(llm.Error{Kind: llm.Filtered}), free},
		"refused here":      {fail(llm.Error{Kind: llm.Refused}), Spent{}},
		"never sent":        {failing(errors.Join(llm.ErrUnsent, context.Canceled)), Spent{}},
		"nobody listening":  {failing(&llm.Error{Kind: llm.Transient, Err: &net.OpError{Op: "dial"}}), Spent{}},
		"connection broken": {failing(&llm.Error{Kind: llm.Transient, Err: &net.OpError{Op: "read"}}), worst},
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, file(t))
			m := meter(t, j, c.next, Budget{}, prices("USD", Price{1000, 2000}))
			_, failed := m.Complete(t.Context(), request("x"))
			_, wanted := c.next.Complete(t.Context(), nil)
			if !errors.Is(failed, wanted) {
				t.Errorf("got %v, want the endpoint's error %v", failed, wanted)
			}
			c.want.Cost = float64(1000*c.want.Input+2000*c.want.Output) / 1e6
			c.want.Currency = "USD"
			if got := spent(t, j); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			other := meter(t, j, c.next, Budget{}, prices("USD", Price{1000, 2000}))
			c.want.Currency = ""
			if c.want.Input == worst.Input || c.want.Output == worst.Output { // no reply says it
				c.want.Guessed = 1
			}
			if got := m.Used(request("x").Model); got != c.want || other.Used(request("x").Model) != (Spent{}) {
				t.Errorf("through this meter %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestMaxTokensIsNeeded(t *testing.T) {
	var endpoint counting
	m := meter(t, open(t, file(t)), &endpoint, Budget{}, nil)
	for _, n := range []int{-1, 0, math.MaxInt} {
		r := request("x")
		if r.MaxTokens = n; n < 0 {
			r.MaxTokens = 0
		}
		if _, err := m.Complete(t.Context(), r); llm.KindOf(err) != llm.Refused {
			t.Errorf("MaxTokens %d: got %v", n, err)
		}
	}
	if n := endpoint.calls.Load(); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// Exchanges in which a client learns what the endpoint rejects are calls, too.
func TestFurtherExchanges(t *testing.T) {
	for allowed, want := range map[int64]Spent{
		2: {Calls: 2},
		3: {Calls: 3, Input: 7, Output: 3, UnpricedInput: 7, UnpricedOut: 3},
	} {
		j := open(t, file(t))
		made := int64(1)
		m := meter(t, j, llm.ClientFunc(func(ctx context.Context, _ *llm.Request) (*llm.Reply, error) {
			for ; made < 3; made++ {
				if err := llm.Again(ctx); err != nil {
					return nil, err
				}
			}
			return &llm.Reply{Text: "3", Usage: llm.Usage{Input: 7, Output: 3}}, nil
		}), Budget{MaxCalls: &allowed}, nil)
		_, err := m.Complete(t.Context(), request("x"))
		if refused := llm.KindOf(err) == llm.Budget; made != allowed || refused != (allowed < 3) {
			t.Errorf("%d allowed: %d made, %v", allowed, made, err)
		}
		if got := spent(t, j); got != want {
			t.Errorf("%d allowed: got %+v, want %+v", allowed, got, want)
		}
	}
}

// Each limit allows the calls whose worst case fits beside what was used, over two openings of the file.
func TestLimits(t *testing.T) {
	// A call reserves 159 tokens and 149 x 1e-3 + 10 x 2e-3 = 0.169; it uses 10 tokens and 7e-3 + 6e-3 = 0.013.
	for name, c := range map[string]struct {
		budget Budget
		want   int64
		text   string
	}{
		"calls": {Budget{MaxCalls: ptr(int64(5))}, 5, "5 of 5 calls are made"},
		"tokens": {Budget{MaxTokens: ptr(int64(159 + 40))}, 5,
			"50 of 199 tokens are used or reserved, and the call may use 159"},
		"one short": {Budget{MaxTokens: ptr(int64(159 + 39))}, 4, "40 of 198 tokens"},
		"cost": {Budget{MaxCost: ptr(0.169 + 4*0.013)}, 5,
			"0.065 of 0.221 USD are spent or reserved, and the call may cost 0.169"},
		"cost short": {Budget{MaxCost: ptr(0.169 + 4*0.013 - 1e-6)}, 4, "0.052 of 0.220999 USD"},
		"nothing":    {Budget{MaxCalls: ptr(int64(0))}, 0, "0 of 0 calls"},
		"no cost":    {Budget{MaxCost: ptr(0.0)}, 0, "0 of 0 USD"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			var endpoint counting
			var err error
			for range 2 {
				j := open(t, path)
				m := meter(t, j, &endpoint, c.budget, prices("USD", Price{1000, 2000}))
				for n := 0; err == nil && n < 3 || n == 0; n++ {
					_, err = m.Complete(t.Context(), request("x"))
				}
				closed(t, j)
			}
			if n := endpoint.calls.Load(); n != c.want {
				t.Errorf("%d calls, want %d", n, c.want)
			}
			if llm.KindOf(err) != llm.Budget || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %q", err, c.text)
			}
		})
	}
}

func TestLimitsThatDoNotHold(t *testing.T) {
	var endpoint counting
	m := meter(t, open(t, file(t)), &endpoint, Budget{}, nil)
	for range 10 {
		complete(t, m, request("x"))
	}
}

// A replay costs nothing, also when the budget is used up.
func TestReplayIsFree(t *testing.T) {
	var endpoint counting
	j := open(t, file(t))
	c := j.Client(meter(t, j, &endpoint, Budget{MaxCalls: ptr(int64(1))}, nil), "")
	complete(t, c, request("x"))
	complete(t, c, request("x"))
	if _, err := c.Complete(t.Context(), request("y")); llm.KindOf(err) != llm.Budget {
		t.Errorf("got %v, want the budget's end", err)
	}
}

// A call that is lost in a crash stays charged at its reservation.
func TestLostCall(t *testing.T) {
	path := file(t)
	j := open(t, path)
	func() {
		defer func() { _ = recover() }()
		m := meter(t, j, llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) { panic("killed") }),
			Budget{}, nil)
		_, _ = j.Client(m, "").Complete(t.Context(), request("x"))
	}()
	closed(t, j)
	j = open(t, path)
	want := Spent{Calls: 1, Open: 1, Input: 149, Output: 10, UnpricedInput: 149, UnpricedOut: 10}
	if got := spent(t, j); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := meter(t, j, &counting{}, Budget{MaxTokens: ptr(int64(317))}, nil).Complete(t.Context(),
		request("x")); llm.KindOf(err) != llm.Budget {
		t.Errorf("got %v, want no room beside the lost call", err)
	}
	complete(t, meter(t, j, &counting{}, Budget{MaxTokens: ptr(int64(318))}, nil), request("x"))
}

// A budget with room for one reservation makes all calls one after the other; it does not refuse those that wait.
func TestWaitForRoom(t *testing.T) {
	var flying, calls atomic.Int64
	endpoint := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		if n := flying.Add(1); n > 1 {
			t.Errorf("%d calls in flight", n)
		}
		calls.Add(1)
		flying.Add(-1)
		return &llm.Reply{Usage: llm.Usage{Input: 1}}, nil
	})
	const n = 50
	m := meter(t, open(t, file(t)), endpoint, Budget{MaxTokens: ptr(int64(159 + n - 1))}, nil)
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			if _, err := m.Complete(t.Context(), request("x")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if _, err := m.Complete(t.Context(), request("x")); llm.KindOf(err) != llm.Budget || calls.Load() != n {
		t.Errorf("%d calls, then %v; want %d and the budget's end", calls.Load(), err, n)
	}
}

// Whoever waits for room leaves with its context, and is told why.
func TestWaitIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	arrived := make(chan struct{})
	m := meter(t, open(t, file(t)), llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		close(arrived)
		<-ctx.Done()
		return &llm.Reply{}, nil
	}), Budget{MaxCalls: ptr(int64(1))}, nil)
	var wait sync.WaitGroup
	wait.Go(func() { complete(t, m, request("x")) })
	<-arrived
	wait.Go(func() {
		if _, err := m.Complete(ctx, request("x")); !errors.Is(err, left) && llm.KindOf(err) != llm.Budget {
			t.Errorf("got %v", err)
		}
	})
	cancel(left)
	wait.Wait()
	if s := spent(t, m.journal); s.Calls != 1 || s.Open != 0 {
		t.Errorf("%+v, want one call", s)
	}
	if _, err := m.Complete(ctx, request("x")); err == nil {
		t.Error("a call was made after the context's end")
	}
}

// A call that is over before it is made costs nothing.
func TestCancelledBeforeTheCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	cancel(left)
	var endpoint counting
	j := open(t, file(t))
	if _, err := meter(t, j, &endpoint, Budget{}, nil).Complete(ctx, request("x")); !errors.Is(err, left) {
		t.Errorf("got %v, want the cause", err)
	}
	if s := spent(t, j); s != (Spent{}) || endpoint.calls.Load() != 0 {
		t.Errorf("%+v and %d calls, want none", s, endpoint.calls.Load())
	}
}

// A call that used more than the worst case is good and recorded, and the last one where that matters.
func TestOverrun(t *testing.T) {
	for name, c := range map[string]struct {
		budget Budget
		want   llm.Kind
	}{
		"tokens": {Budget{MaxTokens: ptr(int64(1e6))}, llm.Budget},
		"cost":   {Budget{MaxCost: ptr(1e6)}, llm.Budget},
		"calls":  {Budget{MaxCalls: ptr(int64(9))}, 0},
		"none":   {Budget{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t)
			j := open(t, path)
			m := meter(t, j, answer(llm.Usage{Input: 149, Output: 11}), c.budget, prices("USD", Price{1, 1}))
			complete(t, m, request("x"))
			if s := spent(t, j); s.Overruns != 1 || s.Input != 149 || s.Output != 11 {
				t.Errorf("recorded %+v", s)
			}
			_, err := m.Complete(t.Context(), request("y"))
			if llm.KindOf(err) != c.want || err != nil && !strings.Contains(err.Error(), "limited to 159 tokens and used 160") {
				t.Errorf("got %v, want %v", err, c.want)
			}
			closed(t, j)
			complete(t, meter(t, open(t, path), answer(llm.Usage{Input: 1}), c.budget, prices("USD", Price{1, 1})), request("x"))
		})
	}
}

// Absurd figures neither wrap around nor open the budget.
func TestAbsurdUsage(t *testing.T) {
	j := open(t, file(t))
	for range 5 {
		complete(t, meter(t, j, answer(llm.Usage{Input: math.MaxInt, Output: math.MaxInt}), Budget{},
			prices("USD", Price{1e6, 1e6})), request("x"))
	}
	m := meter(t, j, &counting{}, Budget{MaxCost: ptr(1e9), MaxTokens: ptr(int64(1e9))}, prices("USD", Price{1, 1}))
	if _, err := m.Complete(t.Context(), request("x")); llm.KindOf(err) != llm.Budget {
		t.Errorf("got %v, want the budget's end; spent %+v", err, spent(t, j))
	}
}

// Calls made without a price are priced once there is one; until then a limit of the cost cannot hold.
func TestUnpricedCalls(t *testing.T) {
	j := open(t, file(t))
	complete(t, meter(t, j, answer(llm.Usage{Input: 100, Output: 10}), Budget{}, nil), request("x"))
	other := request("x")
	other.Model = "n"
	list := &Prices{Currency: "USD", Models: map[string]Price{"n": {1000, 1000}}}
	m := meter(t, j, &counting{}, Budget{MaxCost: ptr(1.0)}, list)
	for _, r := range []*llm.Request{request("y"), other} {
		if _, err := m.Complete(t.Context(), r); llm.KindOf(err) != llm.Budget || !strings.Contains(err.Error(),
			"calls of m are made, whose price is unknown") {
			t.Errorf("got %v", err)
		}
	}
	list.Models["m"] = Price{8500, 0} // 0.85 are spent, 0.159 may follow
	if _, err := m.Complete(t.Context(), other); llm.KindOf(err) != llm.Budget || !strings.Contains(err.Error(),
		"0.85 of 1 USD") {
		t.Errorf("got %v, want no room beside 0.85", err)
	}
	list.Models["m"] = Price{8000, 0}
	complete(t, m, other)
}

func TestCurrency(t *testing.T) {
	j := open(t, file(t))
	meter(t, j, nil, Budget{}, prices("USD", Price{1, 1}))
	complete(t, meter(t, j, &counting{}, Budget{}, prices("EUR", Price{1, 1})), request("x")) // nothing was spent in USD
	if _, err := j.Meter(nil, Budget{}, prices("USD", Price{1, 1})); err == nil || !strings.Contains(err.Error(),
		"in EUR, the price list is in USD; use a price list in EUR") {
		t.Errorf("got %v", err)
	}
	if s := spent(t, j); s.Currency != "EUR" {
		t.Errorf("currency %q", s.Currency)
	}
}

// truth is what an endpoint knows of its calls, whatever becomes of those who made them.
type truth struct {
	mu            sync.Mutex
	calls, tokens int64
	cost          float64
}

func (e *truth) bill(p Price, u llm.Usage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	e.tokens += int64(u.Input + u.Output)
	e.cost += p.Cost(u)
}

// 1,000 runs with random budgets, usages, faults, crashes at random moments and resumes: the endpoint's own books
// never show more than the budget, and neither does the journal's sum.
func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	runs := rounds(1000)
	dir := t.TempDir()
	var lives, crashes, stopped int
	for seed := range runs {
		r := randomRun{t: t, Rand: rand.New(rand.NewPCG(uint64(seed), 6)), path: fmt.Sprintf("%s/%d", dir, seed)}
		r.run()
		lives, crashes, stopped = lives+r.lives, crashes+r.crashes, stopped+r.stopped
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, r.budget)
		}
	}
	t.Logf("%d runs with %d starts, %d crashes; %d starts ended on the budget", runs, lives, crashes, stopped)
	if crashes < runs/2 || stopped < runs/2 {
		t.Error("the runs are not what this test is about")
	}
}

type randomRun struct {
	t *testing.T
	*rand.Rand
	path                    string
	price                   Price
	budget                  Budget
	truth                   truth
	lives, crashes, stopped int
}

func (r *randomRun) run() {
	r.price = Price{r.Float64() * 10, r.Float64() * 50}
	r.budget = Budget{}
	worst := WorstCase(request("x"))
	size := 1 + 20*r.Float64() // the budget in worst cases
	for r.budget == (Budget{}) {
		if r.IntN(2) == 0 {
			r.budget.MaxCost = ptr(size * r.price.Cost(worst))
		}
		if r.IntN(2) == 0 {
			r.budget.MaxTokens = ptr(int64(size * float64(worst.Input+worst.Output)))
		}
		if r.IntN(3) == 0 {
			r.budget.MaxCalls = ptr(int64(size))
		}
	}
	for range 1 + r.IntN(3) {
		r.life()
	}
}

// life is one process: workers that call until the budget ends, or a crash.
func (r *randomRun) life() {
	r.lives++
	j, err := openWith(r.path, "OFF") // the machine does not die here, and 1,000 files wait long for a disk
	if err != nil {
		r.t.Fatal(err)
	}
	defer j.Close()
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	var crash int64 = -1
	if r.IntN(3) > 0 {
		crash = r.Int64N(20)
	}
	random := make(chan float64, 1000) // the source is not for several goroutines
	for range cap(random) {
		random <- r.Float64()
	}
	var calls atomic.Int64
	endpoint := llm.ClientFunc(func(_ context.Context, q *llm.Request) (*llm.Reply, error) {
		worst := WorstCase(q)
		u := llm.Usage{Input: int(<-random * float64(worst.Input+1)), Output: int(<-random * float64(worst.Output+1))}
		r.truth.bill(r.price, u)
		if calls.Add(1) == crash {
			j.store.writing.Lock() // from here on nothing reaches the file
			_ = j.store.begin.Close()
			j.store.writing.Unlock()
			kill()
		}
		switch x := <-random; {
		case x < 0.1:
			return nil, &llm.Error{Kind: llm.Transient}
		case x < 0.2:
			return &llm.Reply{}, nil
		}
		return &llm.Reply{Usage: u}, nil
	})
	var ended atomic.Bool
	r.work(ctx, j.Client(meter(r.t, j, endpoint, r.budget, prices("USD", r.price)), ""), &ended)
	if crash >= 0 && calls.Load() >= crash {
		r.crashes++
	}
	if ended.Load() {
		r.stopped++
	}
	r.check()
}

func (r *randomRun) work(ctx context.Context, c llm.Client, ended *atomic.Bool) {
	var wait sync.WaitGroup
	for worker := range 1 + r.IntN(6) {
		wait.Go(func() {
			for n := range 40 {
				text := fmt.Sprint(r.lives, worker, n)
				if n%5 == 0 { // equal to those of other workers and lives
					text = fmt.Sprint(n)
				}
				_, err := c.Complete(ctx, request(text))
				switch kind := llm.KindOf(err); {
				case kind == llm.Budget:
					ended.Store(true)
					return
				case kind == llm.Broken || ctx.Err() != nil:
					return
				}
			}
		})
	}
	wait.Wait()
}

func (r *randomRun) check() {
	j, err := openWith(r.path, "OFF") // the machine does not die here, and 1,000 files wait long for a disk
	if err != nil {
		r.t.Fatal(err)
	}
	defer j.Close()
	s := spent(r.t, j)
	b, e := r.budget, &r.truth
	if b.MaxCost != nil && (e.cost > *b.MaxCost+1e-9 || s.Cost > *b.MaxCost+1e-9) {
		r.t.Errorf("cost %g, journal %g, limit %g", e.cost, s.Cost, *b.MaxCost)
	}
	if b.MaxTokens != nil && (e.tokens > *b.MaxTokens || s.Input+s.Output > *b.MaxTokens) {
		r.t.Errorf("%d tokens, journal %d, limit %d", e.tokens, s.Input+s.Output, *b.MaxTokens)
	}
	if b.MaxCalls != nil && (e.calls > *b.MaxCalls || s.Calls > *b.MaxCalls) {
		r.t.Errorf("%d calls, journal %d, limit %d", e.calls, s.Calls, *b.MaxCalls)
	}
	if s.Calls < e.calls || s.Cost < e.cost-1e-9 || s.Input+s.Output < e.tokens {
		r.t.Errorf("the journal %+v has less than the endpoint: %d calls, %d tokens, %g", s, e.calls, e.tokens, e.cost)
	}
}
