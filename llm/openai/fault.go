package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/llm"
)

// fault is what an endpoint says of a call that it did not take, as far as it can be understood.
type fault struct {
	status    int
	message   string // as the endpoint wrote it: not fit for showing before wire.clean
	code, typ string
	inner     string // Azure's innererror.code
	param     string
	flagged   bool // OpenRouter's metadata.flagged_input
}

// Error is status and message.
func (f *fault) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", f.status, http.StatusText(f.status)))
	if f.message != "" {
		text += ": " + f.message
	}
	return text
}

// parseFault understands {"error": {…}}, {"error": "…"}, [{"error": …}], {"message": …}, {"detail": …} and plain text.
func parseFault(body []byte) *fault {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return &fault{message: plain(body)}
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	fields, _ := value.(map[string]any)
	switch e := fields["error"].(type) {
	case map[string]any:
		fields = e
	case string:
		return &fault{message: e, code: scalar(fields["code"])}
	}
	f := &fault{code: scalar(fields["code"]), typ: scalar(fields["type"]), param: scalar(fields["param"])}
	inner, _ := fields["innererror"].(map[string]any)
	f.inner = scalar(inner["code"])
	metadata, _ := fields["metadata"].(map[string]any)
	_, f.flagged = metadata["flagged_input"]
	for _, name := range []string{"message", "detail"} {
		if f.message == "" && fields[name] != nil {
			f.message = scalar(fields[name])
		}
	}
	return f
}

// plain is a body that is not JSON.
func plain(body []byte) string {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") {
		return "(an HTML page)"
	}
	return text
}

// scalar is a JSON value as text.
func scalar(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// Codes that endpoints put into code, type or innererror.code.
var (
	filterCodes = []string{"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
	quotaCodes  = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
)

func (f *fault) has(codes []string) bool {
	return slices.Contains(codes, f.code) || slices.Contains(codes, f.typ) || slices.Contains(codes, f.inner)
}

// kind is what to do about f.
func (f *fault) kind() llm.Kind {
	switch s := f.status; {
	case f.has(filterCodes) || f.flagged:
		return llm.Filtered
	case f.has(quotaCodes):
		return llm.Auth
	case s == http.StatusTooManyRequests:
		return llm.Wait
	case s == http.StatusRequestTimeout, s == http.StatusConflict, s == http.StatusTooEarly, s >= 500:
		return llm.Transient
	case s >= 401 && s <= 405, s == http.StatusGone:
		return llm.Auth
	}
	return llm.Refused
}

const adviceFiltered = "another judge may take this text"

// advice is what to try next.
func (f *fault) advice(kind llm.Kind) string {
	switch {
	case kind == llm.Filtered:
		return adviceFiltered
	case kind == llm.Wait:
		return "allow fewer calls or tokens per minute"
	case kind == llm.Transient:
		return "try again later, or see the endpoint's status page"
	case kind == llm.Refused && (f.status == http.StatusRequestEntityTooLarge || f.code == "context_length_exceeded"):
		return "shorten the row's texts, or choose a model with a larger context"
	case kind == llm.Refused:
		return "check the model's options"
	case f.status == http.StatusPaymentRequired || f.has(quotaCodes):
		return "add credit to the account, or use another key"
	case f.status == http.StatusUnauthorized:
		return "check the key"
	case f.status == http.StatusForbidden:
		return "check that the key may use this model here"
	}
	return "check the model's name and the base URL"
}
