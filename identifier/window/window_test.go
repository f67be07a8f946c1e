package window_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/window"
	"github.com/erreval/erreval/models"
)

// TestChooseEqualsTraining compares with what training/window.py chose (testdata/make_cases.py).
func TestChooseEqualsTraining(t *testing.T) {
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, n := bufio.NewScanner(f), 0
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); n++ {
		var c struct {
			ID     string   `json:"id"`
			Text   string   `json:"text"`
			Others []string `json:"others"`
			Words  int      `json:"words"`
			Read   [][2]int `json:"read"` // in characters
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var got [][2]int
		for _, p := range window.Choose(c.Text, c.Others, c.Words) {
			got = append(got, [2]int{utf8.RuneCountInString(c.Text[:p.From]), utf8.RuneCountInString(c.Text[:p.To])})
		}
		if !slices.Equal(got, c.Read) {
			t.Errorf("%s: read %v, want %v of %q for %q", c.ID, got, c.Read, c.Text, c.Others)
		}
	}
	if n < 200 {
		t.Errorf("%d cases, want 200", n)
	}
}

// TestChooseByHand follows the choice on texts short enough to follow.
func TestChooseByHand(t *testing.T) {
	rain := "Rain fell on the roof." // 5 words
	filler := strings.TrimSpace(strings.Repeat(rain+" ", 6))
	for name, c := range map[string]struct {
		text, question, answer, want string
	}{
		"short texts are read whole": {"One two. Three\n four.", "Five?", "", "One two. Three\n four."},
		"the sentence with the answer, at the end": {filler + " " + filler + " The bridge opened in 1931.", "When did it open?", "1931",
			filler + " " + rain + " The bridge opened in 1931."},
		"a pronoun brings the sentence before it": {
			filler + " Anna Berg was a chemist. She found cobalt salts. " + filler, "Who found cobalt salts?", "",
			strings.Repeat(rain+" ", 5) + "Anna Berg was a chemist. She found cobalt salts. " + rain},
		"text without sentences is read in pieces": {strings.Repeat("word ", 100) + "harbour " + strings.Repeat("word ", 40),
			"Which harbour?", "", strings.TrimSpace(strings.Repeat("word ", 20) + "harbour " + strings.Repeat("word ", 19))},
	} {
		t.Run(name, func(t *testing.T) {
			got := window.Join(c.text, window.Choose(c.text, []string{c.question, c.answer}, models.MinWindow))
			if got != c.want {
				t.Errorf("read\n%q, want\n%q", got, c.want)
			}
		})
	}
}

// FuzzChoose: parts lie in the text, in order, between characters, and hold no more words than asked for.
func FuzzChoose(f *testing.F) {
	f.Add("Mr. B. came. \"Who?\" he said.\n\nNo one knew ... He left!", "Who came?", "Mr. B.")
	f.Add(strings.Repeat("a b\u0085c\xff ", 40), "a\xffb", "\xff")
	f.Fuzz(func(t *testing.T, text, question, answer string) {
		at, words := 0, 0
		parts := window.Choose(text, []string{question, answer}, models.MinWindow)
		for _, p := range parts {
			if p.From < at || p.To < p.From || p.To > len(text) {
				t.Fatalf("parts %v of %d bytes", parts, len(text))
			}
			at = p.To
			words += len(strings.Fields(text[p.From:p.To]))
		}
		if words > models.MinWindow {
			t.Fatalf("%d words are read", words)
		}
		if utf8.ValidString(text) && !utf8.ValidString(window.Join(text, parts)) {
			t.Fatal("a character was cut")
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	text := strings.Repeat("The harbour bridge was begun in 1926 and opened to traffic in 1931. ", 800)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		window.Choose(text, []string{"When did the bridge open?", "1931"}, 60)
	}
}
