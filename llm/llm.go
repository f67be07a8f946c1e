// Package llm is what the project asks of a language model: one call with messages in, one reply out, and errors
// that say what to do next.
//
// A [Client] has one method, so that any model can be one ([ClientFunc]). llm/vendor finds the clients of endpoints by the
// vendor's name: llm/openai, llm/anthropic. [Retry] and [Limit] decorate any Client, and so does llm/journal, which adds
// memory and a budget. The order that keeps both honest, from the outside in: the journal's Client, Retry, Limit, the
// journal's Meter, the endpoint; llm/judging puts all of it together. [KindOf] tells what an error means for this call and
// for the next. A [Model] is a Client with settings, for those who ask (llm/ask). llm/llmtest stands in for a model in
// tests, and checks a Client or decorator of one's own.
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

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // System, User or Assistant
	Content string `json:"content"`
}

// Schema asks for a reply that is JSON of this form. An endpoint that does not take schemas answers in plain text:
// whoever sets one must be ready for both.
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
	// Repeat and Attempt tell calls apart that are otherwise equal; the endpoint never sees them. Repeat is the
	// number of the judgement, Attempt counts earlier replies that held no verdict.
	Repeat, Attempt int
}

// Values of Reply.Finish. An endpoint may send others.
const (
	FinishStop   = "stop"           // the model ended by itself
	FinishLength = "length"         // cut at MaxTokens
	FinishFilter = "content_filter" // the endpoint withheld the text, or the rest of it
	FinishRefuse = "refusal"        // the model refused in the field meant for it; Text is the refusal
)

// Usage is what one call consumed, in tokens. Both 0: the endpoint did not say.
type Usage struct {
	Input  int `json:"input"`
	Output int `json:"output"` // reasoning tokens included
}

// Known tells whether the endpoint reported its usage.
func (u Usage) Known() bool { return u != Usage{} }

// Reply is what came back of a successful call. Text may be empty.
type Reply struct {
	Text   string
	Finish string // FinishStop, …; empty if the endpoint did not say
	Model  string // as the endpoint names what answered; often more exact than Request.Model
	Usage  Usage
	Cached bool // replayed from a journal: nothing was called or spent
}

// Client makes one call. Implementations are safe for concurrent use, end soon after ctx does (with ctx's cause in the
// error's chain), and return either a reply or an error, never both. An error that is not of ctx holds an *Error.
type Client interface {
	Complete(ctx context.Context, r *Request) (*Reply, error)
}

// ClientFunc is a function as a Client.
type ClientFunc func(ctx context.Context, r *Request) (*Reply, error)

// Complete calls f.
func (f ClientFunc) Complete(ctx context.Context, r *Request) (*Reply, error) { return f(ctx, r) }

type againKey struct{}

// WithAgain lets allow decide on each further exchange that a client makes for one call; what ctx holds already decides
// first. It is for decorators that count or limit exchanges.
func WithAgain(ctx context.Context, allow func(context.Context) error) context.Context {
	return context.WithValue(ctx, againKey{}, func(inner context.Context) error {
		if err := Again(ctx); err != nil {
			return err
		}
		return allow(inner)
	})
}

// Again is to be called by a client before each exchange of a call but the first. An error forbids it, and is the
// call's.
func Again(ctx context.Context) error {
	if allow, ok := ctx.Value(againKey{}).(func(context.Context) error); ok {
		return allow(ctx)
	}
	return nil
}
