package openai_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/erreval/erreval/llm/llmtest"
)

// picky answers as an endpoint whose models reject the fields given, each with the message that some endpoint sends.
func picky(t *testing.T, rejections map[string]llmtest.Step) llmtest.Script {
	return func(c *llmtest.Call) llmtest.Step {
		sent := fields(t, c)
		for _, name := range []string{"max_tokens", "temperature", "response_format", "seed", "messages"} {
			if step := rejections[name]; step != nil && sent[name] != nil &&
				(name != "messages" || strings.Contains(string(sent[name]), `"system"`)) {
				return step
			}
		}
		return llmtest.Text("Score: 3")
	}
}

func TestLearnsWhatAModelRejects(t *testing.T) {
	raw := func(status int, body string) llmtest.Step {
		return func(_ context.Context, w http.ResponseWriter, _ *llmtest.Call) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	openAI := map[string]llmtest.Step{
		"max_tokens": llmtest.Reject(400, "unsupported_parameter", "max_tokens",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
		"temperature": llmtest.Reject(400, "unsupported_value", "temperature",
			"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."),
	}
	for _, c := range []struct {
		name       string
		rejections map[string]llmtest.Step
		want       []string
	}{
		{"none", nil, nil},
		{"OpenAI, reasoning", openAI, []string{"temperature", "max_tokens"}},
		{"schema", map[string]llmtest.Step{"response_format": llmtest.Reject(400, "", "response_format",
			"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.")},
			[]string{"json_schema"}},
		{"DeepSeek", map[string]llmtest.Step{"response_format": llmtest.Fail(400, "invalid_request_error",
			"This response_format type is unavailable now")}, []string{"json_schema"}},
		{"Mistral", map[string]llmtest.Step{"seed": raw(422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden",
			"loc":["body","seed"],"msg":"Extra inputs are not permitted","input":7}]},"type":"invalid_request_error"}`)}, []string{"seed"}},
		{"vLLM, Gemma", map[string]llmtest.Step{"messages": raw(400,
			`{"object":"error","message":"System role not supported"}`)},
			[]string{"system role"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.NewServer(picky(t, c.rejections))
			client := dial(t, server)
			for i := range 3 {
				if _, err := client.Complete(t.Context(), llmtest.Sample(i)); err != nil {
					t.Fatal(err)
				}
			}
			if got := client.Rejected("judge-1"); !slices.Equal(got, c.want) {
				t.Errorf("rejected %q, want %q", got, c.want)
			}
			if got, want := server.Count(), 3+len(c.want); got != want {
				t.Errorf("%d calls, want %d: each rejection is met once", got, want)
			}
			if got := client.Rejected("judge-2"); got != nil {
				t.Errorf("another model is said to reject %q", got)
			}
		})
	}
}

// Names that go-openai knows are refused by it before sending; that must not reach the caller.
func TestModelsThatTheLibraryKnows(t *testing.T) {
	for _, model := range []string{"o1", "o3-mini", "o4-mini", "gpt-5-mini"} {
		server := llmtest.NewServer(llmtest.Always(llmtest.Text("Score: 3")))
		client := dial(t, server)
		r := llmtest.Sample(0)
		r.Model, *r.Temperature = model, 0.5
		if _, err := client.Complete(t.Context(), r); err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		if got, want := client.Rejected(model), []string{"temperature", "max_tokens"}; !slices.Equal(got, want) {
			t.Errorf("%s rejected %q, want %q", model, got, want)
		}
		sent := fields(t, server.Calls()[0])
		if server.Count() != 1 || string(sent["max_completion_tokens"]) != "64" || sent["max_tokens"] != nil ||
			sent["temperature"] != nil {
			t.Errorf("%s: %d calls, sent %s", model, server.Count(), server.Calls()[0].Body)
		}
	}
}

// A bad value is no unknown option, and a rejection that stays whatever is left out teaches nothing.
func TestRefusalsTeachNothing(t *testing.T) {
	for _, c := range []struct {
		step  llmtest.Step
		calls int
	}{
		{llmtest.Reject(400, "invalid_value", "max_tokens", "max_tokens is too large: 64. This model takes at most 16."), 1},
		{llmtest.Reject(400, "", "temperature", "temperature: range: 0..1"), 1},
		{llmtest.Reject(400, "unsupported_value", "temperature", "not supported"), 2},
		{llmtest.Reject(500, "unsupported_value", "temperature", "not supported"), 1},
	} {
		server := llmtest.NewServer(llmtest.Always(c.step))
		client := dial(t, server)
		_, err := client.Complete(t.Context(), llmtest.Sample(0))
		if err == nil || server.Count() != c.calls || client.Rejected("judge-1") != nil {
			t.Errorf("error %v after %d calls, learnt %q; want %d calls and nothing", err, server.Count(),
				client.Rejected("judge-1"), c.calls)
		}
	}
}

func TestLearnsOnceUnderLoad(t *testing.T) {
	server := llmtest.NewServer(picky(t, map[string]llmtest.Step{
		"temperature": llmtest.Reject(400, "unsupported_value", "temperature", "not supported"),
		"seed":        llmtest.Reject(400, "unknown_parameter", "seed", "Unknown parameter"),
	}))
	client := dial(t, server)
	var callers sync.WaitGroup
	for i := range 30 {
		callers.Go(func() {
			if _, err := client.Complete(t.Context(), llmtest.Sample(i)); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if got, want := client.Rejected("judge-1"), []string{"temperature", "seed"}; !slices.Equal(got, want) {
		t.Errorf("learnt %q, want %q", got, want)
	}
	before := server.Count()
	if _, err := client.Complete(t.Context(), llmtest.Sample(0)); err != nil || server.Count() != before+1 {
		t.Errorf("%d calls for one, error %v", server.Count()-before, err)
	}
}
