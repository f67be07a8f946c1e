// Package replies is what callers of language models share: removing a model's thoughts, clipping replies for messages,
// deciding when a model is down, and errors of calls whose context ended.
package replies

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

var (
	thoughts     = regexp.MustCompile(`^\s*<(think|thinking|thought)>`)
	thoughtEnd   = regexp.MustCompile(`(?m)^[ \t]*</(?:think|thinking|thought)>|</(?:think|thinking|thought)>[ \t\r]*$`)
	thoughtLater = regexp.MustCompile(`<(?:think|thinking|thought)>`)
)

// WithoutThoughts is the text after a reasoning model's thoughts; false if these do not end. Some endpoints leave out
// the mark of their beginning. An end mark within a line of a reply without a beginning is part of the text. So are
// thoughts that begin after an answer, which decided finds in the text before them: they may take the answer back.
func WithoutThoughts(text string, decided func(before string) bool) (string, bool) {
	for {
		begin := thoughts.FindStringSubmatch(text)
		if begin == nil {
			break
		}
		_, rest, ends := strings.Cut(text, "</"+begin[1]+">")
		if !ends {
			return "", false
		}
		text = rest
	}
	if later := thoughtLater.FindStringIndex(text); later != nil && decided(text[:later[0]]) {
		return text, true
	}
	if ends := thoughtEnd.FindAllStringIndex(text, -1); ends != nil {
		text = text[ends[len(ends)-1][1]:]
	}
	return text, true
}

// Clip is the end of a text, where a reply's answer should be, for a message: one line of at most so many bytes,
// without what a terminal would execute.
func Clip(text string, most int) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if text = strings.Join(words, " "); len(text) > most {
		text = "… " + text[len(text)-most:]
	}
	return strings.ToValidUTF8(text, "")
}

// A model is down if so many calls in a row failed; then the run stops. The client has already retried each of them.
const (
	DownAtOnce = 3  // that never gave a reply
	DownLater  = 24 // that did
)

// Health counts the calls to a model that have failed since its last reply. Safe for concurrent use.
type Health struct {
	mu      sync.Mutex
	replied bool
	failed  int
}

// Reset sets the count to 0 and forgets earlier replies.
func (h *Health) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed = false, 0
}

// Reply counts a reply.
func (h *Health) Reply() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed = true, 0
}

// Fail counts a failed call. It returns how many failed in a row, and whether that is too many.
func (h *Health) Fail() (n int, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed++
	return h.failed, h.failed >= DownLater || !h.replied && h.failed >= DownAtOnce
}

// ContextError is an error for the end of ctx: both its cause and context.Canceled or DeadlineExceeded.
func ContextError(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return context.Cause(ctx)
}
