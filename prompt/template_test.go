package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/taxonomy"
)

func part(name, body string) string { return `{{define "` + name + `"}}` + body + "{{end}}\n" }

func source(kind, user string) string {
	return part("kind", kind) + part("version", "1.0") + part("user", user)
}

func TestBadTemplates(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"syntax":           {source(Judge, "\n{{.Fence"), "own.tmpl:4: "},
		"unknown function": {source(Judge, "\n{{passage}}"), `own.tmpl:4: function "passage" not defined`},
		"unknown slot": {source(Judge, "\n\n{{.Passage}}"),
			"own.tmpl:5: unknown slot {{.Passage}}; there are .Title, .Description, .Fields"},
		"slot in an if": {source(Judge, "{{if false}}\n{{.Nope}}{{end}}"), "own.tmpl:4: unknown slot {{.Nope}}"},
		"slot in an else": {source(Judge, "{{if true}}{{else}}\n{{.Nope}}{{end}}"),
			"own.tmpl:4: unknown slot {{.Nope}}"},
		"slot in an else if": {source(Judge, "{{if true}}{{else if .JSON}}\n\n{{.Nope}}{{end}}"),
			"own.tmpl:5: unknown slot {{.Nope}}"},
		"slot in a condition": {source(Judge, "{{if .Nope}}{{end}}"), "own.tmpl:3: unknown slot {{.Nope}}"},
		"slot behind an or":   {source(Judge, "{{if or .JSON .Nope}}{{end}}"), "own.tmpl:3: unknown slot {{.Nope}}"},
		"slot in a range": {source(Judge, "{{range .Fields}}{{.Text}}{{end}}"),
			"own.tmpl:3: unknown slot {{.Text}}; there are .Name, .Definition, .Block"},
		"slot after a break": {source(Judge, "{{range .Fields}}{{if true}}{{break}}{{end}}{{.Nope}}{{end}}"),
			"unknown slot {{.Nope}}"},
		"slot in range's else": {source(Judge, "{{range .Fields}}{{else}}{{.Nope}}{{end}}"), "unknown slot {{.Nope}}"},
		"slot in with's else":  {source(Judge, "{{with .Fence}}{{.}}{{else}}{{.Nope}}{{end}}"), "unknown slot {{.Nope}}"},
		"slot of a variable": {source(Judge, "{{$d := .Dimension}}{{$d.Nope}}"),
			"unknown slot {{$d.Nope}}; there are .Name, .Key"},
		"slot in a part": {source(Judge, `{{template "x" .Dimension}}`) + part("x", "{{.Fence}}"),
			"own.tmpl:4: unknown slot {{.Fence}}; there are .Name, .Key"},
		"slot in system": {source(Judge, "x") + part("system", "{{.Nope}}"), "own.tmpl:4: unknown slot {{.Nope}}"},
		"slot of another kind": {source(Judge, "{{range .Dimensions}}{{end}}"),
			"the slot .Dimensions belongs to templates of kind joint; this one is of kind judge"},
		"examples in joint":  {source(Joint, "{{.Examples}}"), "the slot .Examples belongs to templates of kind identify"},
		"dimension in joint": {source(Joint, "\n{{.Dimension.Name}}"), "own.tmpl:4: "},
		"unknown part":       {source(Judge, `{{template "x"}}`), `own.tmpl:3: {{template "x"}}: template "x" not defined`},
		"no user":            {part("kind", Judge) + part("version", "1"), `own.tmpl:1: the part "user" is missing`},
		"no version":         {part("kind", Judge) + part("user", "x"), `own.tmpl:1: the part "version" is missing`},
		"empty file":         {"", `own.tmpl:1: the part "kind" is missing`},
		"part twice":         {source(Judge, "x") + part("user", "y"), "own.tmpl:4: "},
		"unknown kind":       {source("jugde", "x"), `own.tmpl:1: kind is "jugde"; it is one of judge, joint, identify`},
		"no word as version": {part("kind", Judge) + part("version", "1 0") + part("user", "x"),
			`own.tmpl:2: version is "1 0"`},
		"slot in kind": {part("kind", "{{.X}}") + part("version", "1") + part("user", "x"), "own.tmpl:1: "},
		"text outside": {source(Judge, "x") + "\nhello\n", "own.tmpl:3: this stands outside of every part"},
		"slot outside": {source(Judge, "x") + "\n{{.Fence}}\n", "own.tmpl:5: this stands outside of every part"},
		"recursion":    {source(Judge, `{{template "user" .}}`), "own.tmpl:3: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tmpl, err := Parse([]byte(test.text), "own.tmpl")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v; want %q (%v)", err, test.want, tmpl)
			}
		})
	}
}

func TestOwnTemplate(t *testing.T) {
	text := source(Judge,
		"{{with $d := .Dimension}}{{$d.Name}} {{$d.Low}}-{{$d.High}}{{end}} {{(index .Fields 2).Block}}{{range "+
			".Types}}{{continue}}{{end}}")
	file := filepath.Join(t.TempDir(), "own.tmpl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tmpl, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	qg := task(t, "question-generation")
	m, err := tmpl.Messages(Input{Task: qg, Dimension: &qg.Dimensions[0], Values: benign, Mode: Vanilla})
	if err != nil {
		t.Fatal(err)
	}
	code := fence(tmpl.Hash(), benign)
	if want := "Fluency 1-3 [begin passage " + code + "]\n" + benign[2] + "\n[end passage " + code + "]"; len(m) != 1 ||
		m[0] != (llm.Message{Role: llm.User, Content: want, Fence: code}) {
		t.Errorf("%q; want one user message, %q", m, want)
	}
	sum := sha256.Sum256([]byte(text))
	if tmpl.Hash() != hex.EncodeToString(sum[:]) || tmpl.ID() != "judge@1.0" {
		t.Errorf("%s, %s", tmpl.ID(), tmpl.Hash())
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.tmpl")); err == nil || !strings.Contains(err.Error(),
		"neither a file nor built in (built in: judge, joint, identify, simulate, confirm, analyze") {
		t.Error(err)
	}
}

func TestBuiltins(t *testing.T) {
	hashes := map[string]bool{}
	for _, name := range Builtins() {
		tmpl, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		src, err := BuiltinSource(name)
		if err != nil || tmpl.Kind != name && !slices.Contains(CompareWordings(), name) ||
			bytes.Contains(src, []byte("question")) {
			t.Errorf("%s: kind %s, %v; a built-in template names no task", name, tmpl.Kind, err)
		}
		hashes[tmpl.Hash()] = true
	}
	if len(hashes) != len(Builtins()) {
		t.Errorf("%d hashes of %d templates", len(hashes), len(Builtins()))
	}
	if _, err := Builtin("judgement"); err == nil || !strings.Contains(err.Error(),
		"there are judge, joint, identify, simulate, confirm") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Builtins() {
		src, err := BuiltinSource(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add(source(Judge, "{{if or .JSON .Nope}}{{break}}{{end}}"))
	f.Add(source(Judge, "{{if or .JSON .Nope}}{x}{{end}}"))
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "template") || strings.Contains(text, "block") || strings.Contains(text, "range") {
			return // may repeat itself without end: the file is the user's own
		}
		tmpl, err := Parse([]byte(text), "own.tmpl")
		if (tmpl == nil) != (err != nil) {
			t.Fatalf("%v and %v", tmpl, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "own.tmpl:") {
			t.Fatalf("%v names no line", err)
		}
	})
}

func BenchmarkMessages(b *testing.B) {
	tmpl, qg := builtin(b, Judge)
	values := []string{"When did the store open?", "1764", strings.Repeat("The salt store opened in 1764. ", 30)}
	in := Input{Task: qg, Dimension: &qg.Dimensions[6], Values: values, Mode: ErrorAware, Errors: []string{"Vague"}}
	for b.Loop() {
		if _, err := tmpl.Messages(in); err != nil {
			b.Fatal(err)
		}
	}
}

// A prompt filled into a skeleton is the one that text/template makes, whatever the texts and all else are that a kind
// takes.
func TestSkeletons(t *testing.T) {
	own := parsed(t, `{{define "kind"}}judge{{end}}{{define "version"}}1{{end}}{{define "user"}}
{{.Fields}} {{with .Dimension}}{{.Name}}{{end}} {{range $i, $f := .Fields}}{{add $i 1}}{{$f}}{{if $f.Block}}{{template "text" $f}}{{end}}{{end}}{{or .Fence .Title}}
{{end}}{{define "text"}}{{$b := .Block}}{{$b}}{{end}}`)
	templates := []*Template{own}
	for _, kind := range Builtins() {
		if isOfIssues(kind) {
			continue // they have none
		}
		tmpl, _ := builtin(t, kind)
		templates = append(templates, tmpl)
	}
	_, task := builtin(t, Judge)
	other := *task
	other.Title, other.Description = "Other", "another task"
	random := rand.New(rand.NewPCG(7, 7))
	for _, tmpl := range templates {
		if !tmpl.plain && (tmpl.Kind == Judge || tmpl.Kind == Joint) {
			t.Fatalf("%s: no skeletons are made where calls are many", tmpl.ID())
		}
		for range 600 {
			in := randomInput(tmpl.Kind, []*taxonomy.Taxonomy{task, &other}[random.IntN(2)], random)
			got, err := tmpl.Messages(in)
			if err != nil {
				t.Fatal(err)
			}
			slots, err := tmpl.slots(in)
			if err != nil {
				t.Fatal(err)
			}
			want, err := tmpl.render("user", slots)
			if last := got[len(got)-1].Content; err != nil || last != want {
				t.Fatalf("%s: %v\n%q\nwant\n%q", tmpl.ID(), err, last, want)
			}
		}
		if tmpl.plain != (len(tmpl.skeletons.made) > 0) {
			t.Errorf("%s: plain %v, %d skeletons", tmpl.ID(), tmpl.plain, len(tmpl.skeletons.made))
		}
	}
}

func randomInput(kind string, task *taxonomy.Taxonomy, random *rand.Rand) Input {
	in := Input{Task: task, JSON: random.IntN(2) == 0, PaperWording: random.IntN(2) == 0}
	for range task.Fields {
		in.Values = append(in.Values, strings.Repeat("{{.Block}} \x00 1\x001\x00 "+fmt.Sprint(random.IntN(9)),
			random.IntN(3)))
	}
	if kind == Judge || kind == Joint {
		in.Mode = []string{Vanilla, ErrorAware}[random.IntN(2)]
		in.Errors = []string{task.Types[random.IntN(len(task.Types))].Name}
	}
	if kind == Judge {
		in.Dimension = &task.Dimensions[random.IntN(len(task.Dimensions))]
	}
	if isOfPairs(kind) {
		in.Mode = []string{Vanilla, ErrorAware}[random.IntN(2)]
		in.Other = strings.Repeat("\x00 2\x00{{.Fence}} ", random.IntN(3))
		in.Errors = []string{task.Types[random.IntN(len(task.Types))].Name}
		in.OtherErrors = []string{task.Types[random.IntN(len(task.Types))].Name}
		if kind == Compare && random.IntN(3) > 0 {
			in.Target = &task.Types[0]
		}
	}
	if aboutOne(kind) {
		in.Target, in.Field = &task.Types[random.IntN(len(task.Types))], random.IntN(len(task.Fields))
		if in.Target.NoError {
			in.Target = &task.Types[0]
		}
	}
	return in
}

// Templates that compute something from texts have no skeletons.
func TestNoSkeletons(t *testing.T) {
	const frame = `{{define "kind"}}judge{{end}}{{define "version"}}1{{end}}{{define "t"}}{{.}}{{end}}{{define "user"}}%s{{end}}`
	for _, body := range []string{
		`{{range .Fields}}{{len .Block}}{{end}}`, `{{range .Fields}}{{.Block | printf "%.3s"}}{{end}}`,
		`{{if eq .Fence "0"}}x{{end}}`,
		`{{with index .Fields 0}}{{.Block}}{{end}}`, `{{template "t" (html .Fence)}}`, `{{(printf "%q" .Fence)}}`,
		`{{if .JSON}}{{else}}{{range .Fields}}{{else}}{{slice .Title 1}}{{end}}{{end}}`,
	} {
		if parsed(t, fmt.Sprintf(frame, body)).plain {
			t.Errorf("%s: taken for plain", body)
		}
	}
}

func parsed(t *testing.T, source string) *Template {
	t.Helper()
	tmpl, err := Parse([]byte(source), "own.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// Templates of strangers end, and make no more text than anybody reads.
func TestTemplateLimits(t *testing.T) {
	double := "{{$x := .Fence}}" + strings.Repeat("{{$x = %s}}", 60)
	for name, c := range map[string]struct{ user, want string }{
		"doubling by print":  {strings.ReplaceAll(double, "%s", "print $x $x"), "the template "},
		"doubling by printf": {strings.ReplaceAll(double, "%s", `printf "%s%s" $x $x`), "the template "},
		"growing by js":      {strings.ReplaceAll(double, "%s", "js (print $x `<`) | js | js"), "the template "},
		"growing by html":    {strings.ReplaceAll(double, "%s", "html $x `&&&&&&` $x"), "the template "},
		"wide verb":          {`{{printf "%9999999d" 1}}`, "width of more than two digits"},
		"argument as width":  {`{{printf "%*d" 9999999 1}}`, "width of more than two digits"},
		"argument again":     {`{{printf "%[1]s%[1]s" "x"}}`, "width of more than two digits"},
		"many written": {strings.Repeat("{{range 1000}}", 2) +
			strings.Repeat("x", 100) + "{{end}}{{end}}", "the template "},
		"empty loops":        {strings.Repeat("{{range 1000000}}", 3) + strings.Repeat("{{end}}", 3), "the template takes"},
		"loop of a variable": {"{{$x := 0}}{{range 1000000000}}{{$x = add $x 1}}{{end}}", "the template takes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(source(Judge, c.user)), "own.tmpl")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "own.tmpl:") {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// Two parts that call each other twice would end after 2^60 calls.
func TestTemplateCalls(t *testing.T) {
	text := source(Judge, `{{template "p0"}}`)
	for n := range 60 {
		next := fmt.Sprintf(`{{template "p%d"}}`, n+1)
		text += part(fmt.Sprintf("p%d", n), next+next)
	}
	_, err := Parse([]byte(text+part("p60", "")), "own.tmpl")
	if !errors.Is(err, errEndless) {
		t.Errorf("the error is %v", err)
	}
}
