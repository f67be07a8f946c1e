package scorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/llm/reply"
)

// reasonOfAlways is how a judgement ends whose endpoint never does anything else; "" is scored as 2.
var reasonOfAlways = map[string]string{
	"400": reply.Refused, "prompt filtered": reply.Filtered, "refusal": reply.Refused, "content filter": reply.Filtered,
	"cut at max tokens": reply.Cut, "no text": reply.Missing, "off scale": reply.OffScale, "not UTF-8": reply.Missing,
	"two verdicts": reply.Ambiguous, "prompt echoed": "",
}

// TestFaults: whatever the endpoint does, every judgement ends as its verdict or as unscored with the right reason, and
// what held a verdict is not asked again.
func TestFaults(t *testing.T) {
	const verdict = "Because.\n[[verdict: 2]]"
	for _, f := range llmtest.Faults(verdict, "[[verdict: 7]]") {
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
		text := textOf(&c.Request)
		mu.Lock()
		defer mu.Unlock()
		seen[text]++
		if strings.Contains(text, "\nFluency:") && (forGood || seen[text] == 1) {
			return f.Step
		}
		good[text]++
		return llmtest.Text(verdict)
	})
	endpoint := openai.Options{BaseURL: llmtest.PipeURL, Timeout: 10 * time.Second, HTTP: server.Pipe(t)}
	client, err := openai.New(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	retries := llm.DefaultRetryOptions()
	retries.Attempts, retries.MaxWait = 3, 20*time.Second
	o := options(t)
	o.Workers = 4
	results, err := score(t.Context(), t, []llm.Model{judge("m", llm.Retry(llm.Limit(client, llm.DefaultLimitOptions()),
		retries))}, o, rowsOf(t, 3, "Vague"))
	if err != nil || len(results) != 3 {
		t.Fatalf("%d rows, %v", len(results), err)
	}
	want, known := reasonOfAlways[f.Name]
	final := f.Kind == llm.Refused || f.Kind == llm.Filtered // not tried again
	if !known {
		want = reply.Unavailable
	}
	if !forGood && !final {
		want = ""
	}
	for _, r := range results {
		for key, s := range r.scores {
			reason := want
			if key != "fluency" {
				reason = ""
			}
			checkScore(t, r.id+" "+key, s, reason)
		}
	}
	for _, n := range good {
		if n != 1 {
			t.Errorf("a prompt that had its verdict was asked %d times", n)
		}
	}
}

// checkScore wants 2, or the reason.
func checkScore(t *testing.T, what string, s *dataset.Score, reason string) {
	t.Helper()
	if reason == "" {
		if s.Value == nil || *s.Value != 2 || s.Status != "" || len(s.Runs) != 1 || s.Runs[0].Reason != "" {
			t.Errorf("%s: %+v", what, s)
		}
		return
	}
	if s.Value != nil || s.Status != dataset.StatusUnscored || s.Reason != reason {
		t.Errorf("%s: %+v; want unscored, %s", what, s, reason)
	}
	for _, run := range s.Runs {
		if run.Value != nil || run.Status != dataset.StatusUnscored || !strings.HasPrefix(run.Reason, reason) {
			t.Errorf("%s: %+v; want unscored, %s", what, run, reason)
		}
	}
}

// TestOrderAndMemory: rows come out in the order they went in, however long their calls take, and no more than a few
// wait for one that takes long.
func TestOrderAndMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
			pause := time.Duration(n*7919%100) * time.Millisecond
			if strings.Contains(textOf(r), "wall 0?") {
				pause = time.Hour
			}
			<-time.After(pause)
			return llmtest.Say("[[verdict: 3]]")(ctx, n, r)
		})
		o := options(t)
		o.Workers = 8
		var read, most atomic.Int64
		rows := rowsOf(t, 300, "No Error")
		p, err := NewPanel([]llm.Model{judge("m", model)}, o)
		if err != nil {
			t.Fatal(err)
		}
		emitted := int64(0)
		err = p.Score(t.Context(), func() (*dataset.Row, error) {
			read.Add(1)
			return rows()
		}, func(row *dataset.Row, _ map[string]*dataset.Score) error {
			most.Store(max(most.Load(), read.Load()-emitted))
			if want := fmt.Sprintf("r%d", emitted); row.ID != want {
				t.Errorf("row %s, want %s", row.ID, want)
			}
			emitted++
			return nil
		})
		if err != nil || emitted != 300 {
			t.Errorf("%d rows, %v", emitted, err)
		}
		if limit := int64(4*8 + 3); most.Load() > limit { // see ask.InOrder
			t.Errorf("%d rows were held at once, want %d or fewer", most.Load(), limit)
		}
		if n := model.Peak(); n != 8 {
			t.Errorf("%d calls at once, want 8", n)
		}
	})
}

// TestStops: errors that concern every call end the run; rows before them are kept, nothing is made up.
func TestStops(t *testing.T) {
	for _, kind := range []llm.Kind{llm.Auth, llm.Budget, llm.Broken} {
		t.Run(kind.String(), func(t *testing.T) {
			model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
				if n >= 14 {
					return nil, &llm.Error{Kind: kind, Err: errors.New("over")}
				}
				return llmtest.Say("[[verdict: 1]]")(ctx, n, r)
			})
			o := options(t)
			o.Workers = 1
			results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rowsOf(t, 50, "Vague"))
			if llm.KindOf(err) != kind || !strings.Contains(err.Error(), "judge m: over") {
				t.Errorf("got %v, want %s", err, kind)
			}
			if len(results) != 4 { // 14 calls are 4 rows and 2 questions
				t.Errorf("%d rows are kept, want 4", len(results))
			}
			for i, r := range results {
				if r.id != fmt.Sprintf("r%d", i) || len(r.scores) != 3 {
					t.Errorf("row %d is %s with %d scores, want 3", i, r.id, len(r.scores))
				}
			}
			if n := len(model.Calls()); n != 15 {
				t.Errorf("%d calls, though the run ended with call 15", n)
			}
		})
	}
}

// TestDown: a judge that gives no reply ends the run, at once if it never gave one.
func TestDown(t *testing.T) {
	for _, after := range []int{0, 70} {
		t.Run(fmt.Sprintf("after %d replies", after), func(t *testing.T) {
			model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
				if n >= after {
					return nil, &llm.Error{Kind: llm.Unavailable, Err: errors.New("connection refused")}
				}
				return llmtest.Say("[[verdict: 1]]")(ctx, n, r)
			})
			o := options(t)
			o.Workers = 1
			results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rowsOf(t, 200, "Vague"))
			want := ask.DownLater
			if after == 0 {
				want = ask.DownAtOnce
			}
			if llm.KindOf(err) != llm.Unavailable || !strings.Contains(err.Error(), "judge m: the last") ||
				len(model.Calls()) != after+want {
				t.Errorf("%v, %d calls; want %d", err, len(model.Calls()), after+want)
			}
			if n := (after + want - 1) / 3; len(results) != n { // the call that ends the run leaves its row unfinished
				t.Errorf("%d rows, want %d", len(results), n)
			}
		})
	}
}

// TestCancel: what is in flight is finished by a client that can; only whole rows are emitted.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		answered := atomic.Int64{}
		model := llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
			<-time.After(time.Second) // whatever ctx says
			answered.Add(1)
			return &llm.Reply{Text: "[[verdict: 2]]"}, nil
		})
		o := options(t)
		o.Workers = 3
		time.AfterFunc(2500*time.Millisecond, func() { cancel(context.Canceled) }) // in the midst of the third row
		results, err := score(ctx, t, []llm.Model{judge("m", model)}, o, rowsOf(t, 50, "Vague"))
		if !errors.Is(err, context.Canceled) || len(results) != 3 || answered.Load() != 9 {
			t.Errorf("%d rows, %d calls, %v; want 3 rows of 9 calls, cancelled", len(results), answered.Load(), err)
		}
	})
}

// TestErrorsOfCallers: what next and emit say ends the run.
func TestErrorsOfCallers(t *testing.T) {
	odd := errors.New("odd")
	o := options(t)
	p, err := NewPanel([]llm.Model{judge("m", judging(always("2")))}, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, n := rowsOf(t, 50, "Vague"), 0
	emitted := 0
	count := func(*dataset.Row, map[string]*dataset.Score) error { emitted++; return nil }
	err = p.Score(t.Context(), func() (*dataset.Row, error) {
		if n++; n > 5 {
			return nil, odd
		}
		return rows()
	}, count)
	if !errors.Is(err, odd) || emitted > 5 {
		t.Errorf("%v, %d rows", err, emitted)
	}
	err = p.Score(t.Context(), rowsOf(t, 50, "Vague"), func(*dataset.Row, map[string]*dataset.Score) error { return odd })
	if !errors.Is(err, odd) {
		t.Errorf("%v, want %v", err, odd)
	}
	if err := p.Score(t.Context(), func() (*dataset.Row, error) { return nil, io.EOF }, count); err != nil {
		t.Errorf("no rows: %v", err)
	}
}

// TestJournal: a second run makes no call for what had a verdict, and asks again for what had none.
func TestJournal(t *testing.T) {
	j, err := journal.Open(filepath.Join(t.TempDir(), "j"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	healed := atomic.Bool{}
	model := judging(func(text string) string {
		if strings.Contains(text, "\nClarity:") && !healed.Load() {
			return "9"
		}
		return "2"
	})
	o := options(t)
	run := func() []result {
		results, err := score(t.Context(), t, []llm.Model{judge("m", j.Client(model, "endpoint"))}, o, rowsOf(t, 4, "Vague"))
		if err != nil || len(results) != 4 {
			t.Fatalf("%d rows, %v", len(results), err)
		}
		return results
	}
	for _, r := range run() {
		checkScore(t, r.id, r.scores["clarity"], reply.OffScale)
	}
	if n := len(model.Calls()); n != 4*(2+3) {
		t.Errorf("%d calls; want 2 dimensions, and one three times, of 4 rows", n)
	}
	healed.Store(true)
	for _, r := range run() {
		for key, s := range r.scores {
			checkScore(t, r.id+" "+key, s, "")
		}
	}
	if n := len(model.Calls()); n != 20+4 {
		t.Errorf("%d calls; want 4 more than 20", n)
	}
	run()
	if n := len(model.Calls()); n != 24 {
		t.Errorf("%d calls; want no more than 24", n)
	}
}
