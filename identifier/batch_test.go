package identifier_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/models"
)

// inBatches is a small schedule of the kind that GPUs get.
func inBatches(tokens, window int) identifier.Options {
	o := identifier.GPUOptions()
	o.BatchTokens, o.Window = tokens, window
	return o
}

// TestBatchesEqualRows: padded batches give the logits that torch gave for each row alone, in the order of the rows.
func TestBatchesEqualRows(t *testing.T) {
	for _, name := range []string{"bert", "roberta"} {
		for _, o := range []identifier.Options{identifier.GPUOptions(), inBatches(1500, 14), inBatches(1, 1)} {
			m := open(t, name, models.JoinFields)
			id, err := identifier.New(m, questions(t), orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output), o)
			if err != nil {
				t.Fatal(err)
			}
			compareRows(t, id, fmt.Sprintf("%s, %d tokens", name, o.BatchTokens), cases(t, name, models.JoinFields),
				tolerance(name))
		}
	}
}

// TestBatchLayout: batches keep to their budget and are filled up with masked padding; rows come out in order.
func TestBatchLayout(t *testing.T) {
	const rows, budget, window = 1000, 400, 200
	var inFlight, most, runs atomic.Int64
	var mu sync.Mutex
	real, padded := 0, 0
	runner := fake(func(_ context.Context, in identifier.Input, logits []float32) error {
		defer inFlight.Add(-1)
		if n := inFlight.Add(1); n > most.Load() {
			most.Store(n)
		}
		runs.Add(1)
		if len(in.IDs) > budget && in.Rows() > 1 {
			return fmt.Errorf("%d tokens", len(in.IDs))
		}
		mu.Lock()
		defer mu.Unlock()
		for row := range in.Rows() {
			mask := in.Mask[row*in.Width : (row+1)*in.Width]
			n := 0
			for n < len(mask) && mask[n] == 1 {
				n++
			}
			real, padded = real+n, padded+in.Width
			if slices.Contains(mask[n:], 1) || row == 0 && n != in.Width {
				return fmt.Errorf("mask %v", mask)
			}
			logits[row*11] = float32(n) // of the first label
		}
		return nil
	})
	id := newIdentifier(t, runner, inBatches(budget, window))
	var taken, emitted atomic.Int64
	held, lengthOf := int64(0), tokenCounter(t)
	err := id.Identify(t.Context(), counted(rows, &taken), func(row *dataset.Row, d *dataset.Diagnosis) error {
		held = max(held, taken.Load()-emitted.Load())
		i := emitted.Add(1) - 1
		if row.ID != fmt.Sprint(i) || d.Status != "" {
			return fmt.Errorf("row %s came where %d was due: %s", row.ID, i, d.Reason)
		}
		want := 1 / (1 + math.Exp(-float64(lengthOf(row)))) // its own logits, not a neighbour's
		if got := d.Probabilities[0].P; math.Abs(got-want) > 1e-9 {
			return fmt.Errorf("row %s got the logits of another: %v, want %v", row.ID, got, want)
		}
		return nil
	})
	if err != nil || emitted.Load() != rows {
		t.Fatalf("%d of %d rows, %v", emitted.Load(), rows, err)
	}
	if held > window+2 || most.Load() > 2 {
		t.Errorf("%d rows were held, want at most %d; %d runs in flight, want at most 2", held, window+2, most.Load())
	}
	if waste := 1 - float64(real)/float64(padded); waste > 0.1 || runs.Load() > rows/5 {
		t.Errorf("%.0f %% padding in %d runs, want sorted rows in few runs", 100*waste, runs.Load())
	}
}

// TestHeldBytes: of long rows fewer are held than the window has, one at a time and in batches.
func TestHeldBytes(t *testing.T) {
	const rows = 300
	text := strings.Repeat("a", 1<<20)
	for _, o := range []identifier.Options{{Workers: 4, Window: 200}, inBatches(4000, 200)} {
		var taken, emitted atomic.Int64
		next := func() (*dataset.Row, error) {
			if taken.Load() == rows {
				return nil, io.EOF
			}
			return &dataset.Row{ID: fmt.Sprint(taken.Add(1) - 1), Values: []string{"Who?", text, "Oke."}}, nil
		}
		id := newIdentifier(t, fake(func(context.Context, identifier.Input, []float32) error { return nil }), o)
		held := int64(0)
		err := id.Identify(t.Context(), next, func(row *dataset.Row, _ *dataset.Diagnosis) error {
			held = max(held, taken.Load()-emitted.Load())
			if want := fmt.Sprint(emitted.Add(1) - 1); row.ID != want {
				return fmt.Errorf("row %s came where %s was due", row.ID, want)
			}
			return nil
		})
		if err != nil || emitted.Load() != rows || held > 64+1 {
			t.Errorf("%d rows, of which %d MiB were held, %v", emitted.Load(), held, err)
		}
	}
}

// tokenCounter gives the number of tokens of a row, as the model of newIdentifier sees it.
func tokenCounter(t *testing.T) func(row *dataset.Row) int {
	t.Helper()
	enc, err := identifier.NewEncoder(open(t, "bert", models.JoinFields), questions(t))
	if err != nil {
		t.Fatal(err)
	}
	return func(row *dataset.Row) int {
		e, err := enc.Encode(row.Values)
		if err != nil {
			t.Fatal(err)
		}
		return len(e.IDs)
	}
}

// TestBatchWithoutMask: a graph that takes no mask gets batches of one length.
func TestBatchWithoutMask(t *testing.T) {
	m := open(t, "bert", models.JoinFields)
	m.Manifest.Inputs = []string{"input_ids", "token_type_ids"}
	runs := atomic.Int64{}
	runner := fake(func(_ context.Context, in identifier.Input, _ []float32) error {
		runs.Add(1)
		if slices.Contains(in.Mask, 0) {
			return errors.New("padding")
		}
		return nil
	})
	id, err := identifier.New(m, questions(t), runner, inBatches(4000, 400))
	if err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int64
	err = id.Identify(t.Context(), counted(400, &taken), func(row *dataset.Row, d *dataset.Diagnosis) error {
		if d.Status != "" {
			return errors.New(d.Reason)
		}
		return nil
	})
	if err != nil || runs.Load() != 80 { // forty lengths in each of two windows
		t.Errorf("%d runs, %v", runs.Load(), err)
	}
}

// TestBatchRowErrors: a row that fails is untagged with its reason, and the rows of its batch are tagged.
func TestBatchRowErrors(t *testing.T) {
	enc, err := identifier.NewEncoder(open(t, "bert", models.JoinFields), questions(t))
	if err != nil {
		t.Fatal(err)
	}
	pad := enc.ID("[PAD]")
	runner := fake(func(_ context.Context, in identifier.Input, logits []float32) error {
		clear(logits)
		for row := range in.Rows() {
			ids := slices.DeleteFunc(slices.Clone(in.IDs[row*in.Width:(row+1)*in.Width]),
				func(id int64) bool { return id == pad })
			switch len(ids) % 40 {
			case 7:
				return errors.New("out of memory")
			case 8:
				logits[row*11+4] = float32(math.NaN())
			}
		}
		return nil
	})
	id := newIdentifier(t, runner, inBatches(500, 100))
	var taken atomic.Int64
	rows := counted(120, &taken)
	n, lengthOf := 0, tokenCounter(t)
	err = id.Identify(t.Context(), func() (*dataset.Row, error) {
		row, err := rows()
		if err == nil && row.ID == "50" {
			row.Values[0] = "bad \xff text"
		}
		return row, err
	}, func(row *dataset.Row, d *dataset.Diagnosis) error {
		n++
		want := ""
		switch {
		case row.ID == "50":
			want = "question: "
		case lengthOf(row)%40 == 7:
			want = "the model failed: out of memory"
		case lengthOf(row)%40 == 8:
			want = "the model's logit for \"Vague\" is NaN"
		}
		if (want == "") != (d.Status == "") || !strings.HasPrefix(d.Reason, want) {
			return fmt.Errorf("row %s: got %q, want %q", row.ID, d.Reason, want)
		}
		return nil
	})
	if err != nil || n != 120 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestBatchEnds: errors of reading and writing end a run as they do where rows go one at a time.
func TestBatchEnds(t *testing.T) {
	id := newIdentifier(t, fake(func(context.Context, identifier.Input, []float32) error { return nil }),
		inBatches(500, 20))
	var taken atomic.Int64
	rows, broken, emitted := counted(1000, &taken), errors.New("disk gone"), 0
	err := id.Identify(t.Context(), func() (*dataset.Row, error) {
		if taken.Load() == 33 {
			return nil, broken
		}
		return rows()
	}, func(*dataset.Row, *dataset.Diagnosis) error { emitted++; return nil })
	if !errors.Is(err, broken) || emitted != 33 {
		t.Errorf("reading: %d rows, %v", emitted, err)
	}
	emitted = 0
	taken.Store(0)
	err = id.Identify(t.Context(), counted(10_000, &taken), func(*dataset.Row, *dataset.Diagnosis) error {
		if emitted++; emitted == 5 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || emitted != 5 || taken.Load() > 60 {
		t.Errorf("writing: %d rows emitted, %d read, %v", emitted, taken.Load(), err)
	}
	err = id.Identify(t.Context(), func() (*dataset.Row, error) { return nil, io.EOF },
		func(*dataset.Row, *dataset.Diagnosis) error { return broken })
	if err != nil {
		t.Errorf("no rows: %v", err)
	}
}

// TestBatchCancel: calls under way are told to stop and awaited, what is finished is delivered, no goroutine is left.
func TestBatchCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const stuck = 60 // tokens from which on a row never ends
		var running, taken atomic.Int64
		runner := fake(func(ctx context.Context, in identifier.Input, logits []float32) error {
			running.Add(1)
			defer running.Add(-1)
			if in.Width < stuck {
				return nil
			}
			<-ctx.Done()
			return errors.New("terminated")
		})
		id := newIdentifier(t, runner, inBatches(1, 8)) // a row a batch, four rows a window
		short := counted(1000, &taken)
		next := func() (*dataset.Row, error) {
			row, err := short()
			if err == nil && taken.Load() > 4 { // all behind the first window
				row.Values[1] = strings.Repeat("a ", stuck)
			}
			return row, err
		}
		var ids []string
		finished := make(chan error)
		go func() {
			finished <- id.Identify(ctx, next, func(row *dataset.Row, _ *dataset.Diagnosis) error {
				ids = append(ids, row.ID)
				return nil
			})
		}()
		synctest.Wait() // until every call is stuck
		cancel()
		if err := <-finished; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if running.Load() != 0 || !slices.Equal(ids, []string{"0", "1", "2", "3"}) {
			t.Errorf("%d calls still run; delivered %v, want the first four", running.Load(), ids)
		}
	})
}

// TestBatchPrompt: a caller that waits for each answer before it gives the next row gets it; where rows come faster
// than they are computed they share batches; order, and errors of either end, stay as they are.
func TestBatchPrompt(t *testing.T) {
	o := inBatches(1<<20, 200)
	o.Prompt = true
	synctest.Test(t, func(t *testing.T) {
		var taken, runs atomic.Int64
		id := newIdentifier(t, fake(func(context.Context, identifier.Input, []float32) error {
			runs.Add(1)
			<-time.After(time.Second)
			return nil
		}), o)
		answers, rows := make(chan struct{}), counted(10, &taken)
		began := time.Now()
		err := id.Identify(t.Context(), func() (*dataset.Row, error) {
			if taken.Load() > 0 {
				<-answers
			}
			return rows()
		}, func(*dataset.Row, *dataset.Diagnosis) error {
			go func() { answers <- struct{}{} }()
			return nil
		})
		if took := time.Since(began); err != nil || runs.Load() != 10 || took > 11*time.Second {
			t.Errorf("%d batches for 10 rows in %v, %v", runs.Load(), took, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var taken, runs atomic.Int64
		id := newIdentifier(t, fake(func(context.Context, identifier.Input, []float32) error {
			runs.Add(1)
			<-time.After(time.Second)
			return nil
		}), o)
		n := 0
		err := id.Identify(t.Context(), counted(1000, &taken), func(row *dataset.Row, _ *dataset.Diagnosis) error {
			if row.ID != fmt.Sprint(n) {
				return fmt.Errorf("row %s in place %d", row.ID, n)
			}
			n++
			return nil
		})
		if err != nil || n != 1000 || runs.Load() > 40 { // 10 full ones, and some where the device would idle
			t.Errorf("%d rows in %d batches, %v", n, runs.Load(), err)
		}
		broken := errors.New("disk gone")
		err = id.Identify(t.Context(), func() (*dataset.Row, error) { return nil, broken }, nil)
		if !errors.Is(err, broken) {
			t.Errorf("reading: %v", err)
		}
		taken.Store(0)
		err = id.Identify(t.Context(), counted(1000, &taken), func(*dataset.Row, *dataset.Diagnosis) error { return broken })
		if !errors.Is(err, broken) {
			t.Errorf("writing: %v", err)
		}
	})
}
