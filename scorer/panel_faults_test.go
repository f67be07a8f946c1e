package scorer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

func jointOptions(t testing.TB) PanelOptions {
	t.Helper()
	o := options(t)
	var err error
	if o.Template, err = prompt.Builtin(prompt.Joint); err != nil {
		t.Fatal(err)
	}
	return o
}

// scripted gives the reply to each attempt; where there is none, the call is given up.
func scripted(replies ...string) llm.Client {
	return llm.ClientFunc(func(_ context.Context, r *llm.Request) (*llm.Reply, error) {
		if r.Attempt < len(replies) {
			return &llm.Reply{Text: replies[r.Attempt]}, nil
		}
		return nil, &llm.Error{Kind: llm.Unavailable, Err: errors.New("down")}
	})
}

// What a reply held stays where the next attempt is given up; where it held nothing, that is the reason.
func TestGivenUpAfterAReply(t *testing.T) {
	o := jointOptions(t)
	results, err := score(t.Context(), t, []llm.Model{judge("m", scripted(`{"fluency": {"score": 1}}`))}, o,
		rowsOf(t, 1, "Vague"))
	if err != nil {
		t.Fatal(err)
	}
	s := results[0].scores
	if s["fluency"].Value == nil || *s["fluency"].Value != 1 || s["clarity"].Reason != reply.Missing {
		t.Errorf("fluency %s, clarity %s; want 1 and missing", values(s["fluency"]), values(s["clarity"]))
	}
	if results, err = score(t.Context(), t, []llm.Model{judge("m", scripted("nothing"))}, o,
		rowsOf(t, 1, "Vague")); err != nil {
		t.Fatal(err)
	}
	if s := results[0].scores["fluency"]; s.Value != nil || s.Reason != reply.Unavailable {
		t.Errorf("%s; want unavailable", values(s))
	}
}

// A replay is no sign of life, a refusal of the endpoint is.
func TestSignsOfLife(t *testing.T) {
	for name, c := range map[string]struct {
		sign func() (*llm.Reply, error)
		down bool
	}{
		"replayed": {func() (*llm.Reply, error) { return &llm.Reply{Text: "[[verdict: 2]]", Cached: true}, nil }, true},
		"replied":  {func() (*llm.Reply, error) { return &llm.Reply{Text: "[[verdict: 2]]"}, nil }, false},
		"refused":  {func() (*llm.Reply, error) { return nil, &llm.Error{Kind: llm.Refused, Err: errors.New("400")} }, false},
		"filtered": {func() (*llm.Reply, error) { return nil, &llm.Error{Kind: llm.Filtered, Err: errors.New("400")} },
			false},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			model := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
				if calls++; calls%ask.DownAtOnce == 0 {
					return c.sign()
				}
				return nil, &llm.Error{Kind: llm.Unavailable, Err: errors.New("down")}
			})
			o := options(t)
			o.Workers = 1
			_, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rowsOf(t, 2, "Vague"))
			if down := llm.KindOf(err) == llm.Unavailable; down != c.down || err != nil && !down {
				t.Errorf("%v after %d calls, want it down: %v", err, calls, c.down)
			}
		})
	}
}

// A run does not hold an outage in the one before against a judge.
func TestDownIsOfOneRun(t *testing.T) {
	calls := 0
	model := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		if calls++; calls <= ask.DownAtOnce+1 {
			return nil, &llm.Error{Kind: llm.Unavailable, Err: errors.New("down")}
		}
		return &llm.Reply{Text: "[[verdict: 2]]"}, nil
	})
	o := options(t)
	o.Workers = 1
	p, err := NewPanel([]llm.Model{judge("m", model)}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []llm.Kind{llm.Unavailable, 0} {
		err := p.Score(t.Context(), rowsOf(t, 2, "Vague"), func(*dataset.Row, map[string]*dataset.Score) error { return nil })
		if llm.KindOf(err) != want {
			t.Errorf("run %d: %v", i+1, err)
		}
	}
}

// A row that is whole, behind one that is not, is not emitted: rows would be lost in the midst of the output.
func TestNothingBehindATornRow(t *testing.T) {
	var answered atomic.Int64
	second := make(chan struct{})
	model := llm.ClientFunc(func(_ context.Context, r *llm.Request) (*llm.Reply, error) {
		text := textOf(r)
		if strings.Contains(text, "wall 0") && strings.Contains(text, "\nFluency: ") {
			<-second
			return nil, &llm.Error{Kind: llm.Budget, Err: errors.New("spent")}
		}
		if strings.Contains(text, "wall 1") && answered.Add(1) == 3 {
			close(second)
		}
		return &llm.Reply{Text: "[[verdict: 2]]"}, nil
	})
	results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, options(t), rowsOf(t, 2, "Vague"))
	if llm.KindOf(err) != llm.Budget || len(results) != 0 {
		t.Errorf("%d rows, %v; want none and the budget's end", len(results), err)
	}
}

// tagged is a row whose errors have these probabilities, the others 0.
func tagged(t testing.TB, id string, p map[string]float64) string {
	t.Helper()
	var all []string
	for _, y := range walls(t).Types {
		all = append(all, fmt.Sprintf(`"%s": %v`, y.Name, p[y.Name]))
	}
	return fmt.Sprintf(`{"id": "%s", "passage": "p", "answer": "a", "question": "q", "diagnosis": {"labels": ["No Error"], "probabilities": {%s}}}`+"\n",
		id, strings.Join(all, ","))
}

// In a joint call, a row is sure or is not as a whole; a certainty that is just enough is enough.
func TestJointCascade(t *testing.T) {
	for id, c := range map[string]struct {
		p     map[string]float64
		calls int
	}{
		"sure":      {nil, 0},
		"just sure": {map[string]float64{"Vague": 0.1, "Off Topic": 0.9}, 0},
		"partly":    {map[string]float64{"Vague": 0.4}, 1}, // fluency, first of the dimensions, is sure
	} {
		t.Run(id, func(t *testing.T) {
			var calls atomic.Int64
			model := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
				calls.Add(1)
				var all []string
				for _, d := range walls(t).Dimensions {
					all = append(all, fmt.Sprintf("[[verdict %s: 1]]", d.Key))
				}
				return &llm.Reply{Text: strings.Join(all, "\n")}, nil
			})
			o := jointOptions(t)
			o.Cascade = Cascade{Sure: 0.9}
			rows := dataset.NewReader(strings.NewReader(tagged(t, id, c.p)), "rows.jsonl", dataset.Options{Taxonomy: o.Taxonomy})
			results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rows.Read)
			if err != nil || len(results) != 1 {
				t.Fatalf("%s: %v", id, err)
			}
			for key, s := range results[0].scores {
				if offline := s.Runs[0].Judge == dataset.JudgeOffline; len(s.Runs) != 1 || offline != (c.calls == 0) {
					t.Errorf("%s: %s is %s", id, key, values(s))
				}
			}
			if int(calls.Load()) != c.calls {
				t.Errorf("%s: %d calls, want %d", id, calls.Load(), c.calls)
			}
		})
	}
}

// What is planted is wrong: the row does not have it, by name or by code.
func TestPlantedIsWrong(t *testing.T) {
	o := options(t)
	o.Plant = 1
	p, err := NewPanel([]llm.Model{judge("m", scripted())}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range o.Taxonomy.Dimensions {
		for _, left := range d.Types { // all but one that bear on it
			has := slices.DeleteFunc(slices.Clone(d.Types), func(l string) bool { return l == left })
			if len(has) == 0 {
				has = []string{"No Error"}
			} else if i, ok := o.Taxonomy.Index(has[0]); ok {
				has[0] = o.Taxonomy.Types[i].Code
			}
			row, err := rowsOf(t, 1, has...)()
			if err != nil {
				t.Fatal(err)
			}
			questions, err := p.Questions(row)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range questions {
				if q.Dimension == d.Key && q.Planted != "" && q.Planted != left {
					t.Errorf("%s with %v: planted %s, want %s", d.Key, has, q.Planted, left)
				}
			}
		}
	}
}

// The reasons of several judgements stand in a score once each.
func TestReasonsOfAScore(t *testing.T) {
	runs := []dataset.Run{{Reason: "cut: at 10"}, {Reason: "missing"}, {Reason: "cut: at 12"}}
	if got := reasons(runs); got != "cut, missing" {
		t.Errorf("%q", got)
	}
}
