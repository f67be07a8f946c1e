package discover

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/jsonobject"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

func objectOf(t *testing.T, text string) reply.Object {
	t.Helper()
	v, _, err := jsonobject.Decode(text)
	o, ok := v.(reply.Object)
	if err != nil || !ok {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

func reasonOf(err error) string {
	if fault, ok := errors.AsType[*reply.Fault](err); ok {
		return fault.Reason
	}
	return ""
}

func TestReadFit(t *testing.T) {
	shown := []prompt.Issue{{Name: "Wrong Date"}, {Name: "Vague Reference"}}
	for text, want := range map[string]struct {
		at     int
		reason string
		name   string
	}{
		`{"issue": 2}`:                                              {1, "", ""},
		`{"issue": "2"}`:                                            {1, "", ""},
		`{"issue": "issue 1"}`:                                      {0, "", ""},
		`{"issue": "vague reference"}`:                              {1, "", ""},
		`{"issue": "none", "name": "New One"}`:                      {-1, "", "New One"},
		`{"issue": 0, "name": "New; One\n"}`:                        {-1, "", "New, One"},
		`{"issue": null, "name": "New One"}`:                        {-1, "", "New One"},
		`{"issue": "none", "name": "wrong date!"}`:                  {0, "", "wrong date!"},
		`{"issue": "none", "name": ""}`:                             {-1, reply.Missing, ""},
		`{"issue": "none", "name": "…"}`:                            {-1, reply.Missing, ""},
		`{"issue": "none"}`:                                         {-1, reply.Missing, ""},
		`{"issue": 3}`:                                              {-1, reply.UnknownIssue, ""},
		`{"issue": -1}`:                                             {-1, reply.UnknownIssue, ""},
		`{"issue": "error_type_7"}`:                                 {-1, reply.UnknownIssue, ""},
		`{"issue": ["1"]}`:                                          {-1, reply.UnknownIssue, ""},
		`{"issue": 1, "issue": 2}`:                                  {-1, reply.Missing, ""},
		`{"issue": 1.5}`:                                            {-1, reply.UnknownIssue, ""},
		`{"issue": "` + strings.Repeat("very ", 99) + `"}`:          {-1, reply.UnknownIssue, ""},
		`{"issue":"none","name":"` + strings.Repeat("a", 99) + `"}`: {-1, "", strings.Repeat("a", maxName) + "…"},
	} {
		at, created, err := readFit(objectOf(t, text), shown)
		if at != want.at || reasonOf(err) != want.reason || err == nil && at < 0 && created.Name != want.name {
			t.Errorf("%s: %d, %+v, %v", text, at, created, err)
		}
	}
}

func TestReadIssue(t *testing.T) {
	for text, want := range map[string]struct{ status, reason string }{
		`{"analysis":"a","issue":"It is wrong.","quote":"q","severity":2}`:   {"", ""},
		`{"analysis":"a","issue":"It is wrong.","quote":"q","severity":"3"}`: {"", ""},
		`{"analysis":"a","issue":"none","quote":"","severity":0}`:            {issues.None, ""},
		`{"analysis":"a","issue":"No issue.","severity":1}`:                  {issues.None, ""},
		`{"analysis":"a","issue":"","severity":0}`:                           {issues.None, ""},
		`{"analysis":"a","issue":null,"severity":0}`:                         {issues.None, ""},
		`{"analysis":"a","issue":"","severity":2}`:                           {"", reply.Missing},
		`{"analysis":"a","issue":""}`:                                        {"", reply.Missing},
		`{"analysis":"a","issue":7,"severity":2}`:                            {"", reply.Missing},
		`{"analysis":"a","issue":"It is wrong.","severity":4}`:               {"", reply.Missing},
		`{"analysis":"a","issue":"It is wrong."}`:                            {"", reply.Missing},
		`{"analysis":"a","issue":"It is wrong.","severity":"high"}`:          {"", reply.Missing},
	} {
		f, err := readIssue(objectOf(t, text))
		if reasonOf(err) != want.reason || err == nil && f.Status != want.status {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
}

func TestReadLists(t *testing.T) {
	for text, want := range map[string]string{
		`{"applies":[0,1,0]}`: "", `{"applies":[0,0,0]}`: "", `{"applies":[0,1]}`: reply.Missing,
		`{"applies":[0,1,0,0]}`: reply.Missing, `{"applies":[0,2,0]}`: reply.Missing, `{"applies":"010"}`: reply.Missing,
		`{"applies":[0,"1",0]}`: reply.Missing, `{"applies":[true,false,false]}`: reply.Missing,
	} {
		if _, err := readApplies(objectOf(t, text), 3); reasonOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`{"groups":[{"members":[1,3],"name":"A"},{"members":[2],"name":"B"}]}`: "",
		`{"groups":[{"members":[1,2,3],"name":"A","description":"d"}]}`:        "",
		`{"groups":[{"members":[1,3],"name":"A"}]}`:                            reply.Missing,
		`{"groups":[{"members":[1,3],"name":"A"},{"members":[3],"name":"B"}]}`: reply.Missing,
		`{"groups":[{"members":[1,2,3,4],"name":"A"}]}`:                        reply.UnknownIssue,
		`{"groups":[{"members":[1,2,3]}]}`:                                     reply.Missing,
		`{"groups":[]}`:                                                        reply.Missing,
		`{"groups":["A"]}`:                                                     reply.Missing,
	} {
		if _, err := readGroups(objectOf(t, text), 3, 15); reasonOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestStands(t *testing.T) {
	texts := []string{"The store opened in 1764, on Salt Street.", "Who built\nthe store?"}
	for quote, want := range map[string]bool{
		"opened in 1764": true, "Opened in  1764": true, `"opened in 1764,"`: true, "built the store": true,
		"The store … Salt Street": true, "the store ... salt street.": true, "opened in 1765": false, "pened in": false,
		"The store … Pepper Street": false, "": false, "…": false, "  ": false,
	} {
		if got := stands(quote, texts); got != want {
			t.Errorf("%q stands: %v", quote, got)
		}
	}
	if !stands("", []string{" ", "x"}) {
		t.Error("an empty text has nothing to quote")
	}
}

// Whatever a model replies, a row ends as assigned, without issue, or unassigned with a reason.
func TestBadReplies(t *testing.T) {
	bad := map[string]*llm.Reply{
		"empty":         {},
		"cut":           {Text: `{"issue": "It is`, Finish: llm.FinishLength},
		"half":          {Text: `{"issue": "It is`},
		"filtered":      {Finish: llm.FinishFilter},
		"refused":       {Text: "I'm sorry, but I can't help with that."},
		"text":          {Text: "The issue is that it is wrong."},
		"list":          {Text: "[1, 2]"},
		"unknown":       {Text: `{"issue":"99","analysis":"a","quote":"no such words","severity":1,"applies":[1,1],"groups":[{"members":[99],"name":"x"}],"issues":[{"name":""}],"name":""}`},
		"two":           {Text: `{"issue":"1","applies":[0],"groups":[],"issues":[],"name":"a"} {"issue":"2","applies":[1],"groups":[1],"issues":[2],"name":"b"}`},
		"wrong types":   {Text: `{"issue":{"a":[1]},"applies":{"a":1},"groups":"x","issues":7,"name":[]}`},
		"not UTF-8":     {Text: "{\"issue\":\"\xff\xfe\",\"severity\":2,\"quote\":\"\xff\"}"},
		"deep":          {Text: strings.Repeat(`{"issue":`, 300)},
		"only thoughts": {Text: "<think>it is wrong"},
	}
	for name, reply := range bad {
		for _, grouping := range []string{Cumulative, KeyPoints, Direct} {
			for every := range 3 {
				w := newWorld(t, 40, 3, 0)
				w.spoil = func(call int, _ string) *llm.Reply {
					if call%(every+1) == 0 {
						copied := *reply
						return &copied
					}
					return nil
				}
				items := w.items()
				o := DefaultOptions()
				o.Grouping = grouping
				model := w.model()
				g, err := NewGrouper(&model, o)
				if err != nil {
					t.Fatal(err)
				}
				r, err := g.Group(context.Background(), items)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, grouping, err)
				}
				l, err := r.Publish(context.Background(), PublishOptions{})
				if err != nil {
					t.Fatal(err)
				}
				unassigned := 0
				for reason, n := range l.Unassigned {
					if unassigned += n; reason == "" {
						t.Errorf("%s, %s: unassigned without a reason", name, grouping)
					}
				}
				if l.Rows != 40 || l.Assigned+l.NoIssue+unassigned != 40 || errors.Join(l.Validate()) != nil {
					t.Errorf("%s, %s: %+v", name, grouping, l)
				}
				for i, item := range items {
					f := item.Finding
					if f.Status == issues.None && w.gold[i] >= 0 || f.Status == issues.Assigned && len(f.IDs) == 0 {
						t.Errorf("%s, %s: row %d became %+v", name, grouping, i, f)
					}
				}
			}
		}
	}
}
