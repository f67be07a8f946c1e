package journal

import (
	"errors"
	"fmt"
	"math"

	"github.com/erreval/erreval/llm"
)

// Budget limits what all calls in a journal may use together, those of earlier runs included. nil is no limit; 0 allows
// nothing but replays.
type Budget struct {
	MaxCost   *float64 `json:"max_cost,omitempty"`   // in the currency of the price list
	MaxTokens *int64   `json:"max_tokens,omitempty"` // input and output
	MaxCalls  *int64   `json:"max_calls,omitempty"`  // requests sent, those that failed included
}

// maxCost is the highest cost limit, in units of any currency: costs are kept as whole billionths in 64 bits.
const maxCost = 1e9

// Validate joins all faults of b.
func (b Budget) Validate() error {
	var faults []error
	if c := b.MaxCost; c != nil && !(*c >= 0 && *c <= maxCost) {
		faults = append(faults, fmt.Errorf("the limit of the cost is 0 to %g; got %g", float64(maxCost), *c))
	}
	if n := b.MaxTokens; n != nil && *n < 0 {
		faults = append(faults, fmt.Errorf("the limit of tokens is not below 0; got %d", *n))
	}
	if n := b.MaxCalls; n != nil && *n < 0 {
		faults = append(faults, fmt.Errorf("the limit of calls is not below 0; got %d", *n))
	}
	return errors.Join(faults...)
}

// Upper bounds of what an endpoint adds to a request before the model reads it: marks around each message, and marks
// and a system text around all. Known chat templates need about 5 and up to 100 tokens (gpt-oss).
const (
	tokensPerMessage = 16
	tokensPerRequest = 128
)

// WorstCase is an upper bound of the tokens that r can use. Input: its bytes, as no tokenizer makes more tokens than
// bytes, and an allowance for what the endpoint adds. Output: MaxTokens.
func WorstCase(r *llm.Request) llm.Usage {
	u := llm.Usage{Input: tokensPerRequest, Output: r.MaxTokens}
	for _, m := range r.Messages {
		u.Input += len(m.Role) + len(m.Content) + tokensPerMessage
	}
	if r.Schema != nil {
		u.Input += len(r.Schema.Name) + len(r.Schema.JSON)
	}
	return u
}

// Spent is what the calls in a journal have used. Calls without a known usage are charged the worst case: those that
// were lost in a crash, cut off, or answered without figures.
type Spent struct {
	Calls  int64 `json:"calls"` // sent, those in flight included
	Open   int64 `json:"open"`  // of Calls: in flight, or lost in a crash
	Input  int64 `json:"input"` // tokens
	Output int64 `json:"output"`
	// of the calls with a known price, in Currency, at the price of their day
	Cost          float64 `json:"cost"`
	Currency      string  `json:"currency"`       // empty before the first call with a price
	UnpricedInput int64   `json:"unpriced_input"` // tokens of calls made without a price
	UnpricedOut   int64   `json:"unpriced_output"`
	// of Calls: charged the worst case, as the endpoint gave no figures; of a Meter's own calls alone
	Guessed  int64 `json:"guessed,omitempty"`
	Overruns int64 `json:"overruns"` // calls that used more than the worst case reserved for them
}

// Spent sums the journal up, over all models and runs.
func (j *Journal) Spent() (Spent, error) {
	perModel, err := readAccounts(j.store.reader.QueryContext(background, listAccounts))
	if err != nil {
		return Spent{}, explainFault(j.path, err)
	}
	s := spentOf(perModel)
	s.Currency, err = j.currency()
	return s, err
}

// nano is the unit of costs in the file, in parts of the currency's.
const nano = 1e9

// account is what the calls of one model used: tokens, and the cost in billionths.
type account struct {
	calls, open, input, output    int64
	cost                          int64
	unpricedInput, unpricedOutput int64
	overruns, guessed             int64 // guessed is not stored

	changed bool // and not written yet
}

func (a *account) addAccount(d account) {
	a.calls = addCapped(a.calls, d.calls)
	a.open = addCapped(a.open, d.open)
	a.input = addCapped(a.input, d.input)
	a.output = addCapped(a.output, d.output)
	a.cost = addCapped(a.cost, d.cost)
	a.unpricedInput = addCapped(a.unpricedInput, d.unpricedInput)
	a.unpricedOutput = addCapped(a.unpricedOutput, d.unpricedOutput)
	a.overruns = addCapped(a.overruns, d.overruns)
	a.guessed = addCapped(a.guessed, d.guessed)
	a.changed = true
}

// spentOf sums accounts up, without their currency.
func spentOf(perModel map[string]*account) Spent {
	var sum account
	for _, a := range perModel {
		sum.addAccount(*a)
	}
	return sum.toSpent()
}

// toSpent gives a as a Spent without currency.
func (a *account) toSpent() Spent {
	return Spent{Calls: a.calls, Open: a.open, Input: a.input, Output: a.output, Cost: float64(a.cost) / nano,
		UnpricedInput: a.unpricedInput, UnpricedOut: a.unpricedOutput, Overruns: a.overruns, Guessed: a.guessed}
}

func (a account) negated() account {
	return account{calls: -a.calls, open: -a.open, input: -a.input, output: -a.output, cost: -a.cost,
		unpricedInput: -a.unpricedInput, unpricedOutput: -a.unpricedOutput, overruns: -a.overruns}
}

// addCapped adds, up to the largest number: an endpoint may report nonsense.
func addCapped(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
