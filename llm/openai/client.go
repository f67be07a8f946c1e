// Package openai is a client of OpenAI-compatible chat endpoints: OpenAI, Azure, vLLM, Ollama and their like. It is
// the one place that knows go-openai. One Complete is one call that may succeed: trying again, limits and memory are
// decorators.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/internal/endpoint"
	"github.com/erreval/erreval/llm/vendor"
)

// Client is an llm.Client of one endpoint. It learns which options each model rejects, and leaves them out of later
// calls.
type Client struct {
	api      *api.Client
	endpoint *endpoint.Endpoint
	rejected endpoint.Rejections
}

// New checks o and makes a Client; it calls nothing.
func New(o Options) (*Client, error) {
	if err := validate(o); err != nil {
		return nil, err
	}
	c := &Client{endpoint: newEndpoint(o), rejected: endpoint.Rejections{Options: options, ByLibrary: rejectedByLibrary}}
	config := api.DefaultConfig(o.Key)
	if o.AzureVersion != "" {
		config = api.DefaultAzureConfig(o.Key, o.BaseURL)
		config.APIVersion = o.AzureVersion
		config.AzureModelMapperFunc = url.PathEscape // the library's own drops dots and colons that a deployment may have
	}
	config.BaseURL = o.BaseURL
	config.HTTPClient = c.endpoint
	c.api = api.NewClientWithConfig(config)
	return c, nil
}

// String names the endpoint and holds no secret.
func (c *Client) String() string { return c.endpoint.String() }

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// Rejected names the options that calls of model leave out because the endpoint rejected them: "temperature", "seed",
// "json_schema", "system role", and "max_tokens" if max_completion_tokens replaces it. A run's record needs them.
func (c *Client) Rejected(model string) []string { return c.rejected.Names(model) }

// Complete makes one call. If the endpoint rejects an option, it calls again without it, and remembers that for the
// model once a call succeeds.
func (c *Client) Complete(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
	return c.rejected.Complete(ctx, r.Model, func(omitted endpoint.Omitted) (*llm.Reply, error) {
		return c.call(ctx, r, omitted)
	})
}

func (c *Client) call(ctx context.Context, r *llm.Request, omitted endpoint.Omitted) (*llm.Reply, error) {
	request, exact := translate(r, omitted)
	var response api.ChatCompletionResponse
	err := c.endpoint.Exchange(ctx, func(ctx context.Context) (err error) {
		if response, err = c.sendRequest(context.WithValue(ctx, temperatureKey{}, exact), request); err != nil {
			err = c.typeError(r.Model, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.reply(r.Model, &response)
}

// typeError gives every error of go-openai a kind; errors of the endpoint already have one.
func (c *Client) typeError(model string, err error) error {
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return err
	}
	if rejectedByLibrary(err) != "" {
		return c.endpoint.Fail(llm.Refused, 0, err, "ask another model")
	}
	if errors.Is(err, api.ErrChatCompletionInvalidModel) {
		return c.endpoint.Fail(llm.Auth, 0, fmt.Errorf("model %q takes no chat", model), "choose a chat model")
	}
	return c.endpoint.Fail(llm.Transient, http.StatusOK, fmt.Errorf("the reply is no chat completion: %w", err),
		"check that the base URL is that of an OpenAI-compatible endpoint")
}

// sendRequest sends request to the endpoint. The library would leave out a temperature of 0 and round others, so
// putTemperature writes it. The library still gets it, since it knows models that reject one.
func (c *Client) sendRequest(ctx context.Context, request api.ChatCompletionRequest) (api.ChatCompletionResponse,
	error) {
	if err := api.NewReasoningValidator().Validate(request); err != nil {
		return api.ChatCompletionResponse{}, err
	}
	request.Temperature = 0
	return c.api.CreateChatCompletion(ctx, request)
}

// translate is r in the form of go-openai, and the exact temperature; nil for none.
func translate(r *llm.Request, omitted endpoint.Omitted) (request api.ChatCompletionRequest, exact *float64) {
	request.Model = r.Model
	for _, m := range r.Messages {
		role := m.Role
		if role == llm.System && omitted.Has(systemRole) {
			role = llm.User
		}
		request.Messages = append(request.Messages, api.ChatCompletionMessage{Role: role, Content: m.Content})
	}
	if omitted.Has(maxTokens) {
		request.MaxCompletionTokens = r.MaxTokens
	} else {
		request.MaxTokens = r.MaxTokens //nolint:staticcheck // deprecated at OpenAI, the only name that most others know
	}
	if r.Temperature != nil && !omitted.Has(temperature) {
		request.Temperature, exact = float32(*r.Temperature), r.Temperature
	}
	if r.Seed != nil && !omitted.Has(seed) {
		request.Seed = new(int(*r.Seed))
	}
	if r.Schema != nil && !omitted.Has(jsonSchema) {
		request.ResponseFormat = &api.ChatCompletionResponseFormat{
			Type:       api.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &api.ChatCompletionResponseFormatJSONSchema{Name: r.Schema.Name, Schema: r.Schema.JSON, Strict: true},
		}
	}
	return request, exact
}

func (c *Client) reply(model string, response *api.ChatCompletionResponse) (*llm.Reply, error) {
	if len(response.Choices) == 0 {
		if isPromptFiltered(response.PromptFilterResults) {
			return nil, c.endpoint.Fail(llm.Filtered, http.StatusOK, errors.New("the content filter stopped the prompt"),
				endpoint.AdviceFiltered)
		}
		return nil, c.endpoint.Fail(llm.Transient, http.StatusOK, errors.New("the reply has no choices"),
			"try again, or another model")
	}
	choice := response.Choices[0]
	reply := &llm.Reply{Text: messageText(choice.Message), Finish: string(choice.FinishReason),
		Usage: usageOf(response.Usage)}
	if reply.Model = response.Model; reply.Model == "" {
		reply.Model = model
	}
	if choice.Message.Refusal != "" {
		reply.Text, reply.Finish = choice.Message.Refusal, llm.FinishRefuse
	}
	if key := response.Header().Get(endpoint.AmbiguousHeader); key != "" {
		endpoint.Ambiguous(reply, "the key "+key)
	} else if differ(response.Choices) {
		endpoint.Ambiguous(reply, "a choice, with two texts,")
	}
	if reply.Finish == "error" { // OpenRouter: the model's own provider failed half-way
		return nil, c.endpoint.Fail(llm.Transient, http.StatusOK, errors.New("the model ended with an error"), "try again")
	}
	return reply, nil
}

// differ tells whether there are choices with other texts than the first: one was asked for.
func differ(choices []api.ChatCompletionChoice) bool {
	return slices.ContainsFunc(choices, func(c api.ChatCompletionChoice) bool {
		return messageText(c.Message) != messageText(choices[0].Message)
	})
}

// messageText is a message's content, in either of its two forms.
func messageText(m api.ChatCompletionMessage) string {
	if m.MultiContent == nil {
		return m.Content
	}
	var b strings.Builder
	for _, part := range m.MultiContent {
		b.WriteString(part.Text)
	}
	return b.String()
}

// usageOf counts all tokens that are not input as output: some endpoints count reasoning in the total, but not in
// completion_tokens.
func usageOf(u api.Usage) llm.Usage {
	if u.PromptTokens < 0 || u.CompletionTokens < 0 || u.TotalTokens < 0 {
		return llm.Usage{}
	}
	return llm.Usage{Input: u.PromptTokens, Output: max(u.CompletionTokens, u.TotalTokens-u.PromptTokens)}
}

func isPromptFiltered(results []api.PromptFilterResult) bool {
	for _, r := range results {
		f := r.ContentFilterResults
		if f.Hate.Filtered || f.SelfHarm.Filtered || f.Sexual.Filtered || f.Violence.Filtered || f.JailBreak.Filtered ||
			f.Profanity.Filtered {
			return true
		}
	}
	return false
}

// Options say where an endpoint is. BaseURL is the address without /chat/completions. The key is sent as bearer token,
// or as api-key to Azure. AzureVersion, if set, is the api-version of an Azure deployment: BaseURL is then the resource
// ("https://NAME.openai.azure.com") and a request's model the name of the deployment.
type Options = vendor.Options

var openAI = vendor.Vendor{
	Name: vendor.Default, BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", BaseURLEnv: "OPENAI_BASE_URL",
	Validate: validate, New: func(o Options) (llm.Client, error) { return New(o) },
}

func init() { vendor.Register(openAI) }

// DefaultOptions are OpenAI's own address and two minutes a call. The key is missing.
func DefaultOptions() Options { return openAI.DefaultOptions() }

func validate(o Options) error {
	return o.Validate("https://api.openai.com/v1 or http://localhost:11434/v1", "/chat/completions")
}

// newEndpoint makes the HTTP client below go-openai. The library leaves out some temperatures, and its errors lack the
// headers that say when to try again.
func newEndpoint(o Options) *endpoint.Endpoint {
	return endpoint.New(o, endpoint.API{
		Prepare: func(req *http.Request) error {
			if o.Key == "" {
				req.Header.Del("api-key") // the library sends an empty one
			}
			return putTemperature(req)
		},
		ReplyField: "choices", Status: statusOf, Problem: problemOf,
	})
}

type temperatureKey struct{}

// putTemperature writes the temperature in req's context into its body.
func putTemperature(req *http.Request) error {
	temperature, _ := req.Context().Value(temperatureKey{}).(*float64)
	if temperature == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	body = append(fmt.Appendf(nil, `{"temperature":%v,`, *temperature), bytes.TrimPrefix(body, []byte("{"))...)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// statusOf is the status that OpenRouter puts into the code of an error with status 200.
func statusOf(f *endpoint.Fault) int {
	if code, err := strconv.Atoi(f.Code); err == nil && code >= 400 && code < 600 {
		return code
	}
	return 0
}

// problemOf recognises problems by the codes that endpoints put into code, type or innererror.code.
func problemOf(f *endpoint.Fault) endpoint.Problem {
	switch {
	case f.Flagged || f.Has("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"):
		return endpoint.Filtered
	case f.Has("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
		return endpoint.Unpaid
	case f.Code == "context_length_exceeded":
		return endpoint.TooLong
	}
	return endpoint.None
}

// Options of a call that models may reject, as indices of options.
const (
	temperature = iota
	maxTokens   // max_completion_tokens replaces it
	jsonSchema
	seed
	systemRole
)

var options = []endpoint.Option{
	temperature: {Name: "temperature", Words: []string{"temperature"}},
	maxTokens:   {Name: "max_tokens", Words: []string{"max_tokens"}},
	jsonSchema:  {Name: "json_schema", Words: []string{"response_format", "json_schema", "structured output"}},
	seed:        {Name: "seed", Words: []string{"seed"}},
	systemRole:  {Name: "system role", Words: []string{"system role", "'system'", "system message", "system prompt"}},
}

// rejectedByLibrary is the option that go-openai refuses to send because of the model's name.
func rejectedByLibrary(err error) string {
	switch {
	case errors.Is(err, api.ErrReasoningModelMaxTokensDeprecated):
		return options[maxTokens].Name
	case errors.Is(err, api.ErrReasoningModelLimitationsOther), errors.Is(err, api.ErrReasoningSamplingUnsupported):
		return options[temperature].Name
	}
	return ""
}
