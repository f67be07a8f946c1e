package journal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/erreval/erreval/llm"
)

// Meter keeps the budget: it reserves the worst case of each call in the journal before the call, and replaces it by
// what was used. See Journal.Meter.
type Meter struct {
	journal *Journal
	next    llm.Client
	budget  Budget
	prices  *Prices

	mu   sync.Mutex
	used map[string]*account // by model; finished calls
}

var _ llm.Client = (*Meter)(nil)

// Used is what the finished calls of model through m have used. Other users of the journal do not count.
func (m *Meter) Used(model string) Spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.used[model]; a != nil {
		return a.toSpent()
	}
	return Spent{}
}

func (m *Meter) addUsed(model string, a account) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used[model] == nil {
		m.used[model] = &account{}
	}
	m.used[model].addAccount(a)
}

// Meter decorates next, the endpoint's client, or the client that llm.Limiter.LimitInFlight gives. A call that would
// exceed the budget is not made and fails with llm.Budget. If the budget may suffice once others in flight are settled,
// the call waits for them. The price list may be nil if b does not limit the cost. All Meters of a journal count the
// same costs; each has its own limits.
//
// A call is charged the usage that the endpoint reports. It is charged the worst case if the endpoint reports none, or
// if its usage is unknown (time-out, cut reply, gateway fault, crash); and nothing if the endpoint refused it or it did
// not reach the endpoint. If a call used more than its worst case and cost or tokens are limited, it is the last one:
// its reply is good, but the limits cannot be kept.
func (j *Journal) Meter(next llm.Client, b Budget, prices *Prices) (*Meter, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	if b.MaxCost != nil && prices == nil {
		return nil, errors.New("a limit of the cost needs prices; give a price file")
	}
	if prices != nil {
		if err := j.setCurrency(prices.Currency); err != nil {
			return nil, err
		}
	}
	return &Meter{journal: j, next: next, budget: b, prices: prices, used: map[string]*account{}}, nil
}

const readCurrency = "SELECT coalesce(max(value), '') FROM setting WHERE name = 'currency'"

func (j *Journal) currency() (string, error) {
	var c string
	err := j.store.reader.QueryRowContext(background, readCurrency).Scan(&c)
	if err != nil {
		return "", explainFault(j.path, err)
	}
	return c, nil
}

// setCurrency makes c the journal's currency if it holds no cost yet: costs in different currencies have no sum.
func (j *Journal) setCurrency(c string) error {
	if err := j.store.writeChange(change{apply: func(t *transaction) error {
		_, err := t.conn.ExecContext(background, `INSERT INTO setting VALUES ('currency', ?, ?)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value, checksum = excluded.checksum
			WHERE NOT EXISTS (SELECT 1 FROM account WHERE cost > 0)`, c, settingChecksum("currency", c))
		return err
	}}); err != nil {
		return explainFault(j.path, err)
	}
	was, err := j.currency()
	if err == nil && was != c {
		err = fmt.Errorf("journal %s: its costs are in %s, the price list is in %s; use a price list in %[2]s, "+
			"or another journal", j.path, was, c)
	}
	return err
}

// maxTokens limits what a call may ask for and what an endpoint may report, so that sums fit in 64 bits.
const maxTokens = math.MaxInt32

// Complete makes the call within the budget.
func (m *Meter) Complete(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
	if r.MaxTokens <= 0 || r.MaxTokens > maxTokens {
		return nil, &llm.Error{Kind: llm.Refused,
			Err: fmt.Errorf("a call is limited to 1 to %d tokens of output; got %d", maxTokens, r.MaxTokens)}
	}
	if _, priced := m.priceOf(r.Model); m.budget.MaxCost != nil && !priced {
		return nil, &llm.Error{Kind: llm.Budget, Err: noPrice(r.Model)}
	}
	worst := WorstCase(r)
	reserved := m.chargeFor(r.Model, worst)
	note, _ := ctx.Value(memoKey{}).(*memo)
	if note != nil && note.journal != m.journal {
		note = nil
	}
	if err := m.reserveBudget(ctx, r.Model, reserved, note); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), m.settleBudget(r.Model, reserved, account{}, nil))
	}
	reply, err := m.next.Complete(llm.WithAgain(ctx, func(context.Context) error { return m.countExchange(r.Model) }), r)
	var storeReply func(*transaction) error
	if err == nil && note != nil {
		storeReply = func(t *transaction) error { return note.storeReply(t, reply) }
	}
	used := m.chargeOutcome(r.Model, worst, reply, err)
	if fault := m.settleBudget(r.Model, reserved, used, storeReply); fault != nil {
		return nil, errors.Join(fault, err)
	}
	m.addUsed(r.Model, used)
	if storeReply != nil {
		note.kept = true
	}
	return reply, err
}

// countExchange counts a further exchange of a call that the endpoint refused before.
func (m *Meter) countExchange(model string) error {
	var refused error
	err := m.journal.store.writeChange(change{apply: func(t *transaction) (err error) {
		if refused, err = m.findRefusal(t, model, account{}); err != nil || refused != nil {
			return err
		}
		return t.chargeAccount(model, account{calls: 1})
	}})
	if err != nil {
		return m.journal.brokenError(err)
	}
	if refused != nil {
		return &llm.Error{Kind: llm.Budget, Err: refused}
	}
	m.addUsed(model, account{calls: 1})
	return nil
}

// chargeFor is the account of one call of model with usage u.
func (m *Meter) chargeFor(model string, u llm.Usage) account {
	a := account{calls: 1, input: int64(u.Input), output: int64(u.Output)}
	if price, ok := m.priceOf(model); ok {
		a.cost = billionths(price.Cost(u))
	} else {
		a.unpricedInput, a.unpricedOutput = a.input, a.output
	}
	return a
}

func (m *Meter) priceOf(model string) (Price, bool) {
	if m.prices == nil {
		return Price{}, false
	}
	p, ok := m.prices.Models[model]
	return p, ok
}

// billionths rounds up, so that a sum is never below the true cost.
func billionths(cost float64) int64 {
	return int64(math.Ceil(min(cost*nano, 1<<62)))
}

// chargeOutcome is what a call is charged after it reserved worst.
func (m *Meter) chargeOutcome(model string, worst llm.Usage, reply *llm.Reply, err error) account {
	switch {
	case err == nil:
		used := usageOrWorst(reply, worst)
		a := m.chargeFor(model, used)
		if used.Input != min(reply.Usage.Input, maxTokens) || used.Output != min(reply.Usage.Output, maxTokens) {
			a.guessed = 1
		}
		return a
	case isUnsent(err):
		return account{}
	case isTurnedDown(err), llm.KindOf(err) == llm.Budget: // the exchange before the one that the budget forbids

		return account{calls: 1}
	}
	a := m.chargeFor(model, worst)
	a.guessed = 1
	return a
}

// usageOrWorst is the usage that the endpoint reports, or the worst case if the report is impossible: every call has
// input, and every text has output.
func usageOrWorst(reply *llm.Reply, worst llm.Usage) llm.Usage {
	u := reply.Usage
	noOutput := u.Output == 0 && (u.Input <= 0 || reply.Text != "")
	if u.Input <= 0 {
		u.Input = worst.Input
	}
	if u.Output < 0 || noOutput {
		u.Output = worst.Output
	}
	return llm.Usage{Input: min(u.Input, maxTokens), Output: min(u.Output, maxTokens)}
}

// isUnsent tells whether a call failed before it reached the endpoint.
func isUnsent(err error) bool {
	if errors.Is(err, llm.ErrUnsent) {
		return true
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return true
	}
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Status == 0 && (e.Kind == llm.Refused || e.Kind == llm.Auth)
}

// isTurnedDown tells whether the endpoint itself refused the call, so that no model ran. After a gateway's error that
// is unknown.
func isTurnedDown(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return false
	}
	switch e.Status {
	case 0:
		return e.Kind == llm.Wait || e.Kind == llm.Filtered
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout, 499, 524: // nginx's and Cloudflare's
		return false
	}
	return e.Status >= 400
}

// reserveBudget charges a in advance and claims the call of note, if there is one. Otherwise the error says why not.
func (m *Meter) reserveBudget(ctx context.Context, model string, a account, note *memo) error {
	a.open = 1
	for {
		var refused error
		var taken bool
		var freed <-chan struct{}
		if err := m.journal.store.writeChange(change{apply: func(t *transaction) (err error) {
			if note != nil {
				if taken, err = t.isTaken(note.key()); err != nil || taken {
					return err
				}
			}
			if refused, err = m.findRefusal(t, model, a); err != nil {
				return err
			}
			if refused == nil {
				if note != nil {
					t.claimCall(note.key())
					note.claimed = true
				}
				t.opened++
				return t.chargeAccount(model, a)
			}
			if t.overrun == nil && t.store.open+t.opened > 0 {
				freed = t.freed
			}
			return nil
		}}); err != nil {
			return m.journal.brokenError(err)
		}
		if taken {
			return errTaken
		}
		if refused == nil {
			return nil
		}
		if freed == nil {
			return &llm.Error{Kind: llm.Budget, Err: refused}
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *transaction) chargeAccount(model string, a account) error {
	sum, err := t.accountOf(model)
	if err == nil {
		sum.addAccount(a)
	}
	return err
}

// settleBudget replaces the reservation by what was used. It calls storeReply in the same transaction.
func (m *Meter) settleBudget(model string, reserved, used account, storeReply func(*transaction) error) error {
	reserved.open = 1
	over := used.input+used.output > reserved.input+reserved.output || used.cost > reserved.cost
	if over {
		used.overruns = 1
	}
	return m.journal.brokenError(m.journal.store.writeChange(change{settles: true, apply: func(t *transaction) error {
		if over && (m.budget.MaxCost != nil || m.budget.MaxTokens != nil) && t.overrun == nil {
			t.overrun = fmt.Errorf("a call of %s was limited to %d tokens and used %d, so the budget cannot be kept; "+
				"the run stops here (does the endpoint honour the limit of output tokens?)", model,
				reserved.input+reserved.output, used.input+used.output)
		}
		if err := t.chargeAccount(model, reserved.negated()); err != nil {
			return err
		}
		if err := t.chargeAccount(model, used); err != nil || storeReply == nil {
			return err
		}
		return storeReply(t)
	}}))
}

// findRefusal says why the budget does not allow a call of model that may cost a; nil if it does.
func (m *Meter) findRefusal(t *transaction, model string, a account) (refused, err error) {
	if t.overrun != nil {
		return t.overrun, nil
	}
	if _, err := t.accountOf(model); err != nil { // reads the accounts
		return nil, err
	}
	var sum account
	for name, b := range t.perModel {
		sum.addAccount(*b)
		if m.budget.MaxCost == nil || b.unpricedInput|b.unpricedOutput == 0 {
			continue
		}
		price, ok := m.priceOf(name)
		if !ok {
			return noPrice(name), nil
		}
		sum.cost = addCapped(sum.cost, billionths(
			price.Cost(llm.Usage{Input: int(b.unpricedInput), Output: int(b.unpricedOutput)})))
	}
	return m.budget.checkRoom(sum, a, m.prices), nil
}

func noPrice(model string) error {
	return fmt.Errorf("the cost is limited and calls of %s are made, whose price is unknown; add it to the price file",
		model)
}

func (b Budget) checkRoom(sum, a account, prices *Prices) error {
	var faults []string
	if c := b.MaxCost; c != nil && addCapped(sum.cost, a.cost) > int64(math.Round(*c*nano)) {
		faults = append(faults, fmt.Sprintf("%.6g of %.6g %s are spent or reserved, and the call may cost %.6g",
			float64(sum.cost)/nano, *c, prices.Currency, float64(a.cost)/nano))
	}
	tokens := addCapped(sum.input, sum.output)
	if n := b.MaxTokens; n != nil && addCapped(tokens, a.input+a.output) > *n {
		faults = append(faults, fmt.Sprintf("%d of %d tokens are used or reserved, and the call may use %d",
			tokens, *n, a.input+a.output))
	}
	if n := b.MaxCalls; n != nil && sum.calls >= *n {
		faults = append(faults, fmt.Sprintf("%d of %d calls are made", sum.calls, *n))
	}
	if faults == nil {
		return nil
	}
	return fmt.Errorf("the budget has no room for another call: %s; raise the limit and run again to go on, "+
		"what the journal holds is not paid for again", strings.Join(faults, "; "))
}
