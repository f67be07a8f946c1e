package llmtest

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/erreval/erreval/llm"
)

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
