package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

var comparePairs = flag.Int("compare-pairs", 100, "pairs of BenchmarkCompare")

// BenchmarkCompare is BenchmarkScore for pairs, by all types and in both orders; the leaderboards are part of it. Its
// peak memory does not grow with the pairs but for what the leaderboards need.
//
//	go test ./cmd/erreval -run '^$' -bench '^BenchmarkCompare$' -benchtime 1x -compare-pairs 10000
func BenchmarkCompare(b *testing.B) {
	const (
		inFlight = 32
		perPair  = 11 * 2 // types with Overall, orders
	)
	url, body := thriftyEndpoint(b, `{"reason":"As the requirement says.","verdict":"first"}`)
	in := filepath.Join(b.TempDir(), "in.jsonl")
	var rows bytes.Buffer
	for i := range *comparePairs {
		fmt.Fprintf(&rows, `{"id":"p%d","item":"i%d","instruction":"Write about wall %d.","response_a":"Wall %d is old.","response_b":"Oke built wall %d.","system_a":"s%d","system_b":"s%d"}`+"\n",
			i, i/45, i, i, i, i%10, (i+1+i/10%9)%10)
	}
	if err := os.WriteFile(in, rows.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	calls := *comparePairs * perPair
	var took, bare, cpu time.Duration
	var peak int64
	for i := range b.N {
		cmd := exec.CommandContext(b.Context(), exe)
		cmd.Args = []string{"erreval", "compare", in, "-o", filepath.Join(b.TempDir(), fmt.Sprint(i)), "--taxonomy",
			"instruction-following", "--judge", "m", "--base-url", url, "--in-flight", strconv.Itoa(inFlight), "--quiet"}
		cmd.Env = append(os.Environ(), "OPENAI_API_KEY=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		start := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v: %s", err, &stderr)
		}
		state := cmd.ProcessState
		took, cpu = took+time.Since(start), cpu+state.UserTime()+state.SystemTime()
		peak = max(peak, state.SysUsage().(*syscall.Rusage).Maxrss)
		bare += bareCalls(b, url, *body.Load(), inFlight, calls)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N*calls)/bare.Seconds(), "bare-calls/s")
	b.ReportMetric(float64(b.N*calls)/took.Seconds(), "calls/s")
	b.ReportMetric(100*bare.Seconds()/took.Seconds(), "%_of_bare")
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N*calls), "cpu-µs/call")
	b.ReportMetric(float64(peak)/1024, "MiB")
}
