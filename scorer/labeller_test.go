package scorer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// labellerOptions are the default ones, for walls.
func labellerOptions(t testing.TB) LabellerOptions {
	t.Helper()
	o := DefaultLabellerOptions()
	o.Taxonomy = walls(t)
	var err error
	if o.Template, err = prompt.Builtin(prompt.Identify); err != nil {
		t.Fatal(err)
	}
	return o
}

// wallExamples are two, the second of which is row r1 of rowsOf.
var wallExamples = []prompt.Example{
	{Values: []string{"Who bilt it?", "Oke", "Oke built the gate."}, Labels: []string{"Spell", "Vague"}},
	{Values: []string{"Who built wall 1?", "Oke", "Passage 1 of the town."}, Labels: []string{"OTP"}},
}

// diagnose runs a labeller over rows.
func diagnose(ctx context.Context, t testing.TB, c llm.Client, o LabellerOptions, next func() (*dataset.Row,
	error)) ([]*dataset.Diagnosis, error) {
	t.Helper()
	l, err := NewLabeller(judge("m", c), o)
	if err != nil {
		t.Fatal(err)
	}
	var out []*dataset.Diagnosis
	n := 0
	err = l.Identify(ctx, next, func(row *dataset.Row, d *dataset.Diagnosis) error {
		if want := fmt.Sprintf("r%d", n); row.ID != want {
			t.Errorf("row %s, want %s", row.ID, want)
		}
		n++
		out = append(out, d)
		return nil
	})
	return out, err
}

// TestLabellerFaults: whatever the endpoint does, a row ends with its labels, or untagged with the right reason.
func TestLabellerFaults(t *testing.T) {
	const labels = "The wall is not named.\n[[labels: Vague]]"
	for _, examples := range [][]prompt.Example{nil, wallExamples} {
		for _, f := range llmtest.Faults(labels, "[[labels: Dull]]") {
			for _, forGood := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s,for good=%v,examples=%d", f.Name, forGood, len(examples)), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testLabellerFault(t, f, labels, forGood, examples) })
				})
			}
		}
	}
}

func testLabellerFault(t *testing.T, f llmtest.Fault, labels string, forGood bool, examples []prompt.Example) {
	var mu sync.Mutex
	seen := 0 // calls about row r2
	server := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		if !strings.Contains(textOf(&c.Request), "wall 2?") {
			return llmtest.Text(labels)
		}
		if seen++; forGood || seen == 1 {
			return f.Step
		}
		return llmtest.Text(labels)
	})
	client, err := openai.New(openai.Options{BaseURL: llmtest.PipeURL, Timeout: 10 * time.Second, HTTP: server.Pipe(t)})
	if err != nil {
		t.Fatal(err)
	}
	retries := llm.DefaultRetryOptions()
	retries.Attempts, retries.MaxWait = 3, 20*time.Second
	o := labellerOptions(t)
	o.Workers, o.Examples = 4, examples
	got, err := diagnose(t.Context(), t, llm.Retry(client, retries), o, rowsOf(t, 4))
	if err != nil || len(got) != 4 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	want, known := reasonOfAlways[f.Name]
	switch {
	case !forGood && f.Kind != llm.Refused && f.Kind != llm.Filtered: // these are not tried again
		want = ""
	case f.Name == "off scale":
		want = reply.UnknownLabel
	case !known:
		want = reply.Unavailable
	}
	for i, d := range got {
		reason := ""
		if i == 2 {
			reason = want
		}
		checkDiagnosis(t, d, reason, "Vague")
	}
}

// checkDiagnosis wants the labels, or untagged with the reason.
func checkDiagnosis(t *testing.T, d *dataset.Diagnosis, reason string, labels ...string) {
	t.Helper()
	status := ""
	if reason != "" {
		status, labels = dataset.StatusUntagged, nil
	}
	if d.Status != status || !slices.Equal(d.Labels, labels) || !strings.HasPrefix(d.Reason, reason) ||
		(d.Reason == "") != (reason == "") ||
		d.Model != "m" || d.Taxonomy != "walls@1" || d.Truncated != nil {
		t.Errorf("%+v; want %q or %s", d, labels, reason)
	}
}

// TestLabellerMisbehaves: what the prompt did not ask for is asked again, and then is no answer.
func TestLabellerMisbehaves(t *testing.T) {
	for reply, want := range map[string]string{
		`{"labels": ["Vague", "No Error"]}`:        reply.Contradiction,
		`{"labels": ["Boring"]}`:                   reply.UnknownLabel,
		`{"labels": ["Vague", "Off`:                reply.Cut,
		"The question is fine, if a little vague.": reply.Missing,
		"I'm sorry, but I can't help with that.":   reply.Refused,
		"":                                         reply.Missing,
	} {
		t.Run(want, func(t *testing.T) {
			model := llmtest.NewFake(llmtest.Say(reply))
			got, err := diagnose(t.Context(), t, model, labellerOptions(t), rowsOf(t, 1))
			if err != nil || len(got) != 1 || len(model.Calls()) != 3 {
				t.Fatalf("%q: %d rows, %d calls, %v; want 1 row of 3 calls", reply, len(got), len(model.Calls()), err)
			}
			checkDiagnosis(t, got[0], want)
		})
	}
}

// TestLabellerRepeats: of four repeats about a row, the n-th (from 0) says, by hand: 0 Vague; 1 Vague and Off Topic; 2
// nothing; 3 no label at all. So three answered: Vague 2/3, Off Topic 1/3, No Error 1/3.
func TestLabellerRepeats(t *testing.T) {
	replies := []string{"[[labels: Vague]]", "[[labels: Vague; Off Topic]]", "[[labels: No Error]]", "Hm."}
	model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		if *r.Seed != int64(7+r.Repeat) {
			t.Errorf("repeat %d has seed %d", r.Repeat, *r.Seed)
		}
		return llmtest.Say(replies[r.Repeat])(ctx, n, r)
	})
	o := labellerOptions(t)
	o.Repeats = 4
	j := judge("m", model)
	j.Seed = new(int64(7))
	l, err := NewLabeller(j, o)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Identify(t.Context(), rowsOf(t, 1), func(_ *dataset.Row, d *dataset.Diagnosis) error {
		checkDiagnosis(t, d, "", "Vague")
		for label, want := range map[string]float64{"Vague": 2. / 3, "Off Topic": 1. / 3, "No Error": 1. / 3,
			"Spell Error": 0} {
			if p, ok := d.Probabilities.Get(label); !ok || p != want {
				t.Errorf("%s: %v, want %v", label, p, want)
			}
		}
		return nil
	})
	if err != nil || len(model.Calls()) != 3+3 {
		t.Errorf("%v, %d calls; want 3, and 3 for the repeat without labels", err, len(model.Calls()))
	}
	// Half of them is enough; none that answered is untagged.
	replies = []string{"[[labels: Vague]]", "[[labels: No Error]]", "Hm.", "Hm."}
	got, err := diagnose(t.Context(), t, llmtest.NewFake(func(ctx context.Context, n int,
		r *llm.Request) (*llm.Reply, error) {
		return llmtest.Say(replies[r.Repeat])(ctx, n, r)
	}), o, rowsOf(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	checkDiagnosis(t, got[0], "", "Vague")
	got, err = diagnose(t.Context(), t, llmtest.NewFake(llmtest.Say("Hm.")), o, rowsOf(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	checkDiagnosis(t, got[0], reply.Missing)
}

// TestLabellerExamples: examples stand in every prompt, but in that of a row which is one of them the row's labels do
// not.
func TestLabellerExamples(t *testing.T) {
	o := labellerOptions(t)
	o.Examples = wallExamples
	model := llmtest.NewFake(llmtest.Say(`{"reason": "", "labels": []}`))
	got, err := diagnose(t.Context(), t, model, o, rowsOf(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	checkDiagnosis(t, got[1], "", "No Error")
	for _, r := range model.Calls() {
		text := textOf(&r)
		if !strings.Contains(text, "Labels: Spell Error; Vague\n") {
			t.Errorf("the first example is not in\n%s", text)
		}
		_, examined, _ := strings.Cut(text, "\n## To be examined\n")
		own := strings.Contains(examined, "Who built wall 1?")
		if own == strings.Contains(text, "Labels: Off Topic") {
			t.Errorf("its own labels stand in the prompt of row r1, or are missing in another:\n%s", text)
		}
	}
}

func TestBadLabellers(t *testing.T) {
	good := judge("m", llmtest.NewFake(llmtest.Say("")))
	for want, spoil := range map[string]func(*LabellerOptions){
		"no taxonomy":                      func(o *LabellerOptions) { o.Taxonomy = nil },
		"the template is of kind identify": func(o *LabellerOptions) { o.Template = options(t).Template },
		"33 examples; a prompt shows 32":   func(o *LabellerOptions) { o.Examples = make([]prompt.Example, 33) },
		"0 repeats":                        func(o *LabellerOptions) { o.Repeats = 0 },
		"0 attempts":                       func(o *LabellerOptions) { o.Attempts = 0 },
		"0 workers":                        func(o *LabellerOptions) { o.Workers = 0 },
		"example 1 has 0 texts":            func(o *LabellerOptions) { o.Examples = make([]prompt.Example, 1) },
		`example 1: walls@1 has no label "X"`: func(o *LabellerOptions) {
			o.Examples = []prompt.Example{{Values: row, Labels: []string{"X"}}}
		},
	} {
		t.Run(want, func(t *testing.T) {
			o := labellerOptions(t)
			spoil(&o)
			if _, err := NewLabeller(good, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		})
	}
	if _, err := NewLabeller(llm.Model{Name: "m"}, labellerOptions(t)); err == nil || !strings.Contains(err.Error(),
		"judge m has no model or no client") {
		t.Error(err)
	}
}
