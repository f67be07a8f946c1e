package prompt

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

var update = flag.Bool("update", false, "write the golden prompts")

// rows under test; the labels bear on some dimensions and not on others.
var rows = map[string]Input{
	"question-generation": {
		Values: []string{
			"When did it open?",
			"the harbour office",
			"The town's harbour office was moved into the old salt store in 1911. The store itself had opened in 1764.",
		},
		Errors: []string{"Vague", "OTA"},
	},
	"instruction-following": {
		Values: []string{
			"Bread needs flour, water and salt. Bread needs flour, water and salt. Pour la levure,",
			"Name the ingredients of bread in one sentence.",
		},
		Errors: []string{"Rep", "Code-Switching"},
	},
}

func builtin(t testing.TB, name string) (*Template, *taxonomy.Taxonomy) {
	t.Helper()
	tmpl, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl, task(t, "question-generation")
}

func task(t testing.TB, name string) *taxonomy.Taxonomy {
	t.Helper()
	task, err := taxonomy.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func messages(t testing.TB, tmpl *Template, in Input) string {
	t.Helper()
	m, err := tmpl.Messages(in)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range m {
		b.WriteString("--- " + m.Role + "\n" + m.Content + "\n")
	}
	return b.String()
}

// golden compares got with a file in testdata, or writes it.
func golden(t *testing.T, got, folder, name string) {
	t.Helper()
	file := filepath.Join("testdata", folder, name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test -run %s -update writes it anew. Now:\n%s", file, t.Name(), got)
	}
}

// TestGolden: what is asked about rows of the built-in tasks, in every kind of prompt.
func TestGolden(t *testing.T) {
	for _, name := range taxonomy.Builtins() {
		in, asked := rows[name], 0
		if in.Task = task(t, name); in.Task.IsTask() {
			continue
		}
		ask := func(kind string, in Input, path string) {
			asked++
			t.Run(name+"/"+path, func(t *testing.T) {
				tmpl, _ := builtin(t, kind)
				golden(t, messages(t, tmpl, in), name, path)
			})
		}
		for _, mode := range []string{Vanilla, ErrorAware} {
			in := in
			in.Mode = mode
			for i := range in.Task.Dimensions {
				in.Dimension = &in.Task.Dimensions[i]
				ask(Judge, in, in.Dimension.Key+"."+mode+".txt")
			}
			in.Dimension = nil
			for _, in.JSON = range []bool{false, true} {
				ask(Joint, in, "joint."+mode+form(in.JSON)+".txt")
			}
		}
		for _, in.JSON = range []bool{false, true} {
			shot := form(in.JSON) + ".txt"
			one := []Example{{in.Values, in.Errors}}
			in.Target, in.Examples = nil, nil
			ask(Identify, in, "identify.zero-shot"+shot)
			in.Examples = append(one, Example{in.Values, []string{"OK"}})
			ask(Identify, in, "identify.few-shot"+shot)
			// what is to be written is not shown, in the example it is
			in.Target, in.Examples = &in.Task.Types[4], nil
			ask(Simulate, in, "simulate.zero-shot"+shot)
			ask(Confirm, in, "confirm"+shot)
			in.Examples = one
			ask(Simulate, in, "simulate.one-shot"+shot)
		}
		if kept, err := os.ReadDir(filepath.Join("testdata", name)); err != nil || len(kept) != asked {
			t.Errorf("testdata/%s holds %d files (%v), want %d: one for each prompt", name, len(kept), err, asked)
		}
	}
}

func TestSimulateNeedsAnError(t *testing.T) {
	write, qg := builtin(t, Simulate)
	in := rows["question-generation"]
	in.Task = qg
	for _, change := range []func(){func() {}, func() { in.Target = &qg.Types[qg.NoErrorIndex()] },
		func() { in.Target, in.Field = &qg.Types[0], 3 }} {
		change()
		if _, err := write.Messages(in); err == nil || !strings.Contains(err.Error(),
			"needs an error type and one of the fields") {
			t.Errorf("%+v: %v", in.Target, err)
		}
	}
}

func form(json bool) string {
	if json {
		return ".json"
	}
	return ""
}

// TestLabels is the table of what the error-aware prompt says of a row's labels.
func TestLabels(t *testing.T) {
	const (
		none      = "none of them bears on"
		noError   = "- No Error: A careful reader"
		mayBe     = "They can be wrong"
		unchecked = "not checked by a person"
	)
	tests := []struct {
		name      string
		labels    []string
		dimension string
		paper     bool
		has, not  []string
		shown     []string
	}{
		{"mapped", []string{"Spell Error"}, "fluency", false, []string{"- Spell Error: At least", mayBe, unchecked},
			[]string{none, "No Error"}, []string{"Spell Error"}},
		{"mapped by code", []string{"spell"}, "fluency", false, []string{"- Spell Error: At least"}, []string{none},
			[]string{"Spell Error"}},
		{"only the mapped ones", []string{"Factual Error", "Vague", "Gram"}, "clarity", false, []string{"- Grammar Error:",
			"- Vague:"}, []string{"Factual Error"}, []string{"Grammar Error", "Vague"}},
		{"taxonomy's order, each once", []string{"Gram", "Inc", "Grammar Error"}, "fluency", false,
			[]string{"- Incomplete: "}, nil, []string{"Incomplete", "Grammar Error"}},
		{"elsewhere", []string{"Factual Error"}, "fluency", false, []string{none + " Fluency", mayBe},
			[]string{"No Error", "Factual"}, nil},
		{"elsewhere, as in the paper", []string{"Factual Error"}, "fluency", true, []string{noError, mayBe},
			[]string{none, "Factual"}, []string{"No Error"}},
		{"no error", []string{"No Error"}, "fluency", false, []string{noError, mayBe}, []string{none}, []string{"No Error"}},
		{"no error, as in the paper", []string{"OK"}, "fluency", true, []string{noError}, []string{none},
			[]string{"No Error"}},
		{"mapped, as in the paper", []string{"Spell"}, "fluency", true, []string{"- Spell Error:"}, []string{"No Error"},
			[]string{"Spell Error"}},
	}
	judge, qg := builtin(t, Judge)
	joint, _ := builtin(t, Joint)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := rows["question-generation"]
			in.Task, in.Mode, in.Errors, in.PaperWording = qg, ErrorAware, test.labels, test.paper
			in.Dimension = dimension(qg, test.dimension)
			got := messages(t, judge, in)
			for _, want := range test.has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
			for _, no := range test.not {
				if strings.Contains(got, no) {
					t.Errorf("%q is in\n%s", no, got)
				}
			}
			shown, err := Shown(qg, in.Dimension, test.labels, test.paper)
			if err != nil || !slices.Equal(shown, test.shown) {
				t.Errorf("shown: %q, %v; want %q", shown, err, test.shown)
			}
			in.Dimension = nil
			_, own, _ := strings.Cut(messages(t, joint, in), "# Requirement "+test.dimension+"\n")
			own, _, _ = strings.Cut(own, "\n# ")
			for _, label := range qg.Labels() {
				if strings.Contains(own, "- "+label+":") != slices.Contains(test.shown, label) {
					t.Errorf("joint: %s is shown, or is not, in\n%s", label, own)
				}
			}
		})
	}
}

func dimension(t *taxonomy.Taxonomy, key string) *taxonomy.Dimension {
	i := slices.IndexFunc(t.Dimensions, func(d taxonomy.Dimension) bool { return d.Key == key })
	return &t.Dimensions[i]
}

func TestVanillaKnowsNoLabels(t *testing.T) {
	in := rows["question-generation"]
	for _, kind := range []string{Judge, Joint} {
		var tmpl *Template
		if tmpl, in.Task = builtin(t, kind); kind == Judge {
			in.Dimension = &in.Task.Dimensions[6]
		}
		in.Mode = Vanilla
		with := messages(t, tmpl, in)
		without := in
		without.Errors = nil
		if with != messages(t, tmpl, without) {
			t.Errorf("%s: the labels change the vanilla prompt", kind)
		}
		if strings.Contains(with, "label") || strings.Contains(with, "Off Target") {
			t.Errorf("%s: the vanilla prompt speaks of labels:\n%s", kind, with)
		}
		in.Dimension = nil
	}
}

// A taxonomy need not have a type for "no error".
func TestWithoutNoError(t *testing.T) {
	tmpl, qg := builtin(t, Judge)
	bare := *qg
	bare.Types = slices.Delete(slices.Clone(qg.Types), qg.NoErrorIndex(), qg.NoErrorIndex()+1)
	in := rows["question-generation"]
	in.Task, in.Dimension, in.Mode, in.Errors = &bare, dimension(qg, "fluency"), ErrorAware, []string{}
	if got := messages(t, tmpl, in); !strings.Contains(got, "gave no label") {
		t.Errorf("no errors: %s", got)
	}
	in.Errors = nil
	if _, err := tmpl.Messages(in); err == nil {
		t.Error("a row that was not looked at has a prompt")
	}
	identify, _ := builtin(t, Identify)
	in.Dimension, in.Examples = nil, []Example{{in.Values, []string{}}}
	if got := messages(t, identify, in); !strings.Contains(got, "Labels: none") || strings.Contains(got, "\n3.") {
		t.Errorf("identify: %s", got)
	}
}

func TestWrongInputs(t *testing.T) {
	judge, qg := builtin(t, Judge)
	joint, _ := builtin(t, Joint)
	identify, _ := builtin(t, Identify)
	good := rows["question-generation"]
	good.Task, good.Mode = qg, ErrorAware
	fluency := &qg.Dimensions[0]
	tests := []struct {
		name   string
		tmpl   *Template
		change func(*Input)
		want   string
	}{
		{"no task", joint, func(in *Input) { in.Task = nil }, "no taxonomy"},
		{"texts", joint, func(in *Input) { in.Values = in.Values[:2] },
			"2 texts for the 3 fields of " + qg.ID()},
		{"mode", joint, func(in *Input) { in.Mode = "" }, `mode is ""; it is vanilla or error-aware`},
		{"no dimension", judge, func(*Input) {}, "needs a dimension"},
		{"a dimension", joint, func(in *Input) { in.Dimension = fluency }, "takes none"},
		{"not looked at", joint, func(in *Input) { in.Errors = nil }, "it was not looked at"},
		{"empty labels", joint, func(in *Input) { in.Errors = []string{} }, "it was not looked at"},
		{"unknown label", joint, func(in *Input) { in.Errors = []string{"Vauge"} },
			qg.ID() + ` has no label "Vauge"`},
		{"contradiction", joint, func(in *Input) { in.Errors = []string{"OK", "Vague"} }, "stands beside other labels"},
		{"example's texts", identify, func(in *Input) { in.Examples = []Example{{in.Values[:1], in.Errors}} },
			"example 1 has 1 texts"},
		{"example's labels", identify, func(in *Input) { in.Examples = []Example{{in.Values, nil}} },
			"example 1: the row has no labels"},
		{"no dimensions", joint, func(in *Input) { bare := *qg; bare.Dimensions = nil; in.Task = &bare },
			"has no dimensions to judge"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := good
			test.change(&in)
			if _, err := test.tmpl.Messages(in); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want %q", err, test.want)
			}
		})
	}
}

// TestNotGiven: a prompt says that an optional field is missing, in place of an empty block.
func TestNotGiven(t *testing.T) {
	judge, qg := builtin(t, Judge)
	text := messages(t, judge, Input{Task: qg, Dimension: &qg.Dimensions[0], Values: []string{"Who was she?", "",
		"Margaret Ovens left."}, Mode: Vanilla})
	if !strings.Contains(text, "\n(not given)\n") {
		t.Errorf("got %s", text)
	}
}
