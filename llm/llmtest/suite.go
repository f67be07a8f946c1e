package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/llm"
)

// Sample is a request with every option set, number n of its kind.
func Sample(n int) *llm.Request {
	temperature, seed := 0.0, int64(7)
	return &llm.Request{
		Model: "judge-1",
		Messages: []llm.Message{{Role: llm.System, Content: "You rate questions."},
			{Role: llm.User, Content: fmt.Sprint("Row ", n)}},
		Temperature: &temperature, Seed: &seed, MaxTokens: 64,
		Schema: &llm.Schema{Name: "verdict", JSON: json.RawMessage(`{"type":"object"}`)},
		Repeat: 1,
	}
}

// TestClient tests what every Client must do. wrap makes the client under test from model: a decorator of it, or an
// endpoint's client with a Server that model answers. Each part runs in a synctest bubble of its own: use Server.Pipe,
// and stop with t.Cleanup what wrap starts. omit, if given, removes from a request what the client's API does not have.
func TestClient(t *testing.T, wrap func(t *testing.T, model llm.Client) llm.Client, omit ...func(*llm.Request)) {
	t.Helper()
	requestUntouched := func(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client) {
		requestUntouched(t, wrap, omit)
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T, func(*testing.T, llm.Client) llm.Client)
	}{
		{"the reply comes back whole", replyWhole},
		{"the request arrives and stays as it was", requestUntouched},
		{"errors keep their kind and are not tried again", errorsKept},
		{"passing errors never end as a reply", passingErrors},
		{"an ended context makes no call", endedContext},
		{"a call ends with its context, and says why", cancelled},
		{"concurrent calls get their own replies", concurrent},
	} {
		t.Run(part.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { part.run(t, wrap) })
		})
	}
}

func replyWhole(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client) {
	for i, want := range []llm.Reply{
		{Text: "Score: 3", Finish: llm.FinishStop, Model: "judge-1-2025", Usage: llm.Usage{Input: 12, Output: 3}},
		{Text: "cut o", Finish: llm.FinishLength, Model: "judge-1-2025"},
		{Finish: llm.FinishFilter, Model: "judge-1", Usage: llm.Usage{Input: 1}},
	} {
		model := NewFake(func(context.Context, int, *llm.Request) (*llm.Reply, error) { return &want, nil })
		got, err := wrap(t, model).Complete(t.Context(), Sample(i))
		if err != nil {
			t.Fatalf("error %v, want %+v", err, want)
		}
		if *got != want {
			t.Errorf("got %+v, want %+v", *got, want)
		}
	}
}

func requestUntouched(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client, omit []func(*llm.Request)) {
	model := NewFake(Say("Score: 3"))
	client := wrap(t, model)
	for i, change := range []func(*llm.Request){
		func(*llm.Request) {},
		func(r *llm.Request) { *r.Temperature, *r.Seed = 0.123456789, 1<<53+1 },
		func(r *llm.Request) { r.Temperature, r.Seed, r.Schema = nil, nil, nil },
	} {
		sent, same := Sample(i), Sample(i)
		change(sent)
		change(same)
		if _, err := client.Complete(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(sent, same) {
			t.Errorf("the caller's request became %+v, was %+v", sent, same)
		}
		calls := model.Calls()
		if len(calls) != i+1 {
			t.Fatalf("%d calls, want %d", len(calls), i+1)
		}
		got := calls[i]
		got.Repeat, got.Attempt = same.Repeat, same.Attempt // need not reach the model
		for _, o := range omit {
			o(same)
		}
		if !reflect.DeepEqual(&got, same) {
			t.Errorf("the model got %+v, want %+v", got, same)
		}
	}
}

func errorsKept(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client) {
	for i, kind := range []llm.Kind{llm.Refused, llm.Auth, llm.Filtered} {
		model := NewFake(func(context.Context, int, *llm.Request) (*llm.Reply, error) {
			return nil, &llm.Error{Kind: kind, Err: errors.New("because")}
		})
		reply, err := wrap(t, model).Complete(t.Context(), Sample(i))
		if reply != nil || llm.KindOf(err) != kind {
			t.Errorf("%s: got %+v and error %v of kind %s", kind, reply, err, llm.KindOf(err))
		}
		if n := len(model.Calls()); n != 1 {
			t.Errorf("%s: %d calls, want 1", kind, n)
		}
	}
}

func passingErrors(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client) {
	for i, kind := range []llm.Kind{llm.Transient, llm.Wait} {
		model := NewFake(func(context.Context, int, *llm.Request) (*llm.Reply, error) {
			return nil, &llm.Error{Kind: kind, After: time.Second, Err: errors.New("not now")}
		})
		reply, err := wrap(t, model).Complete(t.Context(), Sample(i))
		if got := llm.KindOf(err); reply != nil || got != kind && got != llm.Unavailable {
			t.Errorf("%s: got %+v and error %v of kind %s", kind, reply, err, got)
		}
	}
}

func endedContext(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client) {
	model := NewFake(Say("Score: 3"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reply, err := wrap(t, model).Complete(ctx, Sample(0))
	if reply != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v and error %v, want context.Canceled", reply, err)
	}
	if n := len(model.Calls()); n != 0 {
		t.Errorf("%d calls, want none", n)
	}
}

func cancelled(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client) {
	why := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	client := wrap(t, NewFake(Hang))
	ended := make(chan error)
	go func() {
		_, err := client.Complete(ctx, Sample(0))
		ended <- err
	}()
	synctest.Wait() // until the call hangs
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("got %v, want one that wraps %q", err, why)
	}
}

func concurrent(t *testing.T, wrap func(*testing.T, llm.Client) llm.Client) {
	client := wrap(t, NewFake(func(_ context.Context, _ int, r *llm.Request) (*llm.Reply, error) {
		return &llm.Reply{Text: r.Messages[1].Content, Finish: llm.FinishStop, Model: r.Model}, nil
	}))
	var callers sync.WaitGroup
	for i := range 50 {
		callers.Go(func() {
			reply, err := client.Complete(t.Context(), Sample(i))
			if err != nil || reply.Text != fmt.Sprint("Row ", i) {
				t.Errorf("row %d: got %+v and error %v", i, reply, err)
			}
		})
	}
	callers.Wait()
}
