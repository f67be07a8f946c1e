package main

import (
	"strings"
	"testing"

	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// TestAnswer: replies to the real prompts, by the rule that docs/worked-example.md states.
func TestAnswer(t *testing.T) {
	task, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	clarity := &task.Dimensions[1]
	for _, c := range []struct {
		question, mode string
		errors         []string
		single, joint  string // parts of the reply
	}{
		{"Who built it?", prompt.Vanilla, nil, `"score":3}`,
			`"clarity":{"reason":"Errors shown: 0; taken off: 0.","score":3}`},
		{"It was built", prompt.Vanilla, nil, `"score":2}`,
			`"fluency":{"reason":"Errors shown: 0; taken off: 1.","score":2}`},
		{"Who built it?", prompt.ErrorAware, []string{"No Error"}, `"score":3}`, `taken off: 0.","score":3}`},
		{"Who built it?", prompt.ErrorAware, []string{"Vague"}, `"score":2}`,
			`"clarity":{"reason":"Errors shown: 1; taken off: 1.","score":2}`},
		{"Who built it?", prompt.ErrorAware, []string{"Off Topic"}, `"score":3}`,
			`"relevance":{"reason":"Errors shown: 1; taken off: 1.","score":2}`},
		{"- x\n?", prompt.ErrorAware, []string{"Vague", "Incomplete", "Grammar Error"}, `"score":1}`,
			`"fluency":{"reason":"Errors shown: 2; taken off: 2.","score":1}`},
	} {
		for kind, want := range map[string]string{prompt.Judge: c.single, prompt.Joint: c.joint} {
			in := prompt.Input{Task: task, Values: []string{c.question, "Oke", "Oke built the wall. - Vague: x"}, Mode: c.mode,
				Errors: c.errors, JSON: true}
			if kind == prompt.Judge {
				in.Dimension = clarity
			}
			template, err := prompt.Builtin(kind)
			if err != nil {
				t.Fatal(err)
			}
			messages, err := template.Messages(in)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := answer(prompt.Join(messages))
			if !ok || !strings.Contains(got, want) {
				t.Errorf("%s, %s, %q with %v: %s; want %s", kind, c.mode, c.question, c.errors, got, want)
			}
		}
	}
	template, err := prompt.Builtin(prompt.Identify)
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{"Who built it?": `{"labels":[]}`,
		"It was built": `{"labels":["Not A Question"]}`} {
		for _, examples := range [][]prompt.Example{nil,
			{{Values: []string{"Oke?", "Oke", "Oke."}, Labels: []string{"Vague"}}}} {
			messages, err := template.Messages(prompt.Input{Task: task, Values: []string{question, "Oke", "Oke built the wall."},
				JSON: true, Examples: examples})
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := answer(prompt.Join(messages)); !ok || got != want {
				t.Errorf("%q: %s; want %s", question, got, want)
			}
		}
	}
	other, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	messages, err := template.Messages(prompt.Input{Task: other, Values: []string{"No.", "Name a river."}, JSON: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := answer(prompt.Join(messages)); !ok || got != `{"labels":["Request Following"]}` {
		t.Errorf("another task: %s", got)
	}
	if got, ok := answer("Is it good?"); ok {
		t.Errorf("a prompt of its own: %s", got)
	}
}
