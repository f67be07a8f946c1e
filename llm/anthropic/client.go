// Package anthropic is a client of Anthropic's Messages API and of endpoints that speak it. One Complete is one call
// that may succeed: trying again, limits and memory are decorators.
//
// The API knows neither a seed nor a JSON Schema: those of a request are left out, and whoever wants JSON asks for it
// in the prompt.
package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/internal/endpoint"
	"github.com/erreval/erreval/llm/vendor"
)

const (
	callPath   = "/v1/messages"
	apiVersion = "2023-06-01" // of the form of calls and replies below
)

// Client is an llm.Client of one endpoint. It learns which models reject a temperature, and leaves it out of later
// calls.
type Client struct {
	url      string
	endpoint *endpoint.Endpoint
	rejected endpoint.Rejections
}

// New checks o and makes a Client; it calls nothing.
func New(o Options) (*Client, error) {
	if err := validate(o); err != nil {
		return nil, err
	}
	prepare := func(req *http.Request) error {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Anthropic-Version", apiVersion)
		if o.Key != "" {
			req.Header.Set("X-Api-Key", o.Key)
		}
		return nil
	}
	api := endpoint.API{Prepare: prepare, ReplyField: "content", Status: statusOf, Problem: problemOf,
		RequestID: "Request-Id"}
	return &Client{url: strings.TrimRight(o.BaseURL, "/") + callPath, endpoint: endpoint.New(o, api),
		rejected: endpoint.Rejections{Options: options}}, nil
}

// String names the endpoint and holds no secret.
func (c *Client) String() string { return c.endpoint.String() }

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// Options of a call that models may reject, as indices of options.
const temperature = 0

var options = []endpoint.Option{temperature: {Name: "temperature", Words: []string{"temperature"}}}

// Rejected names the options that calls of model leave out: "json_schema" and "seed", which the API does not have, and
// "temperature" if the endpoint rejected it. A run's record needs them.
func (c *Client) Rejected(model string) []string {
	return slices.Concat([]string{"json_schema", "seed"}, c.rejected.Names(model))
}

// Complete makes one call. If the endpoint rejects the temperature, it calls again without one, and remembers that for
// the model.
func (c *Client) Complete(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
	return c.rejected.Complete(ctx, r.Model, func(omitted endpoint.Omitted) (reply *llm.Reply, err error) {
		err = c.endpoint.Exchange(ctx, func(ctx context.Context) error {
			reply, err = c.call(ctx, translate(r, omitted))
			return err
		})
		return reply, err
	})
}

func (c *Client) call(ctx context.Context, r *request) (*llm.Reply, error) {
	body, err := json.Marshal(r)
	var req *http.Request
	if err == nil {
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	}
	if err != nil {
		return nil, c.endpoint.Fail(llm.Refused, 0, fmt.Errorf("the request cannot be written: %w", err), "check the options")
	}
	resp, err := c.endpoint.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var m response
	if err = json.NewDecoder(resp.Body).Decode(&m); err == nil && m.Content == nil {
		err = errors.New("it has no content")
	}
	if err != nil {
		return nil, c.endpoint.Fail(llm.Transient, resp.StatusCode, fmt.Errorf("the reply is no message: %w", err),
			"check that the base URL is that of an endpoint with the Messages API")
	}
	reply := m.reply(r.Model)
	if key := resp.Header.Get(endpoint.AmbiguousHeader); key != "" {
		endpoint.Ambiguous(reply, "the key "+key)
	}
	return reply, nil
}

// Options say where an endpoint is. BaseURL is the address without /v1/messages. The key is sent as x-api-key. This API
// has no AzureVersion.
type Options = vendor.Options

const baseURL = "https://api.anthropic.com"

var anthropic = vendor.Vendor{
	Name: "anthropic", BaseURL: baseURL, KeyEnv: "ANTHROPIC_API_KEY", BaseURLEnv: "ANTHROPIC_BASE_URL",
	Validate: validate, New: func(o Options) (llm.Client, error) { return New(o) },
}

func init() { vendor.Register(anthropic) }

// DefaultOptions are Anthropic's own address and two minutes a call. The key is missing.
func DefaultOptions() Options { return anthropic.DefaultOptions() }

func validate(o Options) error {
	err := o.Validate(baseURL, callPath, "/v1")
	if o.AzureVersion != "" {
		err = errors.Join(err, errors.New("endpoint: the Messages API has no azure_version: leave it out"))
	}
	return err
}

// request is a call in the form of the API.
type request struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	System      string        `json:"system,omitempty"`
	Messages    []llm.Message `json:"messages"`
	Temperature *float64      `json:"temperature,omitempty"`
}

// translate is r in the form of the API. All system messages become its system prompt.
func translate(r *llm.Request, omitted endpoint.Omitted) *request {
	out := &request{Model: r.Model, MaxTokens: r.MaxTokens}
	var system []string
	for _, m := range r.Messages {
		if m.Role == llm.System {
			system = append(system, m.Content)
		} else {
			out.Messages = append(out.Messages, m)
		}
	}
	out.System = strings.Join(system, "\n\n")
	if !omitted.Has(temperature) {
		out.Temperature = r.Temperature
	}
	return out
}

// response is a reply in the form of the API.
type response struct {
	Model   string `json:"model"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Stop  string `json:"stop_reason"`
	Usage struct {
		Input      int `json:"input_tokens"` // not from a cache
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
		Output     int `json:"output_tokens"`
	} `json:"usage"`
}

// finishes are the values of llm.Reply.Finish for the API's reasons to stop. Other reasons stay unchanged.
var finishes = map[string]string{
	"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop,
	"max_tokens": llm.FinishLength, "model_context_window_exceeded": llm.FinishLength, "refusal": llm.FinishRefuse,
}

// reply is the text of m, without the model's thoughts, which are separate parts.
func (m *response) reply(model string) *llm.Reply {
	out := &llm.Reply{Finish: m.Stop, Model: m.Model}
	if out.Model == "" {
		out.Model = model
	}
	if finish, ok := finishes[m.Stop]; ok {
		out.Finish = finish
	}
	for _, part := range m.Content {
		if part.Type == "text" {
			out.Text += part.Text
		}
	}
	u := m.Usage
	if input := u.Input + u.CacheRead + u.CacheWrite; min(u.Input, u.CacheRead, u.CacheWrite, input, u.Output) >= 0 {
		out.Usage = llm.Usage{Input: input, Output: u.Output}
	}
	return out
}

// statuses are the statuses of the API's types of errors.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      statusOverloaded,
}

const statusOverloaded = 529

func statusOf(f *endpoint.Fault) int { return statuses[f.Type] }

// problemOf recognises problems by the type of the error, and those of type "bad request" by the message.
func problemOf(f *endpoint.Fault) endpoint.Problem {
	message := strings.ToLower(f.Message)
	switch {
	case strings.Contains(message, "content filtering policy"):
		return endpoint.Filtered
	case f.Has("billing_error"), strings.Contains(message, "credit balance is too low"):
		return endpoint.Unpaid
	case f.Has("overloaded_error"), f.Status == statusOverloaded:
		return endpoint.Busy
	case strings.Contains(message, "prompt is too long"):
		return endpoint.TooLong
	}
	return endpoint.None
}
