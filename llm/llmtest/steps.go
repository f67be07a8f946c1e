package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/erreval/erreval/llm"
)

// Reply answers with r. If r names no model, the answer has the request's; if r has no usage, the answer has none.
func Reply(r llm.Reply) Step {
	return func(_ context.Context, w http.ResponseWriter, c *Call) {
		send(w, http.StatusOK, c.form.reply(r, c))
	}
}

// Text answers with text, as a model that ended by itself, and with the usage that Count gives.
func Text(text string) Step {
	return func(ctx context.Context, w http.ResponseWriter, c *Call) {
		Reply(llm.Reply{Text: text, Finish: llm.FinishStop, Usage: Count(&c.Request, text)})(ctx, w, c)
	}
}

// Echo answers with the whole prompt and then text.
func Echo(text string) Step {
	return func(ctx context.Context, w http.ResponseWriter, c *Call) {
		var b strings.Builder
		for _, m := range c.Request.Messages {
			b.WriteString(m.Content + "\n")
		}
		Text(b.String()+text)(ctx, w, c)
	}
}

// Fail answers with an HTTP status and an error object.
func Fail(status int, code, message string) Step {
	return Reject(status, code, "", message)
}

// Reject is Fail that blames one parameter of the call.
func Reject(status int, code, param, message string) Step {
	return func(_ context.Context, w http.ResponseWriter, c *Call) {
		send(w, status, c.form.fault(status, code, param, message))
	}
}

// TooMany answers 429, with a Retry-After header unless retryAfter is empty: seconds, or an HTTP date.
func TooMany(retryAfter string) Step {
	return func(ctx context.Context, w http.ResponseWriter, c *Call) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		Fail(http.StatusTooManyRequests, "rate_limit_exceeded", "Rate limit reached.")(ctx, w, c)
	}
}

// Silence answers nothing until the caller closes the connection.
func Silence() Step {
	return func(ctx context.Context, _ http.ResponseWriter, _ *Call) { <-ctx.Done() }
}

// Stall sends the head of a reply and then nothing until the caller closes the connection.
func Stall() Step {
	return func(ctx context.Context, w http.ResponseWriter, c *Call) {
		part(w, c)
		<-ctx.Done()
	}
}

// Cut sends the first half of a reply and closes the connection.
func Cut() Step {
	return func(_ context.Context, w http.ResponseWriter, c *Call) {
		part(w, c)
		panic(http.ErrAbortHandler) // the way to make net/http close the connection
	}
}

func part(w http.ResponseWriter, c *Call) {
	body, err := json.Marshal(c.form.reply(llm.Reply{Text: "The score is", Finish: llm.FinishStop}, c))
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body[:len(body)/2]) // the caller may be gone
	_ = http.NewResponseController(w).Flush()
}

// Drop closes the connection without an answer.
func Drop() Step {
	return func(context.Context, http.ResponseWriter, *Call) { panic(http.ErrAbortHandler) }
}

// Raw answers 200 with body.
func Raw(body string) Step {
	return func(_ context.Context, w http.ResponseWriter, _ *Call) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// NoChoices answers with an empty list of choices.
func NoChoices() Step { return Raw(`{"id":"x","object":"chat.completion","model":"m","choices":[]}`) }

// Refusal answers with text as the model's refusal.
func Refusal(text string) Step {
	return func(ctx context.Context, w http.ResponseWriter, c *Call) {
		Reply(llm.Reply{Text: text, Finish: llm.FinishRefuse, Usage: Count(&c.Request, text)})(ctx, w, c)
	}
}

// PromptFiltered answers that the content filter stopped the prompt, as Azure does or the Messages API.
func PromptFiltered() Step {
	return func(_ context.Context, w http.ResponseWriter, c *Call) {
		send(w, http.StatusBadRequest, c.form.filtered())
	}
}

func notUTF8() Step {
	return func(_ context.Context, w http.ResponseWriter, c *Call) {
		body, err := json.Marshal(c.form.reply(llm.Reply{Text: "bytes", Finish: llm.FinishStop}, c))
		if err == nil {
			_, _ = w.Write(bytes.Replace(body, []byte("bytes"), []byte("\xff\xfe"), 1)) // the caller may be gone
		}
	}
}

// Big answers with a well-formed reply of at least n bytes.
func Big(n int) Step {
	return func(ctx context.Context, w http.ResponseWriter, c *Call) {
		Reply(llm.Reply{Text: strings.Repeat("again and ", n/10+1), Finish: llm.FinishStop})(ctx, w, c)
	}
}

// Fault is an error of endpoints or models.
type Fault struct {
	Name string
	Step Step
	Kind llm.Kind // of the error that one call returns; 0: the call returns a reply
}

// Faults are all known faults, in fixed order. verdict is a correct reply, in the form that the prompt asks for; off is
// a reply in that form whose value is not on the scale.
func Faults(verdict, off string) []Fault {
	return []Fault{
		{"429", TooMany(""), llm.Wait},
		{"429 with Retry-After in seconds", TooMany("1"), llm.Wait},
		{"429 with Retry-After as a date in the past", TooMany("Wed, 21 Oct 1998 07:28:00 GMT"), llm.Wait},
		{"500", Fail(http.StatusInternalServerError, "server_error", "The server had an error."), llm.Transient},
		{"503 page", page(http.StatusServiceUnavailable), llm.Transient},
		{"silence", Silence(), llm.Transient},
		{"stalled body", Stall(), llm.Transient},
		{"cut body", Cut(), llm.Transient},
		{"dropped connection", Drop(), llm.Transient},
		{"no choices", NoChoices(), llm.Transient},
		{"null", Raw("null"), llm.Transient},
		{"empty body", Raw(""), llm.Transient},
		{"wrong JSON", Raw(`{"choices": [{"message": {"content": 3}}]}`), llm.Transient},
		{"half JSON", Raw(`{"choices": [{"message": {"content": "`), llm.Transient},
		{"page", page(http.StatusOK), llm.Transient},
		{"error with status 200", Raw(`{"error": {"message": "Provider returned error", "code": 502}}`), llm.Transient},
		{"10 MB", Big(10 << 20), llm.Transient},
		{"400", Fail(http.StatusBadRequest, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
			llm.Refused},
		{"prompt filtered", PromptFiltered(), llm.Filtered},
		{"refusal", Refusal("I can't help with that."), 0},
		{"content filter", Reply(llm.Reply{Finish: llm.FinishFilter}), 0},
		{"cut at max tokens", Reply(llm.Reply{Text: "The question is", Finish: llm.FinishLength}), 0},
		{"no text", Text(""), 0},
		{"off scale", Text(off), 0},
		{"two verdicts", Text(off + "\nNo, on second thoughts:\n" + verdict), 0},
		{"prompt echoed", Echo(verdict), 0},
		{"not UTF-8", notUTF8(), 0},
	}
}

func page(status int) Step {
	return func(_ context.Context, w http.ResponseWriter, _ *Call) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><h1>Please log in</h1></html>")
	}
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
