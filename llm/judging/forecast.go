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
	fmt.Fprintf(w, "%s, %s (%d in the journal already); %s rejected\n", words.Plural(f.Rows, "row", "rows"),
		words.Plural(f.Calls, "call", "calls"), f.InJournal, words.Plural(f.Rejected, "line", "lines"))
	fmt.Fprintf(w, "input: about %d tokens, at most %d; output: at most %d\n", f.Input, f.MaxInput, f.MaxOutput)
	if f.MaxCost != nil {
		fmt.Fprintf(w, "cost: at most %.4f %s, at prices of %s\n", *f.MaxCost, f.Currency, f.PriceDate)
	} else {
		fmt.Fprintf(w, "cost: not known, as there is no price of %s; give it in a file with --prices\n",
			strings.Join(unpriced, ", "))
	}
	_, err := fmt.Fprintf(w, "A reply that does not hold what was asked for is asked for again, up to %s in all; "+
		"--max-cost, --max-tokens and --max-calls bound everything.\n", words.Plural(f.Attempts, "time", "times"))
	return err
}
