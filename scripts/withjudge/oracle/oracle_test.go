package oracle

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// TestKey: the key is about the sample rows, and one quote of it stands nowhere.
func TestKey(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/samples/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	k, err := readKey()
	if err != nil {
		t.Fatal(err)
	}
	responses := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var row struct{ Response string }
		if err := json.Unmarshal([]byte(line), &row); err != nil || responses[row.Response] {
			t.Errorf("%v: %s", err, line)
		}
		responses[row.Response] = true
	}
	kinds, invented := map[string]bool{}, 0
	for _, kind := range k.Kinds {
		kinds[kind.Name] = true
	}
	for _, e := range k.Responses {
		if !responses[e.Response] || e.Severity < 1 || e.Severity > 3 || len(e.Kinds) == 0 {
			t.Errorf("no such response, or no severity or kind: %+v", e)
		}
		for _, kind := range e.Kinds {
			if !kinds[kind] {
				t.Errorf("no such kind: %s", kind)
			}
		}
		if !strings.Contains(e.Response, e.Quote) {
			invented++
		}
	}
	if len(responses) != 60 || len(k.Kinds) != 8 || invented != 1 {
		t.Errorf("%d responses, %d kinds, %d quotes that stand nowhere", len(responses), len(k.Kinds), invented)
	}
}

// TestAnswer: replies to the real prompts, whether the form's name or the text tells what is asked.
func TestAnswer(t *testing.T) {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	const cut, part, both = "The response breaks off in the middle of a sentence.",
		"The response leaves out the source that was asked for.",
		"The response ends after its first part, and the reference that was asked for is missing."
	known := []prompt.Issue{{Name: "Repeats the Request"}, {Name: "Breaks Off", Description: "It ends: too early."},
		{Name: "Part of the Request Left Out"}}
	row := []string{"Roughly 363 miles.", "How far is it?", "", ""}
	for _, c := range []struct {
		kind string
		in   prompt.Input
		want string // part of the reply
	}{
		{prompt.Analyze, prompt.Input{Values: row}, `"quote":"363 miles","severity":2`},
		{prompt.Analyze, prompt.Input{Values: []string{"Fine.", "x", "", ""}}, `"issue":"none"`},
		{prompt.Evaluate, prompt.Input{Values: row}, `"score":0.4`},
		{prompt.Evaluate, prompt.Input{Values: []string{"Fine.", "x", "", ""}}, `"score":0.95`},
		{prompt.Fit, prompt.Input{Statements: []string{cut}, Issues: known}, `"issue":"2"`},
		{prompt.Fit, prompt.Input{Statements: []string{both}, Issues: known}, `"issue":"2"`},
		{prompt.Fit, prompt.Input{Statements: []string{both}}, `"name":"Part of the Request Left Out"`},
		{prompt.Fit, prompt.Input{Statements: []string{"It is not what I would have liked."}, Issues: known},
			`"name":"It is not what I"`},
		{prompt.Name, prompt.Input{Statements: []string{both, cut, cut}}, `"name":"Breaks Off"`},
		{prompt.Synthesize, prompt.Input{Statements: []string{part, cut, cut}, Issues: known[2:]},
			`{"issues":[{"description":"The response ends in the middle of a sentence or of a list.","name":"Breaks Off"}]}`},
		{prompt.Merge, prompt.Input{Issues: append(known, known[1])}, `"members":[2,4],"name":"Breaks Off"`},
		{prompt.Map, prompt.Input{Statements: []string{both}, Issues: known}, `{"applies":[0,1,1]}`},
		{prompt.Direct, prompt.Input{Statements: []string{part, cut, both}}, `"statements":[1,3]`},
		{prompt.Same, prompt.Input{Statements: []string{both, cut}}, `"same":true`},
		{prompt.Same, prompt.Input{Statements: []string{part, cut}}, `"same":false`},
	} {
		template, err := prompt.Builtin(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		c.in.Task, c.in.JSON, c.in.Mode = task, true, prompt.Vanilla
		messages, err := template.Messages(c.in)
		if err != nil {
			t.Fatal(err)
		}
		for _, schema := range []string{c.kind, "", "verdict"} {
			if got, ok := Answer(schema, prompt.Join(messages)); !ok || !strings.Contains(got, c.want) {
				t.Errorf("%s, form %q: %s; want %s", c.kind, schema, got, c.want)
			}
		}
	}
	if got, ok := Answer("verdict", "# Requirement\nIs it good?"); ok {
		t.Errorf("a prompt about something else: %s", got)
	}
}
