package llm

import (
	"errors"
	"fmt"
)

// Model is a language model: the client that calls it, and the settings of the calls.
type Model struct {
	Name string // in records; unique among the models of a run
	// Client makes the calls; decorators add retries, limits and a journal. If it has the method Reject of
	// journal.Client, the method is called for replies that cannot be used.
	Client      Client
	Model       string   // as the endpoint names it
	Temperature *float64 // see Request
	Seed        *int64   // of the first call; repeat n has this seed plus n. nil leaves it out
	MaxTokens   int      // of a reply, > 0
	Lines       bool     // ask for lines of text; otherwise for JSON, by schema where the endpoint takes one
}

// Validate reports every fault of m.
func (m *Model) Validate() error {
	switch {
	case m.Name == "":
		return errors.New("a judge has no name")
	case m.Client == nil || m.Model == "":
		return fmt.Errorf("judge %s has no model or no client", m.Name)
	case m.MaxTokens <= 0:
		return fmt.Errorf("judge %s: %d tokens for a reply; give a number above 0", m.Name, m.MaxTokens)
	}
	return nil
}

// Request is the call of m with messages, for the repeat of that number. It has no schema if m answers in lines of
// text.
func (m *Model) Request(messages []Message, schema *Schema, repeat int) *Request {
	r := &Request{Model: m.Model, Messages: messages, Temperature: m.Temperature, MaxTokens: m.MaxTokens, Repeat: repeat}
	if m.Seed != nil {
		r.Seed = new(*m.Seed + int64(repeat))
	}
	if !m.Lines {
		r.Schema = schema
	}
	return r
}
