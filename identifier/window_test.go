package identifier_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/window"
	"github.com/erreval/erreval/models"
)

// TestWindowEqualsTraining compares what is read of a text with what training/window.py chose, and rows with a window
// to the token with what training/common.py makes of them, by Hugging Face's tokenizer (window/testdata/make_cases.py).
func TestWindowEqualsTraining(t *testing.T) {
	f, err := os.Open("window/testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := models.Open("../models/embedded/default", questions(t))
	if err != nil {
		t.Fatal(err)
	}
	encoders := map[models.Window]*identifier.Encoder{}
	lines, n := bufio.NewScanner(f), 0
	for lines.Buffer(nil, 1<<20); lines.Scan(); n++ {
		var c struct {
			ID, Text   string
			Others     []string
			Words      int
			Ends       int      // 0 in most
			Read       [][2]int // in characters
			IDs, Types []int64
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var read [][2]int
		w := models.Window{Field: "passage", Words: c.Words, Ends: c.Ends}
		for _, p := range window.Choose(c.Text, c.Others, w) {
			read = append(read, [2]int{utf8.RuneCountInString(c.Text[:p.From]), utf8.RuneCountInString(c.Text[:p.To])})
		}
		if !slices.Equal(read, c.Read) {
			t.Errorf("%s: read %v, want %v of %q for %q", c.ID, read, c.Read, c.Text, c.Others)
		}
		if encoders[w] == nil {
			m.Manifest.Window = &w
			if encoders[w], err = identifier.NewEncoder(m, questions(t)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := encoders[w].Encode([]string{c.Others[0], c.Others[1], c.Text})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.IDs, c.IDs) || !slices.Equal(got.Types, c.Types) {
			t.Errorf("%s: ids and types are\n%v\n%v, want\n%v\n%v", c.ID, got.IDs, got.Types, c.IDs, c.Types)
		}
	}
	if n < 200 {
		t.Errorf("%d cases, want 200", n)
	}
}

// TestWindowOfEveryModel: a window works with every tokenizer and both joinings, and says in characters what was read.
func TestWindowOfEveryModel(t *testing.T) {
	filler := strings.Repeat("Größe ist relativ. ", 30)
	const sentence = "The bridge opened in 1931."
	for _, name := range fixtures {
		for _, join := range []string{models.JoinFields, models.JoinText} {
			t.Run(name+" "+join, func(t *testing.T) {
				m := open(t, name, join)
				m.Manifest.Window = &models.Window{Field: "passage", Words: models.MinWindow}
				enc, err := identifier.NewEncoder(m, questions(t))
				if err != nil {
					t.Fatal(err)
				}
				row := []string{"When did the bridge open?", "1931", filler + sentence}
				if _, err := enc.Encode(row); err != nil {
					t.Fatal(err)
				}
				read := enc.Read()["passage"]
				if len(read) == 0 || read[len(read)-1] != len([]rune(row[2])) {
					t.Fatalf("read %v of %d characters; the last sentence should be in it", read, len([]rune(row[2])))
				}
				parts := ""
				for i := 0; i < len(read); i += 2 {
					parts += string([]rune(row[2])[read[i]:read[i+1]]) + " "
				}
				got := slices.Clone(mustEncode(t, enc, row))
				want := mustEncode(t, enc, []string{row[0], row[1], strings.TrimSpace(parts)})
				if !slices.Equal(got, want) {
					t.Errorf("the window's tokens are not those of the parts %q", parts)
				}
				if enc.Read() != nil {
					t.Errorf("a text that fits is read in the parts %v", enc.Read())
				}
			})
		}
	}
}

func mustEncode(t *testing.T, enc *identifier.Encoder, row []string) []int64 {
	t.Helper()
	got, err := enc.Encode(row)
	if err != nil {
		t.Fatal(err)
	}
	return got.IDs
}
