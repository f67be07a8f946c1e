package openai_test

import (
	"testing"
	"time"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
)

// BenchmarkComplete is what one call costs on this side, server in the same process included: 32 in flight over TCP.
func BenchmarkComplete(b *testing.B) {
	server := llmtest.NewServer(llmtest.Always(llmtest.Text("Score: 3")))
	server.Forget = true
	client, err := openai.New(openai.Options{BaseURL: server.Start(b), Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	whole := llm.Retry(llm.Limit(client, llm.LimitOptions{InFlight: 32}), llm.DefaultRetryOptions())
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := llmtest.Sample(0)
		for pb.Next() {
			if _, err := whole.Complete(b.Context(), r); err != nil {
				b.Error(err)
			}
		}
	})
}
