package anthropic

import (
	"net/http"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/internal/endpoint"
)

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
