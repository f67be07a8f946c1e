package llmtest

import (
	"cmp"
	"encoding/json"
	"net/http"

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

// MessagesPipeURL is the base URL for clients of Pipe of a Server of the Messages API.
const MessagesPipeURL = "http://llm.test"

// NewMessagesServer makes a Server of Anthropic's Messages API that behaves as s says.
func NewMessagesServer(s Script) *Server { return &Server{script: s, form: messages{}} }

// messages is the form of the Messages API.
type messages struct{}

func (messages) base() string { return "" }

// request reads a call, whose system prompt stands apart from its messages.
func (messages) request(body []byte) (llm.Request, error) {
	var in struct {
		Model       string        `json:"model"`
		System      string        `json:"system"`
		Messages    []llm.Message `json:"messages"`
		Temperature *float64      `json:"temperature"`
		MaxTokens   int           `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return llm.Request{}, err
	}
	r := llm.Request{Model: in.Model, Temperature: in.Temperature, MaxTokens: in.MaxTokens}
	if in.System != "" {
		r.Messages = []llm.Message{{Role: llm.System, Content: in.System}}
	}
	r.Messages = append(r.Messages, in.Messages...)
	return r, nil
}

// stopReasons are the API's names for values of llm.Reply.Finish. Others are sent as they are.
var stopReasons = map[string]string{llm.FinishStop: "end_turn", llm.FinishLength: "max_tokens"}

type message struct {
	Type    string         `json:"type"`
	Role    string         `json:"role"`
	Model   string         `json:"model"`
	Content []contentBlock `json:"content"`
	Stop    string         `json:"stop_reason"`
	Usage   *messageUsage  `json:"usage,omitempty"`
}

type contentBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type messageUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

func (messages) reply(r llm.Reply, c *Call) any {
	m := &message{Type: "message", Role: llm.Assistant, Model: cmp.Or(r.Model, c.Request.Model), Content: []contentBlock{},
		Stop: cmp.Or(stopReasons[r.Finish], r.Finish)}
	if r.Text != "" {
		m.Content = append(m.Content, contentBlock{"text", r.Text})
	}
	if r.Usage.Known() {
		m.Usage = &messageUsage{r.Usage.Input, r.Usage.Output}
	}
	return m
}

// faultTypes are the API's names for statuses.
var faultTypes = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusPaymentRequired:       "billing_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusInternalServerError:   "api_error",
	http.StatusGatewayTimeout:        "timeout_error",
	529:                              "overloaded_error",
}

func (messages) fault(status int, _, _, message string) any {
	return map[string]any{"type": "error", "request_id": "req_1", "error": map[string]any{
		"type": cmp.Or(faultTypes[status], "invalid_request_error"), "message": message,
	}}
}

func (m messages) filtered() any {
	return m.fault(http.StatusBadRequest, "", "", "Output blocked by content filtering policy")
}
