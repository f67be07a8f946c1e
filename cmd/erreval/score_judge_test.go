package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm/llmtest"
)

// judgeModels is an endpoint with models of known bias:
//
//	fair    takes a point off for each label that it is shown: 3, 2, 1
//	partial does so for fluency, and gives 3 for the rest
//	strict  gives 1
//	moody   is like strict, and gives 7 for clarity, which is not on the scale
//	torn    gives two different verdicts for clarity in each reply
//	secret  wants a key
//	red     wants a header X-Team of red
//	dep.1   wants to be called as an Azure deployment
//
// The others give 1. Asked about all dimensions at once, each gives its verdict on every one. Asked for errors, they
// are labelModels; asked to write one, or whether it is there, simulateModels; asked about issues, issueModels.
func judgeModels(c *llmtest.Call) llmtest.Step {
	text := promptText(c)
	if step := issueModels(c); step != nil {
		return step
	}
	if strings.Contains(text, "\n# Error\n") {
		return simulateModels(c)
	}
	if strings.Contains(text, "\n# Error types\n") {
		return labelModels(c)
	}
	if strings.Contains(text, "\nThe second text:\n") {
		return compareModels(c)
	}
	verdict := func(string) int { return 1 }
	switch c.Request.Model {
	case "red":
		if c.Header.Get("X-Team") != "red" {
			return llmtest.Fail(http.StatusForbidden, "forbidden", "Not your team.")
		}
	case "dep.1":
		if c.Path != "/v1/openai/deployments/dep.1/chat/completions?api-version=2024-10-21" ||
			c.Header.Get("Api-Key") != "sk-secret-key" || c.Header.Get("Authorization") != "" {
			return llmtest.Fail(http.StatusNotFound, "DeploymentNotFound", "No deployment at "+c.Path)
		}
	case "secret":
		if c.Header.Get("Authorization") != "Bearer sk-right" {
			return llmtest.Fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
		}
	case "moody":
		if strings.Contains(text, "\nClarity: ") {
			verdict = func(string) int { return 7 }
		}
	case "torn":
		if strings.Contains(text, "\nClarity: ") {
			return llmtest.Text(`{"reason": "Clear.", "score": 3} {"reason": "Vague.", "score": 1}`)
		}
	case "fair", "partial":
		if c.Request.Model == "partial" && !strings.Contains(text, "\nFluency: ") {
			verdict = func(string) int { return 3 }
			break
		}
		verdict = func(labels string) int {
			return max(1, 3-strings.Count(labels, "\n- ")+strings.Count(labels, "\n- No Error"))
		}
	}
	return llmtest.Text(verdictText(c, verdict))
}

// verdictText is the verdict on the labels shown, in the form that the call asks for.
func verdictText(c *llmtest.Call, verdict func(labels string) int) string {
	one := func(labels string) string {
		return fmt.Sprintf(`{"reason": "As the criteria say.", "score": %d}`, verdict(labels))
	}
	text := promptText(c)
	var each []string
	for i, part := range strings.Split(text, "\n# Requirement ") {
		key, _, _ := strings.Cut(part, "\n")
		_, labels, _ := strings.Cut(part, "\nLabels:")
		labels, _, _ = strings.Cut(labels, "\n# ")
		if i > 0 {
			each = append(each, fmt.Sprintf("%q: %s", key, one(labels)))
		}
	}
	if each != nil {
		return "{" + strings.Join(each, ", ") + "}"
	}
	_, labels, _ := strings.Cut(text, "# Labels")
	return one(labels)
}

// generous gives 3, to who has its key.
func generous(c *llmtest.Call) llmtest.Step {
	if c.Header.Get("Authorization") != "Bearer sk-second" {
		return llmtest.Fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
	}
	return llmtest.Text(verdictText(c, func(string) int { return 3 }))
}

// behindMessages are the models of judgeModels behind the Messages API, for who has their key.
func behindMessages(c *llmtest.Call) llmtest.Step {
	if c.Path != "/v1/messages" || c.Header.Get("Anthropic-Version") == "" {
		return llmtest.Fail(http.StatusNotFound, "", "Nothing is at "+c.Path)
	}
	if c.Header.Get("X-Api-Key") != "sk-claude" {
		return llmtest.Fail(http.StatusUnauthorized, "", "invalid x-api-key")
	}
	return judgeModels(c)
}

func promptText(c *llmtest.Call) string {
	var b strings.Builder
	for _, m := range c.Request.Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// newJudge serves s.
func newJudge(t *testing.T, s llmtest.Script) string { return llmtest.NewServer(s).Start(t) }

// cmdExpand runs "expand FILE": it puts the values of $NAMES into a file.
func cmdExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// sizeOf is a size that scripts/kill_score.sh sets.
func sizeOf(t *testing.T, name string, small int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestJudgeKilled: a run that is killed at random moments and started again by the same line makes what an undisturbed
// one makes, and no call that had its reply is made again.
func TestJudgeKilled(t *testing.T) {
	rows, kills := sizeOf(t, "KILL_ROWS", 12), sizeOf(t, "KILLS", 3)
	t.Run("score", func(t *testing.T) {
		testKilled(t, rows, len(questions(t).Dimensions)*rows, kills, "score", "--judge", "fair")
	})
	t.Run("identify", func(t *testing.T) {
		testKilled(t, rows, 3*rows, kills, "identify", "--identifier", "llm", "--judge", "finder", "--repeats", "3")
	})
	t.Run("discover", func(t *testing.T) {
		testKilled(t, 4*rows, 0, max(kills, 20), "discover", "--judge", "seer")
	})
}

// testKilled kills a command that makes so many calls; 0: as many as the undisturbed run makes.
func testKilled(t *testing.T, rows, calls, kills int, line ...string) {
	const inFlight, begun = 4, 6 // see llm.Limiter: of the calls begun, some are being written down
	server := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
		step := judgeModels(c)
		return func(ctx context.Context, w http.ResponseWriter, c *llmtest.Call) {
			<-time.After(5 * time.Millisecond)
			step(ctx, w, c)
		}
	})
	server.Forget = true
	url, dir := server.Start(t), t.TempDir()
	in, want, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "want.jsonl"), filepath.Join(dir, "out.jsonl")
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, `{"id":"r%d","passage":"Wall %d is old.","answer":"Oke","question":"Who %s wall %d?","diagnosis":{"labels":[%q],"taxonomy":"question-generation@1.1"}}`+"\n", i, i,
			[]string{"built", "bilt"}[i%2], i, []string{"Vague", "No Error", "Off Topic"}[i%3])
	}
	if err := os.WriteFile(in, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(out string) *exec.Cmd {
		cmd := command(t, slices.Concat(line, []string{in, "-o", out, "--base-url", url, "--in-flight",
			strconv.Itoa(inFlight), "--quiet", "--resume"})...)
		cmd.Stderr = &bytes.Buffer{}
		return cmd
	}
	if cmd := run(want); cmd.Run() != nil {
		t.Fatalf("the undisturbed run: %v", cmd.Stderr)
	}
	if calls == 0 {
		calls = server.Count()
	}
	if n := server.Count(); n != calls {
		t.Fatalf("%d calls, want %d", n, calls)
	}
	killed := 0
	for killed < kills {
		at := server.Count() + 1 + rand.IntN(max(calls/kills, 1))
		cmd := run(out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait() // it is killed
			close(done)
		}()
		if waitFor(done, func() bool { return server.Count() >= at }) {
			break // it was finished before
		}
		_ = cmd.Process.Kill() // it may just have ended
		<-done
		killed++
	}
	t.Logf("%d kills, %d calls undisturbed, %d with kills", killed, calls, server.Count()-calls)
	if cmd := run(out); cmd.Run() != nil {
		t.Fatalf("the last run: %v", cmd.Stderr)
	}
	for _, of := range []func(string) string{func(out string) string { return out }, issues.Path} {
		if _, err := os.Stat(of(want)); err == nil && contentOf(t, of(out)) != contentOf(t, of(want)) {
			t.Errorf("after %d kills %s differs", killed, of(out))
		}
	}
	if n := server.Count() - calls; n < calls || n > calls+killed*begun {
		t.Errorf("%d calls with %d kills; want %d and at most %d a kill more", n, killed, calls, begun)
	}
	if _, err := os.Stat(dataset.PartialPath(out)); err == nil {
		t.Error("OUT.partial is left")
	}
}

// waitFor waits until the process has ended (true) or cond holds (false).
func waitFor(done chan struct{}, cond func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-done:
			return true
		case <-tick.C:
		}
	}
	return false
}
