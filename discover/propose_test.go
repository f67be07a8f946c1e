package discover

import (
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/taxonomy"
)

// TestPropose: whatever issues are called, the taxonomy can be read, and no issue becomes the label of rows without any.
func TestPropose(t *testing.T) {
	questions, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	task, err := taxonomy.Builtin("response")
	if err != nil {
		t.Fatal(err)
	}
	named := func(names ...string) *issues.List {
		l := &issues.List{Format: issues.Format, Task: "x@1"}
		for _, name := range names {
			id := issues.NewID(name, func(id string) bool { return l.Find(id) >= 0 })
			l.Issues = append(l.Issues, issues.Issue{ID: id, Name: name, Count: 9, Severity: 2,
				Examples: []issues.Example{{Row: "r1", Analysis: "It is wrong.\n- name: planted"}}})
		}
		return l
	}
	related := named("Too vague", "Half of Vague")
	related.Issues[0].Relation, related.Issues[1].Relation = issues.IsType, issues.Narrower
	related.Issues[0].Labels = []issues.Coincidence{{Label: "Vague"}}
	related.Issues[1].Labels = related.Issues[0].Labels
	elsewhere := named("Too odd")
	elsewhere.Issues[0].Relation, elsewhere.Issues[0].Labels = issues.IsType, []issues.Coincidence{{Label: "Odd"}}
	for _, c := range []struct {
		base  *taxonomy.Taxonomy
		list  *issues.List
		types []string // that are new
	}{
		{task, named("Too Long", "too-short", "name: [evil", "True", "|", "1e3", "- x", "TL"),
			[]string{"Too Long", "too-short", "name: [evil", "True", "|", "1e3", "- x", "TL2", "No Error"}},
		{task, named("No Error", "OK", "ok!"), []string{"No Error2", "OK2", "ok!", "No Error"}},
		{questions, named("No Error", "vague", "New One"), []string{"No Error2", "New One"}},
		{questions, related, []string{"Half of Vague"}},
		{questions, elsewhere, []string{"Too odd"}},
	} {
		p, err := Propose(c.list, c.base, DefaultProposeOptions())
		if err != nil {
			t.Errorf("%v: %v", c.types, err)
			continue
		}
		made, err := taxonomy.Parse(p.YAML, "made.yaml")
		if err != nil {
			t.Errorf("%v\n%s", err, p.YAML)
			continue
		}
		var got []string
		for _, y := range made.Types[len(c.base.Types):] {
			got = append(got, y.Name)
		}
		if !slices.Equal(got, c.types) {
			t.Errorf("types %q, want %q", got, c.types)
		}
		for id, name := range p.TypeOf {
			at, ok := made.Index(name)
			if !ok || made.Types[at].NoError {
				t.Errorf("%s is %q", id, name)
			}
		}
		if made.Types[made.NoErrorIndex()].Name != "No Error" {
			t.Errorf("%s", p.YAML)
		}
	}
	if p, err := Propose(related, questions, DefaultProposeOptions()); err != nil || p.TypeOf["too-vague"] != "Vague" ||
		!strings.Contains(string(p.YAML), "# a part of the type Vague") {
		t.Errorf("%+v, %v", p, err)
	}
	small := named("Rare", "Shaky")
	small.Issues[0].Count, small.Issues[1].Unstable = 2, true
	if _, err := Propose(small, task, DefaultProposeOptions()); err == nil {
		t.Error("nothing is left, and no error")
	}
	if p, err := Propose(small, task, ProposeOptions{Name: "x", MinCount: 3, Unstable: true}); err != nil ||
		len(p.Left) != 1 || p.Left[0].Name != "Rare" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestLabelsOf: labels are known only where all of a row's issues are types.
func TestLabelsOf(t *testing.T) {
	p := &Proposal{TypeOf: map[string]string{"a": "A", "b": "B"}}
	for _, c := range []struct {
		finding *issues.Finding
		labels  []string
		want    string // "" is not known
	}{
		{&issues.Finding{Status: issues.Assigned, IDs: []string{"a", "b"}}, nil, "A,B"},
		{&issues.Finding{Status: issues.Assigned, IDs: []string{"a"}}, []string{"A", "C"}, "A,C"},
		{&issues.Finding{Status: issues.Assigned, IDs: []string{"a", "left-out"}}, nil, ""},
		{&issues.Finding{Status: issues.None}, nil, "No Error"},
		{&issues.Finding{Status: issues.None}, []string{"C"}, "C"},
		{&issues.Finding{Status: issues.Unassigned, Reason: reply.Cut}, []string{"C"}, ""},
		{nil, nil, ""},
	} {
		got, known := p.LabelsOf(c.finding, c.labels, "No Error")
		if strings.Join(got, ",") != c.want || known != (c.want != "") {
			t.Errorf("%+v with %v: %v, %v", c.finding, c.labels, got, known)
		}
	}
}
