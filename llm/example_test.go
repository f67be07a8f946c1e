package llm_test

import (
	"context"
	"fmt"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
)

// Retry stands outside: every call that it makes passes the limit, and a call that pauses is not in flight.
func Example() {
	var model llm.Client = llmtest.NewFake(llmtest.Say("Score: 3")) // or an openai.Client
	client := llm.Retry(llm.Limit(model, llm.LimitOptions{RPM: 600, InFlight: 8}), llm.DefaultRetryOptions())

	zero := 0.0
	reply, err := client.Complete(context.Background(), &llm.Request{
		Model:       "judge",
		Messages:    []llm.Message{{Role: llm.User, Content: "Rate this question from 1 to 3: Who wrote Emma?"}},
		Temperature: &zero,
		MaxTokens:   100,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Text, reply.Usage)
	// Output: Score: 3 {12 2}
}
