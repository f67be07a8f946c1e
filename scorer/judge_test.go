package scorer

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// walls is a task for tests, with three dimensions.
func walls(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	task, err := taxonomy.Open("../testdata/walls.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// options are the default ones, for walls.
func options(t testing.TB) PanelOptions {
	t.Helper()
	o := DefaultPanelOptions()
	o.Taxonomy = walls(t)
	var err error
	if o.Template, err = prompt.Builtin(prompt.Judge); err != nil {
		t.Fatal(err)
	}
	return o
}

// rowsOf makes n rows with these labels. No labels: the rows are not tagged.
func rowsOf(t testing.TB, n int, labels ...string) func() (*dataset.Row, error) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		diagnosis := ""
		if labels != nil {
			diagnosis = fmt.Sprintf(`, "diagnosis": {"labels": ["%s"], "taxonomy": "walls@1"}`,
				strings.Join(labels, `","`))
		}
		fmt.Fprintf(&b, `{"id": "r%d", "passage": "Passage %d of the town.", "answer": "Oke", "question": "Who built wall %d?"%s}`+"\n", i, i, i, diagnosis)
	}
	r := dataset.NewReader(strings.NewReader(b.String()), "rows.jsonl", dataset.Options{Taxonomy: walls(t)})
	return r.Read
}

// result is what came of a row.
type result struct {
	id     string
	scores map[string]*dataset.Score
}

// score runs the panel over rows.
func score(ctx context.Context, t testing.TB, judges []llm.Model, o PanelOptions, next func() (*dataset.Row,
	error)) ([]result, error) {
	t.Helper()
	p, err := NewPanel(judges, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []result
	err = p.Score(ctx, next, func(row *dataset.Row, scores map[string]*dataset.Score) error {
		out = append(out, result{row.ID, scores})
		return nil
	})
	return out, err
}

// textOf is all that a request says.
func textOf(r *llm.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// judging answers with the verdict that value gives for a prompt.
func judging(value func(prompt string) string) *llmtest.Fake {
	return llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		return llmtest.Say("Because.\n[[verdict: "+value(textOf(r))+"]]")(ctx, n, r)
	})
}

func always(v string) func(string) string { return func(string) string { return v } }

func judge(name string, c llm.Client) llm.Model {
	return llm.Model{Name: name, Client: c, Model: name, MaxTokens: 100}
}

func TestBadPanels(t *testing.T) {
	good := judge("m", judging(always("2")))
	for _, c := range []struct {
		spoil func(*PanelOptions)
		want  string
	}{
		{func(o *PanelOptions) { o.Modes = nil }, "no mode"},
		{func(o *PanelOptions) { o.Modes = []string{"vanila"} }, `mode "vanila" is unknown`},
		{func(o *PanelOptions) { o.Repeats = 0 }, "0 repeats"},
		{func(o *PanelOptions) { o.Attempts = 0 }, "0 attempts"},
		{func(o *PanelOptions) { o.Workers = 0 }, "0 workers"},
		{func(o *PanelOptions) { o.Workers = math.MaxInt }, "workers; give 1 to 65536"},
		{func(o *PanelOptions) { o.Repeats = math.MaxInt }, "repeats; give 1 to 1000"},
		{func(o *PanelOptions) { o.Aggregate = "max" }, "there are mean, median, majority"},
		{func(o *PanelOptions) { o.Template = nil }, "the template is of kind judge or joint"},
		{func(o *PanelOptions) { o.Taxonomy = nil }, "the taxonomy has no dimensions"},
		{func(o *PanelOptions) { o.Plant = 2 }, "0 to 1; got 2"},
		{func(o *PanelOptions) { o.Plant, o.Modes = 0.1, []string{dataset.ModeVanilla} },
			"only error-aware judgements show labels"},
		{func(o *PanelOptions) { o.Cascade.Sure = 0.3 }, "a certainty is 0.5 to 1"},
		{func(o *PanelOptions) { o.Cascade.Audit = -1 }, "a share to audit is 0 to 1"},
	} {
		t.Run(c.want, func(t *testing.T) {
			o := options(t)
			c.spoil(&o)
			if _, err := NewPanel([]llm.Model{good}, o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	offline, nobody, mute := good, good, good
	offline.Name, nobody.Client, mute.MaxTokens = dataset.JudgeOffline, nil, 0
	for want, judges := range map[string][]llm.Model{
		"no judge": {}, "twice": {good, good}, "needs another name": {offline}, "no client": {nobody}, "0 tokens": {mute},
	} {
		if _, err := NewPanel(judges, options(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
