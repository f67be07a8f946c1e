package scorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// values are those of a score's runs, in order; NaN would be a fault of its own.
func values(s *dataset.Score) string {
	var out []string
	for _, r := range s.Runs {
		text := r.Judge + " " + r.Mode
		if r.Planted != "" {
			text += "+" + r.Planted
		}
		if r.Value == nil {
			text += "=" + r.Reason
		} else {
			text += fmt.Sprintf("=%v", *r.Value)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestPanel: three judges of whom one gives no verdict on clarity.
func TestPanel(t *testing.T) {
	strict := judging(func(text string) string {
		if strings.Contains(text, "\nClarity:") {
			return "unknown"
		}
		return "1"
	})
	judges := []llm.Model{judge("strict", strict), judge("kind", judging(always("3"))),
		judge("fair", judging(always("3")))}
	for how, want := range map[string]float64{Mean: 2.333333, Median: 3, Majority: 3} { // of 1, 3, 3
		o := options(t)
		o.Aggregate = how
		results, err := score(t.Context(), t, judges, o, rowsOf(t, 1, "Vague"))
		if err != nil {
			t.Fatal(err)
		}
		s := results[0].scores
		if *s["fluency"].Value != want || *s["clarity"].Value != 3 {
			t.Errorf("%s: fluency %v, clarity %v; want %v and 3", how, *s["fluency"].Value, *s["clarity"].Value, want)
		}
		if got := values(s["fluency"]); got != "strict error-aware=1; kind error-aware=3; fair error-aware=3" {
			t.Errorf("runs: %s", got)
		}
	}
}

func TestAggregate(t *testing.T) {
	run := func(judge string, v float64) dataset.Run { return dataset.Run{Judge: judge, Value: &v} }
	unscored := dataset.Run{Judge: "a", Status: dataset.StatusUnscored, Reason: "cut"}
	for _, c := range []struct {
		runs []dataset.Run
		want map[string]float64
	}{
		{nil, nil},
		{[]dataset.Run{unscored}, nil},
		{[]dataset.Run{unscored, run("b", 2)}, map[string]float64{Mean: 2, Median: 2, Majority: 2}},
		// a's mean is 1, b's 3: its three repeats do not weigh more.
		{[]dataset.Run{run("a", 1), run("b", 3), run("b", 3), run("b", 3)}, map[string]float64{Mean: 2,
			Median: 2, Majority: 3}},
		{[]dataset.Run{run("a", 1), run("b", 3)}, map[string]float64{Mean: 2, Median: 2, Majority: 2}}, // a tie
		{[]dataset.Run{run("a", 1), run("b", 1), run("c", 3), run("d", 2)}, map[string]float64{Mean: 1.75,
			Median: 1.5, Majority: 1}},
	} {
		for _, how := range Aggregates() {
			got, ok := Aggregate(c.runs, how)
			if want, known := c.want[how]; ok != known || got != want {
				t.Errorf("%s of %v: %v, %v; want %v", how, c.runs, got, ok, want)
			}
		}
	}
}

// TestModesRepeatsAndPlants: a judge that takes a point off for each label it is shown.
func TestModesRepeatsAndPlants(t *testing.T) {
	model := judging(func(text string) string {
		_, labels, aware := strings.Cut(text, "# Labels")
		if !aware {
			return "3"
		}
		return fmt.Sprint(3 - strings.Count(labels, "\n- "))
	})
	o := options(t)
	o.Modes, o.Repeats, o.Plant = []string{dataset.ModeVanilla, dataset.ModeErrorAware}, 2, 1
	results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rowsOf(t, 1, "Vague"))
	if err != nil {
		t.Fatal(err)
	}
	d := &o.Taxonomy.Dimensions[slices.IndexFunc(o.Taxonomy.Dimensions,
		func(d taxonomy.Dimension) bool { return d.Key == "clarity" })]
	if !slices.Contains(d.Types, "Vague") {
		t.Fatalf("Vague does not bear on clarity: %v", d.Types)
	}
	s := results[0].scores["clarity"]
	planted := s.Runs[3].Planted
	if planted == "" || planted == "Vague" || !slices.Contains(d.Types, planted) {
		t.Errorf("planted is %q", planted)
	}
	if *s.Value != 2 { // one label; neither vanilla nor planted judgements count
		t.Errorf("value %v, want 2", *s.Value)
	}
	want := "m vanilla=3; m vanilla=3; m error-aware=2; m error-aware+P=1; m error-aware=2; m error-aware+P=1"
	if got := strings.ReplaceAll(values(s), planted, "P"); got != want {
		t.Errorf("runs %s\nwant %s", got, want)
	}
	repeats := map[int]int{}
	for _, c := range model.Calls() {
		repeats[c.Repeat]++
	}
	if !maps.Equal(repeats, map[int]int{0: 9, 1: 9}) { // 3 dimensions: vanilla, error-aware, planted
		t.Errorf("calls by repeat: %v, want 9 of each", repeats)
	}
	shown := s.Runs[2].ErrorsShown
	if !slices.Equal(shown, []string{"Vague"}) || s.Runs[0].ErrorsShown != nil || len(s.Runs[3].ErrorsShown) != 2 {
		t.Errorf("errors shown: %v, %v, %v", s.Runs[0].ErrorsShown, shown, s.Runs[3].ErrorsShown)
	}
}

func TestPlantHitsItsShare(t *testing.T) {
	o := options(t)
	o.Plant = 0.1
	p, err := NewPanel([]llm.Model{judge("m", judging(always("2")))}, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, planted, plain := rowsOf(t, 2500, "No Error"), 0, 0
	for row, err := rows(); !errors.Is(err, io.EOF); row, err = rows() {
		questions, err := p.Questions(row)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range questions {
			if q.Planted != "" {
				planted++
			} else {
				plain++
			}
		}
	}
	if plain != 7500 || planted < 646 || planted > 854 { // 750, four standard deviations of 26
		t.Errorf("%d plain, %d planted, want 7500 and 646 to 854", plain, planted)
	}
}

// TestSeedsAndOptions: what a judge is set to arrives; repeats differ in their seed.
func TestSeedsAndOptions(t *testing.T) {
	model := judging(always("2"))
	zero, seed := 0.0, int64(7)
	j := llm.Model{Name: "m", Client: model, Model: "gpt", Temperature: &zero, Seed: &seed, MaxTokens: 33}
	o := options(t)
	o.Repeats = 2
	if _, err := score(t.Context(), t, []llm.Model{j}, o, rowsOf(t, 1, "Vague")); err != nil {
		t.Fatal(err)
	}
	for _, c := range model.Calls() {
		if c.Model != "gpt" || *c.Temperature != 0 || *c.Seed != 7+int64(c.Repeat) || c.MaxTokens != 33 || c.Schema == nil {
			t.Errorf("%+v", c)
		}
	}
	lines := judging(always("2"))
	j.Client, j.Lines = lines, true
	if _, err := score(t.Context(), t, []llm.Model{j}, o, rowsOf(t, 1, "Vague")); err != nil {
		t.Fatal(err)
	}
	if c := lines.Calls()[0]; c.Schema != nil || !strings.Contains(textOf(&c), "[[verdict: N]]") {
		t.Errorf("asked for lines: %+v", c)
	}
}

// TestUntagged: a row nobody looked at has no error-aware judgement, and no call is made for one.
func TestUntagged(t *testing.T) {
	model := judging(always("2"))
	o := options(t)
	o.Modes = []string{dataset.ModeErrorAware, dataset.ModeVanilla}
	results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rowsOf(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	s := results[0].scores["fluency"]
	if s.Value != nil || s.Reason != ReasonUntagged || *s.Runs[1].Value != 2 {
		t.Errorf("%+v: %s", s, values(s))
	}
	if n := len(model.Calls()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	o.Modes = o.Modes[1:]
	if results, err = score(t.Context(), t, []llm.Model{judge("m", model)}, o, rowsOf(t, 1)); err != nil ||
		*results[0].scores["fluency"].Value != 2 {
		t.Errorf("vanilla needs no labels: %v", err)
	}
}

// TestLabelsThatCannotBeShown: such a row is unscored, and the others are judged; without errors shown it is like any
// other.
func TestLabelsThatCannotBeShown(t *testing.T) {
	for name, labels := range map[string][]string{"unknown": {"Nonsense"}, "none": {},
		"contradictory": {"No Error", "Vague"}} {
		o := options(t)
		o.Modes, o.Plant = []string{dataset.ModeErrorAware, dataset.ModeVanilla}, 1
		bad := fmt.Sprintf(`"%s"`, strings.Join(labels, `","`))
		if len(labels) == 0 {
			bad = ""
		}
		rows := dataset.NewReader(strings.NewReader(fmt.Sprintf(`{"id":"bad","passage":"p","answer":"a","question":"q","diagnosis":{"labels":[%s]}}
{"id":"good","passage":"p","answer":"a","question":"q","diagnosis":{"labels":["No Error"]}}`, bad)), "rows.jsonl", dataset.Options{Taxonomy: o.Taxonomy}).Read
		results, err := score(t.Context(), t, []llm.Model{judge("m", judging(always("2")))}, o, rows)
		if err != nil || len(results) != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		first, second := results[0].scores["fluency"], results[1].scores["fluency"]
		if first.Value != nil || first.Reason != ReasonUntagged || len(first.Runs) != 2 || *first.Runs[1].Value != 2 ||
			*second.Value != 2 {
			t.Errorf("%s: %s and %s", name, values(first), values(second))
		}
	}
}

// TestJointCalls: one call for all dimensions; where a verdict is missing it is asked again, and the fullest reply
// counts.
func TestJointCalls(t *testing.T) {
	replies := []string{
		"nothing",
		`{"fluency": {"reason": "r", "score": 1}, "clarity": {"reason": "r", "score": 2}}`,
		`{"fluency": {"reason": "r", "score": 3}}`,
	}
	model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		return llmtest.Say(replies[r.Attempt])(ctx, n, r)
	})
	o := options(t)
	var err error
	if o.Template, err = prompt.Builtin(prompt.Joint); err != nil {
		t.Fatal(err)
	}
	results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rowsOf(t, 1, "Vague"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(model.Calls()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	s := results[0].scores
	if *s["fluency"].Value != 1 || *s["clarity"].Value != 2 || s["passage_consistency"].Reason != reply.Missing {
		t.Errorf("fluency %s, clarity %s, passage consistency %s", values(s["fluency"]), values(s["clarity"]),
			values(s["passage_consistency"]))
	}
}

// TestCascade: the first row is certain, the second is not. Both verdicts of the judge are 1; offline, no error is 3.
func TestCascade(t *testing.T) {
	const row = `{"id": "%s", "passage": "p", "answer": "a", "question": "q", "diagnosis": {"labels": ["No Error"], "probabilities": {%s}}}` + "\n"
	var text string
	for _, p := range []float64{0.001, 0.4} {
		var labels []string
		for _, y := range walls(t).Types {
			labels = append(labels, fmt.Sprintf(`"%s": %v`, y.Name, p))
		}
		text += fmt.Sprintf(row, fmt.Sprint("p", p), strings.Join(labels, ","))
	}
	for _, audit := range []float64{0, 1} {
		t.Run(fmt.Sprintf("audit %v", audit), func(t *testing.T) {
			model := judging(always("1"))
			o := options(t)
			o.Cascade = Cascade{Sure: 0.9, Audit: audit}
			rows := dataset.NewReader(strings.NewReader(text), "rows.jsonl", dataset.Options{Taxonomy: o.Taxonomy})
			results, err := score(t.Context(), t, []llm.Model{judge("m", model)}, o, rows.Read)
			if err != nil {
				t.Fatal(err)
			}
			sure, unsure := results[0].scores["fluency"], results[1].scores["fluency"]
			if *sure.Value < 2.9 || *unsure.Value != 1 || len(unsure.Runs) != 1 {
				t.Errorf("sure %s, unsure %s", values(sure), values(unsure))
			}
			if want := 1 + int(audit); len(sure.Runs) != want || sure.Runs[0].Judge != dataset.JudgeOffline {
				t.Errorf("sure %s; want %d runs", values(sure), want)
			}
			if n, want := len(model.Calls()), 3+3*int(audit); n != want {
				t.Errorf("%d calls with %v audited, want %d", n, audit, want)
			}
		})
	}
}
