package scorer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// three dimensions, one of whose names ends in another's.
func three(t testing.TB) []taxonomy.Dimension {
	qg := task(t)
	return []taxonomy.Dimension{qg.Dimensions[0], qg.Dimensions[4], qg.Dimensions[6]}
}

func TestParseJoint(t *testing.T) {
	none := []any{reply.Missing, reply.Missing, reply.Missing}
	tests := []struct {
		name, reply string
		want        []any
	}{
		{"asked", "Reads well.\n[[verdict fluency: 3]]\nA date is absent.\n[[verdict consistency: 2]]\nNot it.\n[[verdict " +
			"answer_consistency: 1]]", []any{3, 2, 1}},
		{"asked, by name, other order", "[[verdict Answer Consistency: 1]] [[verdict Consistency: 2]] [[verdict Fluency: 3]]",
			[]any{3, 2, 1}},
		{"asked, twice", "[[verdict fluency: 3]]\n[[verdict fluency: 1]]", []any{reply.Ambiguous, reply.Missing,
			reply.Missing}},
		{"asked, one off scale", "[[verdict fluency: 9]]\n[[verdict consistency: 2]]\n[[verdict answer_consistency: 1]]",
			[]any{reply.OffScale, 2, 1}},
		{"asked, one left as it is", "[[verdict fluency: N]]\n[[verdict consistency: 2]]\n[[verdict answer_consistency: 1]]",
			[]any{reply.Missing, 2, 1}},
		{"asked, some by label", "[[verdict fluency: 3]]\nConsistency: 2\nAnswer Consistency: 1", []any{3, 2, 1}},
		{"asked, without names", "[[verdict: 3]]\n[[verdict: 2]]\n[[verdict: 1]]", none},
		{"JSON", `{"fluency": {"reason": "x", "score": 3}, "consistency": {"reason": "y", "score": 2}, "answer_consistency": {"reason": "z", "score": 1}}`, []any{3, 2, 1}},
		{"JSON, numbers", "```json\n{\"Fluency\": 3, \"Consistency\": \"2/3\", \"Answer Consistency\": 1.0}\n```",
			[]any{3, 2, 1}},
		{"JSON, wrapped", `{"scores": {"fluency": 3, "consistency": 2, "answer_consistency": 1}}`, []any{3, 2, 1}},
		{"JSON list", `[{"dimension": "fluency", "score": 3}, {"dimension": "consistency", "score": 2}, {"dimension": "answer_consistency", "score": 1}]`, []any{3, 2, 1}},
		{"JSON lines", "{\"requirement\": \"Fluency\", \"score\": 3}\n{\"requirement\": \"Consistency\", \"score\": 2}",
			[]any{3, 2, reply.Missing}},
		{"JSON, one null", `{"fluency": {"score": null}, "consistency": {"score": 2}, "answer_consistency": 1}`,
			[]any{reply.Missing, 2, 1}},
		{"JSON, nameless", `{"score": 3}`, none},
		{"labels", "Fluency: 3\nConsistency: 2\nAnswer Consistency: 1", []any{3, 2, 1}},
		{"labels in bold", "- **Fluency**: 3/3 - reads well\n- **Consistency**: 2/3 - absent\n- **Answer Consistency**: 1/3",
			[]any{3, 2, 1}},
		{"numbered", "1. Fluency: 3\n2. Consistency: 2\n3. Answer Consistency: 1", []any{3, 2, 1}},
		{"keys", "fluency: 3\nconsistency: 2\nanswer_consistency: 1", []any{3, 2, 1}},
		{"table", "| Dimension | Score |\n|---|---|\n| Fluency | 3 |\n| Consistency | 2 |\n| Answer Consistency | 1 |",
			[]any{3, 2, 1}},
		{"sections", "### Fluency\nReads well.\nScore: 3\n\n### Consistency\nA date is absent.\nScore: 2\n\n### Answer " +
			"Consistency\nScore: 1", []any{3, 2, 1}},
		{"sections, headings of the prompt",
			"# Requirement fluency\nReason: well\nScore: 3\n# Requirement consistency\nScore: 2\n", []any{3, 2, reply.Missing}},
		{"sections, one twice", "Fluency\nScore: 1\nConsistency\nScore: 2\nFluency, on reflection\nScore: 3",
			[]any{reply.Ambiguous, 2, reply.Missing}},
		{"sections, a number on the heading and another below",
			"Fluency: 3\nA text with the rating: 1 would be worse.\nConsistency: 2", []any{3, 2, reply.Missing}},
		{"asked, with a number that goes on", "[[verdict fluency: 3]]\n[[verdict fluency: 1x]]", []any{3, reply.Missing,
			reply.Missing}},
		{"overall at the end", "Fluency: 3\nConsistency: 2\nAnswer Consistency: 1\n\nOverall score: 3", []any{3, 2, 1}},
		{"a name in prose", "Fluency: 3\nFluency is not a problem here.\nConsistency: 2\nAnswer Consistency: 1",
			[]any{3, 2, 1}},
		{"no names", "Score: 3\nScore: 2\nScore: 1", none},
		{"refused", "I cannot judge this.", []any{reply.Refused, reply.Refused, reply.Refused}},
		{"empty", "", none},
		{"cut JSON", `{"fluency": {"reason": "x", "score": 3}, "consist`, []any{reply.Cut, reply.Cut, reply.Cut}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for i, v := range ParseJoint(&llm.Reply{Text: test.reply}, "", three(t)) {
				check(t, v.Value, v.Err, test.want[i])
			}
		})
	}
}

// Of names that begin a line, the longest is meant, whichever dimension comes first.
func TestJointNamesThatBeginAlike(t *testing.T) {
	scale := []taxonomy.Criterion{{Score: 1}, {Score: 2}, {Score: 3}}
	short, long := taxonomy.Dimension{Name: "Answer", Key: "answer",
		Criteria: scale}, taxonomy.Dimension{Name: "Answer Length", Key: "answer_length", Criteria: scale}
	for _, ds := range [][]taxonomy.Dimension{{short, long}, {long, short}} {
		for i, v := range ParseJoint(&llm.Reply{Text: "Answer Length: 1\nAnswer: 3"}, "", ds) {
			want := map[string]any{"answer": 3, "answer_length": 1}[ds[i].Key]
			check(t, v.Value, v.Err, want)
		}
	}
}

func TestJointExplanations(t *testing.T) {
	for _, answer := range []string{
		"Reads well.\n[[verdict fluency: 3]]\nA date is absent.\n[[verdict consistency: 2]]\nNot it.\n[[verdict " +
			"answer_consistency: 1]]",
		`{"fluency": {"reason": "Reads well.", "score": 3}, "consistency": {"reason": "A date is absent.", "score": 2}, "answer_consistency": {"explanation": "Not it.", "score": 1}}`,
		"### Fluency\nScore: 3\nReason: Reads well.\n### Consistency\nScore: 2\nReason: A date is absent.\n### Answer " +
			"Consistency\nScore: 1\nReason: Not it.",
	} {
		for i, v := range ParseJoint(&llm.Reply{Text: answer}, "", three(t)) {
			if want := []string{"Reads well.", "A date is absent.", "Not it."}[i]; v.Explanation != want {
				t.Errorf("%q: %q; want %q", answer, v.Explanation, want)
			}
		}
	}
}

// The joint prompt, repeated, is no reply to it, though it names every dimension beside numbers.
func TestJointPromptRepeated(t *testing.T) {
	qg := task(t)
	asked := promptOf(t, prompt.Joint, prompt.Input{Task: qg, Values: row, Mode: prompt.ErrorAware,
		Errors: []string{"OTA"}})
	for i, v := range ParseJoint(&llm.Reply{Text: asked}, asked, qg.Dimensions) {
		if v.Err == nil {
			t.Errorf("%s is %v", qg.Dimensions[i].Key, v.Value)
		}
	}
	for i, v := range ParseJoint(&llm.Reply{Text: asked + "\n[[verdict clarity: 2]]"}, asked, qg.Dimensions) {
		if (v.Err == nil) != (i == 1) || i == 1 && v.Value != 2 {
			t.Errorf("%s: %v, %v", qg.Dimensions[i].Key, v.Value, v.Err)
		}
	}
}

func TestParseLabels(t *testing.T) {
	qg := task(t)
	tests := []struct {
		name, reply string
		want        any
	}{
		{"asked", "The pronoun refers to nothing.\n[[labels: Vague; Off Target Answer]]",
			[]string{"Vague", "Off Target Answer"}},
		{"asked, codes, order, twice", "[[labels: OTA; spell; Vague; vague]]", []string{"Spell Error", "Vague",
			"Off Target Answer"}},
		{"asked, commas", "[[labels: Vague, Off Topic]]", []string{"Vague", "Off Topic"}},
		{"asked, one", "[[labels: Vague]]", []string{"Vague"}},
		{"asked, no error", "[[labels: No Error]]", []string{"No Error"}},
		{"asked, none", "[[labels: none]]", []string{"No Error"}},
		{"asked, two sets", "[[labels: Vague]] no, [[labels: Off Topic]]", reply.Ambiguous},
		{"asked, left as it is", "[[labels: …]]", reply.UnknownLabel},
		{"asked, empty", "[[labels: ]]", reply.Missing},
		{"asked, unknown", "[[labels: Vague; Boring]]", reply.UnknownLabel},
		{"asked, contradiction", "[[labels: Vague; No Error]]", reply.Contradiction},
		{"asked, none and one", "[[labels: none; Vague]]", reply.Contradiction},
		{"JSON", `{"reason": "it", "labels": ["Vague", "OTA"]}`, []string{"Vague", "Off Target Answer"}},
		{"JSON list", `["Vague"]`, []string{"Vague"}},
		{"JSON in a code block", "Here:\n```json\n{\"labels\": [\"Vague\"]}\n```", []string{"Vague"}},
		{"JSON, other keys", `{"error_types": ["Vague"]}`, []string{"Vague"}},
		{"JSON, objects", `{"errors": [{"name": "Vague", "place": "it"}, {"name": "Off Topic"}]}`,
			[]string{"Vague", "Off Topic"}},
		{"JSON, objects that go through the types",
			`{"labels": [{"name": "Vague", "present": false}, {"name": "Off Topic", "present": true}]}`, reply.Missing},
		{"JSON, one text", `{"labels": "Vague; Off Topic"}`, []string{"Vague", "Off Topic"}},
		{"JSON, empty list", `{"labels": []}`, []string{"No Error"}},
		{"JSON, unknown", `{"labels": ["Vague", "Dull"]}`, reply.UnknownLabel},
		{"JSON, numbers", `{"labels": [1, 2]}`, reply.Missing},
		{"JSON, null", `{"labels": null}`, reply.Missing},
		{"JSON, contradiction", `{"labels": ["No Error", "Vague"]}`, reply.Contradiction},
		{"JSON, empty text", `{"labels": [""]}`, reply.Missing},
		{"JSON, cut", `{"labels": ["Vague", "Off`, reply.Cut},
		{"label", "Labels: Vague; Off Topic", []string{"Vague", "Off Topic"}},
		{"label in bold, commas", "**Error types:** Vague, Off Topic.", []string{"Vague", "Off Topic"}},
		{"label, and", "Errors: Vague and Off Topic", []string{"Vague", "Off Topic"}},
		{"label, unknown", "Labels: Tedious", reply.UnknownLabel},
		{"label, name with and-like parts", "Labels: Unnecessary Copy from Passage",
			[]string{"Unnecessary Copy from Passage"}},
		{"list", "The errors are:\n- **Vague**: \"it\" refers to nothing\n- Off Topic (another subject)\n",
			[]string{"Vague", "Off Topic"}},
		{"numbered list", "1. Vague\n2. Spell Error", []string{"Spell Error", "Vague"}},
		{"list that goes through the types", "- Vague: no\n- Off Topic: yes, another subject", reply.Missing},
		{"list that denies", "- Vague (does not apply)\n- Off Topic – not present", reply.Missing},
		{"list of one that is no denial", "- Vague: nobody says who \"he\" is, not even the passage", []string{"Vague"}},
		{"list that goes through, then the labels", "- Vague: no\n- Off Topic: yes\n[[labels: Off Topic]]",
			[]string{"Off Topic"}},
		{"alone", "Vague", []string{"Vague"}},
		{"alone, several", "Vague, Off Topic", []string{"Vague", "Off Topic"}},
		{"alone, quoted", "\"No Error\".", []string{"No Error"}},
		{"none", "None.", []string{"No Error"}},
		{"prose", "The question is vague and dull.", reply.Missing},
		{"empty", "", reply.Missing},
		{"refused", "I'm sorry, I can't help with that.", reply.Refused},
		{"thoughts", "<think>[[labels: Off Topic]]</think>[[labels: Vague]]", []string{"Vague"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseLabels(&llm.Reply{Text: test.reply}, "", qg)
			if want, ok := test.want.([]string); ok {
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
				return
			}
			var u *reply.Fault
			if !errors.As(err, &u) || u.Reason != test.want || got != nil {
				t.Errorf("%q, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestLabelsPromptRepeated(t *testing.T) {
	qg := task(t)
	in := prompt.Input{Task: qg, Values: row,
		Examples: []prompt.Example{{Values: row, Labels: []string{"Vague", "Spell"}}}}
	asked := promptOf(t, prompt.Identify, in)
	if got, err := ParseLabels(&llm.Reply{Text: asked}, asked, qg); err == nil {
		t.Errorf("the prompt itself is %q", got)
	}
	got, err := ParseLabels(&llm.Reply{Text: asked + "\n[[labels: Off Topic]]"}, asked, qg)
	if err != nil || !slices.Equal(got, []string{"Off Topic"}) {
		t.Errorf("%q, %v", got, err)
	}
	// An answer in the examples' form is one, however much it looks like theirs.
	in.Examples = []prompt.Example{{Values: row, Labels: []string{"OTA"}}}
	got, err = ParseLabels(&llm.Reply{Text: "Labels: Off Target Answer"}, promptOf(t, prompt.Identify, in), qg)
	if err != nil || !slices.Equal(got, []string{"Off Target Answer"}) {
		t.Errorf("%q, %v", got, err)
	}
	for finish, want := range map[string]string{llm.FinishLength: reply.Cut, llm.FinishFilter: reply.Filtered} {
		_, err := ParseLabels(&llm.Reply{Text: "[[labels: Vague]]", Finish: finish}, asked, qg)
		var u *reply.Fault
		if !errors.As(err, &u) || u.Reason != want {
			t.Errorf("%s: %v", finish, err)
		}
	}
}

// Without a type for "no error" nothing found is an empty list.
func TestLabelsWithoutNoError(t *testing.T) {
	bare := *task(t)
	bare.Types = slices.DeleteFunc(slices.Clone(bare.Types), func(y taxonomy.Type) bool { return y.NoError })
	for _, answer := range []string{"[[labels: none]]", `{"labels": []}`} {
		if got, err := ParseLabels(&llm.Reply{Text: answer}, "", &bare); err != nil || got == nil || len(got) != 0 {
			t.Errorf("%s: %q, %v", answer, got, err)
		}
	}
}

func TestSchemas(t *testing.T) {
	qg := task(t)
	verdict := VerdictSchema(&qg.Dimensions[0])
	const one = `{"type":"object","properties":{"reason":{"type":"string"},"score":{"enum":[1,2,3],"type":"integer"}},"required":["reason","score"],"additionalProperties":false}`
	if verdict.Name != "verdict" || string(verdict.JSON) != one {
		t.Errorf("%s", verdict.JSON)
	}
	joint := JointSchema(three(t))
	const all = `{"type":"object","properties":{"fluency":` + one + `,"consistency":` + one + `,"answer_consistency":` +
		one + `},"required":["fluency","consistency","answer_consistency"],"additionalProperties":false}`
	if string(joint.JSON) != all {
		t.Errorf("%s", joint.JSON)
	}
	labels := LabelsSchema(qg)
	if !strings.Contains(string(labels.JSON), `"labels":{"items":{"enum":["Incomplete","Not A Question",`) {
		t.Errorf("%s", labels.JSON)
	}
}

func FuzzParseJoint(f *testing.F) {
	f.Add("[[verdict fluency: 3]]\nConsistency: 2\n### Answer Consistency\nScore: 1")
	f.Add(`{"scores": [{"dimension": "fluency", "score": 3}, {"consistency": {"score": "2/3"}}]}`)
	f.Add("| Fluency | 3 |\n| Consistency | two |\n1. Answer Consistency - 1")
	ds := three(f)
	f.Fuzz(func(t *testing.T, answer string) {
		out := ParseJoint(&llm.Reply{Text: answer}, "", ds)
		if len(out) != len(ds) {
			t.Fatalf("%d verdicts", len(out))
		}
		for i, v := range out {
			var u *reply.Fault
			if v.Err == nil && !slices.Contains([]float64{1, 2, 3}, v.Value) || v.Err != nil && !errors.As(v.Err, &u) {
				t.Fatalf("%q: %s is %v, %v", answer, ds[i].Key, v.Value, v.Err)
			}
		}
	})
}

func FuzzParseLabels(f *testing.F) {
	f.Add("[[labels: Vague; OTA]]")
	f.Add(`{"labels": ["Vague", {"name": "Spell"}]}`)
	f.Add("Labels: Vague and Off Topic\n- No Error: none")
	qg := task(f)
	f.Fuzz(func(t *testing.T, answer string) {
		labels, err := ParseLabels(&llm.Reply{Text: answer}, "", qg)
		var u *reply.Fault
		if err != nil && !errors.As(err, &u) || err == nil && len(labels) == 0 {
			t.Fatalf("%q: %q, %v", answer, labels, err)
		}
		for _, l := range labels {
			if _, ok := qg.Index(l); !ok || l == "No Error" && len(labels) > 1 {
				t.Fatalf("%q: %q", answer, labels)
			}
		}
	})
}
