package ask

import "sync"

// A model is down if so many calls in a row failed; then the run stops. The client has already retried each of them.
const (
	DownAtOnce = 3  // that never gave a reply
	DownLater  = 24 // that did
)

// health counts the calls to a model that have failed since its last reply. Safe for concurrent use.
type health struct {
	mu      sync.Mutex
	replied bool
	failed  int
}

// reset sets the count to 0 and forgets earlier replies.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed = false, 0
}

// reply counts a reply.
func (h *health) reply() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replied, h.failed = true, 0
}

// fail counts a failed call. It returns how many failed in a row, and whether that is too many.
func (h *health) fail() (n int, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed++
	return h.failed, h.failed >= DownLater || !h.replied && h.failed >= DownAtOnce
}
