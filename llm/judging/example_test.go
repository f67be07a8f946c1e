package judging_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/llm/llmtest"
	_ "github.com/erreval/erreval/llm/openai" // makes its vendor known
)

// A model that erreval.yaml describes is asked twice, and paid for once: its reply is in the journal. An endpoint on
// this machine stands in for a vendor's.
func Example() {
	server := httptest.NewServer(llmtest.NewServer(llmtest.Always(llmtest.Text("Score: 3"))))
	defer server.Close()
	dir, err := os.MkdirTemp("", "judging")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, judging.ConfigFile)
	if err := os.WriteFile(config, fmt.Appendf(nil, "judges:\n  small: {model: m-1, base_url: %s/v1}\n", server.URL),
		0o600); err != nil {
		log.Fatal(err)
	}

	o := judging.Options{Journal: filepath.Join(dir, "journal"), Attempts: 1, Calls: true}
	o.Models, o.Base, err = judging.Read(judging.Sources{Names: "small", File: config, Base: judging.DefaultSettings()})
	if err != nil {
		log.Fatal(err)
	}
	session, err := judging.New(o)
	if err != nil {
		log.Fatal(err)
	}
	if err := session.Open(); err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	small := session.Models()[0]
	for range 2 {
		request := small.Request([]llm.Message{{Role: llm.User, Content: "Who built it?"}}, nil, 0)
		reply, err := small.Client.Complete(context.Background(), request)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(reply.Text, reply.Cached)
	}
	fmt.Println("calls:", session.Used().Calls)
	// Output:
	// Score: 3 false
	// Score: 3 true
	// calls: 1
}
