package pairwise

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/pairwise/verdicts"
)

// reasonOfAlways is how a judgement ends whose endpoint never does anything else; "" is the verdict.
var reasonOfAlways = map[string]string{
	"400": reply.Refused, "prompt filtered": reply.Filtered, "refusal": reply.Refused,
	"content filter": reply.Filtered, "cut at max tokens": reply.Cut, "no text": reply.Missing,
	"off scale": reply.OffScale, "not UTF-8": reply.Missing, "two verdicts": reply.Ambiguous,
	"prompt echoed": "",
}

// TestFaults: whatever the endpoint does, every judgement ends as its verdict or as unjudged with the right reason, and
// what held a verdict is not asked again.
func TestFaults(t *testing.T) {
	const verdict = `{"reason": "So.", "verdict": "first"}`
	for _, f := range llmtest.Faults(verdict, `{"reason": "So.", "verdict": "tie"}`) {
		for _, forGood := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,for good=%v", f.Name, forGood), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testFault(t, f, verdict, forGood) })
			})
		}
	}
}

func testFault(t *testing.T, f llmtest.Fault, verdict string, forGood bool) {
	var mu sync.Mutex
	seen, good := map[string]int{}, map[string]int{} // by prompt
	server := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
		text := promptOf(&c.Request)
		mu.Lock()
		defer mu.Unlock()
		seen[text]++
		if strings.Contains(text, "as to this error: Factuality") && (forGood || seen[text] == 1) {
			return f.Step
		}
		good[text]++
		return llmtest.Text(verdict)
	})
	client, err := openai.New(openai.Options{BaseURL: llmtest.PipeURL, Timeout: 10 * time.Second, HTTP: server.Pipe(t)})
	if err != nil {
		t.Fatal(err)
	}
	retries := llm.DefaultRetryOptions()
	retries.Attempts, retries.MaxWait = 3, 20*time.Second
	o := options(t)
	o.Attempts = 3
	got, err := judgePairs(t, []llm.Model{judge("m", llm.Retry(llm.Limit(client, llm.DefaultLimitOptions()), retries))},
		o, 3)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d pairs, %v", len(got), err)
	}
	want, known := reasonOfAlways[f.Name]
	if !known {
		want = reply.Unavailable
	}
	if final := f.Kind == llm.Refused || f.Kind == llm.Filtered; !forGood && !final { // it is tried again
		want = ""
	}
	for _, p := range got {
		checkFirst(t, p.id, verdicts.Set{verdicts.Overall: p.set[verdicts.Overall]}, 2)
		v := p.set["Factuality"]
		if want == "" {
			checkFirst(t, p.id, verdicts.Set{"Factuality": v}, 2)
			continue
		}
		if v.Value != "" || v.Status != verdicts.Unjudged || !strings.HasPrefix(v.Reason, want) || len(v.Runs) != 2 {
			t.Errorf("%s: %+v; want %s", p.id, v, want)
		}
	}
	for _, n := range good {
		if n != 1 {
			t.Errorf("a question that had its verdict was asked %d times", n)
		}
	}
}
