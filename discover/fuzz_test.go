package discover

import (
	"errors"
	"slices"
	"testing"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// Whatever a model replies, a reader gives an answer that fits the question, or a fault with a reason.
func FuzzReplies(f *testing.F) {
	for _, text := range []string{`{"issue":"It is wrong.","analysis":"a","quote":"b","severity":2}`, `{"issue":"none"}`,
		`{"issue": 2}`, `{"issue":"none","name":"New","description":"d"}`, `{"applies":[0,1]}`,
		`{"groups":[{"members":[1,2],"name":"a","description":"b"}]}`, `{"issues":[{"name":"a","description":"b"}]}`,
		`{"issues":[{"name":"a","statements":[1,2]}]}`, `{"score":0.5,"summary":"s","evaluation":"e"}`, `{"same":true}`,
		`<think>{"issue":1}</think>{"issue":2}`, "```json\n{\"issue\":1}\n```", `{"issue":1}{"issue":2}`} {
		f.Add(text, "stop")
	}
	a := &Analyst{o: DefaultAnalystOptions()}
	shown := []prompt.Issue{{Name: "Wrong Date"}, {Name: "Vague Reference"}}
	f.Fuzz(func(t *testing.T, text, finish string) {
		answer := &llm.Reply{Text: text, Finish: finish}
		check := func(key string, read func(reply.Object) error) {
			o, err := reply.Read(answer, "what is asked", key)
			if err == nil {
				err = read(o)
			}
			if fault, ok := errors.AsType[*reply.Fault](err); err != nil && (!ok || fault.Reason == "") {
				t.Fatalf("%s: %v", key, err)
			}
		}
		check("issue", func(o reply.Object) error {
			got, err := readIssue(o)
			if err == nil && got.Status == "" && (got.Analysis == "" || got.Severity < 1 || got.Severity > 3) {
				t.Fatalf("%+v", got)
			}
			return err
		})
		check("issue", func(o reply.Object) error {
			at, created, err := readFit(o, shown)
			if err == nil && (at >= len(shown) || at < 0 && issues.Fold(created.Name) == "") {
				t.Fatalf("%d, %+v", at, created)
			}
			return err
		})
		check("applies", func(o reply.Object) error {
			of, err := readApplies(o, 2)
			if err == nil && (len(of) > 2 || slices.ContainsFunc(of, func(n int) bool { return n < 0 || n > 1 })) {
				t.Fatal(of)
			}
			return err
		})
		check("groups", func(o reply.Object) error {
			merged, err := readGroups(o, 2, 15)
			if err == nil && (len(merged) == 0 || len(merged) > 15) {
				t.Fatal(merged)
			}
			return err
		})
		check("issues", func(o reply.Object) error { _, err := readIssues(o); return err })
		check("issues", func(o reply.Object) error {
			s := &sorted{units: make([]unit, 2)}
			err := s.readDirect(o)
			for _, of := range s.of {
				if len(of) > 1 || len(of) == 1 && of[0] >= len(s.issues) {
					t.Fatalf("%+v", s)
				}
			}
			return err
		})
		check("score", func(o reply.Object) error {
			got, err := a.readEvaluation(o)
			if err == nil && (got.Analysis == "" || *got.Score < 0 || *got.Score > 1) {
				t.Fatalf("%+v", got)
			}
			return err
		})
		check("same", func(o reply.Object) error { _, err := readSame(o); return err })
	})
}
