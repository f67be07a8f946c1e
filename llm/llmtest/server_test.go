package llmtest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
)

func dial(t *testing.T, server *llmtest.Server) llm.Client {
	t.Helper()
	c, err := openai.New(openai.Options{BaseURL: server.Start(t), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFakeIsAClient(t *testing.T) {
	llmtest.TestClient(t, func(_ *testing.T, model llm.Client) llm.Client { return model })
}

func TestServerCountsAndRecords(t *testing.T) {
	for _, forget := range []bool{false, true} {
		server := llmtest.NewServer(llmtest.Always(llmtest.Text("Score: 3")))
		server.Forget = forget
		client := dial(t, server)
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				reply, err := client.Complete(t.Context(), llmtest.Sample(i))
				if err != nil || reply.Text != "Score: 3" {
					t.Errorf("reply %v, error %v", reply, err)
				}
			})
		}
		callers.Wait()
		rows := map[string]bool{}
		for i, c := range server.Calls() {
			rows[c.Request.Messages[1].Content] = true
			if c.N != i {
				t.Errorf("call %d has number %d", i, c.N)
			}
		}
		if want := map[bool]int{false: 20, true: 0}[forget]; server.Count() != 20 || len(rows) != want {
			t.Errorf("forget %v: counted %d, recorded %d rows, want 20 and %d", forget, server.Count(), len(rows), want)
		}
	}
}

func TestStepsInTurn(t *testing.T) {
	server := llmtest.NewServer(llmtest.InTurn(llmtest.Echo("Score: 2"), llmtest.Text("Score: 3")))
	client := dial(t, server)
	for i, want := range []string{"You rate questions.\nRow 0\nScore: 2", "Score: 3", "Score: 3"} {
		reply, err := client.Complete(t.Context(), llmtest.Sample(0))
		if err != nil || reply.Text != want {
			t.Errorf("call %d: reply %v, error %v, want %q", i, reply, err, want)
		}
	}
}

func TestFaultsHaveDistinctNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range llmtest.Faults("Score: 3", "Score: 9") {
		if f.Name == "" || f.Step == nil || seen[f.Name] {
			t.Errorf("fault %q is empty or there twice", f.Name)
		}
		seen[f.Name] = true
	}
	// What issue 6 lists under "What it must show", 1.
	for _, want := range []string{"429", "Retry-After", "500", "silence", "cut body", "no choices", "refusal",
		"wrong JSON", "off scale",
		"two verdicts", "prompt echoed", "10 MB"} {
		found := false
		for name := range seen {
			found = found || strings.Contains(name, want)
		}
		if !found {
			t.Errorf("no fault %q", want)
		}
	}
}
