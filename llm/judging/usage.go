package judging

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
)

// Used is what calls used.
type Used struct {
	Calls  int64   `json:"calls"` // requests sent, those that failed included
	Input  int64   `json:"input_tokens"`
	Output int64   `json:"output_tokens"`
	Cost   float64 `json:"cost"` // of models with a price, in the price list's currency
	// of Calls, those charged the most that they can have used: no reply said what they did
	AtMost int64 `json:"at_most,omitempty"`
}

// Minus is u without v, which is a part of it.
func (u Used) Minus(v Used) Used {
	return Used{u.Calls - v.Calls, u.Input - v.Input, u.Output - v.Output, u.Cost - v.Cost, u.AtMost - v.AtMost}
}

func usedOf(s journal.Spent) Used {
	return Used{s.Calls, s.Input, s.Output, s.Cost, s.Open + s.Guessed}
}

// Usage is what models used, for the record of a run.
type Usage struct {
	ThisRun   Used                      `json:"this_run"`
	ByJudge   map[string]Used           `json:"by_judge"`
	Journal   Used                      `json:"journal"` // by all runs with this journal
	Budget    journal.Budget            `json:"budget"`
	Currency  string                    `json:"currency,omitempty"`
	PriceDate string                    `json:"price_date,omitempty"`
	Prices    map[string]*journal.Price `json:"prices"`             // by model, per million tokens; null is not known
	Rejected  map[string]string         `json:"rejected,omitempty"` // options that calls of a judge left out
	// Answered are other models that replies name, by judge; at most 8 each.
	Answered map[string][]string `json:"answered,omitempty"`
}

// Used is what the finished calls of this Session used.
func (s *Session) Used() Used {
	var sum Used
	for i := range s.o.Models {
		u := s.usedBy(i)
		sum = Used{sum.Calls + u.Calls, sum.Input + u.Input, sum.Output + u.Output, sum.Cost + u.Cost, sum.AtMost + u.AtMost}
	}
	return sum
}

// usedBy is what a model used. The name at the endpoint distinguishes models that share a connection.
func (s *Session) usedBy(i int) Used {
	meter := s.connections[i].meter
	if meter == nil {
		return Used{} // nothing is called
	}
	return usedOf(meter.Used(s.o.Models[i].Model))
}

// Usage sums up the Session and the journal. The Session must be open.
func (s *Session) Usage() (*Usage, error) {
	now, err := s.journal.Spent()
	if err != nil {
		return nil, err
	}
	u := &Usage{
		ThisRun: s.Used(), ByJudge: map[string]Used{}, Journal: usedOf(now), Budget: s.o.Budget, Currency: now.Currency,
		PriceDate: s.prices.Date.Format(time.DateOnly), Prices: map[string]*journal.Price{}, Rejected: map[string]string{},
		Answered: map[string][]string{},
	}
	for i := range s.o.Models {
		m := &s.o.Models[i]
		u.ByJudge[m.Name] = s.usedBy(i)
		u.Prices[m.Model] = nil
		if p, ok := s.prices.Models[m.Model]; ok {
			u.Prices[m.Model] = &p
		}
		if names := s.clients[i].answered.list(); len(names) > 0 {
			u.Answered[m.Name] = names
		}
		if names := s.rejectedOptions(i); len(names) > 0 {
			u.Rejected[m.Name] = strings.Join(names, ", ")
		}
	}
	return u, nil
}

// rejectedOptions are the options that calls of a model leave out; see vendor.Vendor.New.
func (s *Session) rejectedOptions(i int) []string {
	if c, ok := s.connections[i].endpoint.(interface{ Rejected(model string) []string }); ok {
		return c.Rejected(s.o.Models[i].Model)
	}
	return nil
}

// Forecast is what calls would cost.
type Forecast struct {
	Rows      int      `json:"rows"`     // the caller counts them
	Rejected  int      `json:"rejected"` // likewise, lines that are no rows
	Calls     int      `json:"calls"`    // if each first reply can be used
	InJournal int      `json:"in_journal"`
	Input     int64    `json:"input_tokens"`      // estimate, of the calls that are not in the journal
	MaxInput  int64    `json:"max_input_tokens"`  // highest possible
	MaxOutput int64    `json:"max_output_tokens"` // highest possible
	MaxCost   *float64 `json:"max_cost"`          // of these tokens; null without a price for every model
	Currency  string   `json:"currency"`
	PriceDate string   `json:"price_date"`
	Attempts  int      `json:"attempts"` // of one question, while replies cannot be used

	session *Session
}

// bytesPerToken is an estimate: about 4 in English.
const bytesPerToken = 4

// Forecast begins with no calls.
func (s *Session) Forecast() *Forecast {
	f := &Forecast{session: s, Attempts: s.o.Attempts, Currency: s.prices.Currency,
		PriceDate: s.prices.Date.Format(time.DateOnly)}
	if s.Unpriced() == nil {
		f.MaxCost = new(float64)
	}
	return f
}

// Add counts a call of the model of that name.
func (f *Forecast) Add(model string, r *llm.Request) error {
	f.Calls++
	s := f.session
	for i := range s.o.Models {
		if s.o.Models[i].Name != model || s.clients[i].journal == nil {
			continue
		}
		reply, err := s.clients[i].journal.Lookup(r)
		if err != nil {
			return err
		}
		if reply != nil {
			f.InJournal++
			return nil
		}
	}
	worst := journal.WorstCase(r)
	for _, m := range r.Messages {
		f.Input += int64(len(m.Content)+bytesPerToken-1) / bytesPerToken
	}
	f.MaxInput += int64(worst.Input)
	f.MaxOutput += int64(worst.Output)
	if f.MaxCost != nil {
		*f.MaxCost += s.prices.Models[r.Model].Cost(worst)
	}
	return nil
}

// Text prints the forecast. unpriced are the models that have no price.
func (f *Forecast) Text(w io.Writer, unpriced []string) error {
	journal := ""
	if f.InJournal > 0 {
		journal = fmt.Sprintf(" (%d in the journal already)", f.InJournal)
	}
	fmt.Fprintf(w, "%s, %s%s%s\n", words.Plural(f.Rows, "row", "rows"), words.Plural(f.Calls, "call", "calls"), journal,
		words.Rejected(f.Rejected))
	fmt.Fprintf(w, "input: about %d tokens, at most %d; output: at most %d\n", f.Input, f.MaxInput, f.MaxOutput)
	if f.MaxCost != nil {
		fmt.Fprintf(w, "cost: at most %.4f %s, at prices of %s\n", *f.MaxCost, f.Currency, f.PriceDate)
	} else {
		fmt.Fprintf(w, "cost: not known, as there is no price of %s; give it in a file with --prices\n",
			strings.Join(unpriced, ", "))
	}
	_, err := fmt.Fprintf(w, "unusable replies are asked for again, up to %s in all; bounds: --max-cost, --max-tokens, "+
		"--max-calls\n", words.Plural(f.Attempts, "time", "times"))
	return err
}
