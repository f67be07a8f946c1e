package main

import (
	"bytes"
	"context"
	"errors"
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

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
)

// pairJudge prefers the text with more of the word "good", and finds both good where neither has more.
func pairJudge(c *llmtest.Call) llmtest.Step {
	_, text, _ := strings.Cut(promptText(c), "\nThe first text:")
	first, second, _ := strings.Cut(text, "\nThe second text:")
	second, _, _ = strings.Cut(second, "\n# ")
	verdict := "both_good"
	switch a, b := strings.Count(first, "good"), strings.Count(second, "good"); {
	case a > b:
		verdict = "first"
	case a < b:
		verdict = "second"
	}
	reply := fmt.Sprintf(`{"reason": "As the words say.", "verdict": %q}`, verdict)
	if strings.Contains(promptText(c), "\n# Requirements\n") {
		reply = fmt.Sprintf(`{"Fact": %s, "Overall": %s}`, reply, reply)
	}
	return llmtest.Text(reply)
}

// pairsFile writes pairs of three systems; in six of seven, z has a better text than y, and y than x.
func pairsFile(t testing.TB, pairs int) string {
	t.Helper()
	var b strings.Builder
	systems := [][2]string{{"x", "y"}, {"y", "z"}, {"z", "x"}}
	for i := range pairs {
		s := systems[i%3]
		words := func(system string) string {
			return strings.Repeat("good ", map[string]int{"x": 1, "y": 2, "z": 4}[system]) + "text"
		}
		a, other := words(s[0]), words(s[1])
		if i%7 == 0 {
			a, other = other, a
		}
		fmt.Fprintf(&b, `{"id":"p%d","item":"i%d","instruction":"Do %d.","response_a":%q,"response_b":%q,"system_a":%q,"system_b":%q}`+"\n",
			i, i/3, i, a, other, s[0], s[1])
	}
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func compareLine(t *testing.T, in, out, url string, more ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, slices.Concat([]string{"compare", in, "-o", out, "--taxonomy", "instruction-following", "--judge",
		"m", "--base-url", url, "--types", "Factuality,Overall", "--bootstrap", "20", "--quiet"}, more)...)
	cmd.Stderr = &bytes.Buffer{}
	return cmd
}

func slowly(s llmtest.Script) llmtest.Script {
	return func(c *llmtest.Call) llmtest.Step {
		step := s(c)
		return func(ctx context.Context, w http.ResponseWriter, c *llmtest.Call) {
			<-time.After(5 * time.Millisecond)
			step(ctx, w, c)
		}
	}
}

// TestCompareKilled: a comparison that is killed at random moments and started again by the same line makes what an
// undisturbed one makes, and no call that had its reply is made again; also where it ends once the order is settled.
// KILL_ROWS=300 KILLS=20 sets its size.
func TestCompareKilled(t *testing.T) {
	kills := sizeOf(t, "KILLS", 3)
	for _, c := range []struct {
		pairs int
		more  []string
	}{{24, nil}, {24, []string{"--joint"}}, {120, []string{"--until", "settled", "--round", "30"}}} {
		pairs := sizeOf(t, "KILL_ROWS", c.pairs)
		t.Run(strings.Join(c.more, " "), func(t *testing.T) { testCompareKilled(t, pairs, kills, c.more) })
	}
}

func testCompareKilled(t *testing.T, pairs, kills int, more []string) {
	const inFlight, begun = 4, 6 // see testKilled
	server := llmtest.NewServer(slowly(pairJudge))
	server.Forget = true
	url, in := server.Start(t), pairsFile(t, pairs)
	out, want := filepath.Join(t.TempDir(), "out.jsonl"), filepath.Join(t.TempDir(), "want.jsonl")
	more = slices.Concat(more, []string{"--in-flight", strconv.Itoa(inFlight), "--resume"})
	if cmd := compareLine(t, in, want, url, more...); cmd.Run() != nil && !isIncomplete(cmd) {
		t.Fatalf("the undisturbed run: %v", cmd.Stderr)
	}
	undisturbed := server.Count()
	if settled := strings.Contains(contentOf(t, want), `"reason":"settled"`); settled != slices.Contains(more, "settled") {
		t.Fatalf("settled: %v, with %d calls", settled, undisturbed)
	}
	killed := 0
	for killed < kills {
		at := server.Count() + 1 + rand.IntN(max(1, undisturbed/kills))
		cmd := compareLine(t, in, out, url, more...)
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
	if cmd := compareLine(t, in, out, url, more...); cmd.Run() != nil && !isIncomplete(cmd) {
		t.Fatalf("the last run: %v", cmd.Stderr)
	}
	if contentOf(t, out) != contentOf(t, want) {
		t.Errorf("after %d kills the output differs", killed)
	}
	n := server.Count() - undisturbed
	t.Logf("%d kills, %d calls undisturbed, %d with them", killed, undisturbed, n)
	if n < undisturbed || n > undisturbed+killed*begun {
		t.Errorf("%d calls with %d kills; want %d and at most %d a kill more", n, killed, undisturbed, begun)
	}
	if _, err := os.Stat(dataset.PartialPath(out)); err == nil {
		t.Error("OUT.partial is left")
	}
}

// isIncomplete tells whether a run ended well, but left something out.
func isIncomplete(cmd *exec.Cmd) bool { return cmd.ProcessState.ExitCode() == 3 }

// TestCompareFaults: whatever an endpoint does once with each question, the verdicts are those of a quiet one, but for
// questions that endpoints refuse for good; nothing that had its verdict is paid again.
func TestCompareFaults(t *testing.T) {
	in := pairsFile(t, 4)
	quiet := llmtest.NewServer(pairJudge)
	want := filepath.Join(t.TempDir(), "want.jsonl")
	if cmd := compareLine(t, in, want, quiet.Start(t)); cmd.Run() != nil {
		t.Fatalf("%v", cmd.Stderr)
	}
	for _, f := range llmtest.Faults(`{"reason": "So.", "verdict": "first"}`, `{"reason": "So.", "verdict": "tie"}`) {
		if f.Name == "prompt echoed" {
			continue // it holds a verdict
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			troubled := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
				if c.N == 2 {
					return f.Step
				}
				return pairJudge(c)
			})
			out := filepath.Join(t.TempDir(), "out.jsonl")
			cmd := compareLine(t, in, out, troubled.Start(t), "--timeout", "2s")
			err := cmd.Run()
			calls, same := troubled.Count(), contentOf(t, out) == contentOf(t, want)
			if f.Kind == llm.Refused || f.Kind == llm.Filtered {
				unjudged := strings.Count(contentOf(t, out), `"status":"unjudged"`)
				if err != nil || same || calls != 16 || unjudged != 1 { // the other order gives the verdict
					t.Errorf("%v: %v; %d calls, %d judgements open", err, cmd.Stderr, calls, unjudged)
				}
				return
			}
			if err != nil || !same || calls != 17 {
				t.Errorf("%v: %v; %d calls, the same verdicts: %v", err, cmd.Stderr, calls, same)
			}
		})
	}
}

// TestCompareBudget: --max-calls is never exceeded, over as many runs as it takes; with more of it the same line goes on
// and pays nothing again.
func TestCompareBudget(t *testing.T) {
	server := llmtest.NewServer(slowly(pairJudge))
	url, in, out := server.Start(t), pairsFile(t, 6), filepath.Join(t.TempDir(), "out.jsonl")
	for budget := 3; ; budget += 3 {
		for range 2 { // the second one has nothing to spend
			cmd := compareLine(t, in, out, url, "--max-calls", strconv.Itoa(budget), "--in-flight", "8", "--resume")
			err := cmd.Run()
			if n := server.Count(); n > budget {
				t.Fatalf("%d calls of %d", n, budget)
			}
			exit := (*exec.ExitError)(nil)
			if budget >= 24 {
				if err != nil || server.Count() != 24 {
					t.Errorf("%v: %v; %d calls", err, cmd.Stderr, server.Count())
				}
				return
			}
			if !errors.As(err, &exit) || exit.ExitCode() != 5 || server.Count() != budget {
				t.Errorf("budget of %d: %v, %v, %d calls", budget, err, cmd.Stderr, server.Count())
			}
		}
	}
}

// TestCompareSettledResumed: the looks at whether the order is settled count the pairs of earlier runs.
func TestCompareSettledResumed(t *testing.T) {
	server := llmtest.NewServer(pairJudge)
	url, in, dir := server.Start(t), pairsFile(t, 120), t.TempDir()
	until := []string{"--until", "settled", "--round", "30", "--resume"}
	want, out := filepath.Join(dir, "want.jsonl"), filepath.Join(dir, "out.jsonl")
	if cmd := compareLine(t, in, want, url, until...); cmd.Run() != nil && !isIncomplete(cmd) {
		t.Fatalf("%v", cmd.Stderr)
	}
	calls := server.Count()
	for _, budget := range []int{130, 250, calls - 1, calls} { // in calls, four a pair
		cmd := compareLine(t, in, out, url, append(until, "--max-calls", strconv.Itoa(budget))...)
		if err := cmd.Run(); budget < calls && (err == nil || cmd.ProcessState.ExitCode() != 5) {
			t.Errorf("budget of %d: %v, %v", budget, err, cmd.Stderr)
		}
	}
	if contentOf(t, out) != contentOf(t, want) || server.Count() != 2*calls {
		t.Errorf("%d calls, want %d, and the same verdicts", server.Count()-calls, calls)
	}
}
