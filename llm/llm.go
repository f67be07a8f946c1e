// Package llm defines a call of a language model: messages in, one reply out, and errors that say what to do next.
//
// A [Client] has one method, so that a function can be one ([ClientFunc]). llm/vendor finds the clients of endpoints by
// the vendor's name: llm/openai, llm/anthropic. [Retry] and [Limit] decorate any Client, and so does llm/journal, which
// stores replies and keeps a budget. The right order, from the outside in: the journal's Client, Retry, Limit, the
// journal's Meter, the endpoint's client; llm/judging makes this chain. [KindOf] tells what an error means for this
// call and for the next. A [Model] is a Client with settings; llm/ask uses it. llm/llmtest has fake models for tests,
// and a test suite for Clients and decorators.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Roles of a Message.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
)

// Message is one message of a conversation.
type Message struct {
	Role    string `json:"role"` // System, User or Assistant
	Content string `json:"content"`
	// Fence is a code in the lines around texts in Content that other calls may share, or empty. A journal that keeps
	// prompts keeps such texts once; the endpoint does not get it apart.
	Fence string `json:"-"`
}

// Schema asks for a reply that is JSON of this form. An endpoint that does not support schemas answers in plain text: a
// caller that sets one must expect both.
type Schema struct {
	Name string          `json:"name"` // a-z, A-Z, 0-9, _ and -, at most 64 bytes
	JSON json.RawMessage `json:"json"` // JSON Schema
}

// Request is one call. Clients and decorators read it and never change it.
type Request struct {
	Model       string    // as the endpoint names it; not empty
	Messages    []Message // at least one
	Temperature *float64  // 0 to 2; nil leaves it to the endpoint, 0 is sent as 0
	Seed        *int64    // nil leaves it out
	MaxTokens   int       // upper bound of output tokens, > 0; reasoning tokens count
	Schema      *Schema   // nil asks for plain text
	// Repeat and Attempt distinguish calls that are otherwise equal; the endpoint never sees them. Repeat is the number
	// of the judgement, Attempt counts earlier replies without a verdict.
	Repeat, Attempt int
	// Row and About say for people what a call is for: the id of a row, and what is asked about it. The endpoint never
	// sees them, and calls that differ in nothing else are equal.
	Row, About string
}

// Values of Reply.Finish. An endpoint may send others.
const (
	FinishStop   = "stop"           // the model ended by itself
	FinishLength = "length"         // cut at MaxTokens
	FinishFilter = "content_filter" // the endpoint withheld the text, or the rest of it
	FinishRefuse = "refusal"        // the model refused in the field for refusals; Text is the refusal
	// FinishAmbiguous is the end of a reply whose envelope holds something twice, so that two readers may read two
	// answers; Text says what.
	FinishAmbiguous = "ambiguous"
)

// Usage is what one call consumed, in tokens. Both 0: the endpoint did not say.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"` // reasoning tokens included
}

// Known tells whether the endpoint reported its usage.
func (u Usage) Known() bool { return u != Usage{} }

// Reply is the result of a successful call. Text may be empty.
type Reply struct {
	Text   string
	Finish string // FinishStop, …; empty if the endpoint did not say
	Model  string // the model that answered, as the endpoint names it; often more exact than Request.Model
	Usage  Usage
	Cached bool // replayed from a journal: no call was made, nothing was spent
}

// Client makes calls. Implementations are safe for concurrent use, return soon after ctx ends (with ctx's cause in the
// error's chain), and return either a reply or an error, never both. Every other error has an *Error in its chain.
type Client interface {
	Complete(ctx context.Context, r *Request) (*Reply, error)
}

// ClientFunc is a Client that calls a function.
type ClientFunc func(ctx context.Context, r *Request) (*Reply, error)

// Complete calls f.
func (f ClientFunc) Complete(ctx context.Context, r *Request) (*Reply, error) { return f(ctx, r) }

type againKey struct{}

// WithAgain gives a context in which allow decides whether a client may make a further exchange for one call. An allow
// that ctx already has decides first. It is for decorators that count or limit exchanges.
func WithAgain(ctx context.Context, allow func(context.Context) error) context.Context {
	return context.WithValue(ctx, againKey{}, func(inner context.Context) error {
		if err := Again(ctx); err != nil {
			return err
		}
		return allow(inner)
	})
}

// Again asks whether a further exchange is allowed. A client calls it before each exchange of a call but the first, and
// returns its error.
func Again(ctx context.Context) error {
	if allow, ok := ctx.Value(againKey{}).(func(context.Context) error); ok {
		return allow(ctx)
	}
	return nil
}

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

// Object is the JSON Schema of an object whose properties are all required and in this order: what comes first is
// written first, and reasons written after a verdict only defend it.
type Object struct {
	Type       string     `json:"type"`
	Properties properties `json:"properties"`
	Required   []string   `json:"required"`
	Additional bool       `json:"additionalProperties"`
}

// Property is one key of an Object; Schema marshals to the JSON Schema of its value.
type Property struct {
	Name   string
	Schema any
}

// properties is a JSON object that keeps its order.
type properties []Property

// MarshalJSON writes the properties in order.
func (p properties) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, q := range p {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(q.Name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(q.Schema)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), schema...)
	}
	return append(out, '}'), nil
}

// ObjectOf is the schema of an object with these keys.
func ObjectOf(p ...Property) Object {
	names := make([]string, len(p))
	for i, q := range p {
		names[i] = q.Name
	}
	return Object{"object", p, names, false}
}

// TextSchema is the schema of a string.
func TextSchema() map[string]any { return map[string]any{"type": "string"} }

// ListSchema is the schema of a list whose items have the schema that item marshals to.
func ListSchema(item any) map[string]any { return map[string]any{"type": "array", "items": item} }

// NewSchema makes the Schema of that name; Schema says which names are allowed. Where a Property has a schema that is
// no JSON, there is none, and the journal refuses calls with it.
func NewSchema(name string, o Object) *Schema {
	data, _ := json.Marshal(o)
	return &Schema{Name: name, JSON: data}
}
