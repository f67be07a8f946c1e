package endpoint

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter is how long the endpoint asks to wait: Retry-After in seconds or as a date, or the milliseconds that
// OpenAI and Azure send beside it. 0: it does not ask, or the header cannot be read.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return durationOf(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return durationOf(seconds)
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date")) // the endpoint's clock, which may not be ours
	if err != nil {
		now = time.Now()
	}
	return durationOf(date.Sub(now).Seconds())
}

// durationOf is seconds as a duration, from 0 to a year.
func durationOf(seconds float64) time.Duration {
	if !(seconds > 0) { // NaN included
		return 0
	}
	return time.Duration(math.Min(seconds, 365*24*3600) * float64(time.Second))
}
