package llmsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

func question(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func options(t testing.TB) Options {
	t.Helper()
	o := DefaultOptions()
	var errs [2]error
	o.Write, errs[0] = prompt.Builtin(prompt.Simulate)
	o.Confirm, errs[1] = prompt.Builtin(prompt.Confirm)
	if o.Taxonomy = question(t); errors.Join(errs[:]...) != nil {
		t.Fatal(errs)
	}
	return o
}

func model(name string, a llmtest.Answer) llm.Model {
	return llm.Model{Name: name, Model: name, Client: llmtest.NewFake(a), MaxTokens: 100}
}

func says(text string) llmtest.Answer { return llmtest.Say(text) }

// sure gives a confidence, and writes a text where it is asked for one.
func sure(p float64) llmtest.Answer {
	return func(_ context.Context, _ int, r *llm.Request) (*llm.Reply, error) {
		text := fmt.Sprintf(`{"reason": "so", "confidence": %v}`, p)
		if r.Schema.Name == "text" {
			text = `{"reason": "so", "text": "What is it?"}`
		}
		return &llm.Reply{Text: text, Finish: llm.FinishStop}, nil
	}
}

func fails(kind llm.Kind) llmtest.Answer {
	return func(context.Context, int, *llm.Request) (*llm.Reply, error) {
		return nil, &llm.Error{Kind: kind, Err: errors.New("as told")}
	}
}

func rows(n int) (out []*dataset.Row) {
	for i := range n {
		out = append(out, &dataset.Row{ID: fmt.Sprint("r", i), Values: []string{fmt.Sprintf("Who built wall %d?", i), "Ida",
			"Ida built it."}})
	}
	return out
}

func simulator(t *testing.T, o Options, writer llm.Model, judges ...llm.Model) *Simulator {
	t.Helper()
	s, err := New(writer, judges, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// one job's candidate.
func one(t *testing.T, o Options, writer llm.Model, judges ...llm.Model) *Candidate {
	t.Helper()
	s := simulator(t, o, writer, judges...)
	var got *Candidate
	if err := s.Run(context.Background(), []Job{{Row: rows(1)[0], Type: 4}},
		func(c *Candidate) error { got = c; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAgreement: at least two with 0.8, of judges who are as sure as the table says; -1 gives no number.
func TestAgreement(t *testing.T) {
	for _, test := range []struct {
		p    []float64
		want string
	}{
		{[]float64{0.9, 0.8, 0.1}, ""},
		{[]float64{0.8, 0.8}, ""},
		{[]float64{0.79, 0.9}, Disagreement},
		{[]float64{0.1, 0.2, 1}, Disagreement},
		{[]float64{0.9, -1, 0.3}, Unconfirmed},
		{[]float64{0.9, -1, 0.9}, ""},
		{[]float64{-1, -1}, Unconfirmed},
		{[]float64{0.1, 0.2, -1}, Disagreement},
	} {
		var judges []llm.Model
		for i, p := range test.p {
			a := sure(p)
			if p < 0 {
				a = says("Hm.")
			}
			judges = append(judges, model(fmt.Sprint("j", i), a))
		}
		c := one(t, options(t), model("w", sure(1)), judges...)
		if c.Rejected != test.want || len(c.Confidence) != len(test.p) || c.Text != "What is it?" {
			t.Errorf("%v: %q with %+v, want %q", test.p, c.Rejected, c.Confidence, test.want)
		}
		for i, p := range test.p {
			if got := c.Confidence[i].P; (got == nil) != (p < 0) || got != nil && *got != p {
				t.Errorf("%v: judge %d is %v", test.p, i, got)
			}
		}
	}
}

func TestWriterFaults(t *testing.T) {
	for name, test := range map[string]struct {
		answer           llmtest.Answer
		rejected, detail string
		unread           int
	}{
		"prose": {says("Sure, here is one."), Unwritten, "missing: no text: Sure, here is one.", 3},
		"refusal": {func(context.Context, int, *llm.Request) (*llm.Reply, error) {
			return &llm.Reply{Text: "No.", Finish: llm.FinishRefuse}, nil
		}, Unwritten, "refused: No.", 3},
		"cut": {func(context.Context, int, *llm.Request) (*llm.Reply, error) {
			return &llm.Reply{Text: `{"text": "W`, Finish: llm.FinishLength}, nil
		}, Unwritten, "cut: the reply reached its token limit; raise --reply-tokens", 3},
		"filter":    {fails(llm.Filtered), Unwritten, "filtered: as told", 0},
		"bad":       {fails(llm.Refused), Unwritten, "refused: as told", 0},
		"gone":      {fails(llm.Unavailable), Unwritten, "unavailable: as told", 0},
		"unchanged": {says(`{"text": " Who  built wall 0? "}`), Unchanged, "", 0},
	} {
		c := one(t, options(t), model("w", test.answer), model("a", sure(1)), model("b", sure(1)))
		if c.Rejected != test.rejected || c.Detail != test.detail || c.Unread != test.unread || c.Confidence != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestAskedAgain: the first reply holds nothing, the second does; the journal hears of the first.
func TestAskedAgain(t *testing.T) {
	var attempts []int
	c := one(t, options(t), model("w", func(_ context.Context, n int, r *llm.Request) (*llm.Reply, error) {
		attempts = append(attempts, r.Attempt)
		return &llm.Reply{Text: []string{"Hm.", `{"text": "What?"}`}[min(n, 1)]}, nil
	}), model("a", sure(1)), model("b", sure(1)))
	if c.Text != "What?" || c.Unread != 1 || c.Rejected != "" || !slices.Equal(attempts, []int{0, 1}) {
		t.Errorf("%+v after attempts %v", c, attempts)
	}
}

func TestRunKeepsOrderAndStops(t *testing.T) {
	o := options(t)
	o.Workers = 3
	s := simulator(t, o, model("w", sure(1)), model("a", sure(1)), model("b", sure(1)))
	jobs := Plan(rows(60), Mix{Weights: map[int]float64{4: 1}, Copies: 1})
	var got []string
	if err := s.Run(context.Background(), jobs, func(c *Candidate) error {
		got = append(got,
			c.Row.ID)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if got[i] != j.Row.ID {
			t.Fatalf("candidate %d is of %s, want %s", i, got[i], j.Row.ID)
		}
	}
	full := errors.New("disk full")
	if err := s.Run(context.Background(), jobs, func(*Candidate) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	for kind, want := range map[llm.Kind]string{llm.Budget: "judge w: ", llm.Auth: "judge w: ",
		llm.Unavailable: "calls were given up"} {
		s := simulator(t, o, model("w", fails(kind)), model("a", sure(1)), model("b", sure(1)))
		n := 0
		err := s.Run(context.Background(), jobs, func(*Candidate) error { n++; return nil })
		if err == nil || !strings.Contains(err.Error(), want) || n > 24 {
			t.Errorf("%v: %v after %d", kind, err, n)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx, jobs, func(*Candidate) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestExamples: one with the error alone is preferred, the row itself is never shown, and which one depends on the
// seed.
func TestExamples(t *testing.T) {
	o := options(t)
	row := rows(1)[0]
	o.Examples = []prompt.Example{
		{Values: row.Values, Labels: []string{"Vague"}},
		{Values: []string{"both?", "a", "p"}, Labels: []string{"Vague", "Spell"}},
		{Values: []string{"one?", "a", "p"}, Labels: []string{"Vague"}},
		{Values: []string{"two?", "a", "p"}, Labels: []string{"Vague"}},
		{Values: []string{"typo?", "a", "p"}, Labels: []string{"Spell Error", "Gram"}},
	}
	shown := map[string]bool{}
	for seed := range uint64(20) {
		o.Seed = seed
		s := simulator(t, o, model("w", sure(1)), model("a", sure(1)), model("b", sure(1)))
		e := s.example(Job{Row: row, Type: 4})
		if !reflect.DeepEqual(e, s.example(Job{Row: row, Type: 4})) {
			t.Error("one seed, two examples")
		}
		shown[e[0].Values[0]] = true
	}
	if !reflect.DeepEqual(shown, map[string]bool{"one?": true, "two?": true}) {
		t.Errorf("shown are %v", shown)
	}
	s := simulator(t, o, model("w", sure(1)), model("a", sure(1)), model("b", sure(1)))
	// neither is alone
	if e := s.example(Job{Row: row, Type: 2}); len(e) != 1 || e[0].Values[0] != "typo?" && e[0].Values[0] != "both?" {
		t.Errorf("Spell Error is shown by %v", e)
	}
	if e := s.example(Job{Row: row, Type: 0}); e != nil {
		t.Errorf("Incomplete is shown by %v", e)
	}
}

func TestPlan(t *testing.T) {
	tax := question(t)
	mix := Mix{Weights: Everything(tax), Copies: 3, Seed: 1}
	jobs := Plan(rows(200), mix)
	count := map[int]int{}
	for i, j := range jobs {
		count[j.Type]++
		if i%3 > 0 && (j.Row != jobs[i-1].Row || j.Type == jobs[i-1].Type) {
			t.Fatalf("jobs %d and %d: %v, %v", i-1, i, jobs[i-1], j)
		}
	}
	if len(jobs) != 600 || len(count) != 10 || count[tax.NoErrorIndex()] != 0 {
		t.Errorf("%d jobs, %v", len(jobs), count)
	}
	if !reflect.DeepEqual(jobs, Plan(rows(200), mix)) {
		t.Error("one seed, two plans")
	}
	count = map[int]int{}
	seen := map[string]bool{}
	for _, j := range Plan(rows(4), Mix{Weights: map[int]float64{0: 3, 4: 1}, Total: 20}) {
		count[j.Type]++
		seen[fmt.Sprint(j.Row.ID, j.Type, j.Nth)] = true
	}
	if count[0] != 15 || count[4] != 5 || len(seen) != 20 {
		t.Errorf("20 by 3:1 are %v, %d different", count, len(seen))
	}
	if n := len(Plan(rows(4), Mix{Weights: map[int]float64{0: 3, 4: 1}, PerError: 7})); n != 14 {
		t.Errorf("7 per error are %d", n)
	}
	for _, m := range []Mix{{Copies: 1}, {Weights: map[int]float64{10: 1}, Copies: 1}, {Weights: map[int]float64{0: -1},
		Copies: 1}, {Weights: map[int]float64{0: 1}}, {Weights: map[int]float64{0: 1}, PerError: 1, Total: 1}} {
		if m.Validate(tax) == nil {
			t.Errorf("%+v was taken", m)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	a, b := model("a", sure(1)), model("b", sure(1))
	for name, make := range map[string]func(o *Options) (llm.Model, []llm.Model){
		"agree":      func(o *Options) (llm.Model, []llm.Model) { o.Agree = 3; return a, []llm.Model{a, b} },
		"nobody":     func(o *Options) (llm.Model, []llm.Model) { o.Agree = 0; return a, nil },
		"twice":      func(*Options) (llm.Model, []llm.Model) { return a, []llm.Model{b, b} },
		"confidence": func(o *Options) (llm.Model, []llm.Model) { o.Confidence = 2; return a, []llm.Model{a, b} },
		"template":   func(o *Options) (llm.Model, []llm.Model) { o.Write = o.Confirm; return a, []llm.Model{a, b} },
		"field":      func(o *Options) (llm.Model, []llm.Model) { o.Field = 3; return a, []llm.Model{a, b} },
		"client": func(*Options) (llm.Model, []llm.Model) {
			return llm.Model{Name: "x", Model: "x", MaxTokens: 1}, []llm.Model{a, b}
		},
	} {
		o := options(t)
		writer, judges := make(&o)
		if _, err := New(writer, judges, o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestRequestsAndRecord(t *testing.T) {
	o := options(t)
	s := simulator(t, o, model("w", sure(1)), model("a", sure(1)), model("b", sure(1)))
	j := Job{Row: rows(1)[0], Type: 4, Nth: 1}
	names, requests, err := s.Requests(j)
	if err != nil || !slices.Equal(names, []string{"w", "a", "b"}) || requests[0].Schema.Name != "text" ||
		requests[2].Schema.Name != "confidence" || requests[0].Repeat != 1 {
		t.Errorf("%v, %v", names, err)
	}
	if text := requests[0].Messages[1].Content; strings.Contains(text, "wall 0") || !strings.Contains(text, "Vague: ") {
		t.Errorf("the writer is shown what it is to write:\n%s", text)
	}
	p := 0.25
	row, err := s.Record(&Candidate{Job: j, Text: "What?", Confidence: []Confidence{{Judge: "a", P: &p},
		{Judge: "b", Fault: "missing"}}, Rejected: Disagreement})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"id": `"r0~Vague~2"`, "origin": `"r0"`, "question": `"What?"`, "answer": `"Ida"`,
		"labels": `["Vague"]`, "mechanism": `"written by w"`,
		"confidence": `[{"judge":"a","confidence":0.25},{"judge":"b","confidence":null,"reason":"missing"}]`,
		"rejected":   `"disagreement"`}
	for column, text := range want {
		if got, _ := row.Get(column); string(got) != text {
			t.Errorf("%s is %s, want %s", column, got, text)
		}
	}
}

func TestReadConfidence(t *testing.T) {
	const asked = "prompt with {\"confidence\": 1} in a text"
	for text, want := range map[string]float64{
		`{"reason": "x", "confidence": 0.85}`:                       0.85,
		`{"Confidence": "0.7"}`:                                     0.7,
		"```json\n{\"confidence\": 0.4}\n```":                       0.4,
		"Surely.\n[[confidence: 0.9]]":                              0.9,
		"[[confidence: 90%]]":                                       0.9,
		"[[ Confidence: 0,5 ]]":                                     0.5,
		"It is there.\n**Confidence: 0.75**":                        0.75,
		"<think>{\"confidence\": 0}</think>\n{\"confidence\": 0.6}": 0.6,
		`{"confidence": 1} is in the text; {"confidence": 0.2}`:     0.2,
		"{\"confidence\": 0.2}\n[[confidence: 20%]]":                0.2,
		"{\"reason\": \"a {brace\", \"confidence\": 0}":             0,
	} {
		got, err := readConfidence(&llm.Reply{Text: text}, asked)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                  "missing",
		"I am 0.9 sure.":    "missing",
		`{"confidence": 1}`: "missing", // the prompt's
		"[[confidence: 0.1]] no:\n[[confidence: 0.2]]":                     "ambiguous",
		`{"confidence": 0.1} {"confidence": 0.2}`:                          "ambiguous",
		`{"confidence": 0.1, "Confidence": 0.2}`:                           "ambiguous",
		"```\n{\"confidence\": 0.1}\n```\n```\n{\"confidence\": 0.2}\n```": "ambiguous",
		"{\"confidence\": 0.1}\nConfidence: 0.9":                           "ambiguous",
		"[[confidence: 0.1]]\n<think>No.</think>\n[[confidence: 0.9]]":     "ambiguous",
		"[[confidence: 0.1]]\n[[confidence: 7]]":                           "ambiguous",
		`{"confidence": 85}`:                                               "off_scale",
		`{"confidence": -0.5}`:                                             "off_scale",
		`{"confidence": null}`:                                             "off_scale",
		"[[confidence: 1.2]]":                                              "off_scale",
		`{"confidence": "high"}`:                                           "off_scale",
		`{"confidence": {"value": 0.5}}`:                                   "off_scale",
	} {
		if p, err := readConfidence(&llm.Reply{Text: text}, asked); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, p, err, want)
		}
	}
}

func TestReadText(t *testing.T) {
	for text, want := range map[string]string{
		`{"reason": "r", "text": "What?"}`:                       "What?",
		"A pronoun.\n[[begin]]\nWhat is it?\nAnd why?\n[[end]]":  "What is it?\nAnd why?",
		"<think>[[begin]]no[[end]]</think>[[BEGIN]] yes [[END]]": "yes",
		"[[begin]]no[[end]]\n</think>\n[[begin]]yes[[end]]":      "yes", // where thoughts begin is left out
		"```\n{\"text\": \"a\\nb\"}\n```":                        "a\nb",
	} {
		if got, err := readText(&llm.Reply{Text: text}, "prompt"); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "What?", `{"text": 3}`, `{"text": " "}`, "[[begin]]\n[[end]]", `{"text": "W`,
		"<think>[[begin]]no[[end]]"} {
		if got, err := readText(&llm.Reply{Text: text}, "prompt"); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(`{"confidence": 0.5, "text": "x"}`, "stop")
	f.Add("[[confidence: 50%]] [[begin]] a [[end]]", "")
	f.Add("<think>{", "length")
	f.Fuzz(func(t *testing.T, text, finish string) {
		reply := &llm.Reply{Text: text, Finish: finish}
		if p, err := readConfidence(reply, "prompt"); err == nil && !(p >= 0 && p <= 1) {
			t.Errorf("confidence %v", p)
		}
		if s, err := readText(reply, "prompt"); err == nil && strings.TrimSpace(s) == "" {
			t.Errorf("text %q", s)
		}
	})
}

func TestSchemasAreJSON(t *testing.T) {
	for _, s := range []*llm.Schema{textSchema, confidenceSchema} {
		var v map[string]any
		if err := json.Unmarshal(s.JSON, &v); err != nil || v["additionalProperties"] != false ||
			len(v["required"].([]any)) != 2 {
			t.Errorf("%s: %v, %v", s.Name, v, err)
		}
	}
}
