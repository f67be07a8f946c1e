package llmtest

import (
	"cmp"
	"encoding/json"

	"github.com/erreval/erreval/llm"
)

// chat is the form of OpenAI's chat completions.
type chat struct{}

func (chat) base() string { return "/v1" }

// request reads a call; the upper bound of tokens has two names.
func (chat) request(body []byte) (llm.Request, error) {
	var in struct {
		Model          string        `json:"model"`
		Messages       []llm.Message `json:"messages"`
		Temperature    *float64      `json:"temperature"`
		Seed           *int64        `json:"seed"`
		MaxTokens      int           `json:"max_tokens"`
		MaxCompletion  int           `json:"max_completion_tokens"`
		ResponseFormat struct {
			JSONSchema *struct {
				Name   string          `json:"name"`
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, err
	}
	r := llm.Request{Model: in.Model, Messages: in.Messages, Temperature: in.Temperature, Seed: in.Seed,
		MaxTokens: max(in.MaxTokens, in.MaxCompletion)}
	if s := in.ResponseFormat.JSONSchema; s != nil {
		r.Schema = &llm.Schema{Name: s.Name, JSON: s.Schema}
	}
	return r, nil
}

type completion struct {
	Object  string   `json:"object"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Message struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
		Refusal string  `json:"refusal,omitempty"`
	} `json:"message"`
	Finish string `json:"finish_reason"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (chat) reply(r llm.Reply, c *Call) any {
	body := &completion{Object: "chat.completion", Model: cmp.Or(r.Model, c.Request.Model), Choices: make([]choice, 1)}
	message := &body.Choices[0].Message
	message.Role, body.Choices[0].Finish = llm.Assistant, r.Finish
	switch {
	case r.Finish == llm.FinishRefuse:
		message.Refusal, body.Choices[0].Finish = r.Text, llm.FinishStop
	case r.Text != "":
		message.Content = &r.Text // else null
	}
	if r.Usage.Known() {
		body.Usage = &usage{r.Usage.Input, r.Usage.Output, r.Usage.Input + r.Usage.Output}
	}
	return body
}

func (chat) fault(_ int, code, param, message string) any {
	return map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": param, "code": code,
	}}
}

func (chat) filtered() any {
	return map[string]any{"error": map[string]any{
		"message": "The response was filtered.", "param": "prompt", "code": "content_filter", "status": 400,
		"innererror": map[string]any{"code": "ResponsibleAIPolicyViolation"},
	}}
}
