package ask

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// count gives n items with one question each, and notes the order in which they are emitted.
func count(n int, question func(ctx context.Context, i int) error, emitted *[]int) func() (*Item, error) {
	i := -1
	return func() (*Item, error) {
		if i++; i == n {
			return nil, io.EOF
		}
		number := i
		return &Item{
			Questions: []func(context.Context) error{func(ctx context.Context) error { return question(ctx, number) }},
			Emit:      func() error { *emitted = append(*emitted, number); return nil },
		}, nil
	}
}

// numbers are 0 to n-1.
func numbers(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

// TestInOrder: items leave in order however long their questions take, and few wait for one that takes long.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 8
		var emitted []int
		var read, most atomic.Int64
		next := count(300, func(_ context.Context, i int) error {
			pause := time.Duration(i*7919%100) * time.Millisecond
			if i == 0 {
				pause = time.Hour
			}
			<-time.After(pause)
			return nil
		}, &emitted)
		err := InOrder(t.Context(), workers, func() (*Item, error) {
			read.Add(1)
			item, err := next()
			if err == nil {
				emit := item.Emit
				item.Emit = func() error {
					most.Store(max(most.Load(), read.Load()-int64(len(emitted))))
					return emit()
				}
			}
			return item, err
		})
		if err != nil || !slices.Equal(emitted, numbers(300)) {
			t.Errorf("%v, emitted %v", err, emitted)
		}
		if limit := int64(itemsPerWorker*workers + 3); most.Load() > limit {
			t.Errorf("%d items were held at once, want %d or fewer", most.Load(), limit)
		}
	})
}

// TestInOrderEnds: whatever ends the run is its error, and the items before it are emitted, no others.
func TestInOrderEnds(t *testing.T) {
	why := errors.New("enough")
	var emitted []int
	err := InOrder(t.Context(), 1, count(50, func(_ context.Context, i int) error {
		if i == 4 {
			return why
		}
		return nil
	}, &emitted))
	if !errors.Is(err, why) || !slices.Equal(emitted, numbers(4)) {
		t.Errorf("a question: %v, emitted %v", err, emitted)
	}

	emitted = nil
	err = InOrder(t.Context(), 3, func() (*Item, error) { return nil, why })
	if !errors.Is(err, why) || emitted != nil {
		t.Errorf("next: %v, emitted %v", err, emitted)
	}

	err = InOrder(t.Context(), 3, func() (*Item, error) { return &Item{Emit: func() error { return why }}, nil })
	if !errors.Is(err, why) {
		t.Errorf("emit: %v", err)
	}
	if err := InOrder(t.Context(), 3, func() (*Item, error) { return nil, io.EOF }); err != nil {
		t.Errorf("nothing to ask: %v", err)
	}
}

// TestInOrderCancelled: questions that are being asked are awaited.
func TestInOrderCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var answered atomic.Int64
		var emitted []int
		time.AfterFunc(2500*time.Millisecond, func() { cancel(context.Canceled) })
		err := InOrder(ctx, 2, count(50, func(context.Context, int) error {
			<-time.After(time.Second) // whatever ctx says
			answered.Add(1)
			return nil
		}, &emitted))
		if !errors.Is(err, context.Canceled) || answered.Load() != 6 || !slices.Equal(emitted, numbers(6)) {
			t.Errorf("%v, %d answered, emitted %v; want 6", err, answered.Load(), emitted)
		}
	})
}
