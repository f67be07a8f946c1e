package loopback

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Listen opens a port of the loopback interface, 0 for any that is free.
func Listen(port int) (net.Listener, error) {
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
}

// Patience is how long a request may take to come, unless its handler says otherwise by http.ResponseController, and
// how long Serve waits at its end for those in flight, unless Server says otherwise.
const Patience = 10 * time.Second

// Server serves a handler. Only Handler must be given.
type Server struct {
	Handler        http.Handler
	MaxConnections int           // open at a time; 0 is no limit
	Drain          time.Duration // how long Serve waits at its end for requests in flight; 0 is Patience
	// Draining is called when the server is to end, with a context of that time: connections are taken until it returns.
	Draining func(context.Context)
}

// ErrCut is the error of a server that ended before its requests did.
var ErrCut = errors.New("requests were cut off, which took too long to end")

// Serve answers until ctx ends, and then finishes what is in flight. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: readOn(s.Handler), ReadTimeout: Patience, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 16, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	if s.MaxConnections > 0 {
		c := newConnections(s.MaxConnections)
		server.Handler, server.ConnState, server.ConnContext = c.begin(server.Handler), c.note, c.remember
	}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.Drain, Patience))
		defer cancel()
		if s.Draining != nil {
			s.Draining(late)
		}
		err := server.Shutdown(late)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.Join(ErrCut, server.Close())
		}
		ended <- err
	})
	err := server.Serve(l)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// Where a handler leaves a body unread, so many bytes of it are read before the reply, and so long.
const (
	mostUnread = 256 << 20
	readOnTime = 10 * time.Second
)

// readOn reads what next leaves of a body, within bounds: a client that sends everything before it reads sees the reply
// and not a connection that is reset. One that waits to be told to send is not told, and a handler that closes the
// connection has seen that nothing comes.
func readOn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if r.Body == http.NoBody || r.Header.Get("Expect") != "" || w.Header().Get("Connection") == "close" {
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readOnTime))
		_, _ = io.CopyN(io.Discard, r.Body, mostUnread) // the reply says what is wrong
	})
}

// OpenBrowser opens an address where the system is known to have a command for that, else it does nothing. The browser
// stays when ctx ends: it is the user's.
func OpenBrowser(ctx context.Context, address string) error {
	program := map[string]string{"darwin": "open", "linux": "xdg-open"}[runtime.GOOS]
	if program == "" {
		return nil
	}
	// #nosec G204 -- constants; an address of this server
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, address)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // how the browser ends is nobody's business here
	return nil
}

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
