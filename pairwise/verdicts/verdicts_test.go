package verdicts

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
)

func TestReconcile(t *testing.T) {
	for _, c := range []struct {
		how, runs, want string // runs by their first letters: A, B, g, b, - is unjudged
	}{
		{Majority, "A", A}, {Agree, "A", A},
		{Majority, "AA", A}, {Agree, "AA", A},
		{Majority, "AB", Inconsistent}, {Agree, "AB", Inconsistent},
		{Majority, "AAB", A}, {Agree, "AAB", Inconsistent},
		{Majority, "gb", Inconsistent}, {Majority, "gbg", BothGood},
		{Majority, "AABB", Inconsistent}, {Majority, "AABBg", Inconsistent}, {Majority, "ABgg", BothGood},
		{Majority, "-A", A}, {Agree, "-A", A}, {Agree, "A-A", A},
		{Majority, "--", "refused"}, {Agree, "-", "refused"}, {Majority, "", ""},
	} {
		v := &Verdict{Value: "left over", Status: "left over", Reason: "left over"}
		for _, r := range c.runs {
			run := Run{Value: map[rune]string{'A': A, 'B': B, 'g': BothGood, 'b': BothBad}[r]}
			if r == '-' {
				run.Status, run.Reason = Unjudged, "refused"
			}
			v.Runs = append(v.Runs, run)
		}
		v.Reconcile(c.how)
		if v.Value+v.Reason != c.want || (v.Status == Unjudged) == (v.Value != "") {
			t.Errorf("%s of %q: %+v, want %s", c.how, c.runs, v, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"A": A, "b": B, " 1 ": A, "2": B, "0": BothGood, "tie": BothGood, "Tie": BothGood, "both good": BothGood,
		"both_bad": BothBad, "tie (bothbad)": BothBad, "Both are bad": BothBad, "model_a": A, "": "", "  ": "", "null": "",
		"gpt": A, " llama\n": B, "A is better": A, "[[A]]": A, "[[B]]": B, "[[C]]": BothGood, "model_1": A, "model_2": B,
		"Assistant A": A, "response_b": B, "Model A": A,
	} {
		if got, err := Parse(text, "gpt", "llama"); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"3", "gpt wins", "GPT", "C", "error", strings.Repeat("x", 100)} {
		if got, err := Parse(text, "gpt", "llama"); err == nil || got != "" || len(err.Error()) > 200 {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := Parse("tie (inconsistent)", "gpt", "llama"); !errors.Is(err, ErrInconsistent) {
		t.Errorf("tie (inconsistent): %v", err)
	}
	// A system's name wins over what else the word may mean; of two equal names it says nothing.
	if got, err := Parse("2", "1", "2"); got != B || err != nil {
		t.Errorf("systems 1 and 2: %q, %v", got, err)
	}
	if got, err := Parse("B", "B", "A"); got != A || err != nil {
		t.Errorf("systems B and A: %q, %v", got, err)
	}
	if _, err := Parse("gpt", "gpt", "gpt"); err == nil {
		t.Error("a system against itself has a winner by name")
	}
}

// TestOneOrder: one of two orders was read; a judgement asked in one order alone is whole.
func TestOneOrder(t *testing.T) {
	both := func(ab, ba string) []Run {
		return []Run{{Judge: "m", Order: OrderAB, Value: ab}, {Judge: "m", Order: OrderBA, Value: ba}}
	}
	for name, test := range map[string]struct {
		runs []Run
		want bool
	}{
		"both read":    {both(A, A), false},
		"one read":     {both(A, ""), true},
		"none read":    {both("", ""), false},
		"one asked":    {both(A, "")[:1], false},
		"other repeat": {append(both(A, A), Run{Judge: "m", Order: OrderAB, Repeat: 1, Value: A}), false},
	} {
		t.Run(name, func(t *testing.T) {
			v := &Verdict{Runs: test.runs}
			if v.Reconcile(Agree); v.HasOneOrder() != test.want {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestOf(t *testing.T) {
	row := func(column string) *dataset.Row {
		r, err := dataset.RowOf(map[string]any{"id": "r1", Column: json.RawMessage(column)})
		if err != nil {
			t.Fatal(err)
		}
		r.ID = "r1"
		return r
	}
	const good = `{"Overall":{"value":"A","runs":[{"judge":"m","mode":"vanilla","value":"A"}],"offline":"both_bad"},"Fluency":{"status":"unjudged","reason":"cut"}}`
	flat, _ := json.Marshal(good) //nolint:errchkjson // a text
	for _, text := range []string{good, string(flat)} {
		s, err := Of(row(text))
		if err != nil || s[Overall].Value != A || s[Overall].Runs[0].Judge != "m" || s["Fluency"].Reason != "cut" {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"null", `""`} {
		if s, err := Of(row(text)); s != nil || err != nil {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for text, want := range map[string]string{
		`{"Overall":null}`: "null",
		`{"Overall":{}}`:   "either a value or the status",
		`{"Overall":{"value":"A","status":"unjudged"}}`:        "either a value or the status",
		`{"Overall":{"value":"tie"}}`:                          `"tie" is none of`,
		`{"Overall":{"status":"unsure"}}`:                      `unknown status "unsure"`,
		`{"Overall":{"value":"A","runs":[{"value":"first"}]}}`: `"first" is none of`,
		`{"Overall":{"value":"A","offline":"first"}}`:          `"first" by the labels is none of`,
		`[]`:  "not as erreval writes it",
		`7`:   "not as erreval writes it",
		`"{"`: "unexpected end",
	} {
		if s, err := Of(row(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(),
			"row r1") {
			t.Errorf("%s: %v, %v; want an error with %q", text, s, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"A", "tie", "tie (bothbad)", "gpt", "", "  both good\n", "\xff"} {
		f.Add(text, "gpt", "llama")
	}
	f.Fuzz(func(t *testing.T, text, a, b string) {
		v, err := Parse(text, a, b)
		if v != "" && !slices.Contains(Values(), v) || v != "" && err != nil {
			t.Errorf("%q, %v", v, err)
		}
	})
}

func FuzzOf(f *testing.F) {
	f.Add(`{"Overall":{"value":"A","runs":[{"judge":"m","value":"B"}]}}`)
	f.Add(`"{\"Overall\":{\"status\":\"unjudged\"}}"`)
	f.Add(`{"x":null}`)
	f.Fuzz(func(t *testing.T, column string) {
		if !json.Valid([]byte(column)) {
			return
		}
		row, err := dataset.RowOf(map[string]json.RawMessage{Column: json.RawMessage(column)})
		if err != nil {
			return
		}
		set, err := Of(row)
		if err != nil {
			return
		}
		for name, v := range set {
			if (v.Value == "") == (v.Status == "") || v.Value != "" && !slices.Contains(Values(), v.Value) {
				t.Errorf("%q: %+v", name, v)
			}
			v.Reconcile(Majority)
			v.Reconcile(Agree)
		}
	})
}
