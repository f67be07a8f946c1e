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
