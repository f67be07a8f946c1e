// Package replies is what those who ask language models share: the model's thoughts, texts in messages, and when a model that
// gives no reply any more is taken to be down.
package replies

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

var (
	thoughts   = regexp.MustCompile(`^\s*<(think|thinking|thought)>`)
	thoughtEnd = regexp.MustCompile(`(?m)^[ \t]*</(?:think|thinking|thought)>|</(?:think|thinking|thought)>[ \t\r]*$`)
)

// WithoutThoughts is what follows a reasoning model's thoughts; false if these do not end. Some endpoints leave out where they
// begin. An end that stands within a line of a reply without a beginning is one that the model writes about.
func WithoutThoughts(text string) (string, bool) {
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
	if ends := thoughtEnd.FindAllStringIndex(text, -1); ends != nil {
		text = text[ends[len(ends)-1][1]:]
	}
	return text, true
}

// Clip is the end of a text, where a reply's answer should stand, for a message: one line of at most some bytes, without what a
// terminal would obey.
func Clip(text string, most int) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if text = strings.Join(words, " "); len(text) > most {
		text = "… " + text[len(text)-most:]
	}
	return strings.ToValidUTF8(text, "")
}

// A model that gives up call after call is down: stop rather than leave the rest unanswered. Each of these was tried again
// by the client already.
const (
	DownAtOnce = 3  // that never gave a reply
	DownLater  = 24 // that did
)

// Health counts the calls to a model that were given up since its last reply. Safe for concurrent use.
type Health struct {
	mu      sync.Mutex
	replied bool
	failed  int
}

// Reset forgets everything.
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

// Fail counts a call given up, and tells how many in a row were, and whether that is too many.
func (h *Health) Fail() (n int, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed++
	return h.failed, h.failed >= DownLater || !h.replied && h.failed >= DownAtOnce
}
