package identifier_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// recorded is a row with what Hugging Face, torch and onnxruntime-Python made of it; see testdata/make_fixtures.py.
type recorded struct {
	ID, Join   string
	Fields     map[string]string
	IDs, Types []int64
	Truncated  map[string]int
	Torch, ORT []float64
}

func (r *recorded) values() []string {
	return []string{r.Fields["question"], r.Fields["answer"], r.Fields["passage"]}
}

// fixtures are the models in testdata.
var fixtures = []string{"roberta", "bert", "bert-int8"}

func questions(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

func open(t testing.TB, name, join string) *models.Model {
	t.Helper()
	m, err := models.Open(filepath.Join("testdata", name), questions(t))
	if err != nil {
		t.Fatal(err)
	}
	m.Manifest.Join = join
	return m
}

// cases are the recorded rows of one joining.
func cases(t testing.TB, name, join string) []recorded {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []recorded }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(file.Cases, func(r recorded) bool { return r.Join != join })
}

// TestEncodeEqualsHuggingFace compares ids, segments and what was cut, in both joinings.
func TestEncodeEqualsHuggingFace(t *testing.T) {
	for _, name := range fixtures {
		for _, join := range []string{models.JoinFields, models.JoinText} {
			enc, err := identifier.NewEncoder(open(t, name, join), questions(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases(t, name, join) {
				got, err := enc.Encode(c.values())
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.IDs, c.IDs) {
					t.Errorf("%s %s %s: ids are\n%v, want\n%v", name, join, c.ID, got.IDs, c.IDs)
				}
				if !slices.Equal(got.Types, c.Types) {
					t.Errorf("%s %s %s: segments are\n%v, want\n%v", name, join, c.ID, got.Types, c.Types)
				}
				if !maps.Equal(enc.Truncated(), c.Truncated) {
					t.Errorf("%s %s %s: cut %v, want %v", name, join, c.ID, enc.Truncated(), c.Truncated)
				}
			}
		}
	}
}

// TestUserTextForgesNoBoundary: with fields apart, special tokens in a text are plain text; as one string they are not.
func TestUserTextForgesNoBoundary(t *testing.T) {
	for join, want := range map[string]int{models.JoinFields: 3, models.JoinText: 5} {
		m := open(t, "roberta", join)
		enc, err := identifier.NewEncoder(m, questions(t))
		if err != nil {
			t.Fatal(err)
		}
		got, err := enc.Encode([]string{"Who?</s>Oke", "a</s>b", "c"})
		if err != nil {
			t.Fatal(err)
		}
		separators := 0
		for _, id := range got.IDs {
			if enc.Token(id) == "</s>" {
				separators++
			}
		}
		if separators != want {
			t.Errorf("%s: %d separators, want %d: %v", join, separators, want, got.IDs)
		}
	}
}

// TestHighlight works out by hand which tokens get the answer's segment.
func TestHighlight(t *testing.T) {
	m := open(t, "bert", models.JoinFields)
	m.Manifest.Highlight, m.Manifest.Segments = "answer", []int64{0, 1, 0}
	for _, c := range []struct{ answer, passage, want string }{
		{"b a", "b a c b A b", "1 1 0 1 1 0"},         // every place, whatever the case
		{"a a", "a a a", "1 1 0"},                     // places do not overlap
		{"a b c", "a b", "0 0"},                       // a part is not enough
		{"", "a", "0"},                                // nothing to look for
		{"c", strings.Repeat("a ", 200) + "c", "cut"}, // behind the end of what the model sees
	} {
		enc, err := identifier.NewEncoder(m, questions(t))
		if err != nil {
			t.Fatal(err)
		}
		got, err := enc.Encode([]string{"a", c.answer, c.passage})
		if err != nil {
			t.Fatal(err)
		}
		n := len(strings.Fields(c.answer))
		types := strings.Trim(fmt.Sprint(got.Types[4+n:len(got.Types)-1]), "[]") // behind [CLS] a [SEP] answer [SEP]
		if c.want == "cut" {
			c.want = strings.TrimSpace(strings.Repeat("0 ", m.Manifest.MaxTokens-5-n))
		}
		if types != c.want {
			t.Errorf("%q in %q: %s, want %s", c.answer, c.passage, types, c.want)
		}
	}
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	for _, name := range fixtures {
		enc, err := identifier.NewEncoder(open(t, name, models.JoinFields), questions(t))
		if err != nil {
			t.Fatal(err)
		}
		rows := cases(t, name, models.JoinFields)
		all := func() {
			for i := range rows {
				if _, err := enc.Encode(rows[i].values()); err != nil {
					t.Fatal(err)
				}
			}
		}
		values := testing.AllocsPerRun(5, func() {
			for i := range rows {
				_ = rows[i].values()
			}
		})
		if got := testing.AllocsPerRun(5, all); got > values {
			t.Errorf("%s: %v allocations for %d rows", name, got-values, len(rows))
		}
	}
}

func TestEncodeRefusesInvalidUTF8(t *testing.T) {
	for _, join := range []string{models.JoinFields, models.JoinText} {
		enc, err := identifier.NewEncoder(open(t, "bert", join), questions(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := enc.Encode([]string{"Who?", "a\xffb", "c"}); err == nil || !strings.Contains(err.Error(), "answer") {
			t.Errorf("%s: got %v, want an error that names the answer", join, err)
		}
		if _, err := enc.Encode([]string{"Who?", "a", "c"}); err != nil {
			t.Errorf("%s: a good row after a bad one: %v", join, err)
		}
	}
}

// FuzzEncode: whatever the texts, an encoding keeps its length, its special tokens and a true count of what was cut.
func FuzzEncode(f *testing.F) {
	for _, c := range cases(f, "bert", models.JoinFields)[:15] {
		f.Add(c.Fields["question"], c.Fields["answer"], c.Fields["passage"])
	}
	var encoders []*identifier.Encoder
	for _, join := range []string{models.JoinFields, models.JoinText} {
		m := open(f, "bert", join)
		for _, limit := range []int{m.Manifest.MaxTokens, 8} {
			m.Manifest.MaxTokens = limit
			whole := open(f, "bert", join)
			whole.Manifest.MaxTokens = 1 << 30
			for _, model := range []*models.Model{m, whole} {
				enc, err := identifier.NewEncoder(model, questions(f))
				if err != nil {
					f.Fatal(err)
				}
				encoders = append(encoders, enc)
			}
		}
	}
	limits := []int{128, 8, 128, 8}
	f.Fuzz(func(t *testing.T, question, answer, passage string) {
		values := []string{question, answer, passage}
		for i, limit := range limits {
			cut, err := encoders[2*i].Encode(values)
			all, errAll := encoders[2*i+1].Encode(values)
			if (err == nil) != (errAll == nil) {
				t.Fatalf("errors differ: %v, %v", err, errAll)
			}
			if err != nil {
				continue
			}
			checkCut(t, cut, all, limit)
		}
	})
}

func checkCut(t *testing.T, cut, all *identifier.Encoding, limit int) {
	t.Helper()
	n := len(cut.IDs)
	if want := min(limit, len(all.IDs)); n != want || len(cut.Types) != n {
		t.Errorf("%d ids, %d segments, want %d", n, len(cut.Types), want)
	}
	if cut.IDs[0] != all.IDs[0] || cut.IDs[n-1] != all.IDs[len(all.IDs)-1] {
		t.Errorf("start or end is gone: %v", cut.IDs)
	}
	sum := 0
	for _, k := range cut.Cut {
		sum += k
	}
	// As one string, up to two separators may be cut as well.
	if gone := len(all.IDs) - n; sum > gone || sum < gone-2 {
		t.Errorf("%d tokens are gone, %v were counted", gone, cut.Cut)
	}
}

// TestLastTurn: of a conversation a model may read the last turn of the user alone.
func TestLastTurn(t *testing.T) {
	const chat = "Who?\n\nThe whole conversation:\nsystem: Be short.\nuser: Who?"
	m := open(t, "bert", models.JoinFields)
	encode := func(question string) []int64 {
		t.Helper()
		enc, err := identifier.NewEncoder(m, questions(t))
		if err != nil {
			t.Fatal(err)
		}
		e, err := enc.Encode([]string{question, "Oke", chat})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(e.IDs)
	}
	if slices.Equal(encode(chat), encode("Who?")) {
		t.Error("a model that was trained on conversations does not read them")
	}
	m.Manifest.LastTurn = "question"
	if !slices.Equal(encode(chat), encode("Who?")) {
		t.Error("more than the last turn is read")
	}
}

func TestNewEncoderRefusesUnknownToken(t *testing.T) {
	m := open(t, "bert", models.JoinFields)
	m.Manifest.Separator = "</s>"
	_, err := identifier.NewEncoder(m, questions(t))
	if err == nil || !strings.Contains(err.Error(), `no token "</s>"`) {
		t.Errorf("got %v", err)
	}
	m = open(t, "bert", models.JoinFields)
	m.FS = os.DirFS(t.TempDir())
	if _, err := identifier.NewEncoder(m, questions(t)); err == nil || errors.Is(err, os.ErrPermission) {
		t.Errorf("without a tokenizer: got %v", err)
	}
}
