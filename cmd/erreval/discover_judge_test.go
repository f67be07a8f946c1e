package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/scripts/withjudge/oracle"
)

// issueModels are asked about issues; nil if the call is about something else:
//
//	seer  believes the first error that it is shown; otherwise it finds "bilt", and texts without a question mark
//	mute  says what is wrong, and does not say what belongs together
//
// The others are package oracle, which knows the rows of $SAMPLES/answers.jsonl.
func issueModels(c *llmtest.Call) llmtest.Step {
	text := promptText(c)
	reply, ok := oracle.Answer(schemaOf(c), text)
	aboutRow := schemaOf(c) == prompt.Analyze || schemaOf(c) == prompt.Evaluate
	switch {
	case !ok:
		return nil
	case c.Request.Model == "mute" && !aboutRow:
		reply = "I do not know."
	case c.Request.Model == "seer" && aboutRow:
		reply = issueSeen(text)
	}
	return llmtest.Text(reply)
}

func schemaOf(c *llmtest.Call) string {
	if c.Request.Schema == nil {
		return ""
	}
	return c.Request.Schema.Name
}

// issueSeen is what seer replies about a row.
func issueSeen(asked string) string {
	_, examined, _ := strings.Cut(asked, "\n[begin ")
	_, examined, _ = strings.Cut(examined, "]\n")
	examined, _, _ = strings.Cut(examined, "\n[end ")
	word, _, _ := strings.Cut(examined, " ")
	last := examined[strings.LastIndex(examined, " ")+1:] // so that sentences of one kind differ
	shown, label := false, ""
	if _, errors, ok := strings.Cut(asked, "\n# Errors found\n"); ok {
		_, errors, _ = strings.Cut(errors, "\n- ")
		label, _, shown = strings.Cut(errors, ": ")
	}
	switch {
	case shown && label != "No Error" && !strings.Contains(label, "\n"):
		return issueReply(label+" is what the text suffers from that ends with "+last, word, 2)
	case strings.Contains(examined, "bilt"):
		return issueReply("One word is spelled wrongly in the text that ends with "+last, "bilt", 1)
	case !strings.Contains(examined, "?"):
		return issueReply("Nothing is asked in the text at all.", word, 3)
	}
	return issueReply("none", "", 0)
}

func issueReply(issue, quote string, severity int) string {
	return fmt.Sprintf(`{"analysis": "I looked.", "issue": %q, "quote": %q, "severity": %d}`, issue, quote, severity)
}

// faults are planted where the endpoint is asked about faultyResponse, and what faultySentence is about.
const (
	faultyResponse = "The town library opens at 9 am on Saturdays and stays open until 7 pm." // of q06-keen
	faultySentence = "The response disagrees with the context that it was given."             // about q07-keen
)

// reasonForGood is why these rows are unassigned if the endpoint never does anything else; "" is assigned. Faults from
// which it may recover are not here: they are tried again for minutes, which package discover does in no time.
var reasonForGood = map[string]string{
	"400": reply.Refused, "prompt filtered": reply.Filtered, "refusal": reply.Refused, "content filter": reply.Filtered,
	"cut at max tokens": reply.Cut, "no text": reply.Missing, "off scale": reply.Missing, "not UTF-8": reply.Missing,
	"two verdicts": reply.Ambiguous, "prompt echoed": "",
}

// TestDiscoverFaults: whatever the endpoint does, once or for good, every row ends as assigned, as one without issue, or
// as unassigned with the right reason.
func TestDiscoverFaults(t *testing.T) {
	in := answersFile(t)
	_, want := discovered(t, in, func(*llmtest.Call, string) llmtest.Step { return nil })
	for i, f := range llmtest.Faults("", "") {
		reason, lasts := reasonForGood[f.Name]
		for _, forGood := range []bool{false, true} {
			if forGood && !lasts {
				continue
			}
			t.Run(fmt.Sprintf("%s,for good=%v", f.Name, forGood), func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				hit := map[string]bool{} // by prompt
				code, rows := discovered(t, in, func(c *llmtest.Call, reply string) llmtest.Step {
					text := promptText(c)
					faulty := strings.Contains(text, faultyResponse) || strings.Contains(text, faultySentence)
					mu.Lock()
					defer mu.Unlock()
					if schemaOf(c) == prompt.Name || !faulty || hit[text] && !forGood {
						return nil
					}
					hit[text] = true
					return llmtest.Faults(reply, offScale)[i].Step
				})
				final := f.Kind == llm.Refused || f.Kind == llm.Filtered // not asked again
				if reason == "" || !forGood && !final {
					if code != exit.OK || !maps.Equal(rows, want) {
						t.Errorf("code %d, and the rows differ from those of a run without faults: %v", code, rows)
					}
					return
				}
				sorted := reason
				if f.Name == "off scale" {
					sorted = reply.UnknownIssue
				}
				if got := rows["q06-keen"]; got != issues.Unassigned+" "+reason || code != exit.Incomplete {
					t.Errorf("code %d, q06-keen is %s, want unassigned %s", code, got, reason)
				}
				if got := rows["q07-keen"]; got != issues.Unassigned+" "+sorted {
					t.Errorf("q07-keen is %s, want unassigned %s", got, sorted)
				}
				for id, state := range rows {
					if id != "q06-keen" && id != "q07-keen" && state != want[id] {
						t.Errorf("%s is %s, want %s", id, state, want[id])
					}
				}
			})
		}
	}
}

// offScale is a reply that has the right form, and no value that can be.
const offScale = `{"analysis": "a", "issue": "99", "quote": "no such words", "severity": 9, "name": "", "description": ""}`

// answersFile has ten of the sample rows, those of q06 to q08 among them.
func answersFile(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "samples", "answers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(t.TempDir(), "in.jsonl")
	lines := strings.SplitAfter(string(data), "\n")
	if err := os.WriteFile(in, []byte(strings.Join(lines[14:24], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}

// discovered runs "discover" with the oracle, but for the calls for which spoil gives a step. It gives the exit code, and
// by row the state with its reason, or with the names of the issues.
func discovered(t *testing.T, in string,
	spoil func(c *llmtest.Call, reply string) llmtest.Step) (int, map[string]string) {
	t.Helper()
	url := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
		reply, ok := oracle.Answer(schemaOf(c), promptText(c))
		if !ok {
			t.Errorf("a call about something else: %s", promptText(c))
		}
		if step := spoil(c, reply); step != nil {
			return step
		}
		return llmtest.Text(reply)
	}).Start(t)
	out := filepath.Join(t.TempDir(), "out.jsonl")
	cmd := command(t, "discover", in, "-o", out, "--taxonomy", "response", "--judge", "oracle", "--base-url", url,
		"--timeout", "1s", "--quiet")
	var said bytes.Buffer
	cmd.Stderr = &said
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Run()); ok {
		code = exit.ExitCode()
	}
	list, err := issues.Read(issues.Path(out))
	if err != nil {
		t.Fatalf("%v; code %d: %s", err, code, &said)
	}
	states, unassigned := map[string]string{}, 0
	for line := range strings.Lines(contentOf(t, out)) {
		var row struct {
			ID     string         `json:"id"`
			Issues issues.Finding `json:"issues"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		state := row.Issues.Status
		for _, id := range row.Issues.IDs {
			state += " " + list.Issues[list.Find(id)].Name
		}
		if state == issues.Unassigned {
			reason, _, _ := strings.Cut(row.Issues.Reason, ":")
			state += " " + reason
			unassigned++
		}
		states[row.ID] = state
	}
	if list.Rows != len(states) || list.Assigned+list.NoIssue+unassigned != list.Rows || list.Rows != 10 {
		t.Errorf("of %d rows %d are assigned, %d without issue, unassigned %v; in the file there are %d, %d unassigned",
			list.Rows, list.Assigned, list.NoIssue, list.Unassigned, len(states), unassigned)
	}
	return code, states
}

// TestDiscoverInterrupted: Ctrl-C ends a run, once calls in flight have ended, with code 130 and how it goes on; it
// leaves no output.
func TestDiscoverInterrupted(t *testing.T) {
	in, out := answersFile(t), filepath.Join(t.TempDir(), "out.jsonl")
	silent := make(chan struct{})
	url := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
		if c.N == 12 { // the first ten are analyses
			close(silent)
		}
		reply, _ := oracle.Answer(schemaOf(c), promptText(c))
		if c.N >= 12 {
			return llmtest.Silence()
		}
		return llmtest.Text(reply)
	}).Start(t)
	cmd := command(t, "discover", in, "-o", out, "--taxonomy", "response", "--judge", "oracle", "--base-url", url,
		"--timeout", "1s")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-silent
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	if !ok || ended.ExitCode() != exit.Interrupted ||
		!strings.Contains(said.String(), "interrupted; the replies so far are in "+out+".journal: the same command goes on") {
		t.Errorf("%v: %s", ended, &said)
	}
	left, err := filepath.Glob(out + "*")
	if err != nil || len(left) != 1 || left[0] != out+".journal" {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
