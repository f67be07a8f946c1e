package scorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

func questionGeneration(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	qg, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return qg
}

// options are the default ones, for question generation.
func options(t testing.TB) PanelOptions {
	t.Helper()
	o := DefaultPanelOptions()
	o.Taxonomy = questionGeneration(t)
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
			diagnosis = fmt.Sprintf(`, "diagnosis": {"labels": ["%s"], "taxonomy": "question-generation@1.0"}`, strings.Join(labels, `","`))
		}
		fmt.Fprintf(&b, `{"id": "r%d", "passage": "Passage %d of the town.", "answer": "Oke", "question": "Who built wall %d?"%s}`+"\n", i, i, i, diagnosis)
	}
	r := dataset.NewReader(strings.NewReader(b.String()), "rows.jsonl", dataset.Options{Taxonomy: questionGeneration(t)})
	return r.Read
}

// result is what came of a row.
type result struct {
	id     string
	scores map[string]*dataset.Score
}

// score runs the panel over rows.
func score(ctx context.Context, t testing.TB, judges []Judge, o PanelOptions, next func() (*dataset.Row, error)) ([]result, error) {
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

func judge(name string, c llm.Client) Judge {
	return Judge{Name: name, Client: c, Model: name, MaxTokens: 100}
}

// reasonOfAlways is how a judgement ends whose endpoint never does anything else; "" is scored as 2.
var reasonOfAlways = map[string]string{
	"400": ReasonRefused, "prompt filtered": ReasonFiltered, "refusal": ReasonRefused, "content filter": ReasonFiltered,
	"cut at max tokens": ReasonCut, "no text": ReasonMissing, "off scale": ReasonOffScale, "not UTF-8": ReasonMissing,
	"two verdicts": "", "prompt echoed": "",
}

// TestFaults: whatever the endpoint does, every judgement ends as its verdict or as unscored with the right reason, and
// what held a verdict is not asked again.
func TestFaults(t *testing.T) {
	const verdict = "Because.\n[[verdict: 2]]"
	for _, f := range llmtest.Faults(verdict, "[[verdict: 7]]") {
		for _, forGood := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,for good=%v", f.Name, forGood), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testFault(t, f, verdict, forGood) })
			})
		}
	}
}

func testFault(t *testing.T, f llmtest.Fault, verdict string, forGood bool) {
	var mu sync.Mutex
	seen, good := map[string]int{}, map[string]int{} // by prompt
	server := llmtest.NewServer(func(c *llmtest.Call) llmtest.Step {
		text := textOf(&c.Request)
		mu.Lock()
		defer mu.Unlock()
		seen[text]++
		if strings.Contains(text, "\nFluency:") && (forGood || seen[text] == 1) {
			return f.Step
		}
		good[text]++
		return llmtest.Text(verdict)
	})
	endpoint := openai.Options{BaseURL: llmtest.PipeURL, Timeout: 10 * time.Second, HTTP: server.Pipe(t)}
	client, err := openai.New(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	retries := llm.DefaultRetryOptions()
	retries.Attempts, retries.MaxWait = 3, 20*time.Second
	o := options(t)
	o.Workers = 4
	results, err := score(t.Context(), t, []Judge{judge("m", llm.Retry(llm.Limit(client, llm.DefaultLimitOptions()), retries))}, o, rowsOf(t, 3, "Vague"))
	if err != nil || len(results) != 3 {
		t.Fatalf("%d rows, %v", len(results), err)
	}
	want, known := reasonOfAlways[f.Name]
	final := f.Kind == llm.Refused || f.Kind == llm.Filtered // not tried again
	if !known {
		want = ReasonUnavailable
	}
	if !forGood && !final {
		want = ""
	}
	for _, r := range results {
		for key, s := range r.scores {
			reason := want
			if key != "fluency" {
				reason = ""
			}
			checkScore(t, r.id+" "+key, s, reason)
		}
	}
	for _, n := range good {
		if n != 1 {
			t.Errorf("a prompt that had its verdict was asked %d times", n)
		}
	}
}

// checkScore wants 2, or the reason.
func checkScore(t *testing.T, what string, s *dataset.Score, reason string) {
	t.Helper()
	if reason == "" {
		if s.Value == nil || *s.Value != 2 || s.Status != "" || len(s.Runs) != 1 || s.Runs[0].Reason != "" {
			t.Errorf("%s: %+v", what, s)
		}
		return
	}
	if s.Value != nil || s.Status != dataset.StatusUnscored || s.Reason != reason {
		t.Errorf("%s: %+v; want unscored, %s", what, s, reason)
	}
	for _, run := range s.Runs {
		if run.Value != nil || run.Status != dataset.StatusUnscored || !strings.HasPrefix(run.Reason, reason) {
			t.Errorf("%s: %+v; want unscored, %s", what, run, reason)
		}
	}
}

// TestOrderAndMemory: rows come out in the order they went in, however long their calls take, and no more than a few wait
// for one that takes long.
func TestOrderAndMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
			pause := time.Duration(n*7919%100) * time.Millisecond
			if strings.Contains(textOf(r), "wall 0?") {
				pause = time.Hour
			}
			<-time.After(pause)
			return llmtest.Say("[[verdict: 3]]")(ctx, n, r)
		})
		o := options(t)
		o.Workers = 8
		var read, most atomic.Int64
		rows := rowsOf(t, 300, "No Error")
		p, err := NewPanel([]Judge{judge("m", model)}, o)
		if err != nil {
			t.Fatal(err)
		}
		emitted := int64(0)
		err = p.Score(t.Context(), func() (*dataset.Row, error) {
			read.Add(1)
			return rows()
		}, func(row *dataset.Row, _ map[string]*dataset.Score) error {
			most.Store(max(most.Load(), read.Load()-emitted))
			if want := fmt.Sprintf("r%d", emitted); row.ID != want {
				t.Errorf("row %s, want %s", row.ID, want)
			}
			emitted++
			return nil
		})
		if err != nil || emitted != 300 {
			t.Errorf("%d rows, %v", emitted, err)
		}
		if limit := int64(rowsPerWorker*8 + 3); most.Load() > limit {
			t.Errorf("%d rows were held at once, want %d or fewer", most.Load(), limit)
		}
		if n := model.Peak(); n != 8 {
			t.Errorf("%d calls at once, want 8", n)
		}
	})
}

// TestStops: errors that concern every call end the run; rows before them are kept, nothing is made up.
func TestStops(t *testing.T) {
	for _, kind := range []llm.Kind{llm.Auth, llm.Budget, llm.Broken} {
		t.Run(kind.String(), func(t *testing.T) {
			model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
				if n >= 30 {
					return nil, &llm.Error{Kind: kind, Err: errors.New("over")}
				}
				return llmtest.Say("[[verdict: 1]]")(ctx, n, r)
			})
			o := options(t)
			o.Workers = 1
			results, err := score(t.Context(), t, []Judge{judge("m", model)}, o, rowsOf(t, 50, "Vague"))
			if llm.KindOf(err) != kind || !strings.Contains(err.Error(), "judge m: over") {
				t.Errorf("got %v, want %s", err, kind)
			}
			if len(results) != 4 { // 30 calls are 4 rows and 2 questions
				t.Errorf("%d rows are kept, want 4", len(results))
			}
			for i, r := range results {
				if r.id != fmt.Sprintf("r%d", i) || len(r.scores) != 7 {
					t.Errorf("row %d is %s with %d scores", i, r.id, len(r.scores))
				}
			}
			if n := len(model.Calls()); n != 31 {
				t.Errorf("%d calls, though the run ended with call 31", n)
			}
		})
	}
}

// TestDown: a judge that gives no reply ends the run, at once if it never gave one.
func TestDown(t *testing.T) {
	for _, after := range []int{0, 70} {
		model := llmtest.NewFake(func(ctx context.Context, n int, r *llm.Request) (*llm.Reply, error) {
			if n >= after {
				return nil, &llm.Error{Kind: llm.Unavailable, Err: errors.New("connection refused")}
			}
			return llmtest.Say("[[verdict: 1]]")(ctx, n, r)
		})
		o := options(t)
		o.Workers = 1
		results, err := score(t.Context(), t, []Judge{judge("m", model)}, o, rowsOf(t, 200, "Vague"))
		want := downLater
		if after == 0 {
			want = downAtOnce
		}
		if llm.KindOf(err) != llm.Unavailable || !strings.Contains(err.Error(), "judge m: the last") || len(model.Calls()) != after+want {
			t.Errorf("after %d replies: %v, %d calls; want %d more", after, err, len(model.Calls()), want)
		}
		if n := (after + want) / 7; len(results) != n {
			t.Errorf("after %d replies: %d rows, want %d", after, len(results), n)
		}
	}
}

// TestCancel: what is in flight is finished by a client that can; only whole rows are emitted.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		answered := atomic.Int64{}
		model := llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
			<-time.After(time.Second) // whatever ctx says
			answered.Add(1)
			return &llm.Reply{Text: "[[verdict: 2]]"}, nil
		})
		o := options(t)
		o.Workers = 7
		time.AfterFunc(2500*time.Millisecond, func() { cancel(context.Canceled) }) // in the midst of the third row
		results, err := score(ctx, t, []Judge{judge("m", model)}, o, rowsOf(t, 50, "Vague"))
		if !errors.Is(err, context.Canceled) || len(results) != 3 || answered.Load() != 21 {
			t.Errorf("%d rows, %d calls, %v; want 3 rows of 21 calls, cancelled", len(results), answered.Load(), err)
		}
	})
}

// TestErrorsOfCallers: what next and emit say ends the run.
func TestErrorsOfCallers(t *testing.T) {
	odd := errors.New("odd")
	o := options(t)
	p, err := NewPanel([]Judge{judge("m", judging(always("2")))}, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, n := rowsOf(t, 50, "Vague"), 0
	emitted := 0
	count := func(*dataset.Row, map[string]*dataset.Score) error { emitted++; return nil }
	err = p.Score(t.Context(), func() (*dataset.Row, error) {
		if n++; n > 5 {
			return nil, odd
		}
		return rows()
	}, count)
	if !errors.Is(err, odd) || emitted > 5 {
		t.Errorf("%v, %d rows", err, emitted)
	}
	err = p.Score(t.Context(), rowsOf(t, 50, "Vague"), func(*dataset.Row, map[string]*dataset.Score) error { return odd })
	if !errors.Is(err, odd) {
		t.Errorf("%v, want %v", err, odd)
	}
	if err := p.Score(t.Context(), rowsOf(t, 3, "Nonsense"), count); err == nil || !strings.Contains(err.Error(), `row r0: question-generation@1.0 has no label "Nonsense"`) {
		t.Errorf("an unknown label: %v", err)
	}
	if err := p.Score(t.Context(), func() (*dataset.Row, error) { return nil, io.EOF }, count); err != nil {
		t.Errorf("no rows: %v", err)
	}
}

// TestJournal: a second run makes no call for what had a verdict, and asks again for what had none.
func TestJournal(t *testing.T) {
	j, err := journal.Open(filepath.Join(t.TempDir(), "j"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	healed := atomic.Bool{}
	model := judging(func(text string) string {
		if strings.Contains(text, "\nClarity:") && !healed.Load() {
			return "9"
		}
		return "2"
	})
	o := options(t)
	run := func() []result {
		results, err := score(t.Context(), t, []Judge{judge("m", j.Client(model, "endpoint"))}, o, rowsOf(t, 4, "Vague"))
		if err != nil || len(results) != 4 {
			t.Fatalf("%d rows, %v", len(results), err)
		}
		return results
	}
	for _, r := range run() {
		checkScore(t, r.id, r.scores["clarity"], ReasonOffScale)
	}
	if n := len(model.Calls()); n != 4*(6+3) {
		t.Errorf("%d calls; want 6 dimensions, and one three times, of 4 rows", n)
	}
	healed.Store(true)
	for _, r := range run() {
		for key, s := range r.scores {
			checkScore(t, r.id+" "+key, s, "")
		}
	}
	if n := len(model.Calls()); n != 36+4 {
		t.Errorf("%d calls; want 4 more than 36", n)
	}
	run()
	if n := len(model.Calls()); n != 40 {
		t.Errorf("%d calls; want no more than 40", n)
	}
}

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
	judges := []Judge{judge("strict", strict), judge("kind", judging(always("3"))), judge("fair", judging(always("3")))}
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
		{[]dataset.Run{run("a", 1), run("b", 3), run("b", 3), run("b", 3)}, map[string]float64{Mean: 2, Median: 2, Majority: 3}},
		{[]dataset.Run{run("a", 1), run("b", 3)}, map[string]float64{Mean: 2, Median: 2, Majority: 2}}, // a tie
		{[]dataset.Run{run("a", 1), run("b", 1), run("c", 3), run("d", 2)}, map[string]float64{Mean: 1.75, Median: 1.5, Majority: 1}},
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
	results, err := score(t.Context(), t, []Judge{judge("m", model)}, o, rowsOf(t, 1, "Vague"))
	if err != nil {
		t.Fatal(err)
	}
	d := &o.Taxonomy.Dimensions[slices.IndexFunc(o.Taxonomy.Dimensions, func(d taxonomy.Dimension) bool { return d.Key == "clarity" })]
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
	if !maps.Equal(repeats, map[int]int{0: 21, 1: 21}) { // 7 dimensions: vanilla, error-aware, planted
		t.Errorf("calls by repeat: %v", repeats)
	}
	shown := s.Runs[2].ErrorsShown
	if !slices.Equal(shown, []string{"Vague"}) || s.Runs[0].ErrorsShown != nil || len(s.Runs[3].ErrorsShown) != 2 {
		t.Errorf("errors shown: %v, %v, %v", s.Runs[0].ErrorsShown, shown, s.Runs[3].ErrorsShown)
	}
}

func TestPlantHitsItsShare(t *testing.T) {
	o := options(t)
	o.Plant = 0.1
	p, err := NewPanel([]Judge{judge("m", judging(always("2")))}, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, planted, plain := rowsOf(t, 1000, "No Error"), 0, 0
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
	if plain != 7000 || planted < 600 || planted > 800 { // 700, four standard deviations of 25
		t.Errorf("%d plain, %d planted", plain, planted)
	}
}

// TestSeedsAndOptions: what a judge is set to arrives; repeats differ in their seed.
func TestSeedsAndOptions(t *testing.T) {
	model := judging(always("2"))
	zero, seed := 0.0, int64(7)
	j := Judge{Name: "m", Client: model, Model: "gpt", Temperature: &zero, Seed: &seed, MaxTokens: 33}
	o := options(t)
	o.Repeats = 2
	if _, err := score(t.Context(), t, []Judge{j}, o, rowsOf(t, 1, "Vague")); err != nil {
		t.Fatal(err)
	}
	for _, c := range model.Calls() {
		if c.Model != "gpt" || *c.Temperature != 0 || *c.Seed != 7+int64(c.Repeat) || c.MaxTokens != 33 || c.Schema == nil {
			t.Errorf("%+v", c)
		}
	}
	lines := judging(always("2"))
	j.Client, j.Lines = lines, true
	if _, err := score(t.Context(), t, []Judge{j}, o, rowsOf(t, 1, "Vague")); err != nil {
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
	results, err := score(t.Context(), t, []Judge{judge("m", model)}, o, rowsOf(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	s := results[0].scores["fluency"]
	if s.Value != nil || s.Reason != ReasonUntagged || *s.Runs[1].Value != 2 {
		t.Errorf("%+v: %s", s, values(s))
	}
	if n := len(model.Calls()); n != 7 {
		t.Errorf("%d calls, want 7", n)
	}
	o.Modes = o.Modes[1:]
	if results, err = score(t.Context(), t, []Judge{judge("m", model)}, o, rowsOf(t, 1)); err != nil || *results[0].scores["fluency"].Value != 2 {
		t.Errorf("vanilla needs no labels: %v", err)
	}
}

// TestJointCalls: one call for all dimensions; where a verdict is missing it is asked again, and the fullest reply counts.
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
	results, err := score(t.Context(), t, []Judge{judge("m", model)}, o, rowsOf(t, 1, "Vague"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(model.Calls()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	s := results[0].scores
	if *s["fluency"].Value != 1 || *s["clarity"].Value != 2 || s["consistency"].Reason != ReasonMissing {
		t.Errorf("fluency %s, clarity %s, consistency %s", values(s["fluency"]), values(s["clarity"]), values(s["consistency"]))
	}
}

// TestCascade: the first row is certain, the second is not. Both verdicts of the judge are 1; offline, no error is 3.
func TestCascade(t *testing.T) {
	const row = `{"id": "%s", "passage": "p", "answer": "a", "question": "q", "diagnosis": {"labels": ["No Error"], "probabilities": {%s}}}` + "\n"
	var text string
	for _, p := range []float64{0.001, 0.4} {
		var labels []string
		for _, y := range questionGeneration(t).Types {
			labels = append(labels, fmt.Sprintf(`"%s": %v`, y.Name, p))
		}
		text += fmt.Sprintf(row, fmt.Sprint("p", p), strings.Join(labels, ","))
	}
	for _, audit := range []float64{0, 1} {
		model := judging(always("1"))
		o := options(t)
		o.Cascade = Cascade{Sure: 0.9, Audit: audit}
		rows := dataset.NewReader(strings.NewReader(text), "rows.jsonl", dataset.Options{Taxonomy: o.Taxonomy})
		results, err := score(t.Context(), t, []Judge{judge("m", model)}, o, rows.Read)
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
		if n := len(model.Calls()); n != 7+7*int(audit) {
			t.Errorf("%d calls with %v audited", n, audit)
		}
	}
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
		{func(o *PanelOptions) { o.Aggregate = "max" }, "there are mean, median, majority"},
		{func(o *PanelOptions) { o.Template = nil }, "the template is of kind judge or joint"},
		{func(o *PanelOptions) { o.Taxonomy = nil }, "the taxonomy has no dimensions"},
		{func(o *PanelOptions) { o.Plant = 2 }, "0 to 1; got 2"},
		{func(o *PanelOptions) { o.Plant, o.Modes = 0.1, []string{dataset.ModeVanilla} }, "only error-aware judgements show labels"},
		{func(o *PanelOptions) { o.Cascade.Sure = 0.3 }, "a certainty is 0.5 to 1"},
		{func(o *PanelOptions) { o.Cascade.Audit = -1 }, "a share to audit is 0 to 1"},
	} {
		o := options(t)
		c.spoil(&o)
		if _, err := NewPanel([]Judge{good}, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
	offline, nobody, mute := good, good, good
	offline.Name, nobody.Client, mute.MaxTokens = dataset.JudgeOffline, nil, 0
	for want, judges := range map[string][]Judge{
		"no judge": {}, "twice": {good, good}, "needs another name": {offline}, "no client": {nobody}, "0 tokens": {mute},
	} {
		if _, err := NewPanel(judges, options(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
