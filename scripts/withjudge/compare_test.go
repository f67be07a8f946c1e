package main

import (
	"strings"
	"testing"

	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// TestCompare: replies to the real prompts, by the rule that docs/compare.md states.
func TestCompare(t *testing.T) {
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	faults, err := faultsOf("../../" + outputs)
	if err != nil || len(faults) < 50 {
		t.Fatalf("%d responses, %v", len(faults), err)
	}
	const good, wrong = "There are 180 minutes in three hours.", "There are 160 minutes in three hours."
	const cut = "A towel, sunscreen, water, a"
	for _, kind := range append(prompt.CompareWordings(), prompt.CompareJoint) {
		template, err := prompt.Builtin(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ first, second, target, want string }{
			{good, wrong, "Factuality", "first"}, {wrong, good, "Factuality", "second"}, {cut, wrong, "Sudden Interruption", "second"},
			{good, wrong, "Refusal", "both_good"}, {wrong, cut, "", "both_bad"}, {wrong, good, "", "second"},
		} {
			name := c.target
			if name == "" {
				name = overall
			}
			if takesTheFirst(c.first, c.second, name) {
				c.want = "first"
			}
			in := prompt.Input{Task: task, Values: []string{c.first, "How many minutes?"}, Other: c.second,
				Mode: prompt.Vanilla, JSON: true}
			want := `"verdict":"` + c.want + `"`
			i, ok := task.Index(c.target)
			switch {
			case kind == prompt.CompareJoint && ok:
				want = `"` + task.Types[i].Code + `":{"reason":`
			case kind == prompt.CompareJoint:
				want = `"Overall":{"reason":`
			case ok:
				in.Target = &task.Types[i]
			}
			messages, err := template.Messages(in)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := compare(prompt.Join(messages), faults)
			if _, rest, found := strings.Cut(got, want); !ok || !found ||
				kind == prompt.CompareJoint && !strings.Contains(rest[:60], `"verdict":"`+c.want+`"`) {
				t.Errorf("%s, %s, %q and %q: %s; want %s, %s", kind, name, c.first, c.second, got, want, c.want)
			}
		}
	}
	if got, ok := compare("Which is better?", faults); ok {
		t.Errorf("no texts: %s", got)
	}
}

// The order decides one of five pairs, and the pair does not know its order.
func TestTakesTheFirst(t *testing.T) {
	n := 0
	for i := range 1000 {
		a := strings.Repeat("x", i)
		if takesTheFirst(a, "y", overall) {
			n++
		}
		if takesTheFirst(a, "y", overall) != takesTheFirst("y", a, overall) {
			t.Fatalf("%d: depends on the order", i)
		}
	}
	if n < 160 || n > 240 {
		t.Errorf("%d of 1000", n)
	}
}
