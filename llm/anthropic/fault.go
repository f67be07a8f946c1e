package anthropic

import (
	"net/http"
	"strings"

	"github.com/erreval/erreval/llm/internal/endpoint"
)

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
