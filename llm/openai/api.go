package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	api "github.com/sashabaranov/go-openai"

	"github.com/erreval/erreval/llm/internal/endpoint"
)

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
