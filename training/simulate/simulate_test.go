package simulate

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const bridge = "The harbour bridge of Ostvik was begun in 1926 by Marta Lind and opened to traffic in 1931. " +
	"Its rival, the railway bridge of Nordvik, was finished before the war by Jonas Berg. " +
	"Trams crossed the water until 1958, when the rails were lifted and sold to a smelter in Sundby."

const bog = "A raised bog lives on rain water and little else. Its mosses hold up to twenty times their weight in " +
	"water and make the peat acid."

var rows = []Row{
	{"b1", "bridge", bridge, "When was the harbour bridge in Ostvik opened to traffic?", "1931", "own"},
	{"b2", "bridge", bridge, "Who finished the railway bridge before the war?", "Jonas Berg", "own"},
	{"b3", "bridge", bridge, "What did the smelter in Sundby buy after the trams had stopped?", "the rails", "own"},
	{"b4", "bridge", "Ferries ran from the old quay for eighty years and carried mail, coal and cattle.",
		"What did the ferries carry?", "mail, coal and cattle", "own"},
	{"m1", "bog", bog, "What does a raised bog live on?", "rain water", "own"},
	{"m2", "bog", bog, "What is the effect of the mosses on the peat?", "They make it acid.", "own"},
}

func generate(t *testing.T, o Options) []Example {
	t.Helper()
	var out []Example
	if err := Generate(rows, o, func(e Example) error { out = append(out, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// only asks for many copies of one label.
func only(code string) Options {
	return Options{Seed: 3, Copies: 60, Rules: newest, Mix: map[string]float64{code: 1}}
}

func TestSameSeedSameExamples(t *testing.T) {
	o := DefaultOptions()
	o.Copies = 20
	a, b := generate(t, o), generate(t, o)
	if !reflect.DeepEqual(a, b) {
		t.Error("two runs with one seed differ")
	}
	o.Seed++
	if reflect.DeepEqual(a, generate(t, o)) {
		t.Error("another seed gives the same examples")
	}
}

// TestInvariants states, label by label, what must hold of every example, whatever was drawn.
func TestInvariants(t *testing.T) {
	origin := map[string]Row{}
	for _, r := range rows {
		origin[r.ID] = r
	}
	checks := map[string]func(o Row, e Example) bool{
		"OK": func(o Row, e Example) bool {
			bare := strings.NewReplacer(" ", "", "?", "").Replace
			return strings.Contains(e.Answer, o.Answer) && strings.EqualFold(bare(o.Question), bare(e.Question))
		},
		"OTA": func(o Row, e Example) bool {
			if e.Mechanism == "excess-answer" {
				return e.Answer != o.Answer && strings.Contains(e.Answer, strings.TrimRight(o.Answer, "."))
			}
			return e.Answer != e.Target && (e.Target != "" || e.Mechanism == "question-word") &&
				(e.Target == "" || !strings.Contains(e.Answer, e.Target))
		},
		"Fact": func(o Row, e Example) bool {
			return strings.Contains(e.Answer, o.Answer) && e.Question != o.Question && e.Target == ""
		},
		"INM": func(o Row, e Example) bool { return e.Question != o.Question && strings.Contains(e.Answer, o.Answer) },
		"OTP": func(o Row, e Example) bool {
			return slices.Contains(e.Labels, "INM") && strings.Contains(e.Answer, o.Answer)
		},
		"Spell": func(o Row, e Example) bool { return e.Question != o.Question && sameWordCount(o.Question, e.Question) },
		"Gram":  func(o Row, e Example) bool { return e.Question != o.Question && strings.Contains(e.Answer, o.Answer) },
		"Inc": func(o Row, e Example) bool {
			return strings.HasPrefix(o.Question, strings.TrimSuffix(e.Question, "?")) && len(e.Question) < len(o.Question)
		},
		"NAQ":   func(o Row, e Example) bool { return e.Question != o.Question },
		"Vague": func(o Row, e Example) bool { return e.Question != o.Question && strings.Contains(e.Answer, o.Answer) },
		"Copy":  func(o Row, e Example) bool { return len(e.Question) > len(o.Question)+20 },
	}
	for code, holds := range checks {
		examples := generate(t, only(code))
		if len(examples) == 0 {
			t.Errorf("%s: no example made of %d rows", code, len(rows))
		}
		for _, e := range examples {
			if o := origin[e.Origin]; !slices.Contains(e.Labels, code) || e.Passage != o.Passage || !holds(o, e) {
				t.Errorf("%s (%s): %q / %q, labels %v, target %q, made of %q / %q", code, e.Mechanism, e.Question, e.Answer,
					e.Labels, e.Target, o.Question, o.Answer)
			}
		}
	}
	if got, want := len(checks), len(Codes()); got != want {
		t.Errorf("%d labels checked, rules make %d", got, want)
	}
}

func sameWordCount(a, b string) bool { return len(strings.Fields(a)) == len(strings.Fields(b)) }

func TestMixSetsTheShares(t *testing.T) {
	o := Options{Seed: 1, Copies: 200, Rules: 1, Mix: map[string]float64{"OK": 1, "OTA": 3}}
	for _, e := range generate(t, o) {
		if !slices.Contains([]string{"OK", "OTA"}, e.Labels[0]) {
			t.Fatalf("label %v was not asked for", e.Labels)
		}
	}
}

func TestOptionsValidateJoinsFaults(t *testing.T) {
	err := Options{Copies: 0, Mix: map[string]float64{"Odd": 1, "OK": -2}}.Validate()
	for _, want := range []string{"copies is 0", `mix names "Odd"`, "gives OK the weight -2", "no weight above 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() = %v, lacks %q", err, want)
		}
	}
}

func TestEmitErrorStops(t *testing.T) {
	full, calls := errors.New("disk full"), 0
	err := Generate(rows, DefaultOptions(), func(Example) error { calls++; return full })
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("Generate = %v after %d calls, want the first error at once", err, calls)
	}
}

func FuzzGenerate(f *testing.F) {
	f.Add("What is the height of Mount Odd?", "8,848 m", bridge)
	f.Add("?", "  ", "(\"'")
	f.Add("İstanbul nedir", "\u00a0", "A. \u2003 B.")
	f.Fuzz(func(t *testing.T, question, answer, passage string) {
		in := append(slices.Clone(rows), Row{"f", "bridge", passage, question, answer, "own"})
		o := DefaultOptions()
		o.Copies = 30
		if err := Generate(in, o, func(e Example) error {
			if e.Question == "" || e.Answer == "" || len(e.Labels) == 0 {
				t.Errorf("empty part in %+v", e)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}
