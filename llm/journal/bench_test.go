package journal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/erreval/erreval/llm"
)

// BenchmarkLookup replays calls of 3,000 bytes out of a journal of 10,000 replies.
func BenchmarkLookup(b *testing.B) {
	j := open(b, file(b))
	c := j.Client(&counting{}, "")
	const held = 10_000
	prompt := strings.Repeat("thirty bytes of prompt, or so; ", 100)
	var wait sync.WaitGroup
	for worker := range 32 {
		wait.Go(func() {
			for n := worker; n < held; n += 32 {
				complete(b, c, request(prompt+fmt.Sprint(n)))
			}
		})
	}
	wait.Wait()
	var n atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, err := c.Lookup(request(prompt + fmt.Sprint(n.Add(1)*7919%held)))
			if err != nil || r == nil {
				b.Error(r, err)
				return
			}
		}
	})
}

// BenchmarkThrough makes new calls, 32 in flight against an endpoint that takes 5 ms, and reports the share of what
// the endpoint allows.
func BenchmarkThrough(b *testing.B) {
	const (
		inFlight = 32
		latency  = 5 * time.Millisecond
	)
	j := open(b, file(b))
	endpoint := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		<-time.After(latency)
		return &llm.Reply{Text: strings.Repeat("reply ", 50), Usage: llm.Usage{Input: 700, Output: 80}}, nil
	})
	through := func(c llm.Client, n, workers int) time.Duration {
		var next atomic.Int64
		var wait sync.WaitGroup
		start := time.Now()
		for range workers {
			wait.Go(func() {
				for i := next.Add(1); i <= int64(n); i = next.Add(1) {
					complete(b, c, request(fmt.Sprintf("%03000d", i)))
				}
			})
		}
		wait.Wait()
		return time.Since(start)
	}
	budget := Budget{MaxCost: ptr(1e6), MaxTokens: ptr(int64(1e12)), MaxCalls: ptr(int64(1e9))}
	limiter := llm.NewLimiter(llm.LimitOptions{InFlight: inFlight})
	journaled := j.Client(limiter.LimitRates(meter(b, j, limiter.LimitInFlight(endpoint), budget,
		prices("USD", Price{1, 1}))), "")
	n := max(b.N, inFlight)
	b.ResetTimer()
	bare := through(endpoint, n, inFlight)
	took := through(journaled, n, 2*inFlight)
	b.ReportMetric(float64(n)/took.Seconds(), "calls/s")
	b.ReportMetric(100*bare.Seconds()/took.Seconds(), "%_of_endpoint")
}
