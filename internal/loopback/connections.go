package loopback

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// BoundConnections is limit, or less where the process may open few files: half of them are left for other uses.
func BoundConnections(limit int) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur/2 >= uint64(limit) {
		return limit
	}
	return max(1, int(files.Cur/2)) // less than limit
}

// connections bounds how many are open. Where there are too many, the one goes that has waited longest without a
// request; where each has one, the newest. A connection on which a header is still coming in has none.
type connections struct {
	limit int

	mu   sync.Mutex
	all  map[net.Conn]*connection
	last uint64 // number given
}

type connection struct {
	waits bool
	since uint64 // smaller is longer ago
}

func newConnections(limit int) *connections {
	return &connections{limit: limit, all: map[net.Conn]*connection{}}
}

// note is an http.Server's ConnState.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		c.last++
		c.all[conn] = &connection{waits: true, since: c.last}
	case http.StateClosed, http.StateHijacked:
		delete(c.all, conn)
	}
	if len(c.all) > c.limit {
		conn = c.longestWaiting(conn)
		delete(c.all, conn)
		_ = conn.Close() // its reader finds out
	}
}

// longestWaiting is newest where no other waits.
func (c *connections) longestWaiting(newest net.Conn) net.Conn {
	oldest := newest
	for conn, state := range c.all {
		if state.waits && state.since < c.all[oldest].since {
			oldest = conn
		}
	}
	return oldest
}

type connKey struct{}

// remember is an http.Server's ConnContext.
func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// begin notes that a connection has a request, whose header is there.
func (c *connections) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		c.mu.Lock()
		if known := c.all[conn]; known != nil {
			known.waits = false
		}
		c.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}
