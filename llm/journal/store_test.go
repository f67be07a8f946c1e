package journal

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"

	"github.com/erreval/erreval/llm"
)

// What one process knows of the file does not hide what another one puts there: neither its replies nor what it spent.
func TestTwoProcesses(t *testing.T) {
	path := file(t)
	var endpoint counting
	budget := Budget{MaxCalls: ptr(int64(3))}
	a, b := open(t, path), open(t, path)
	atA, atB := a.Client(meter(t, a, &endpoint, budget, nil), ""), b.Client(meter(t, b, &endpoint, budget, nil), "")
	complete(t, atA, request("1"))
	complete(t, atB, request("2"))
	a.store.versionRead.Store(0) // a has not written for a while
	if reply := complete(t, atA, request("2")); !reply.Cached {
		t.Error("the other's reply was asked for again")
	}
	complete(t, atA, request("3")) // from here on a knows of b
	if a.store.stored.Load() != nil {
		t.Error("another's transaction was not seen")
	}
	for _, c := range []*Client{atA, atB} {
		if _, err := c.Complete(t.Context(), request("4")); llm.KindOf(err) != llm.Budget {
			t.Errorf("got %v, want the end of the budget that both share", err)
		}
	}
	if s := spent(t, a); s.Calls != 3 || endpoint.calls.Load() != 3 {
		t.Errorf("%d calls, the books say %+v", endpoint.calls.Load(), s)
	}
}

// A journal that is folded while calls are written keeps all of them.
func TestFold(t *testing.T) {
	path := file(t)
	j := open(t, path)
	c := j.Client(meter(t, j, &counting{}, Budget{}, nil), "")
	const calls = 600
	var wait sync.WaitGroup
	for n := range calls {
		wait.Go(func() { complete(t, c, request(fmt.Sprint(n))) })
		if n%50 == 0 {
			wait.Go(func() {
				if err := j.store.checkpointLog(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	complete(t, c, request("last"))
	if j.store.stored.Load() == nil {
		t.Error("folding was taken for another process")
	}
	closed(t, j)
	j = open(t, path)
	for n := range calls {
		if reply, err := j.Client(nil, "").Lookup(request(fmt.Sprint(n))); reply == nil || err != nil {
			t.Fatalf("call %d: %v %v", n, reply, err)
		}
	}
	if s := spent(t, j); s.Calls != calls+1 || s.Open != 0 {
		t.Errorf("the books say %+v", s)
	}
}

// The filter may say yes to what was never added, but not no to what was.
func TestFilter(t *testing.T) {
	var f filter
	wrong := 0
	const n = 20_000
	for i := range 2 * n {
		if id := sha256.Sum256(fmt.Append(nil, i)); i < n {
			f.add(id)
		} else if f.mayHave(id) {
			wrong++
		}
	}
	for i := range n {
		if !f.mayHave(sha256.Sum256(fmt.Append(nil, i))) {
			t.Fatalf("%d was added and is not there", i)
		}
	}
	if wrong > n/1000 {
		t.Errorf("%d of %d that were not added are said to be there", wrong, n)
	}
}

// A schema that is no JSON is refused before a call is made.
func TestNoSchema(t *testing.T) {
	var endpoint counting
	r := request("1")
	r.Schema = llm.NewSchema("x", llm.ObjectOf(llm.Property{Name: "a", Schema: make(chan int)}))
	_, err := open(t, file(t)).Client(&endpoint, "").Complete(t.Context(), r)
	if llm.KindOf(err) != llm.Refused || endpoint.calls.Load() != 0 {
		t.Errorf("%v after %d calls", err, endpoint.calls.Load())
	}
}
