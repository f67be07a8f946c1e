package taxonomy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tableSix is the mapping of the ErrEval paper's Table 6, copied by hand.
var tableSix = map[string]string{
	"Fluency":     "Incomplete, Spell Error, Grammar Error, No Error",
	"Clarity":     "Incomplete, Not A Question, Grammar Error, Vague, No Error",
	"Conciseness": "Unnecessary Copy from Passage, No Error",
	"Relevance":   "Off Topic, No Error",
	"Consistency": "Off Topic, Factual Error, Information Not Mentioned, No Error",
	"Answerability": "Incomplete, Not A Question, Vague, Off Topic, Factual Error, Information Not Mentioned, " +
		"No Error",
	"Answer Consistency": "Incomplete, Not A Question, Vague, Off Topic, Factual Error, Information Not Mentioned, Off " +
		"Target Answer, No Error",
}

func builtin(t *testing.T, name string) *Taxonomy {
	t.Helper()
	tax, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func TestQuestionGeneration(t *testing.T) {
	tax := builtin(t, "question-generation")
	var codes, categories, keys []string
	for _, y := range tax.Types {
		codes = append(codes, y.Code)
		categories = append(categories, y.Category)
	}
	for _, d := range tax.Dimensions {
		keys = append(keys, d.Key)
		if got := strings.Join(d.Types, ", "); got != tableSix[d.Name] {
			t.Errorf("%s maps to %s, Table 6 says %s", d.Name, got, tableSix[d.Name])
		}
		if len(d.Criteria) != 3 || d.Criteria[0].Score != 1 {
			t.Errorf("%s: criteria %v, want scores 1 to 3", d.Name, d.Criteria)
		}
	}
	for _, c := range []struct{ what, got, want string }{
		{"labels", strings.Join(tax.Labels(), ", "), "Incomplete, Not A Question, Spell Error, Grammar Error, Vague, " +
			"Unnecessary Copy from Passage, Off Topic, Factual Error, Information Not Mentioned, Off Target Answer, No Error"},
		{"codes", strings.Join(codes, " "), "Inc NAQ Spell Gram Vague Copy OTP Fact INM OTA OK"},
		{"categories", strings.Join(slices.Compact(categories), ", "), "Structural, Linguistic, Content-related, None"},
		{"dimensions", strings.Join(keys, " "),
			"fluency clarity conciseness relevance consistency answerability answer_consistency"},
		{"fields", strings.Join(tax.FieldNames(), " "), "question answer passage"},
		{"group field", tax.GroupField(), "passage"},
		{"id", tax.ID(), "question-generation@1.1"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, c.got, c.want)
		}
	}
	if no, errors := tax.NoError(), tax.Errors(); no != tax.Types[10].Name || len(errors) != 10 || errors[0] == no {
		t.Errorf("NoError %q, Errors %q", no, errors)
	}
	if got := tax.NoErrorIndex(); got != 10 {
		t.Errorf("no error at %d, want 10", got)
	}
}

func TestInstructionFollowing(t *testing.T) {
	tax := builtin(t, "instruction-following")
	want := []string{"Request Following", "Factuality", "Repetition", "Code-Switching", "Relevance", "Harmfulness",
		"Fluency", "Contradiction", "Sudden Interruption", "Refusal", "No Error"} // REPA's Table 4, and No Error
	if got := tax.Labels(); !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
	mapped := map[string]bool{}
	for _, d := range tax.Dimensions {
		for _, y := range d.Types {
			mapped[y] = true
		}
	}
	for _, label := range want {
		if !mapped[label] {
			t.Errorf("no dimension takes %s into account", label)
		}
	}
}

func TestIndex(t *testing.T) {
	tax := builtin(t, "question-generation")
	for name, want := range map[string]int{"Incomplete": 0, "inc": 0, "OTA": 9, "off target answer": 9, "ok": 10,
		"Off": -1, "": -1} {
		if got, ok := tax.Index(name); got != want || ok != (want >= 0) {
			t.Errorf("Index(%q) = %d, %v, want %d", name, got, ok, want)
		}
	}
}

func TestHash(t *testing.T) {
	data, err := BuiltinYAML("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	hash := func(text string) string {
		tax, err := Parse([]byte(text), "x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return tax.Hash()
	}
	base := hash(string(data))
	if len(base) != 64 {
		t.Errorf("hash %q is not a SHA-256 in hex", base)
	}
	if hash("# a comment\n"+string(data)) != base {
		t.Error("a comment changes the hash")
	}
	if hash(strings.Replace(string(data), "misspelt", "misspelled", 1)) == base {
		t.Error("another definition leaves the hash as it was")
	}
}

func TestOpen(t *testing.T) {
	for _, name := range []string{"question-generation", filepath.Join("testdata", "good.yaml")} {
		if _, err := Open(name); err != nil {
			t.Errorf("Open(%q): %v", name, err)
		}
	}
	_, err := Open("none.yaml")
	want := `taxonomy "none.yaml" is neither a file nor built in (built in: question-generation, instruction-following, response): open none.yaml: no such file or directory`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = Builtin("none")
	if want = `taxonomy "none" is not built in; there are question-generation, instruction-following, response`; err == nil ||
		err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened as a taxonomy")
	}
}

func TestGood(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tax, err := Parse(data, "good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := tax.Dimensions[0].Types; !slices.Equal(got, []string{"Too Red", "Too Dark", "No Error"}) {
		t.Errorf("codes became %q, want the names", got)
	}
	without, err := Parse([]byte(strings.Replace(string(data), ", no_error: true", "", 1)), "good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := without.NoError(); got != "" || len(without.Errors()) != len(without.Types) {
		t.Errorf("NoError of a taxonomy without one is %q", got)
	}
	if got := without.NoErrorIndex(); got != -1 {
		t.Errorf("no-error label at %d in a taxonomy without one", got)
	}
}

func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "bad", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(seeds, filepath.Join("testdata", "good.yaml"), filepath.Join("builtin",
		"question-generation.yaml")) {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tax, err := Parse(data, "f.yaml")
		if (tax == nil) == (err == nil) {
			t.Fatalf("taxonomy %v with error %v", tax, err)
		}
		if err != nil {
			if !faultLines.MatchString(err.Error()) {
				t.Fatalf("no file:line in %q", err)
			}
			return
		}
		for i, label := range tax.Labels() {
			if got, _ := tax.Index(label); got != i {
				t.Fatalf("label %q is found at %d, stands at %d", label, got, i)
			}
		}
	})
}
