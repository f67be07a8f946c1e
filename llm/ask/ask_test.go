package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
)

// asker asks a, as the model "m".
func asker(c llm.Client) *Asker {
	return New(llm.Model{Name: "m", Model: "m-1", Client: c, MaxTokens: 10})
}

// TestAsk: a reply that cannot be read is asked for again, with another attempt number, and the journal hears of it.
func TestAsk(t *testing.T) {
	kept := &rejecting{Fake: llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		return llmtest.Say([]string{"hm", "well", "3"}[n])(ctx, n, r)
	})}
	var read []string
	unanswered, err := asker(kept).Ask(t.Context(), llmtest.Sample(0), 3, func(r *llm.Reply) bool {
		read = append(read, r.Text)
		return r.Text == "3"
	})
	if unanswered != nil || err != nil || !slices.Equal(read, []string{"hm", "well", "3"}) {
		t.Errorf("%v, %v, read %v", unanswered, err, read)
	}
	if !slices.Equal(kept.rejected, []string{"hm", "well"}) {
		t.Errorf("rejected %v", kept.rejected)
	}
	for i, r := range kept.Calls() {
		if r.Attempt != i {
			t.Errorf("call %d is attempt %d", i, r.Attempt)
		}
	}
}

// rejecting is a client that hears of replies of no use, as a journal's does.
type rejecting struct {
	*llmtest.Fake
	rejected []string
}

func (c *rejecting) Reject(_ *llm.Request, reply *llm.Reply) error {
	c.rejected = append(c.rejected, reply.Text)
	return nil
}

// TestUnanswered: what concerns one call leaves its question open; what concerns all calls ends the run.
func TestUnanswered(t *testing.T) {
	for kind, ends := range map[llm.Kind]bool{
		llm.Refused: false, llm.Filtered: false, llm.Unavailable: false, llm.Transient: false, llm.Wait: false,
		llm.Auth: true, llm.Budget: true, llm.Broken: true,
	} {
		model := asker(llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
			return nil, &llm.Error{Kind: kind, Err: errors.New("because")}
		}))
		unanswered, err := model.Ask(t.Context(), llmtest.Sample(0), 3, nil)
		if ends && (unanswered != nil || llm.KindOf(err) != kind || err.Error() != "judge m: because") ||
			!ends && (err != nil || llm.KindOf(unanswered) != kind) {
			t.Errorf("%s: unanswered %v, error %v", kind, unanswered, err)
		}
	}
}

// TestDown: a model that gives no reply ends the run, at once if it never gave one, and a new run begins without that.
func TestDown(t *testing.T) {
	up := true
	model := asker(llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		if up {
			return &llm.Reply{Text: "3"}, nil
		}
		return nil, &llm.Error{Kind: llm.Unavailable, Err: errors.New("connection refused")}
	}))
	untilDown := func() int {
		for n := 1; ; n++ {
			_, err := model.Ask(t.Context(), llmtest.Sample(0), 1, func(*llm.Reply) bool { return true })
			if err != nil {
				if llm.KindOf(err) != llm.Unavailable || !strings.Contains(err.Error(), "judge m: the last") {
					t.Errorf("%v", err)
				}
				return n
			}
		}
	}
	if _, err := model.Ask(t.Context(), llmtest.Sample(0), 1, func(*llm.Reply) bool { return true }); err != nil {
		t.Fatal(err)
	}
	up = false
	if n := untilDown(); n != DownLater {
		t.Errorf("down after %d calls, want %d", n, DownLater)
	}
	model.Reset()
	if n := untilDown(); n != DownAtOnce {
		t.Errorf("down after %d calls of a new run, want %d", n, DownAtOnce)
	}
}

// TestRefusesAll: a model that refuses whatever it is asked ends the run; one that replied may refuse many rows.
func TestRefusesAll(t *testing.T) {
	for _, c := range []struct {
		replies int
		same    bool // words
	}{{0, true}, {1, true}, {0, false}} {
		replies := c.replies
		model := asker(llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
			if n < replies {
				return llmtest.Say("3")(ctx, n, r)
			}
			why := "no temperature, please"
			if !c.same {
				why = fmt.Sprint("too long: ", n)
			}
			return nil, &llm.Error{Kind: llm.Refused, Status: 400, Err: errors.New(why)}
		}))
		var last error
		asked := 0
		for last == nil && asked < 100 {
			_, last = model.Ask(t.Context(), llmtest.Sample(0), 3, func(*llm.Reply) bool { return true })
			asked++
		}
		want := "judge m: it refused all of 12 calls, in the same words: no temperature, please"
		ends := replies == 0 && c.same
		if !ends && asked < 100 || ends && (asked != RefusesAll || last.Error() != want) {
			t.Errorf("%+v: ended after %d calls, %v", c, asked, last)
		}
	}
}

// TestInterrupted: the end of the run is the error, whatever the client makes of it.
func TestInterrupted(t *testing.T) {
	why := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	model := asker(llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		cancel(why)
		return nil, &llm.Error{Kind: llm.Refused, Err: errors.New("because")}
	}))
	if unanswered, err := model.Ask(ctx, llmtest.Sample(0), 3, nil); unanswered != nil || !errors.Is(err, why) {
		t.Errorf("unanswered %v, error %v", unanswered, err)
	}
}
