package discover

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// reasonOfAlways is how a row ends about which the endpoint never does anything else, and one whose sentence it is; ""
// is assigned. Otherwise it is reply.Unavailable.
var reasonOfAlways = map[string][2]string{
	"400": {reply.Refused, reply.Refused}, "prompt filtered": {reply.Filtered, reply.Filtered},
	"refusal": {reply.Refused, reply.Refused}, "content filter": {reply.Filtered, reply.Filtered},
	"cut at max tokens": {reply.Cut, reply.Cut}, "no text": {reply.Missing, reply.Missing},
	"off scale": {reply.Missing, reply.UnknownIssue}, "not UTF-8": {reply.Missing, reply.Missing},
	"two verdicts": {reply.Ambiguous, reply.Ambiguous}, "prompt echoed": {},
}

// TestFaultsForGood: a row about which, or a sentence about which the endpoint does nothing of use, however often it is
// asked, is unassigned with the right reason; and only that one.
func TestFaultsForGood(t *testing.T) {
	for i, f := range llmtest.Faults("", "") {
		t.Run(f.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want, known := reasonOfAlways[f.Name]
				if !known {
					want = [2]string{reply.Unavailable, reply.Unavailable}
				}
				testFaultForGood(t, i, want)
			})
		})
	}
}

func testFaultForGood(t *testing.T, fault int, want [2]string) {
	w := newWorld(t, 24, 2, 0)
	const ofRow, ofSentence = 3, 4
	text, sentence := w.rows[ofRow].Values[0], w.analyse[w.rows[ofSentence].Values[0]]
	var mu sync.Mutex
	server := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		asked := c.Request.Messages[len(c.Request.Messages)-1].Content
		reply, err := w.reply(c.Request.Schema.Name, asked)
		if err != nil {
			t.Error(err)
		}
		if c.Request.Schema.Name != prompt.Name && (strings.Contains(asked, text) || strings.Contains(asked, sentence)) {
			const off = `{"analysis": "a", "issue": "99", "quote": "no such words", "severity": 9}`
			return llmtest.Faults(reply, off)[fault].Step
		}
		return llmtest.Text(reply)
	})
	client, err := openai.New(openai.Options{BaseURL: llmtest.PipeURL, Timeout: 10 * time.Second, HTTP: server.Pipe(t)})
	if err != nil {
		t.Fatal(err)
	}
	retries := llm.DefaultRetryOptions()
	retries.Attempts, retries.MaxWait = 3, 20*time.Second
	model := w.model()
	model.Client = llm.Retry(llm.Limit(client, llm.DefaultLimitOptions()), retries)
	items := w.analysed(model)
	g, err := NewGrouper(&model, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Group(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	for i, item := range items {
		status, reason := issues.Assigned, ""
		switch {
		case i == ofRow:
			reason = want[0]
		case i == ofSentence:
			reason = want[1]
		case w.gold[i] < 0:
			status = issues.None
		}
		if reason != "" {
			status = issues.Unassigned
		}
		got, _, _ := strings.Cut(item.Finding.Reason, ":")
		if item.Finding.Status != status || got != reason {
			t.Errorf("row %d: %+v; want %s %s", i, item.Finding, status, reason)
		}
	}
}
