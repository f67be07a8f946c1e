package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
)

const (
	secretKey    = "key-0123456789abcdef/&"
	secretHeader = "header-fedcba9876543210"
)

// dial makes a client of server, in memory.
func dial(t *testing.T, server *llmtest.Server) *openai.Client {
	t.Helper()
	return open(t, openai.Options{BaseURL: llmtest.PipeURL, HTTP: server.Pipe(t)})
}

func open(t *testing.T, o openai.Options) *openai.Client {
	t.Helper()
	if o.Key == "" {
		o.Key = secretKey
	}
	if o.Headers == nil {
		o.Headers = map[string]string{"X-Gateway": "Token " + secretHeader}
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	o.AllowPlainHTTP = true // of the pipe, which leads to no other machine
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestIsAClient(t *testing.T) {
	llmtest.TestClient(t, func(t *testing.T, model llm.Client) llm.Client {
		return dial(t, llmtest.NewServer(llmtest.Serve(func(ctx context.Context, _ int, r *llm.Request) (*llm.Reply, error) {
			return model.Complete(ctx, r)
		})))
	})
}

func TestIsAClientUnderItsDecorators(t *testing.T) {
	llmtest.TestClient(t, func(t *testing.T, model llm.Client) llm.Client {
		client := dial(t, llmtest.NewServer(llmtest.Serve(func(ctx context.Context, _ int,
			r *llm.Request) (*llm.Reply, error) {
			return model.Complete(ctx, r)
		})))
		return llm.Retry(llm.Limit(client, llm.DefaultLimitOptions()), llm.DefaultRetryOptions())
	})
}

// checkError holds for every error of the package: a kind, the host, something to try, no secret.
func checkError(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if llm.KindOf(err) == 0 {
		t.Errorf("error %q has no kind", text)
	}
	if !strings.HasPrefix(text, "endpoint llm.test: ") || !strings.Contains(text, "; ") {
		t.Errorf("error %q does not name the endpoint or what to try", text)
	}
	if strings.Contains(text, secretKey) || strings.Contains(text, secretHeader) {
		t.Errorf("error %q holds a secret", text)
	}
	if len(text) > 2000 || strings.ContainsAny(text, "\n\x1b\x00") {
		t.Errorf("error %q is not one short line", text)
	}
}

func TestFaults(t *testing.T) {
	for _, f := range llmtest.Faults("Score: 3", "Score: 9") {
		t.Run(f.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reply, err := dial(t, llmtest.NewServer(llmtest.Always(f.Step))).Complete(t.Context(), llmtest.Sample(0))
				if (reply == nil) == (err == nil) || llm.KindOf(err) != f.Kind {
					t.Fatalf("reply %v and error %v, want kind %s", reply != nil, err, f.Kind)
				}
				if err != nil {
					checkError(t, err)
				}
			})
		})
	}
}

// Every fault that passes is survived under Retry, with the right reply and no call after it.
func TestFaultsUnderRetry(t *testing.T) {
	for _, f := range llmtest.Faults("Score: 3", "Score: 9") {
		if f.Kind != llm.Transient && f.Kind != llm.Wait {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := llmtest.NewServer(llmtest.InTurn(f.Step, f.Step, llmtest.Text("Score: 3")))
				client := llm.Retry(llm.Limit(dial(t, server), llm.DefaultLimitOptions()), llm.DefaultRetryOptions())
				reply, err := client.Complete(t.Context(), llmtest.Sample(0))
				if err != nil || reply.Text != "Score: 3" || server.Count() != 3 {
					t.Errorf("reply %v, error %v after %d calls", reply, err, server.Count())
				}
			})
		})
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name string
		step llmtest.Step
		want llm.Reply
	}{
		{"refusal", llmtest.Refusal("I can't."),
			llm.Reply{Text: "I can't.", Finish: llm.FinishRefuse, Model: "judge-1", Usage: llm.Usage{Input: 7, Output: 2}}},
		{"parts", llmtest.Raw(`{"choices":[{"message":{"content":[{"type":"text","text":"Score"},{"type":"text","text":": 3"}]}}]}`),
			llm.Reply{Text: "Score: 3", Model: "judge-1"}},
		{"no content", llmtest.Raw(`{"choices":[{"message":{"content":null},"finish_reason":null}],"usage":null}`),
			llm.Reply{Model: "judge-1"}},
		{"reasoning outside completion_tokens", llmtest.Raw(`{"model":"m","choices":[{"message":{"content":"3"}}],
			"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":111}}`),
			llm.Reply{Text: "3", Model: "m", Usage: llm.Usage{Input: 10, Output: 101}}},
		{"usage below 0", llmtest.Raw(`{"model":"m","choices":[{"message":{"content":"3"}}],"usage":{"prompt_tokens":-1}}`),
			llm.Reply{Text: "3", Model: "m"}},
		{"error null", llmtest.Raw(`{"error":null,"model":"m","choices":[{"message":{"content":"3"}}]}`),
			llm.Reply{Text: "3", Model: "m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := dial(t, llmtest.NewServer(llmtest.Always(c.step))).Complete(t.Context(), llmtest.Sample(0))
			if err != nil {
				t.Fatal(err)
			}
			if *got != c.want {
				t.Errorf("got %+v, want %+v", *got, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	fail, raw := llmtest.Fail, func(status int, body string) llmtest.Step {
		return func(_ context.Context, w http.ResponseWriter, _ *llmtest.Call) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name string
		step llmtest.Step
		kind llm.Kind
		text string
	}{
		{"key", fail(401, "invalid_api_key", "Incorrect API key provided: "+secretKey+"."), llm.Auth,
			"endpoint llm.test: 401 Unauthorized: Incorrect API key provided: [hidden].; check the key"},
		{"masked key", fail(401, "invalid_api_key", "Incorrect API key provided: sk-proj-********cdef."), llm.Auth,
			"provided: [hidden]"},
		{"bearer", fail(403, "", "Bearer abcdefgh.ijkl may not"), llm.Auth,
			"[hidden] may not; check that the key may use this model"},
		{"header", fail(400, "", "bad token "+secretHeader), llm.Refused, "bad token [hidden]; check the model's options"},
		{"key in an unread body", raw(400, `{"fault":["`+secretKey+`"]}`), llm.Refused,
			"endpoint llm.test: 400 Bad Request; "},
		{"quoted key", raw(400, `{"detail":[{"msg":"no","input":"key-0123456789abcdef/\u0026"}]}`), llm.Refused,
			`"input":"[hidden]"`},
		{"control characters", fail(400, "", "red \x1b[31m\nalert\u202e"), llm.Refused, "red [31m alert; check"},
		{"long", fail(400, "", strings.Repeat("x", 1000)), llm.Refused, "xxx…; check"},
		{"credit", fail(402, "", "no credit"), llm.Auth, "add credit"},
		{"quota", fail(429, "insufficient_quota", "You exceeded your current quota."), llm.Auth, "add credit"},
		{"model", fail(404, "model_not_found", "The model `x` does not exist."), llm.Auth,
			"check the model's name and the base URL"},
		{"too long", fail(400, "context_length_exceeded", "maximum context length"), llm.Refused, "shorten the row's texts"},
		{"string", raw(404, `{"error":"model 'x' not found"}`), llm.Auth, "404 Not Found: model 'x' not found; "},
		{"list", raw(400, `[{"error":{"code":400,"message":"bad"}}]`), llm.Refused, "400 Bad Request: bad; "},
		{"vLLM", raw(400, `{"object":"error","message":"bad","code":400}`), llm.Refused, "400 Bad Request: bad; "},
		{"plain", raw(502, "upstream gone"), llm.Transient, "502 Bad Gateway: upstream gone; "},
		{"page", raw(502, " <html>"), llm.Transient, "502 Bad Gateway: (an HTML page); "},
		{"moderation", raw(403, `{"error":{"code":403,"message":"flagged","metadata":{"flagged_input":"x"}}}`), llm.Filtered,
			"another judge"},
		{"filtered with 200", llmtest.Raw(`{"choices":[],"prompt_filter_results":[{"prompt_index":0,
			"content_filter_results":{"hate":{"filtered":true}}}]}`), llm.Filtered, "filter stopped the prompt; another judge"},
		{"429 with 200", llmtest.Raw(`{"error":{"code":429,"message":"slow down"}}`), llm.Wait,
			"429 Too Many Requests: slow down; "},
		{"finish error", llmtest.Raw(`{"choices":[{"message":{"content":"x"},"finish_reason":"error"}]}`), llm.Transient,
			"ended with an error"},
		{"503 with 200", llmtest.Raw(`{"error":{"code":503,"message":"no worker"}}`), llm.Transient,
			"503 Service Unavailable: no worker; "},
		{"no code with 200", llmtest.Raw(`{"error":{"code":99,"message":"odd"}}`), llm.Transient, "502 Bad Gateway: odd; "},
		{"method", raw(405, ""), llm.Auth, "405 Method Not Allowed; check the model's name and the base URL"},
		{"conflict", raw(409, `{"error":{"message":"busy"}}`), llm.Transient, "409 Conflict: busy; try again later"},
		{"large", llmtest.Raw(`{"choices":[` + strings.Repeat(" ", 10<<20)), llm.Transient,
			"the reply is larger than 10 MB; check that the base URL"},
		{"529", raw(529, `{"error":{"message":"Overloaded"}}`), llm.Transient, "529: Overloaded; "},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := dial(t, llmtest.NewServer(llmtest.Always(c.step))).Complete(t.Context(), llmtest.Sample(0))
			if reply != nil || llm.KindOf(err) != c.kind {
				t.Fatalf("reply %v and error %v of kind %s, want %s", reply, err, llm.KindOf(err), c.kind)
			}
			checkError(t, err)
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q, want %q in it", err, c.text)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	const date = "Sat, 01 Jan 2000 00:00:00 GMT" // where a synctest bubble's clock begins
	for _, c := range []struct {
		status  int
		headers map[string]string
		kind    llm.Kind
		want    time.Duration
	}{
		{429, map[string]string{"Retry-After": "20"}, llm.Wait, 20 * time.Second},
		{429, map[string]string{"Retry-After": "0.5"}, llm.Wait, time.Second / 2},
		{429, map[string]string{"Retry-After": "20", "Retry-After-Ms": "1500"}, llm.Wait, 1500 * time.Millisecond},
		{429, map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:02:00 GMT", "Date": date}, llm.Wait, 2 * time.Minute},
		// The endpoint's clock is an hour ahead: its own date counts.
		{429, map[string]string{"Retry-After": "Sat, 01 Jan 2000 01:02:00 GMT", "Date": "Sat, 01 Jan 2000 01:00:00 GMT"},
			llm.Wait,
			2 * time.Minute},
		{429, map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:02:00 GMT", "Date": "odd"}, llm.Wait, 2 * time.Minute},
		{429, map[string]string{"Retry-After": "Sat, 01 Jan 1999 00:02:00 GMT", "Date": date}, llm.Wait, 0},
		{429, map[string]string{"Retry-After": "soon"}, llm.Wait, 0},
		{429, map[string]string{"Retry-After": "-3"}, llm.Wait, 0},
		{429, map[string]string{"Retry-After": "NaN"}, llm.Wait, 0},
		{429, map[string]string{"Retry-After": "1e300"}, llm.Wait, 365 * 24 * time.Hour},
		{429, nil, llm.Wait, 0},
		{503, map[string]string{"Retry-After": "20"}, llm.Wait, 20 * time.Second},
		{500, nil, llm.Transient, 0},
		{400, map[string]string{"Retry-After": "20"}, llm.Refused, 0},
	} {
		t.Run(fmt.Sprint(c.status, c.headers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := llmtest.NewServer(llmtest.Always(func(_ context.Context, w http.ResponseWriter, _ *llmtest.Call) {
					for name, value := range c.headers {
						w.Header().Set(name, value)
					}
					w.WriteHeader(c.status)
				}))
				_, err := dial(t, server).Complete(t.Context(), llmtest.Sample(0))
				e, ok := errors.AsType[*llm.Error](err)
				if !ok || e.Kind != c.kind || e.After != c.want || e.Status != c.status {
					t.Errorf("got %+v, want kind %s after %s", e, c.kind, c.want)
				}
			})
		})
	}
}

func TestTimeout(t *testing.T) {
	for name, step := range map[string]llmtest.Step{"silence": llmtest.Silence(), "stall": llmtest.Stall()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := dial(t, llmtest.NewServer(llmtest.Always(step))).Complete(t.Context(), llmtest.Sample(0))
				if took := time.Since(start); took != time.Minute || llm.KindOf(err) != llm.Transient {
					t.Errorf("error %v of kind %s after %s, want transient after 1m", err, llm.KindOf(err), took)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v looks like the end of the run", err)
				}
				checkError(t, err)
			})
		})
	}
}

// fields are the names in a call's body.
func fields(t *testing.T, c *llmtest.Call) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(c.Body, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWhatIsSent(t *testing.T) {
	server := llmtest.NewServer(llmtest.Always(llmtest.Text("Score: 3")))
	client := dial(t, server)
	r := llmtest.Sample(0)
	for _, temperature := range []float64{0, 0.7, 0.1234567890123} {
		*r.Temperature = temperature
		if _, err := client.Complete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		calls := server.Calls()
		last := calls[len(calls)-1]
		want, _ := json.Marshal(temperature)
		if got := fields(t, last)["temperature"]; string(got) != string(want) {
			t.Errorf("temperature %s went out, want %s", got, want)
		}
	}
	r.Temperature, r.Seed, r.Schema = nil, nil, nil
	if _, err := client.Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	calls := server.Calls()
	first, last := calls[0], calls[len(calls)-1]
	if got := string(fields(t, first)["response_format"]); got !=
		`{"json_schema":{"name":"verdict","schema":{"type":"object"},"strict":true},"type":"json_schema"}` &&
		got != `{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object"},"strict":true}}` {
		t.Errorf("response_format %s", got)
	}
	for _, name := range []string{"temperature", "seed", "response_format"} {
		if got, ok := fields(t, last)[name]; ok {
			t.Errorf("%s %s went out unasked", name, got)
		}
	}
	if first.Path != "/v1/chat/completions" || first.Header.Get("Authorization") != "Bearer "+secretKey ||
		first.Header.Get("X-Gateway") != "Token "+secretHeader {
		t.Errorf("path %s, headers %v", first.Path, first.Header)
	}
}

func TestAzure(t *testing.T) {
	server := llmtest.NewServer(llmtest.Always(llmtest.Text("Score: 3")))
	client := open(t, openai.Options{BaseURL: "http://llm.test", AzureVersion: "2024-10-21", HTTP: server.Pipe(t)})
	r := llmtest.Sample(0)
	r.Model = "my.gpt-3.5"
	if _, err := client.Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	call := server.Calls()[0]
	if want := "/openai/deployments/my.gpt-3.5/chat/completions?api-version=2024-10-21"; call.Path != want {
		t.Errorf("path %s, want %s", call.Path, want)
	}
	if call.Header.Get("Api-Key") != secretKey || call.Header.Get("Authorization") != "" {
		t.Errorf("headers %v", call.Header)
	}
}

func TestRedirectCarriesNoKey(t *testing.T) {
	server := llmtest.NewServer(llmtest.Always(func(_ context.Context, w http.ResponseWriter, _ *llmtest.Call) {
		w.Header().Set("Location", "https://elsewhere.test/v1/chat/completions?token="+secretKey)
		w.WriteHeader(http.StatusPermanentRedirect)
	}))
	_, err := dial(t, server).Complete(t.Context(), llmtest.Sample(0))
	if llm.KindOf(err) != llm.Auth || !strings.Contains(err.Error(), "https://elsewhere.test; set the base URL") {
		t.Errorf("got %v", err)
	}
	checkError(t, err)
	if server.Count() != 1 {
		t.Errorf("%d calls, want 1: the redirect was followed", server.Count())
	}
}

func TestUnreachable(t *testing.T) {
	transport := roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("connection refused for " + secretKey)
	})
	client := open(t, openai.Options{BaseURL: llmtest.PipeURL, HTTP: &http.Client{Transport: transport}})
	_, err := client.Complete(t.Context(), llmtest.Sample(0))
	if llm.KindOf(err) != llm.Transient || !strings.Contains(err.Error(),
		"connection refused for [hidden]; check the base URL") {
		t.Errorf("got %v", err)
	}
	checkError(t, err)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOptions(t *testing.T) {
	good := openai.DefaultOptions()
	if _, err := openai.New(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*openai.Options)
		want   string
	}{
		{func(o *openai.Options) { o.BaseURL = "" }, "has to start with https://"},
		{func(o *openai.Options) { o.BaseURL = "localhost:8000/v1" }, "has to start with https://"},
		{func(o *openai.Options) { o.BaseURL = "https://h/v1/chat/completions/" }, "leave out /chat/completions"},
		{func(o *openai.Options) { o.BaseURL = "https://user:0123456789abcdef@h/v1" }, "holds a password"},
		{func(o *openai.Options) { o.BaseURL = "https://h/v1?key=" + secretKey }, "holds a password"},
		{func(o *openai.Options) { o.BaseURL = "http://%zz" + secretKey }, "the base URL cannot be read"},
		{func(o *openai.Options) { o.Key = secretKey + "\n" }, "the key holds a space"},
		{func(o *openai.Options) { o.Headers = map[string]string{"X": secretKey + "\r\nY: z"} }, `header "X" cannot be sent`},
		{func(o *openai.Options) { o.Timeout = 0 }, "time-out 0s"},
	} {
		o := good
		c.change(&o)
		_, err := openai.New(o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		} else if strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("%v holds the key", err)
		}
	}
}

func TestPrintingShowsNoSecret(t *testing.T) {
	o := openai.Options{BaseURL: llmtest.PipeURL, Key: secretKey, Timeout: time.Second, AllowPlainHTTP: true,
		Headers: map[string]string{"X-Gateway": secretHeader}}
	client, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(o), fmt.Sprintf("%+v %#v", o, o), fmt.Sprint(client), fmt.Sprintf("%+v %#v", client,
			client), string(encoded),
		fmt.Sprintf("%v", &o), fmt.Sprintf("%+v", []openai.Options{o}),
	} {
		if strings.Contains(text, "0123456789abcdef") || strings.Contains(text, "fedcba9876543210") ||
			!strings.Contains(text, "llm.test") {
			t.Errorf("%q holds a secret, or not the host", text)
		}
	}
}

// Whatever comes back: no panic, a reply or an error but not both, and no secret in the error.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"message":{"content":"Score: 3"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		`{"error":{"message":"x","type":null,"param":null,"code":"unsupported_parameter","innererror":{"code":1}}}`,
		`{"error":{"message":["a","b"],"code":429,"metadata":{"flagged_input":"x"}}}`, `{"error":"text"}`,
		`[{"error":{"message":"m"}}]`,
		`{"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}`, `{"choices":[null]}`,
		`{"choices":[{"message":null}]}`,
		`{"choices":[{"message":{"content":[{"type":"text","text":"x"}]}}]}`, "null", "[]", "", "<html>",
		"\xff", `{"error":{}}`,
		`{"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807,"total_tokens":1},"choices":[{}]}`,
		strings.Repeat("[", 20000), `{"error":{"message":"` + secretKey + `"}}`,
	} {
		for _, status := range []int{200, 400, 401, 429, 500} {
			f.Add(status, seed, "20")
		}
	}
	f.Fuzz(func(t *testing.T, status int, body, retryAfter string) {
		status = 200 + (status%400+400)%400
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r,
				Header: http.Header{"Retry-After": {retryAfter}}}, nil
		})
		client := open(t, openai.Options{BaseURL: llmtest.PipeURL, HTTP: &http.Client{Transport: transport}})
		reply, err := client.Complete(t.Context(), llmtest.Sample(0))
		if (reply == nil) == (err == nil) {
			t.Fatalf("reply %v and error %v", reply, err)
		}
		if err != nil {
			checkError(t, err)
		} else if reflect.DeepEqual(*reply, llm.Reply{}) || reply.Usage.Input < 0 || reply.Usage.Output < 0 {
			t.Errorf("reply %+v", reply)
		}
	})
}

// What a reply holds twice can be read in two ways: it is of no use, and its tokens count.
func TestAmbiguousReplies(t *testing.T) {
	const choice = `{"message":{"content":"3"}}`
	for name, c := range map[string]struct{ body, text string }{
		"choices twice": {`{"choices":[` + choice + `],"choices":[{"message":{"content":"1"}}]}`,
			`the key "choices" twice`},
		"in another case": {`{"choices":[` + choice + `],"Choices":[{"message":{"content":"1"}}]}`,
			`the key "Choices" twice`},
		"content twice":       {`{"choices":[{"message":{"content":"3","content":"1"}}]}`, `the key "content" twice`},
		"message twice":       {`{"choices":[{"message":{"content":"3"},"message":{"content":"1"}}]}`, `the key "message" twice`},
		"two choices":         {`{"choices":[` + choice + `,{"message":{"content":"1"}}]}`, "two texts"},
		"two equal choices":   {`{"choices":[` + choice + `,` + choice + `]}`, ""},
		"one key in two ones": {`{"id":"1","choices":[{"id":"1","message":{"content":"3"}}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.NewServer(llmtest.Always(llmtest.Raw(c.body)))
			reply, err := dial(t, server).Complete(t.Context(), llmtest.Sample(0))
			switch {
			case err != nil:
				t.Fatal(err)
			case c.text == "" && (reply.Text != "3" || reply.Finish == llm.FinishAmbiguous):
				t.Errorf("it is %+v", reply)
			case c.text != "" && (reply.Finish != llm.FinishAmbiguous || !strings.Contains(reply.Text, c.text)):
				t.Errorf("it is %+v, want %s", reply, c.text)
			}
		})
	}
}
