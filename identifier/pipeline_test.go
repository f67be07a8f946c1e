package identifier_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
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
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

// fake is a runner whose logits a test decides.
type fake func(ctx context.Context, in identifier.Input, logits []float32) error

func (f fake) Run(ctx context.Context, in identifier.Input, logits []float32) error {
	return f(ctx, in, logits)
}

// libraryPath is for examples.
func libraryPath() string {
	path, err := orttest.Find()
	if err != nil {
		panic(err) // there is no test to fail
	}
	return path
}

func newIdentifier(t testing.TB, r identifier.Runner, o identifier.Options) *identifier.Identifier {
	t.Helper()
	id, err := identifier.New(open(t, "bert", models.JoinFields), questions(t), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// counted gives n rows, and counts how many were taken.
func counted(n int, taken *atomic.Int64) func() (*dataset.Row, error) {
	return func() (*dataset.Row, error) {
		i := int(taken.Load())
		if i == n {
			return nil, io.EOF
		}
		taken.Add(1)
		return &dataset.Row{ID: fmt.Sprint(i), Line: i + 1, Values: []string{"Who?", strings.Repeat("a ", i%40), "Oke."}}, nil
	}
}

// TestEndToEnd tags every recorded row through the whole pipeline, and compares the logits with torch's.
func TestEndToEnd(t *testing.T) {
	for _, name := range fixtures {
		for _, join := range []string{models.JoinFields, models.JoinText} {
			m := open(t, name, join)
			id, err := identifier.New(m, questions(t), orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output),
				identifier.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			compareRows(t, id, name+" "+join, cases(t, name, join), tolerance(name))
		}
	}
}

// tolerance of a fixture's logits. Those of int8 were recorded on one processor: others round otherwise. Quantising
// itself moved these logits by up to 0.06.
func tolerance(fixture string) float64 {
	if fixture == "bert-int8" {
		return 0.1
	}
	return 1e-4
}

func compareRows(t *testing.T, id *identifier.Identifier, what string, rows []recorded, tolerance float64) {
	t.Helper()
	isEmpty := func(r recorded) bool { return strings.TrimSpace(r.values()[0]) == "" } // see TestEmptyField
	rows = slices.DeleteFunc(slices.Clone(rows), isEmpty)
	next := 0
	read := func() (*dataset.Row, error) {
		if next == len(rows) {
			return nil, io.EOF
		}
		next++
		return &dataset.Row{ID: rows[next-1].ID, Values: rows[next-1].values()}, nil
	}
	at := 0
	err := id.Identify(t.Context(), read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		c := rows[at]
		at++
		want := c.ORT
		if len(c.Torch) > 0 {
			want = c.Torch
		}
		if row.ID != c.ID || d.Status != "" || len(d.Probabilities)+len(d.NotJudged) != len(want) {
			return fmt.Errorf("row %d is %s (%s %s) with %d probabilities, want %s with %d", at, row.ID, d.Status, d.Reason,
				len(d.Probabilities), c.ID, len(want))
		}
		labels := questions(t).Labels()
		for _, p := range d.Probabilities {
			i := slices.Index(labels, p.Label)
			// The logit is compared, not the probability: its tolerance means the same everywhere.
			if logit := math.Log(p.P / (1 - p.P)); !(math.Abs(logit-want[i]) <= tolerance) {
				t.Errorf("%s %s: the logit of %s is %v, want %v", what, row.ID, p.Label, logit, want[i])
			}
		}
		return nil
	})
	if err != nil || at != len(rows) {
		t.Errorf("%s: %d of %d rows, %v", what, at, len(rows), err)
	}
}

// TestOrderAndWindow: rows come out in order though workers finish in another, and no more are held than allowed.
func TestOrderAndWindow(t *testing.T) {
	const rows, workers, window = 2000, 4, 8
	var taken, emitted atomic.Int64
	uneven := fake(func(_ context.Context, in identifier.Input, logits []float32) error {
		for range in.Width % 13 * 20 {
			runtime.Gosched()
		}
		logits[0] = float32(in.Width)
		return nil
	})
	id := newIdentifier(t, uneven, identifier.Options{Workers: workers, Window: window})
	held := int64(0)
	err := id.Identify(t.Context(), counted(rows, &taken), func(row *dataset.Row, d *dataset.Diagnosis) error {
		held = max(held, taken.Load()-emitted.Load())
		if want := fmt.Sprint(emitted.Add(1) - 1); row.ID != want {
			return fmt.Errorf("row %s came where %s was due", row.ID, want)
		}
		return nil
	})
	if err != nil || emitted.Load() != rows {
		t.Errorf("%d of %d rows, %v", emitted.Load(), rows, err)
	}
	// The window, the row being handed over and the one being emitted.
	if held > window+2 {
		t.Errorf("%d rows were held, want at most %d", held, window+2)
	}
}

// TestRowErrors: a row that fails is untagged with its reason, and the others are tagged.
func TestRowErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	var calls atomic.Int64
	runner := fake(func(_ context.Context, in identifier.Input, logits []float32) error {
		clear(logits)
		switch calls.Add(1) {
		case 2:
			return errors.New("out of memory")
		case 3:
			logits[4] = nan
		case 4:
			logits[10] = -inf
		}
		return nil
	})
	id := newIdentifier(t, runner, identifier.Options{Workers: 1, Window: 1})
	rows := []string{"fine", "fails", "NaN", "infinite", "bad \xff text", "fine again"}
	want := []string{"", "the model failed: out of memory", `the model's logit for "Vague" is NaN`,
		`the model's logit for "No Error" is -Inf`, "question: ", ""}
	at := 0
	next := func() (*dataset.Row, error) {
		if at == len(rows) {
			return nil, io.EOF
		}
		at++
		return &dataset.Row{ID: rows[at-1], Values: []string{rows[at-1], "a", "p"}}, nil
	}
	i := 0
	err := id.Identify(t.Context(), next, func(row *dataset.Row, d *dataset.Diagnosis) error {
		untagged := want[i] != ""
		if (d.Status == dataset.StatusUntagged) != untagged || !strings.HasPrefix(d.Reason, want[i]) {
			t.Errorf("%s: got %+v, want reason %q", row.ID, d, want[i])
		}
		if untagged && (d.Labels != nil || d.Probabilities != nil) {
			t.Errorf("%s: an untagged row has labels %v, probabilities %v", row.ID, d.Labels, d.Probabilities)
		}
		i++
		return nil
	})
	if err != nil || i != len(rows) {
		t.Errorf("%d of %d rows, %v", i, len(rows), err)
	}
}

// TestReadErrorEndsReading: what was read before is delivered.
func TestReadErrorEndsReading(t *testing.T) {
	id := newIdentifier(t, fake(func(context.Context, identifier.Input, []float32) error { return nil }),
		identifier.DefaultOptions())
	var taken atomic.Int64
	rows := counted(100, &taken)
	broken := errors.New("disk gone")
	emitted := 0
	err := id.Identify(t.Context(), func() (*dataset.Row, error) {
		if taken.Load() == 10 {
			return nil, broken
		}
		return rows()
	}, func(*dataset.Row, *dataset.Diagnosis) error { emitted++; return nil })
	if !errors.Is(err, broken) || emitted != 10 {
		t.Errorf("%d rows, %v", emitted, err)
	}
}

func TestEmitErrorEndsAll(t *testing.T) {
	id := newIdentifier(t, fake(func(context.Context, identifier.Input, []float32) error { return nil }),
		identifier.Options{Workers: 2, Window: 4})
	var taken atomic.Int64
	full := errors.New("disk full")
	emitted := 0
	err := id.Identify(t.Context(), counted(10_000, &taken), func(*dataset.Row, *dataset.Diagnosis) error {
		emitted++
		if emitted == 5 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || emitted != 5 || taken.Load() > 50 {
		t.Errorf("%d rows emitted, %d read, %v", emitted, taken.Load(), err)
	}
}

// TestCancel: calls under way are told to stop and awaited, finished rows are delivered in order, and no goroutine is
// left (synctest fails if one is).
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running atomic.Int64
		runner := fake(func(ctx context.Context, in identifier.Input, logits []float32) error {
			running.Add(1)
			defer running.Add(-1)
			if in.Width < 30 { // the rows up to 20: counted makes them longer and longer
				return nil
			}
			<-ctx.Done() // a long native call that ends when it is told to
			return errors.New("terminated")
		})
		id := newIdentifier(t, runner, identifier.Options{Workers: 3, Window: 6})
		var taken atomic.Int64
		var ids []string
		finished := make(chan error)
		go func() {
			finished <- id.Identify(ctx, counted(1000, &taken), func(row *dataset.Row, _ *dataset.Diagnosis) error {
				ids = append(ids, row.ID)
				return nil
			})
		}()
		synctest.Wait() // until every worker is stuck
		cancel()
		if err := <-finished; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if n := running.Load(); n != 0 {
			t.Errorf("%d calls still run", n)
		}
		if len(ids) != 21 || !slices.IsSortedFunc(ids, func(a, b string) int { return len(a) - len(b) }) {
			t.Errorf("delivered %v, want the first 21", ids)
		}
	})
}

// TestCancelNative ends both schedules with ONNX Runtime at work.
func TestCancelNative(t *testing.T) {
	for name, o := range map[string]identifier.Options{"rows": identifier.DefaultOptions(),
		"batches": inBatches(4096, 64)} {
		m := open(t, "roberta", models.JoinFields)
		id, err := identifier.New(m, questions(t), orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output), o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		emitted := 0
		err = id.Identify(ctx, func() (*dataset.Row, error) {
			return &dataset.Row{Values: []string{"Who?", "Oke", strings.Repeat("granite wall ", 300)}}, nil
		}, func(*dataset.Row, *dataset.Diagnosis) error {
			if emitted++; emitted == 10 {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || emitted < 10 {
			t.Errorf("%s: %d rows, %v", name, emitted, err)
		}
	}
}

// TestLabels: the errors over their thresholds, else No Error, whose own probability never decides.
func TestLabels(t *testing.T) {
	names := questions(t).Labels()
	high, low := float32(3), float32(-3) // probabilities 0.953 and 0.047
	for name, c := range map[string]struct {
		logits     map[int]float32
		thresholds map[string]float64
		want       []string
	}{
		"nothing":               {nil, nil, []string{"No Error"}},
		"no error is likely":    {map[int]float32{10: high}, nil, []string{"No Error"}},
		"no error never wins":   {map[int]float32{4: 0.1, 10: high}, nil, []string{"Vague"}},
		"two, in order":         {map[int]float32{9: high, 0: high}, nil, []string{"Incomplete", "Off Target Answer"}},
		"a threshold is enough": {map[int]float32{4: 0}, nil, []string{"Vague"}},
		"raised":                {map[int]float32{4: high}, map[string]float64{"Vague": 0.96}, []string{"No Error"}},
		"lowered, by code":      {nil, map[string]float64{questions(t).Types[4].Code: 0.04}, []string{"Vague"}},
		"zero is a threshold":   {nil, map[string]float64{"Spell Error": 0}, []string{"Spell Error"}},
	} {
		runner := fake(func(_ context.Context, _ identifier.Input, logits []float32) error {
			for i := range logits {
				logits[i] = low
				if x, ok := c.logits[i]; ok {
					logits[i] = x
				}
			}
			return nil
		})
		o := identifier.DefaultOptions()
		o.Thresholds = c.thresholds
		d, err := newIdentifier(t, runner, o).Tag(t.Context(), "Who?", "Oke", "A mason.")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.Labels, c.want) {
			t.Errorf("%s: got %q, want %q", name, d.Labels, c.want)
		}
		var got []string
		for _, p := range d.Probabilities {
			got = append(got, p.Label)
		}
		if !slices.Equal(got, names) || d.Model != "tiny-bert@1" || d.Taxonomy != questions(t).ID() {
			t.Errorf("%s: probabilities of %q by %s, %s", name, got, d.Model, d.Taxonomy)
		}
	}
}

func TestLabelsOnly(t *testing.T) {
	o := identifier.DefaultOptions()
	o.LabelsOnly = true
	d, err := newIdentifier(t, fake(func(context.Context, identifier.Input, []float32) error { return nil }),
		o).Tag(t.Context(), "a", "b", "c")
	if err != nil || d.Probabilities != nil || len(d.Labels) != 10 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestNoLabelForNoError: where a taxonomy has no such label, a row without errors has none.
func TestNoLabelForNoError(t *testing.T) {
	tax, m := questions(t), open(t, "bert", models.JoinFields)
	without := *tax
	without.Types = slices.Clone(tax.Types[:10])
	m.Manifest.Labels = m.Manifest.Labels[:10]
	delete(m.Manifest.Thresholds, "No Error")
	m.Manifest.Probes = nil
	runner := fake(func(_ context.Context, _ identifier.Input, logits []float32) error {
		for i := range logits {
			logits[i] = -9
		}
		return nil
	})
	id, err := identifier.New(m, &without, runner, identifier.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	d, err := id.Tag(t.Context(), "Who?", "Oke", "A mason.")
	if err != nil || d.Status != "" || d.Labels == nil || len(d.Labels) != 0 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestFieldOrderOfTaxonomy: rows come in the taxonomy's order, the model has its own.
func TestFieldOrderOfTaxonomy(t *testing.T) {
	tax := *questions(t)
	tax.Fields = []taxonomy.Field{{Name: "passage"}, {Name: "question"}, {Name: "answer"}}
	enc, err := identifier.NewEncoder(open(t, "bert", models.JoinFields), &tax)
	if err != nil {
		t.Fatal(err)
	}
	c := cases(t, "bert", models.JoinFields)[0]
	got, err := enc.Encode([]string{c.Fields["passage"], c.Fields["question"], c.Fields["answer"]})
	if err != nil || !slices.Equal(got.IDs, c.IDs) {
		t.Errorf("got %v, %v, want %v", got, err, c.IDs)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		options identifier.Options
		want    []string
	}{
		"all at once": {identifier.Options{Thresholds: map[string]float64{"Vague": 2}}, []string{"workers is 0",
			"window is 0", `threshold of "Vague" is 2`}},
		"not a number": {identifier.Options{Workers: 1, Window: 1, Thresholds: map[string]float64{"Vague": math.NaN()}},
			[]string{"is NaN"}},
		"unknown label": {identifier.Options{Workers: 1, Window: 1, Thresholds: map[string]float64{"Rude": 0.5}},
			[]string{`threshold for "Rude"`, `"Vague"`}},
		"workers below 0": {identifier.Options{Workers: -1, Window: 1}, []string{"workers is -1"}},
	} {
		_, err := identifier.New(open(t, "bert", models.JoinFields), questions(t), nil, c.options)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", name, err, want)
			}
		}
	}
	id := newIdentifier(t, nil, identifier.DefaultOptions())
	if _, err := id.Tag(t.Context(), "only one"); err == nil || !strings.Contains(err.Error(),
		"1 values for the 3 fields") {
		t.Errorf("too few values: %v", err)
	}
}

// TestCheck runs the probe rows of each fixture, whose logits onnxruntime-Python recorded.
func TestCheck(t *testing.T) {
	for _, name := range fixtures {
		m := open(t, name, models.JoinFields)
		id, err := identifier.New(m, questions(t), orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output),
			identifier.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if worst, err := id.Check(t.Context()); err != nil || worst > 1e-4 {
			t.Errorf("%s: off by %v, %v", name, worst, err)
		}
		m.Manifest.Probes[1].Logits[3] += 0.5
		if worst, err := id.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "probe 2") ||
			math.Abs(worst-0.5) > 1e-3 {
			t.Errorf("%s: a wrong probe is off by %v, %v", name, worst, err)
		}
	}
}

// TestEmptyField: a row without question or passage is untagged, one without answer is not.
func TestEmptyField(t *testing.T) {
	m := open(t, "bert", models.JoinFields)
	id := newIdentifier(t, orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output), identifier.DefaultOptions())
	for _, c := range []struct {
		values []string // as the taxonomy has the fields
		reason string
	}{
		{[]string{" ", "a", "P."}, "empty: the question is empty"},
		{[]string{"Who?", "a", "\n"}, "empty: the passage is empty"},
		{[]string{"Who?", "a", " \" "}, `empty: the passage has no word: "\""`},
		{[]string{"Who?", "", "P."}, ""},
	} {
		d, err := id.Tag(t.Context(), c.values...)
		if err != nil || d.Reason != c.reason {
			t.Errorf("%q: %+v, %v; want the reason %q", c.values, d, err, c.reason)
		}
	}
}

// TestConcurrentUse: one identifier serves several callers.
func TestConcurrentUse(t *testing.T) {
	m := open(t, "bert", models.JoinFields)
	id, err := identifier.New(m, questions(t), orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output),
		identifier.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	rows := cases(t, "bert", models.JoinFields)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { compareRows(t, id, "concurrent", rows, 1e-4) })
	}
	wg.Wait()
}

// TestEmbeddedDefault: the model inside the program gives the logits that onnxruntime-Python gave when it was exported.
func TestEmbeddedDefault(t *testing.T) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := identifier.New(m, questions(t), orttest.Runner(t, m.Graph, m.Manifest.Inputs, m.Manifest.Output),
		identifier.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	worst, err := id.Check(t.Context())
	if err != nil || len(m.Manifest.Probes) == 0 {
		t.Errorf("%s: %d probe rows, largest difference %v: %v", m.Manifest.ID(), len(m.Manifest.Probes), worst, err)
	}
}

// TestRowTimeout: a row on which the model does not end is untagged, and the others are tagged.
func TestRowTimeout(t *testing.T) {
	for _, batched := range []int{0, 4096} {
		o := identifier.Options{Workers: 2, Window: 8, BatchTokens: batched, RowTimeout: 30 * time.Millisecond}
		id := newIdentifier(t, fake(func(ctx context.Context, in identifier.Input, _ []float32) error {
			if slices.Contains(in.IDs, 1) {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}), o)
		i, untagged := 0, 0
		err := id.Identify(t.Context(), func() (*dataset.Row, error) {
			if i++; i > 20 {
				return nil, io.EOF
			}
			question := "Who?"
			if i == 7 {
				question = "Who 東?" // [UNK], 1
			}
			return &dataset.Row{ID: fmt.Sprint(i), Line: i, Values: []string{question, "Oke", "Oke."}}, nil
		}, func(row *dataset.Row, d *dataset.Diagnosis) error {
			if d.Status == dataset.StatusUntagged {
				untagged++
				if row.ID != "7" || !strings.Contains(d.Reason, "longer than 30ms; give it more time with --row-timeout") {
					t.Errorf("row %s: %s", row.ID, d.Reason)
				}
			}
			return nil
		})
		if err != nil || untagged != 1 {
			t.Errorf("%d untagged, %v", untagged, err)
		}
	}
}
