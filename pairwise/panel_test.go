package pairwise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

func judge(name string, c llm.Client) llm.Model {
	return llm.Model{Name: name, Client: c, Model: name, MaxTokens: 100}
}

func templates(t testing.TB, names ...string) (all []*prompt.Template) {
	t.Helper()
	for _, name := range names {
		one, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func options(t testing.TB) PanelOptions {
	t.Helper()
	return PanelOptions{Taxonomy: instructionFollowing(t), Types: []string{"Factuality", verdicts.Overall},
		Templates: templates(t, prompt.Compare), Orders: []string{verdicts.OrderAB, verdicts.OrderBA},
		Modes: []string{prompt.Vanilla}, Repeats: 1, Attempts: 1, Workers: 4, Reconcile: verdicts.Majority}
}

// pairRows are n pairs, whose texts are "left N" and "right N"; the first has labels.
func pairRows(t testing.TB, tax *taxonomy.Taxonomy, n int) func() (*dataset.Row, error) {
	at := 0
	return func() (*dataset.Row, error) {
		if at == n {
			return nil, io.EOF
		}
		columns := map[string]any{"id": fmt.Sprint("p", at), "response_a": fmt.Sprint("left ", at),
			"response_b": fmt.Sprint("right ", at), "instruction": "do"}
		if at == 0 {
			columns[verdicts.DiagnosisA], columns[verdicts.DiagnosisB] = diagnosis(tax, "Factuality"), diagnosis(tax)
		}
		at++
		return rowOf(t, PairTask(tax), columns), nil
	}
}

func promptOf(r *llm.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

type judgedPair struct {
	id  string
	set verdicts.Set
}

func judgePairs(t testing.TB, models []llm.Model, o PanelOptions, n int) ([]judgedPair, error) {
	t.Helper()
	p, err := NewPanel(models, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []judgedPair
	err = p.Judge(t.Context(), pairRows(t, o.Taxonomy, n), func(row *dataset.Row, set verdicts.Set) error {
		out = append(out, judgedPair{row.ID, set})
		return nil
	})
	return out, err
}

// TestQuestions: each judge is asked by each type in each mode, wording and order, as often as it is to be repeated; a
// pair without labels in vanilla mode alone; a joint call asks about all types.
func TestQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*PanelOptions)
		calls  int // of both judges, about one pair with labels and two without
	}{
		"plain":    {func(*PanelOptions) {}, 2 * 2 * 2 * 3},
		"one way":  {func(o *PanelOptions) { o.Orders = o.Orders[:1] }, 2 * 2 * 3},
		"wordings": {func(o *PanelOptions) { o.Templates = templates(t, prompt.CompareWordings()...) }, 2 * 2 * 2 * 3 * 3},
		"modes":    {func(o *PanelOptions) { o.Modes = []string{prompt.Vanilla, prompt.ErrorAware} }, 2 * 2 * 2 * 4},
		"repeats":  {func(o *PanelOptions) { o.Repeats = 3 }, 2 * 2 * 2 * 3 * 3},
		"joint":    {func(o *PanelOptions) { o.Templates = templates(t, prompt.CompareJoint) }, 2 * 2 * 3},
		"all": {func(o *PanelOptions) {
			o.Templates, o.Repeats = templates(t, prompt.CompareWordings()...), 2
			o.Modes = []string{prompt.Vanilla, prompt.ErrorAware}
		}, 2 * 2 * 2 * 3 * 2 * 4},
	} {
		o := options(t)
		c.change(&o)
		one, two := llmtest.NewFake(answering(t, "first")), llmtest.NewFake(answering(t, "first"))
		got, err := judgePairs(t, []llm.Model{judge("one", one), judge("two", two)}, o, 3)
		if err != nil || len(got) != 3 {
			t.Fatalf("%s: %d pairs, %v", name, len(got), err)
		}
		if n := len(one.Calls()) + len(two.Calls()); n != c.calls {
			t.Errorf("%s: %d calls, want %d", name, n, c.calls)
		}
		for i, p := range got {
			if p.id != fmt.Sprint("p", i) {
				t.Errorf("%s: pair %d is %s", name, i, p.id)
			}
			checkFirst(t, name, p.set, len(o.Orders))
			if p.set["Factuality"].Offline != map[bool]string{true: verdicts.B}[i == 0] {
				t.Errorf("%s: by the labels %+v", name, p.set["Factuality"])
			}
		}
		seen := map[string]bool{}
		for _, r := range got[0].set["Factuality"].Runs {
			key := fmt.Sprintf("%s %s %s %s %d", r.Judge, r.Mode, r.Order, r.Prompt, r.Repeat)
			if seen[key] {
				t.Errorf("%s: run %s is there twice", name, key)
			}
			seen[key] = true
		}
	}
}

// checkFirst: who always prefers the first text gives A in one order and B in the other, which is inconsistent.
func checkFirst(t *testing.T, name string, set verdicts.Set, orders int) {
	t.Helper()
	for _, v := range set {
		for _, r := range v.Runs {
			if want := map[string]string{verdicts.OrderAB: verdicts.A, verdicts.OrderBA: verdicts.B}[r.Order]; r.Value != want {
				t.Errorf("%s: order %s gives %q, want %q", name, r.Order, r.Value, want)
			}
		}
		if orders == 2 && (v.Value != "" || v.Reason != verdicts.Inconsistent) || orders == 1 && v.Value != verdicts.A {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// answering gives a verdict by every type that is asked about.
func answering(t testing.TB, verdict string) llmtest.Answer {
	codes := []string{"Overall"}
	for _, y := range instructionFollowing(t).Types {
		codes = append(codes, y.Code)
	}
	return func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		text := fmt.Sprintf(`{"reason": "So.", "verdict": %q}`, verdict)
		if strings.Contains(promptOf(r), "# Requirements\n") {
			var each []string
			for _, code := range codes {
				each = append(each, fmt.Sprintf("%q: %s", code, text))
			}
			text = "{" + strings.Join(each, ", ") + "}"
		}
		return llmtest.Say(text)(ctx, n, r)
	}
}

// TestShownTexts: the order says which text is shown first; errors go with their text; vanilla shows none.
func TestShownTexts(t *testing.T) {
	o := options(t)
	o.Types, o.Modes = []string{"Factuality"}, []string{prompt.Vanilla, prompt.ErrorAware}
	fake := llmtest.NewFake(answering(t, "both_good"))
	if _, err := judgePairs(t, []llm.Model{judge("m", fake)}, o, 1); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range fake.Calls() {
		text := promptOf(&c)
		first := strings.Index(text, "left 0") < strings.Index(text, "right 0")
		found := "none shown"
		if _, errors, ok := strings.Cut(text, "# Errors found"); ok {
			inFirst, rest, _ := strings.Cut(errors, "In the second text:")
			inSecond, _, _ := strings.Cut(rest, "\n")
			found = fmt.Sprintf("%v %v", strings.Contains(inFirst, "Factuality"), strings.Contains(inSecond, "Factuality"))
		}
		got = append(got, fmt.Sprintf("left first %v, %s", first, found))
	}
	slices.Sort(got)
	if want := []string{"left first false, false true", "left first false, none shown", "left first true, none shown",
		"left first true, true false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNotJudged: where a pair lacks a field that a type needs, nobody is asked by it.
func TestNotJudged(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tax.Types, func(y taxonomy.Type) bool { return slices.Contains(y.Needs, "answer") })
	o := options(t)
	o.Taxonomy, o.Types = tax, []string{tax.Types[i].Name, verdicts.Overall}
	for _, names := range [][]string{{prompt.Compare}, {prompt.CompareJoint}} {
		o.Templates = templates(t, names...)
		fake := llmtest.NewFake(answering(t, "both_bad"))
		p, err := NewPanel([]llm.Model{judge("m", fake)}, o)
		if err != nil {
			t.Fatal(err)
		}
		rows := []*dataset.Row{rowOf(t, PairTask(tax), map[string]any{"id": "p", "question_a": "x", "question_b": "y",
			"passage": "z"})}
		err = p.Judge(t.Context(), func() (*dataset.Row, error) {
			if len(rows) == 0 {
				return nil, io.EOF
			}
			row := rows[0]
			rows = nil
			return row, nil
		}, func(_ *dataset.Row, set verdicts.Set) error {
			if v := set[tax.Types[i].Name]; v.Value != "" || v.Status != verdicts.Unjudged || v.Reason != verdicts.NotJudged {
				t.Errorf("%+v", v)
			}
			if v := set[verdicts.Overall]; v.Value != verdicts.BothBad {
				t.Errorf("Overall %+v", v)
			}
			return nil
		})
		if n := len(fake.Calls()); err != nil || n != 2 {
			t.Errorf("%d calls, %v", n, err)
		}
	}
}

// TestUnjudgedIsNoTie: whatever keeps a judge from a verdict, the pair is unjudged with the reason.
func TestUnjudgedIsNoTie(t *testing.T) {
	for want, answer := range map[string]llmtest.Answer{
		reply.Missing:   llmtest.Say("Both are fine, I think."),
		reply.OffScale:  llmtest.Say(`{"reason": "", "verdict": "tie"}`),
		reply.Ambiguous: llmtest.Say(`{"verdict": "first"} {"verdict": "second"}`),
		reply.Refused: func(context.Context, int, *llm.Request) (*llm.Reply, error) {
			return nil, &llm.Error{Kind: llm.Refused, Err: errors.New("400")}
		},
		reply.Filtered: func(context.Context, int, *llm.Request) (*llm.Reply, error) {
			return &llm.Reply{Finish: llm.FinishFilter}, nil
		},
		reply.Cut: func(context.Context, int, *llm.Request) (*llm.Reply, error) {
			return &llm.Reply{Text: `{"reason": "The fi`, Finish: llm.FinishLength}, nil
		},
		reply.Unavailable: func(_ context.Context, n int, _ *llm.Request) (*llm.Reply, error) {
			if n == 0 {
				return &llm.Reply{Text: `{"verdict": "both_good"}`}, nil // a sign of life
			}
			return nil, &llm.Error{Kind: llm.Unavailable, Err: errors.New("down")}
		},
	} {
		o := options(t)
		o.Workers, o.Orders = 1, o.Orders[:1]
		got, err := judgePairs(t, []llm.Model{judge("m", llmtest.NewFake(answer))}, o, 1)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		v := got[0].set[verdicts.Overall] // asked about second
		if v.Value != "" || v.Status != verdicts.Unjudged || !strings.HasPrefix(v.Reason, want) || v.Runs[0].Value != "" {
			t.Errorf("%s: %+v", want, v)
		}
	}
}

// TestRunEnds: what concerns every call ends the run; the pairs before it are emitted.
func TestRunEnds(t *testing.T) {
	for _, kind := range []llm.Kind{llm.Auth, llm.Budget, llm.Broken} {
		fake := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
			if strings.Contains(promptOf(r), "left 2") {
				return nil, &llm.Error{Kind: kind, Err: errors.New("because")}
			}
			return answering(t, "first")(ctx, n, r)
		})
		o := options(t)
		o.Workers = 1
		got, err := judgePairs(t, []llm.Model{judge("m", fake)}, o, 5)
		if llm.KindOf(err) != kind || len(got) != 2 {
			t.Errorf("%s: %d pairs, %v", kind, len(got), err)
		}
	}
}

func TestBadPanels(t *testing.T) {
	for want, spoil := range map[string]func(*PanelOptions){
		"no taxonomy":              func(o *PanelOptions) { o.Taxonomy = nil },
		"nothing to compare by":    func(o *PanelOptions) { o.Types = nil },
		"no template":              func(o *PanelOptions) { o.Templates = nil },
		"the templates are of":     func(o *PanelOptions) { o.Templates = templates(t, prompt.CompareJoint, prompt.Compare) },
		"no order or no mode":      func(o *PanelOptions) { o.Orders = nil },
		"0 repeats":                func(o *PanelOptions) { o.Repeats = 0 },
		"0 attempts":               func(o *PanelOptions) { o.Attempts = 0 },
		"0 workers":                func(o *PanelOptions) { o.Workers = 0 },
		`reconcile "vote": it is `: func(o *PanelOptions) { o.Reconcile = "vote" },
	} {
		o := options(t)
		spoil(&o)
		if _, err := NewPanel([]llm.Model{judge("m", llmtest.NewFake(llmtest.Hang))}, o); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	twice := judge("m", llmtest.NewFake(llmtest.Hang))
	if _, err := NewPanel([]llm.Model{twice, twice}, options(t)); err == nil || !strings.Contains(err.Error(),
		"asked twice") {
		t.Errorf("%v", err)
	}
	if _, err := NewPanel(nil, options(t)); err == nil || !strings.Contains(err.Error(), "no judge") {
		t.Errorf("%v", err)
	}
}
