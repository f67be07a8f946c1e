package llm

import (
	"errors"
	"fmt"
)

// Model is a language model as it is asked: who answers, and with which settings.
type Model struct {
	Name string // in records; no other that is asked beside it has it
	// Client makes the calls; retries, limits and memory are its decorators. If it has the method Reject of
	// journal.Client, it hears of replies that do not hold what was asked for.
	Client      Client
	Model       string   // as the endpoint names it
	Temperature *float64 // see Request
	Seed        *int64   // of the first call; the n-th repeat is asked with n more. nil leaves it out
	MaxTokens   int      // of a reply, > 0
	Lines       bool     // ask for lines of text; otherwise for JSON, by schema where the endpoint takes one
}

// Validate says what m lacks to be asked.
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

// Request is the call that says messages to m for the repeat of that number. The schema is left out where m is asked
// for lines.
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
