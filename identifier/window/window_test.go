package window_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/window"
	"github.com/erreval/erreval/models"
)

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
			w := models.Window{Words: models.MinWindow}
			got := window.Join(c.text, window.Choose(c.text, []string{c.question, c.answer}, w))
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
		w := models.Window{Words: models.MinWindow, Ends: models.MinWindow / 2}
		parts := window.Choose(text, []string{question, answer}, w)
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
		window.Choose(text, []string{"When did the bridge open?", "1931"}, models.Window{Words: 60})
	}
}
