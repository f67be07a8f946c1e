package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	scoreRows    = flag.Int("score-rows", 300, "rows of BenchmarkScore")
	scoreLatency = flag.Duration("score-latency", 5*time.Millisecond,
		"what a call of BenchmarkScore takes at the endpoint")
)

// BenchmarkScore compares the whole command, which is a process of its own, with a bare HTTP client that sends bodies
// of the same size from as many goroutines to the same endpoint. It reports the command's peak memory as well.
//
//	go test ./cmd/erreval -run '^$' -bench '^BenchmarkScore$' -benchtime 1x -score-rows 10000
func BenchmarkScore(b *testing.B) {
	const (
		inFlight   = 32
		dimensions = 7
	)
	url, body := thriftyEndpoint(b, `{"reason":"As the criteria say.","score":2}`)
	in := filepath.Join(b.TempDir(), "in.jsonl")
	var rows bytes.Buffer
	for i := range *scoreRows {
		fmt.Fprintf(&rows, `{"id":"r%d","passage":"Wall %d is old.","answer":"Oke","question":"Who built wall %d?","diagnosis":{"labels":["Vague"]}}`+"\n", i, i, i)
	}
	if err := os.WriteFile(in, rows.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	calls := *scoreRows * dimensions
	var command, bare, cpu time.Duration
	var peak int64
	for i := range b.N {
		took, state := timedScore(b, in, filepath.Join(b.TempDir(), fmt.Sprint(i)), url, inFlight)
		command, cpu, peak = command+took, cpu+state.UserTime()+state.SystemTime(), max(peak,
			state.SysUsage().(*syscall.Rusage).Maxrss)
		bare += bareCalls(b, url, *body.Load(), inFlight, calls)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N*calls)/bare.Seconds(), "bare-calls/s")
	b.ReportMetric(float64(b.N*calls)/command.Seconds(), "calls/s")
	b.ReportMetric(100*bare.Seconds()/command.Seconds(), "%_of_bare")
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N*calls), "cpu-µs/call")
	b.ReportMetric(float64(peak)/1024, "MiB")
}

// thriftyEndpoint answers after scoreLatency and leaves the processor to its callers, as an endpoint on another machine
// does: net/http's server takes five times as much. It keeps some call's body.
func thriftyEndpoint(b *testing.B, content string) (url string, body *atomic.Pointer[[]byte]) {
	verdict := fmt.Sprintf(`{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%q}}],`+
		`"model":"m","usage":{"prompt_tokens":700,"completion_tokens":20}}`, content)
	reply := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(verdict), verdict)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	body = &atomic.Pointer[[]byte]{}
	serve := func(c net.Conn) {
		defer c.Close()
		in := bufio.NewReaderSize(c, 1<<16)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return // the caller went away
			}
			data, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			body.CompareAndSwap(nil, &data)
			<-time.After(*scoreLatency)
			if _, err := c.Write(reply); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go serve(c)
		}
	}()
	return "http://" + listener.Addr().String(), body
}

// timedScore runs the command in a process of its own.
func timedScore(b *testing.B, in, out, url string, inFlight int) (time.Duration, *os.ProcessState) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), exe)
	cmd.Args = []string{"erreval", "score", in, "-o", out, "--judge", "m", "--base-url", url, "--in-flight",
		strconv.Itoa(inFlight), "--quiet"}
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %s", err, &stderr)
	}
	return time.Since(start), cmd.ProcessState
}

// bareCalls posts body n times and reads the replies.
func bareCalls(b *testing.B, url string, body []byte, inFlight, n int) time.Duration {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var wait sync.WaitGroup
	start := time.Now()
	for range inFlight {
		wait.Go(func() {
			for next.Add(1) <= int64(n) {
				reply, err := client.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, reply.Body); err != nil {
					b.Error(err)
				}
				_ = reply.Body.Close() // it is read
			}
		})
	}
	wait.Wait()
	return time.Since(start)
}
