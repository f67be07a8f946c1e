package anthropic

import (
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
