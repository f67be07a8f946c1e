package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	loadSeconds = flag.Float64("serve-seconds", 1, "load erreval serve for so long in each of -serve-rounds")
	loadRounds  = flag.Int("serve-rounds", 1, "compare so often with identify")
	serveKills  = flag.Int("serve-kills", 2, "kill erreval serve so often")
	allAttacks  = flag.Bool("serve-hostile", false, "attack erreval serve with 1 GB and 10,000 connections")
)

const loadClients = 32

// load are clients that send rows to a server, and compare what comes back with what identify made of the same rows.
type load struct {
	rows, tagged []string // with their line ends
	client       *http.Client
	server       atomic.Pointer[server]

	answered atomic.Int64 // rows
	failed   atomic.Int64 // requests that were cut off, or found nobody
	mu       sync.Mutex
	times    []time.Duration // of requests that were answered
	faults   []error
}

// newLoad tags the sample questions with identify; model is for both.
func newLoad(t *testing.T, model string) *load {
	t.Helper()
	path, out := filepath.Join("..", "..", "testdata", "samples", "questions.jsonl"), filepath.Join(t.TempDir(), "o.jsonl")
	if text, err := command(t, "identify", path, "-o", out, "--model", model).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	l := &load{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadClients}}}
	for _, f := range []struct {
		path string
		to   *[]string
	}{{path, &l.rows}, {out, &l.tagged}} {
		data, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		*f.to = slices.Collect(strings.Lines(string(data)))
	}
	return l
}

// start starts a server that the clients use from now on.
func (l *load) start(t *testing.T, args ...string) *server {
	t.Helper()
	cmd := command(t, append([]string{"serve", "--quiet"}, args...)...)
	cmd.Stderr = os.Stderr
	s, err := startServer(cmd, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test failed
	l.server.Store(s)
	return s
}

// run has all clients ask until ctx ends, and waits until they have what they asked for.
func (l *load) run(ctx context.Context) {
	var all sync.WaitGroup
	for n := range loadClients {
		all.Go(func() {
			for at := n; ctx.Err() == nil; at++ {
				began := time.Now()
				if err := l.ask(at); err != nil {
					l.failed.Add(1)
					continue
				}
				l.mu.Lock()
				l.times = append(l.times, time.Since(began))
				l.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// ask sends some rows. An answer that is whole and wrong is a fault; one that is cut off is an error.
func (l *load) ask(at int) error {
	var want, body strings.Builder
	n := 1 + at%8
	for i := range n {
		k := (at*7 + i) % len(l.rows)
		body.WriteString(l.rows[k])
		want.WriteString(l.tagged[k])
	}
	got, err := l.server.Load().ask(context.Background(), l.client, "/v1/identify", "", strings.NewReader(body.String()))
	if err != nil {
		return err
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK || string(data) != want.String() {
		l.mu.Lock()
		l.faults = append(l.faults, fmt.Errorf("%d rows: %d %s", n, got.StatusCode, data))
		l.mu.Unlock()
	}
	l.answered.Add(int64(n))
	return nil
}

// check fails where a reply was wrong.
func (l *load) check(t *testing.T) {
	t.Helper()
	for _, err := range l.faults[:min(3, len(l.faults))] {
		t.Error(err)
	}
}

// quantile is that of the times of requests.
func (l *load) quantile(q float64) time.Duration {
	slices.Sort(l.times)
	return l.times[min(int(q*float64(len(l.times))), len(l.times)-1)]
}

// TestServeLoad: 32 clients get every row back as identify has it. With -serve-seconds 10 -serve-rounds 6
// (scripts/load.sh) it prints rows a second beside identify's, each in turn.
func TestServeLoad(t *testing.T) {
	l := newLoad(t, "default")
	s := l.start(t)
	var ratios []float64
	_, idle := identifyRate(t, l, 1) // opening the model
	var alone, rows = time.Duration(0), 0
	for range *loadRounds {
		before, began := l.answered.Load(), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*loadSeconds*float64(time.Second)))
		l.run(ctx)
		cancel()
		rate := float64(l.answered.Load()-before) / time.Since(began).Seconds()
		n := max(int(rate*(*loadSeconds)), len(l.rows))
		beside, cpu := identifyRate(t, l, n)
		alone, rows = alone+cpu-idle, rows+n
		ratios = append(ratios, rate/beside)
		t.Logf("%.1f rows a second, identify %.1f: %.3f of it", rate, beside, rate/beside)
	}
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
	l.check(t)
	if n := l.failed.Load(); n > 0 {
		t.Errorf("%d requests were not answered", n)
	}
	state := s.cmd.ProcessState
	ofServer := (state.UserTime() + state.SystemTime() - idle) / time.Duration(l.answered.Load())
	t.Logf("processor time of a row: %v, of identify %v", ofServer.Round(10*time.Microsecond),
		(alone / time.Duration(rows)).Round(10*time.Microsecond))
	slices.Sort(ratios)
	t.Logf("%d clients, %d requests, %d rows; ratio %.3f (median of %d); p50 %v, p99 %v", loadClients, len(l.times),
		l.answered.Load(), ratios[len(ratios)/2], len(ratios), l.quantile(.5).Round(time.Millisecond),
		l.quantile(.99).Round(time.Millisecond))
}

// identifyRate is how many of n of the same rows identify tags in a second, the time to open the model left out, and the
// processor time of it all.
func identifyRate(t *testing.T, l *load, n int) (rate float64, cpu time.Duration) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		b.WriteString(l.rows[i%len(l.rows)])
	}
	in := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(in, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "identify", in, "-o", filepath.Join(t.TempDir(), "out.jsonl"), "--json", "--quiet")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var sum struct {
		RowsPerSecond float64 `json:"rows_per_second"`
	}
	if err := json.Unmarshal(out, &sum); err != nil {
		t.Fatal(err)
	}
	return sum.RowsPerSecond, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// TestServeKilled: a server that is killed under load, and started again at the same address, gives no reply that looks
// whole and is not. With -serve-kills 20: scripts/kill_serve.sh.
func TestServeKilled(t *testing.T) {
	l := newLoad(t, filepath.Join("..", "..", "identifier", "testdata", "bert"))
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("correct-horse-battery-staple\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--model", filepath.Join("..", "..", "identifier", "testdata", "bert"), "--token-file", token}
	s := l.start(t, args...)
	s.token = "correct-horse-battery-staple"
	args = append(args, "--listen", strings.TrimPrefix(s.base, "http://"))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		l.run(ctx)
		close(done)
	}()
	for range *serveKills {
		l.await(l.answered.Load() + 200)
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait() // killed
		s = l.start(t, args...)
		s.token = "correct-horse-battery-staple"
	}
	l.await(l.answered.Load() + 200)
	stop()
	<-done
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
	l.check(t)
	if l.failed.Load() == 0 {
		t.Error("no request was under way at any kill")
	}
	t.Logf("%d kills, %d rows answered, %d requests cut off or refused", *serveKills, l.answered.Load(), l.failed.Load())
}

// await waits until so many rows were answered.
func (l *load) await(rows int64) {
	for l.answered.Load() < rows {
		_ = l.ask(0) // which takes its time
	}
}

// TestServeHostile: while clients send headers that do not end, bodies without end and nothing at all, one that asks is
// answered, and memory stays below mostMemory.
func TestServeHostile(t *testing.T) {
	slow, connections, size, long := 50, 200, int64(400<<20), 1
	if *allAttacks {
		slow, connections, size, long = 1000, 10_000, 1<<30, 10
	}
	l := newLoad(t, "default")
	s := l.start(t, "--max-connections", "100")
	address := strings.TrimPrefix(s.base, "http://")
	var attacks sync.WaitGroup
	done := make(chan struct{})
	hold := func(n int, send string) {
		var tried sync.WaitGroup
		tried.Add(n)
		for range n {
			attacks.Go(func() {
				conn, err := net.Dial("tcp", address)
				if err == nil {
					defer conn.Close()
					_, _ = io.WriteString(conn, send) // or it is closed by now
				}
				tried.Done()
				<-done
			})
		}
		tried.Wait()
	}
	answered := func(what string) {
		t.Helper()
		l.client.CloseIdleConnections() // which the server may be closing, to make room
		began := time.Now()
		if err := l.ask(7); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		t.Logf("%s: a request of 8 rows took %v", what, time.Since(began).Round(time.Millisecond))
	}
	answered("before")
	head := "POST /v1/identify HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: Bearer "
	hold(slow, head)
	answered(fmt.Sprintf("%d headers that do not end", slow))
	hold(connections, "")
	answered(fmt.Sprintf("%d connections that say nothing", connections))
	for name, length := range map[string]int64{"said before": size, "unsaid": -1} {
		code, sent := sendEndless(t, s, length, size)
		t.Logf("%d MB, their number %s: %s after %d MB", size>>20, name, code, sent>>20)
		if sent > 340<<20 { // 64 MiB, what is read on so that the client sees the reply, and what the sockets hold
			t.Errorf("the server took %d MB of it", sent>>20)
		}
		answered("after a large body")
	}
	sendLongRows(t, l, long)
	answered("after long rows")
	if *allAttacks { // takes service.DefaultBounds().Stall
		sendSlowly(t, s, address)
	}
	close(done)
	attacks.Wait()
	peak := peakOf(t, s)
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
	l.check(t)
	t.Logf("peak of the server: %d MiB", peak)
	if peak > mostMemory {
		t.Errorf("it took %d MiB", peak)
	}
}

// peakOf is the most memory that a server took, in MiB. What its process ends with counts what this one takes, too.
func peakOf(t *testing.T, s *server) (mib int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "VmHWM:")
	if _, err := fmt.Sscan(text, &mib); err != nil {
		t.Fatal(err)
	}
	return mib >> 10
}

// sendLongRows sends rows near --max-record, n at a time as lines and as lists each.
func sendLongRows(t *testing.T, l *load, n int) {
	t.Helper()
	row := `{"question":"Who?","answer":"a","passage":"` + strings.Repeat("b ", 15<<19) + `"}`
	var all sync.WaitGroup
	for _, c := range []struct{ name, body string }{{"rows.jsonl", row + "\n"}, {"rows.json", "[" + row + "]"}} {
		for range n {
			all.Go(func() {
				got, err := l.server.Load().ask(t.Context(), l.client, "/v1/identify", c.name, strings.NewReader(c.body))
				if err != nil {
					t.Error(err)
					return
				}
				defer got.Body.Close()
				data, err := io.ReadAll(got.Body)
				if err != nil || got.StatusCode != http.StatusOK || !strings.Contains(string(data), `"read":{"passage":`) {
					t.Errorf("a long row: %s %v, %d bytes", got.Status, err, len(data))
				}
			})
		}
	}
	all.Wait()
}

// sendSlowly sends the beginning of a body, and wants to be told that the rest did not come.
func sendSlowly(t *testing.T, s *server, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	fmt.Fprintf(conn, "POST /v1/identify HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{", address, s.token)
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that does not come got %s", got.Status)
	}
	t.Logf("a body that does not come: %s after %v", got.Status, time.Since(began).Round(time.Millisecond))
}

// sendEndless sends a body of size bytes, and gives the reply's status and how much of the body was taken. length is
// what the header says of it; -1 is nothing.
func sendEndless(t *testing.T, s *server, length, size int64) (status string, sent int64) {
	t.Helper()
	row := []byte(`{"question":"Who?","answer":"a","passage":"` + strings.Repeat("b ", 1<<15) + `"}` + "\n")
	body := &counted{in: io.LimitReader(&repeating{row: row}, size)}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/v1/identify", body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = length
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/x-ndjson")
	got, err := http.DefaultClient.Do(r)
	if err != nil { // the server closed before the client looked
		return cmp.Or(errors.Unwrap(err), err).Error(), body.n.Load()
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("it said %s", got.Status)
	}
	return got.Status, body.n.Load()
}

// repeating is a row without end.
type repeating struct {
	row  []byte
	left bytes.Reader
}

func (r *repeating) Read(p []byte) (int, error) {
	if r.left.Len() == 0 {
		r.left.Reset(r.row)
	}
	return r.left.Read(p)
}

type counted struct {
	in io.Reader
	n  atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}
