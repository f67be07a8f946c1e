package asking

import (
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
)

// TestNew: what is wrong with the options is found while there is no journal.
func TestNew(t *testing.T) {
	for name, c := range map[string]struct{ template, output, want string }{
		"no place for replies":  {"", run.Stdio, "say with --journal FILE"},
		"template of the wrong": {prompt.Identify, "out.jsonl", "is of kind identify; this run needs one of kind judge"},
		"no such template":      {"nowhere.tmpl", "out.jsonl", "nowhere.tmpl"},
	} {
		o := &Options{Options: judging.Options{Calls: true}, Template: c.template}
		_, err := New(o, prompt.Judge, c.output)
		code := exit.Code(err, func(error) int { return exit.OK })
		if err == nil || !strings.Contains(err.Error(), c.want) || code != exit.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCallsOf: of several judges and repeats, the first judge's question is shown, once.
func TestCallsOf(t *testing.T) {
	j := &Judges{Options: &Options{Options: judging.Options{Models: []judging.Settings{{Name: "a"}, {Name: "b"}}}}}
	questions := func(*dataset.Row) ([]Call, error) {
		return []Call{{Judge: "a", Request: &llm.Request{}}, {Judge: "a", Request: &llm.Request{Repeat: 1}},
			{Judge: "b", Request: &llm.Request{}}}, nil
	}
	calls, err := CallsOf(j, questions, func(c Call) Call { return c })(nil)
	if err != nil || len(calls) != 3 || !calls[0].Shown || calls[1].Shown || calls[2].Shown {
		t.Errorf("%+v, %v", calls, err)
	}
}

// TestDescribe: calls of which no reply says what they used are charged the most, which is said.
func TestDescribe(t *testing.T) {
	j, err := New(&Options{}, prompt.Judge, "out.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for atMost, want := range map[int64]string{0: "2 calls, 30 tokens in, 4 out",
		1: "2 calls, 30 tokens in, 4 out at most, as nothing says what 1 call used"} {
		if got := j.Describe(judging.Used{Calls: 2, Input: 30, Output: 4, AtMost: atMost}); !strings.HasPrefix(got, want) ||
			atMost == 0 && strings.Contains(got, "at most") {
			t.Errorf("%d: %s", atMost, got)
		}
	}
}
