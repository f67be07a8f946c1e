package identifier

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// readsEnglish tells languages for a model of English.
func readsEnglish(t testing.TB) *languages {
	task, err := taxonomy.Open("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	return newLanguages(&models.Manifest{Languages: []string{"en"}}, task)
}

// TestEnglishIsRead: at most one in a thousand rows of English systems is taken for another language. The samples are
// few; ERREVAL_ENGLISH_ROWS names files with more, as docs/models.md says.
func TestEnglishIsRead(t *testing.T) {
	files := []string{filepath.Join("..", "testdata", "samples", "questions.jsonl")}
	files = append(files, strings.Fields(os.Getenv("ERREVAL_ENGLISH_ROWS"))...)
	english := readsEnglish(t)
	rows, wrong := 0, 0
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var row struct{ Question, Answer, Passage string }
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			rows++
			if err := english.check([]string{row.Question, row.Answer, row.Passage}); err != nil {
				wrong++
				t.Logf("%v: %q %q", err, row.Question, row.Passage)
			}
		}
	}
	t.Logf("%d of %d rows", wrong, rows)
	if float64(wrong) > 0.001*float64(rows) {
		t.Errorf("%d of %d English rows are taken for another language", wrong, rows)
	}
}

func BenchmarkLanguage(b *testing.B) {
	english := readsEnglish(b)
	passage := strings.Repeat("The harbour bridge was begun in 1926 and opened to traffic in 1931. It carried trams. ", 8)
	for b.Loop() {
		if err := english.check([]string{"When did it open?", "in 1931", passage}); err != nil {
			b.Fatal(err)
		}
	}
}

// englishPassage is a long text.
var englishPassage = strings.Repeat("The harbour bridge was begun in 1926 and opened to traffic in 1931. ", 4)

// foreignTexts are the lines of a file in testdata, by language.
func foreignTexts(t *testing.T, file string) (texts [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for language := range strings.SplitSeq(string(data), "\n\n") {
		texts = append(texts, strings.Split(strings.TrimSpace(language), "\n"))
	}
	return texts
}

// TestForeignIsFound: of short rows in sixteen other languages, two neighbouring sentences each, nine in ten are found. The
// sentences were written for this.
func TestForeignIsFound(t *testing.T) {
	english := readsEnglish(t)
	rows, found, beside := 0, 0, 0
	for _, sentences := range foreignTexts(t, "foreign.txt") {
		for i := range sentences[1:] {
			rows++
			if err := english.check([]string{sentences[i], "", sentences[i+1]}); err != nil {
				found++
			}
			if err := english.check([]string{sentences[i], "", englishPassage}); err != nil {
				beside++
			}
		}
	}
	t.Logf("%d of %d rows, %d of their questions beside an English passage", found, rows, beside)
	if rows != 244 || found*10 < rows*9 || beside*10 < rows*6 {
		t.Errorf("%d of %d rows were found, and %d of their questions beside an English passage", found, rows, beside)
	}
}

// TestShortQuestions: of everyday questions in six languages, two to six words each, nine in ten are found beside an
// English passage. The words were chosen by every other one, from the first on; the rest was held out. All were written
// for this.
func TestShortQuestions(t *testing.T) {
	english := readsEnglish(t)
	all, found := 0, [2]int{} // of those that words were chosen by, and of those held out
	for _, questions := range foreignTexts(t, "short.txt") {
		here := [2]int{}
		for i, q := range questions {
			all++
			if english.check([]string{q, "", englishPassage}) != nil {
				here[i%2]++
			}
		}
		t.Logf("%s: %d, %d of %d", questions[0], here[0], here[1], len(questions)/2)
		found[0], found[1] = found[0]+here[0], found[1]+here[1]
	}
	t.Logf("in all %d, %d of %d", found[0], found[1], all/2)
	if all != 264 || found[0]*20 < all*9 || found[1]*20 < all*9 {
		t.Errorf("of %d questions %d were found, and %d of those held out", all, found[0], found[1])
	}
}
