package loopback

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestGuard(t *testing.T) {
	local, err := NewGuard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8123})
	if err != nil {
		t.Fatal(err)
	}
	remote := &Guard{Hosts: []string{"tags.example"}, Remote: true, Proxied: true, Policy: "p", Token: "t", Hint: "h"}
	for _, c := range []struct {
		name               string
		guard              *Guard
		from, host, origin string
		token              string
		status             int
		says               string
	}{
		{"as it should be", local, "127.0.0.1:4", "localhost:8123", "http://localhost:8123", local.Token, 200, ""},
		{"another machine", local, "192.0.2.7:4", "127.0.0.1:8123", "", local.Token, 403, "only this machine"},
		{"another name", local, "127.0.0.1:4", "evil.example", "", local.Token, 421, "this is 127.0.0.1:8123"},
		{"another site", local, "127.0.0.1:4", "127.0.0.1:8123", "http://evil.example", local.Token, 403, "another site"},
		{"TLS without a proxy", local, "127.0.0.1:4", "127.0.0.1:8123", "https://127.0.0.1:8123", local.Token, 403,
			"another site"},
		{"no token", local, "127.0.0.1:4", "127.0.0.1:8123", "", "", 401, "open the address"},
		{"from afar", remote, "192.0.2.7:4", "tags.example", "http://tags.example", "t", 200, ""},
		{"through a proxy", remote, "192.0.2.7:4", "tags.example", "https://tags.example", "t", 200, ""},
		{"by no name of its own", remote, "192.0.2.7:4", "192.0.2.1", "", "t", 421, "a name that it was started with"},
		{"a wrong token", remote, "192.0.2.7:4", "tags.example", "", "T", 401, `"error":"h"`},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.RemoteAddr, r.Host = c.from, c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { Reply(w, struct{}{}) })
		c.guard.Protect(c.guard.WithToken(ok)).ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		if w.Header().Get("Content-Security-Policy") != c.guard.Policy {
			t.Errorf("%s: the policy is %q", c.name, w.Header().Get("Content-Security-Policy"))
		}
	}
}

// start serves until the test or the result's cancel ends it, and gives the address and how it ended.
func start(t *testing.T, s *Server) (address string, stop func(), ended <-chan error) {
	t.Helper()
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(cancel)
	return l.Addr().String(), cancel, done
}

func dial(t *testing.T, address, send string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	return conn
}

func replyOn(t *testing.T, conn net.Conn) string {
	t.Helper()
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(reply.StatusCode, " ", string(body))
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// TestConnections: those that send no request, or a header that does not end, give way to one that asks.
func TestConnections(t *testing.T) {
	under, end := make(chan struct{}, 3), make(chan struct{})
	address, _, _ := start(t, &Server{MaxConnections: 3, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			under <- struct{}{}
			<-end
			Reply(w, "done")
		})})
	silent := dial(t, address, "")
	slow := dial(t, address, request[:len(request)-2])
	var asking []net.Conn
	for range 3 {
		asking = append(asking, dial(t, address, request))
		<-under
	}
	late := dial(t, address, request)
	for name, conn := range map[string]net.Conn{"silent": silent, "slow": slow, "one too many": late} {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("the %s connection is still open", name)
		}
	}
	close(end)
	for _, conn := range asking {
		if got := replyOn(t, conn); got != `200 "done"` {
			t.Errorf("a request got %s", got)
		}
	}
}

func TestDrain(t *testing.T) {
	for name, patient := range map[string]bool{"to the end": true, "cut off": false} {
		under, end, draining := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s := &Server{Draining: func(context.Context) { close(draining) }, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				close(under)
				<-end
				Reply(w, "done")
			})}
		if !patient {
			s.Drain = time.Millisecond
		}
		address, stop, ended := start(t, s)
		conn := dial(t, address, request)
		<-under
		stop()
		<-draining
		if patient {
			close(end)
			if got := replyOn(t, conn); got != `200 "done"` {
				t.Errorf("%s: %s", name, got)
			}
		}
		err := <-ended
		if errors.Is(err, ErrCut) == patient {
			t.Errorf("%s: it ended with %v", name, err)
		}
		if !patient {
			close(end)
		}
	}
}

func TestBoundConnections(t *testing.T) {
	if got := BoundConnections(1); got != 1 {
		t.Errorf("of one, %d", got)
	}
	if got := BoundConnections(1 << 40); got < 1 || got >= 1<<40 {
		t.Errorf("of very many, %d", got)
	}
}

// TestReadOn: a client that reads nothing until it has sent everything is told what is wrong, and may ask again.
func TestReadOn(t *testing.T) {
	const size = 3 << 20
	address, _, _ := start(t, &Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Refuse(w, http.StatusRequestEntityTooLarge, "too large")
	})})
	conn := dial(t, address, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size))
	for range 2 {
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if got := replyOn(t, conn); got != `413 {"error":"too large"}` {
			t.Error(got)
		}
		if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size); err != nil {
			t.Fatal(err)
		}
	}
	waiting := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
	if got := replyOn(t, waiting); got != `413 {"error":"too large"}` {
		t.Errorf("one that waits: %s", got)
	}
}
