package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/anthropic"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/vendor"
)

const secretKey = "sk-ant-0123456789abcdef"

// dial makes a client of server, in memory.
func dial(t *testing.T, server *llmtest.Server) *anthropic.Client {
	t.Helper()
	c, err := anthropic.New(anthropic.Options{BaseURL: llmtest.MessagesPipeURL, Key: secretKey, Timeout: time.Minute,
		AllowPlainHTTP: true,
		HTTP:           server.Pipe(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// always is an endpoint that does the same with every call.
func always(step llmtest.Step) *llmtest.Server {
	return llmtest.NewMessagesServer(llmtest.Always(step))
}

// answeredBy is an endpoint whose replies are model's.
func answeredBy(model llm.Client) *llmtest.Server {
	return llmtest.NewMessagesServer(llmtest.Serve(func(ctx context.Context, _ int, r *llm.Request) (*llm.Reply, error) {
		return model.Complete(ctx, r)
	}))
}

// omit takes from a request what the Messages API has no words for.
func omit(r *llm.Request) { r.Seed, r.Schema = nil, nil }

func TestIsAClient(t *testing.T) {
	llmtest.TestClient(t, func(t *testing.T, model llm.Client) llm.Client { return dial(t, answeredBy(model)) }, omit)
}

func TestIsAClientUnderItsDecorators(t *testing.T) {
	llmtest.TestClient(t, func(t *testing.T, model llm.Client) llm.Client {
		return llm.Retry(llm.Limit(dial(t, answeredBy(model)), llm.DefaultLimitOptions()), llm.DefaultRetryOptions())
	}, omit)
}

// checkError holds for every error of the package: a kind, the host, something to try, no secret.
func checkError(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); llm.KindOf(err) == 0 || !strings.HasPrefix(text, "endpoint llm.test: ") ||
		!strings.Contains(text, "; ") ||
		strings.Contains(text, secretKey) {
		t.Errorf("error %q of kind %s", text, llm.KindOf(err))
	}
}

// TestFaults: each way to misbehave has its kind, and those that pass are survived under Retry.
func TestFaults(t *testing.T) {
	for _, f := range llmtest.Faults("Score: 3", "Score: 9") {
		t.Run(f.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reply, err := dial(t, always(f.Step)).Complete(t.Context(), llmtest.Sample(0))
				if (reply == nil) == (err == nil) || llm.KindOf(err) != f.Kind {
					t.Fatalf("reply %v and error %v, want kind %s", reply != nil, err, f.Kind)
				}
				if err == nil {
					return
				}
				checkError(t, err)
				if f.Kind != llm.Transient && f.Kind != llm.Wait {
					return
				}
				server := llmtest.NewMessagesServer(llmtest.InTurn(f.Step, f.Step, llmtest.Text("Score: 3")))
				client := llm.Retry(llm.Limit(dial(t, server), llm.DefaultLimitOptions()), llm.DefaultRetryOptions())
				reply, err = client.Complete(t.Context(), llmtest.Sample(0))
				if err != nil || reply.Text != "Score: 3" || server.Count() != 3 {
					t.Errorf("reply %v, error %v after %d calls", reply, err, server.Count())
				}
			})
		})
	}
}

// TestWhatIsSent: the call in the API's own words, and nothing that it does not know.
func TestWhatIsSent(t *testing.T) {
	server := always(llmtest.Text("Score: 3"))
	r := llmtest.Sample(0)
	r.Messages = append(r.Messages, llm.Message{Role: llm.System, Content: "Be brief."})
	if _, err := dial(t, server).Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	call := server.Calls()[0]
	const want = `{"model":"judge-1","max_tokens":64,"system":"You rate questions.\n\nBe brief.",` +
		`"messages":[{"role":"user","content":"Row 0"}],"temperature":0}`
	if string(call.Body) != want {
		t.Errorf("sent %s\nwant %s", call.Body, want)
	}
	if h := call.Header; call.Path != "/v1/messages" || h.Get("X-Api-Key") != secretKey ||
		h.Get("Anthropic-Version") != "2023-06-01" ||
		h.Get("Content-Type") != "application/json" || h.Get("Authorization") != "" {
		t.Errorf("path %s, headers %v", call.Path, h)
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name string
		step llmtest.Step
		want llm.Reply
	}{
		{"thoughts and parts",
			llmtest.Raw(`{"model":"m","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Score"},
			{"type":"text","text":": 3"}],"stop_reason":"stop_sequence","usage":{"input_tokens":10,"output_tokens":2}}`),
			llm.Reply{Text: "Score: 3", Finish: llm.FinishStop, Model: "m", Usage: llm.Usage{Input: 10, Output: 2}}},
		{"cut", llmtest.Raw(`{"content":[{"type":"text","text":"Sco"}],"stop_reason":"max_tokens"}`),
			llm.Reply{Text: "Sco", Finish: llm.FinishLength, Model: "judge-1"}},
		{"context is full", llmtest.Raw(`{"content":[],"stop_reason":"model_context_window_exceeded"}`),
			llm.Reply{Finish: llm.FinishLength, Model: "judge-1"}},
		{"refusal", llmtest.Refusal("I can't."),
			llm.Reply{Text: "I can't.", Finish: llm.FinishRefuse, Model: "judge-1", Usage: llm.Usage{Input: 7, Output: 2}}},
		{"another reason", llmtest.Raw(`{"content":[],"stop_reason":"pause_turn"}`), llm.Reply{Finish: "pause_turn",
			Model: "judge-1"}},
		{"cache", llmtest.Raw(`{"content":[],"usage":{"input_tokens":1,"cache_read_input_tokens":20,"cache_creation_input_tokens":300,
			"output_tokens":4}}`), llm.Reply{Model: "judge-1", Usage: llm.Usage{Input: 321, Output: 4}}},
		{"usage below 0", llmtest.Raw(`{"content":[],"usage":{"input_tokens":-1,"output_tokens":4}}`),
			llm.Reply{Model: "judge-1"}},
		{"error null", llmtest.Raw(`{"error":null,"content":[{"type":"text","text":"3"}]}`), llm.Reply{Text: "3",
			Model: "judge-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := dial(t, always(c.step)).Complete(t.Context(), llmtest.Sample(0))
			if err != nil {
				t.Fatal(err)
			}
			if *got != c.want {
				t.Errorf("got %+v, want %+v", *got, c.want)
			}
		})
	}
}

// raw answers with an error as the API does, with its header that names the request. headers are names and values.
func raw(status int, typ, message string, headers ...string) llmtest.Step {
	return func(_ context.Context, w http.ResponseWriter, _ *llmtest.Call) {
		w.Header().Set("Request-Id", "req_018Ee")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fault := map[string]any{"type": typ, "message": message}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": fault}) // the caller may be gone
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		step  llmtest.Step
		kind  llm.Kind
		after time.Duration
		text  string
	}{
		{"key", raw(401, "authentication_error", "invalid x-api-key "+secretKey), llm.Auth, 0,
			"endpoint llm.test: 401 Unauthorized: invalid x-api-key [hidden] (request req_018Ee); check the key"},
		{"permission", raw(403, "permission_error", "no"), llm.Auth, 0, "check that the key may use this model here"},
		{"model", raw(404, "not_found_error", "model: claude-x"), llm.Auth, 0, "check the model's name and the base URL"},
		{"credit", raw(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
			llm.Auth, 0, "add credit"},
		{"billing", raw(402, "billing_error", "no"), llm.Auth, 0, "add credit"},
		{"bad request", raw(400, "invalid_request_error", "temperature: range: 0..1"), llm.Refused, 0,
			"range: 0..1 (request req_018Ee); check the model's options"},
		{"too long", raw(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), llm.Refused,
			0, "shorten the row's texts"},
		{"too large", raw(413, "request_too_large", "no"), llm.Refused, 0, "shorten the row's texts"},
		{"filtered", raw(400, "invalid_request_error", "Output blocked by content filtering policy"), llm.Filtered, 0,
			"another judge may take this text"},
		{"rate", raw(429, "rate_limit_error", "slow down", "Retry-After", "20"), llm.Wait, 20 * time.Second,
			"allow fewer calls or tokens per minute"},
		{"overloaded", raw(529, "overloaded_error", "Overloaded"), llm.Wait, 0,
			"529: Overloaded (request req_018Ee); try again later"},
		{"overloaded, behind a gateway", raw(503, "overloaded_error", "Overloaded", "Retry-After", "3"), llm.Wait,
			3 * time.Second, "try again later"},
		{"overloaded, without words", func(_ context.Context, w http.ResponseWriter,
			_ *llmtest.Call) {
			w.WriteHeader(529)
		}, llm.Wait, 0, "529; try again later"},
		{"internal", raw(500, "api_error", "no"), llm.Transient, 0, "500 Internal Server Error: no"},
		{"time-out", raw(504, "timeout_error", "no"), llm.Transient, 0, "504 Gateway Timeout"},
		{"error with status 200", raw(200, "rate_limit_error", "slow down"), llm.Wait, 0, "429 Too Many Requests: slow down"},
		{"odd error with status 200", raw(200, "odd_error", "what"), llm.Transient, 0, "502 Bad Gateway: what"},
		{"no message", llmtest.Raw(`{"type":"completion"}`), llm.Transient, 0,
			"the reply is no message: it has no content; check that the base URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := dial(t, always(c.step)).Complete(t.Context(), llmtest.Sample(0))
			e, ok := errors.AsType[*llm.Error](err)
			if reply != nil || !ok || e.Kind != c.kind || e.After != c.after {
				t.Fatalf("reply %v and error %v: %+v; want %s after %s", reply, err, e, c.kind, c.after)
			}
			checkError(t, err)
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q, want %q in it", err, c.text)
			}
		})
	}
}

// TestTimeout: a call that takes too long is tried again by whoever wants to, and is not the end of the run.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := dial(t, always(llmtest.Stall())).Complete(t.Context(), llmtest.Sample(0))
		if took := time.Since(start); took != time.Minute || llm.KindOf(err) != llm.Transient || errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("error %v after %s", err, took)
		}
		checkError(t, err)
	})
}

// TestRedirectCarriesNoKey: the key goes nowhere else.
func TestRedirectCarriesNoKey(t *testing.T) {
	server := always(func(_ context.Context, w http.ResponseWriter, _ *llmtest.Call) {
		w.Header().Set("Location", "https://elsewhere.test/v1/messages?token="+secretKey)
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	_, err := dial(t, server).Complete(t.Context(), llmtest.Sample(0))
	if llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "https://elsewhere.test; set the base URL") ||
		server.Count() != 1 {
		t.Errorf("%v after %d calls", err, server.Count())
	}
	checkError(t, err)
}

// TestLearnsTemperature: models that take none are asked without it from then on.
func TestLearnsTemperature(t *testing.T) {
	server := llmtest.NewMessagesServer(func(c *llmtest.Call) llmtest.Step {
		if c.Request.Temperature != nil {
			return llmtest.Fail(http.StatusBadRequest, "", "`temperature` is deprecated for this model.")
		}
		return llmtest.Text("Score: 3")
	})
	client := dial(t, server)
	if got, want := client.Rejected("judge-1"), []string{"json_schema", "seed"}; !slices.Equal(got, want) {
		t.Errorf("rejected %q before, want %q", got, want)
	}
	for i := range 3 {
		if _, err := client.Complete(t.Context(), llmtest.Sample(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := client.Rejected("judge-1"), []string{"json_schema", "seed", "temperature"}; !slices.Equal(got,
		want) || server.Count() != 4 {
		t.Errorf("rejected %q after %d calls, want %q after 4", got, server.Count(), want)
	}
}

func TestOptions(t *testing.T) {
	v, err := vendor.Find("anthropic")
	if err != nil {
		t.Fatal(err)
	}
	good := anthropic.DefaultOptions()
	if _, err := v.New(good); err != nil || good.BaseURL != v.BaseURL || good.Timeout != vendor.DefaultTimeout {
		t.Errorf("%v: %v", good, err)
	}
	for want, change := range map[string]func(*anthropic.Options){
		"has to start with https://": func(o *anthropic.Options) { o.BaseURL = "localhost:8000" },
		"leave out /v1/messages":     func(o *anthropic.Options) { o.BaseURL = "https://h/v1/messages" },
		"leave out /v1":              func(o *anthropic.Options) { o.BaseURL = "https://h/v1/" },
		"the key holds a space":      func(o *anthropic.Options) { o.Key = secretKey + "\n" },
		"has no azure_version":       func(o *anthropic.Options) { o.AzureVersion = "2024-10-21" },
		"time-out 0s":                func(o *anthropic.Options) { o.Timeout = 0 },
	} {
		o := good
		change(&o)
		client, err := v.New(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("%v, %v; want %q", client, err, want)
		}
		if fault := v.Validate(o); fault == nil || fault.Error() != err.Error() {
			t.Errorf("Validate says %v, New %v", fault, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzReply: whatever comes back, a reply or an error but not both, and no secret in the error.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"Score: 3"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, `{"content":[null]}`,
		`{"content":{}}`, "null", "[]", "", "<html>",
		`{"error":{"message":"` + secretKey + `"}}`,
		`{"usage":{"input_tokens":9223372036854775807,"cache_read_input_tokens":1},"content":[]}`,
	} {
		for _, status := range []int{200, 400, 529} {
			f.Add(status, seed)
		}
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		status = 200 + (status%400+400)%400
		client, err := anthropic.New(anthropic.Options{BaseURL: llmtest.MessagesPipeURL, Key: secretKey, Timeout: time.Minute,
			AllowPlainHTTP: true,
			HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r,
					Header: http.Header{}}, nil
			})}})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Complete(t.Context(), llmtest.Sample(0))
		if (reply == nil) == (err == nil) {
			t.Fatalf("reply %v and error %v", reply, err)
		}
		if err != nil {
			checkError(t, err)
		} else if reply.Usage.Input < 0 || reply.Usage.Output < 0 {
			t.Errorf("reply %+v", reply)
		}
	})
}
